-- Gives the memories from `since` to before `until` of one user their terms in place of those they had, unless
-- another server was faster. The owner's row is locked first: Adds wait for the moment that it takes.
-- parameters: user_id text, since bigint, until bigint, terms_version smallint, terms_length bigint,
--   ns bigint[], terms text[], term_counts smallint[], term_lengths integer[], words text[], word_terms text[]
WITH mine AS MATERIALIZED (
    SELECT user_id FROM users
    WHERE user_id = %(user_id)b::text AND analysed_n = %(since)b::bigint
      AND terms_version = %(terms_version)b::smallint
    FOR UPDATE
), old AS (
    DELETE FROM terms USING mine
    WHERE terms.user_id = %(user_id)b::text AND n >= %(since)b::bigint AND n < %(until)b::bigint
    RETURNING n, length
), gone AS MATERIALIZED (
    SELECT coalesce(sum(length), 0) AS length FROM (SELECT DISTINCT n, length FROM old) AS memories
), held AS (
    -- From `gone`: what is deleted must be so before its like is inserted.
    INSERT INTO terms (user_id, term, n, count, length)
    SELECT %(user_id)b::text, t.term, t.n, t.count, t.length
    FROM mine, gone, unnest(%(ns)b::bigint[], %(terms)b::text[], %(term_counts)b::smallint[],
                            %(term_lengths)b::integer[]) AS t(n, term, count, length)
), spelt AS (
    INSERT INTO spellings (user_id, key, missing, term)
    SELECT DISTINCT %(user_id)b::text, left(w.word, gap) || substr(w.word, gap + 2),
           CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
    FROM mine, unnest(%(words)b::text[], %(word_terms)b::text[]) AS w(word, term)
    CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
    WHERE NOT EXISTS (SELECT FROM spellings AS s WHERE s.user_id = %(user_id)b::text
                      AND s.key = w.word AND s.missing = 0 AND s.term = w.term)
    ON CONFLICT DO NOTHING
)
UPDATE users SET analysed_n = %(until)b::bigint,
                 terms_length = terms_length + %(terms_length)b::bigint - gone.length
FROM mine, gone WHERE users.user_id = mine.user_id
RETURNING users.user_id
