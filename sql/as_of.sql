-- What had been said by a moment: in the place of the tables that search.sql reads, so that it finds what it would find
-- in a store that had received no more. Its CTEs go before those of search.sql (queries.py, over). An undated message
-- counts from when it was received, a fact from when the last message that it rests on was said.
-- late: hidden messages too, for the facts that rest on them: one that was drawn later was not there either.
-- turn_index: the place among what had been said, as that store would have counted.
-- spellings: those that a word of what had been said brings.
-- parameters: user_id text, as_of timestamptz
WITH late AS MATERIALIZED (
    SELECT n, session_id, turn_index
    FROM (SELECT n, session_id, turn_index, occurred_at, request_id FROM messages
          WHERE user_id = %(user_id)b::text
          UNION ALL
          SELECT n, session_id, turn_index, occurred_at, request_id FROM forgotten_messages
          WHERE user_id = %(user_id)b::text) AS m
    WHERE coalesce(occurred_at, (SELECT received_at FROM requests AS r
                                 WHERE r.user_id = %(user_id)b::text AND r.request_id = m.request_id))
          > %(as_of)b::timestamptz
), facts AS MATERIALIZED (
    SELECT user_id, n, id, session_id, sort_at, occurred_at, utc_offset, position, line_key, characters, tokens,
           gloss_characters, gloss_tokens, content, source_ns, embedding,
           turn_index - (SELECT count(*) FROM late AS l
                         WHERE l.session_id = f.session_id AND l.turn_index < f.turn_index) AS turn_index
    FROM facts AS f
    WHERE user_id = %(user_id)b::text AND NOT source_ns && ARRAY(SELECT n FROM late)
), messages AS MATERIALIZED (
    SELECT user_id, n, id, session_id, sort_at, occurred_at, utc_offset, position, line_key, characters, tokens,
           gloss_characters, gloss_tokens, speaker, content, embedding,
           row_number() OVER (PARTITION BY session_id ORDER BY turn_index) - 1 AS turn_index
    FROM messages WHERE user_id = %(user_id)b::text AND n NOT IN (SELECT n FROM late)
), sessions AS MATERIALIZED (
    SELECT DISTINCT user_id, session_id, 1 AS next_turn_index, 0 AS forgotten FROM messages
), present AS MATERIALIZED (
    SELECT n FROM messages UNION ALL SELECT n FROM facts
), terms AS MATERIALIZED (
    SELECT t.* FROM terms AS t JOIN present USING (n) WHERE t.user_id = %(user_id)b::text
), users AS MATERIALIZED (
    SELECT %(user_id)b::text AS user_id, (SELECT count(*) FROM present) AS next_n, 0 AS forgotten,
           0::bigint AS indexed_through,
           (SELECT coalesce(sum(length), 0) FROM (SELECT DISTINCT n, length FROM terms) AS memories) AS terms_length
), spellings AS NOT MATERIALIZED (
    SELECT s.* FROM spellings AS s
    WHERE EXISTS (
        SELECT FROM terms AS t CROSS JOIN LATERAL unnest(coalesce(t.words, ARRAY[t.term])) AS word
        WHERE t.term = s.term
          AND CASE WHEN s.missing = 0 THEN word = s.key
                   ELSE length(word) = length(s.key) + 1
                        AND EXISTS (SELECT FROM generate_series(0, length(word) - 1) AS gap
                                    WHERE left(word, gap) || substr(word, gap + 2) = s.key)
              END)
), dates AS NOT MATERIALIZED (
    SELECT d.* FROM dates AS d WHERE d.user_id = %(user_id)b::text AND d.n IN (SELECT n FROM present)
)
