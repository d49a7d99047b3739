-- Finds the evidence for one question: the whole read path after embedding.
--
-- 1. scored: the user's memories by inner product (vectors have length 1, so it is cosine), the best `hits` of
--    them (3 x top_k). `second` is the recall question of a second round: a memory counts by the better of the
--    two; NULL drops out of LEAST. `query` NULL: nothing was asked, the newest come first.
-- 2. hits: of the best, those the walk can reach: each that repeats no other's line brings a line, so the set is
--    full after `memories` of them. It spares two of three neighbour probes: 3.15 times the plain scan became 2.1
--    at 2,000 messages.
-- 3. walk: each hit, then for a message its neighbours in session order at distance 1 to radius, nearest first,
--    earlier before later, under the hit's score. Index probes: numbering the whole log by a window
--    function and joining on the number took 6.6 times the plain scan (python -m ops.bench.statement).
-- 4. taken: what repeats a line already taken is skipped; a memory's own second coming is such a repeat.
-- 5. kept: up to `memories`, or before the first that no longer fits a budget; the first always.
-- 6. messages first, facts after (unless raw_first is off), each by rank.
-- Ties: occurred_at, turn_index (the newest: the later first), kind, position; id last, so that the same log under
--    other ids comes back alike.
-- parameters: user_id text, query halfvec, second halfvec, hits integer, radius integer, memories integer,
--   characters bigint, tokens bigint, raw_first boolean
WITH scored AS (
    SELECT n, 0 AS kind, id, session_id, sort_at, turn_index, position, line_key, characters, tokens,
           CASE WHEN %(query)b::halfvec IS NULL THEN -turn_index ELSE turn_index END AS turn_rank,
           CASE WHEN %(query)b::halfvec IS NULL
                THEN -coalesce(extract(epoch FROM occurred_at)::float8, -1e12)
                ELSE least(embedding <#> %(query)b::halfvec, embedding <#> %(second)b::halfvec)
           END AS distance
    FROM messages WHERE user_id = %(user_id)b::text
    UNION ALL
    SELECT n, 1, id, session_id, sort_at, turn_index, position, line_key, characters, tokens,
           CASE WHEN %(query)b::halfvec IS NULL THEN -turn_index ELSE turn_index END AS turn_rank,
           CASE WHEN %(query)b::halfvec IS NULL
                THEN -coalesce(extract(epoch FROM occurred_at)::float8, -1e12)
                ELSE least(embedding <#> %(query)b::halfvec, embedding <#> %(second)b::halfvec)
           END
    FROM facts WHERE user_id = %(user_id)b::text
), best AS MATERIALIZED (
    SELECT * FROM scored
    ORDER BY distance, sort_at, turn_rank, kind, position, id
    LIMIT %(hits)b::integer
), hits AS MATERIALIZED (
    SELECT * FROM (
        SELECT *, row_number() OVER (ORDER BY distance, sort_at, turn_rank, kind, position, id) AS hit FROM best
    ) AS ranked
    WHERE hit <= %(memories)b::integer + (SELECT count(*) - count(DISTINCT line_key) FROM best)
), walk AS (
    SELECT hit, 0 AS step, n, kind, line_key, characters, tokens, distance FROM hits
    UNION ALL
    SELECT hit, 2 * near.reach - near.earlier, near.n, 0, near.line_key, near.characters, near.tokens, distance
    FROM hits CROSS JOIN LATERAL (
        (SELECT 1 AS earlier, row_number() OVER (ORDER BY m.sort_at DESC, m.turn_index DESC) AS reach,
                m.n, m.line_key, m.characters, m.tokens
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = hits.session_id
           AND (m.sort_at, m.turn_index) < (hits.sort_at, hits.turn_index)
         ORDER BY m.sort_at DESC, m.turn_index DESC LIMIT %(radius)b::integer)
        UNION ALL
        (SELECT 0, row_number() OVER (ORDER BY m.sort_at, m.turn_index),
                m.n, m.line_key, m.characters, m.tokens
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = hits.session_id
           AND (m.sort_at, m.turn_index) > (hits.sort_at, hits.turn_index)
         ORDER BY m.sort_at, m.turn_index LIMIT %(radius)b::integer)
    ) AS near
    WHERE hits.kind = 0
), taken AS (
    SELECT DISTINCT ON (line_key) * FROM walk ORDER BY line_key, hit, step
), counted AS (
    SELECT *, row_number() OVER walked AS place,
           sum(characters) OVER walked AS characters_so_far, sum(tokens) OVER walked AS tokens_so_far
    FROM taken WINDOW walked AS (ORDER BY hit, step ROWS UNBOUNDED PRECEDING)
), kept AS (
    SELECT n, kind, place, distance FROM counted
    WHERE place <= %(memories)b::integer
      AND (place = 1 OR (characters_so_far <= %(characters)b::bigint AND tokens_so_far <= %(tokens)b::bigint))
)
SELECT k.kind, coalesce(m.id, f.id) AS id, m.speaker, coalesce(m.content, f.content) AS content,
       coalesce(m.occurred_at, f.occurred_at) AS occurred_at, -k.distance AS score
FROM kept AS k
LEFT JOIN messages AS m ON k.kind = 0 AND m.user_id = %(user_id)b::text AND m.n = k.n
LEFT JOIN facts AS f ON k.kind = 1 AND f.user_id = %(user_id)b::text AND f.n = k.n
ORDER BY CASE WHEN %(raw_first)b::boolean THEN k.kind ELSE 0 END, k.place
