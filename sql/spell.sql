-- The spellings of the words of one batch of an import; as in add.sql, but of many users.
-- parameters: user_ids text[], words text[], terms text[]
INSERT INTO spellings (user_id, key, missing, term)
SELECT DISTINCT w.user_id, left(w.word, gap) || substr(w.word, gap + 2),
       CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
FROM unnest(%(user_ids)b::text[], %(words)b::text[], %(terms)b::text[]) AS w(user_id, word, term)
CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
WHERE NOT EXISTS (SELECT FROM spellings AS s WHERE s.user_id = w.user_id
                  AND s.key = w.word AND s.missing = 0 AND s.term = w.term)
ON CONFLICT DO NOTHING
