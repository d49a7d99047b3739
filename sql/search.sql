-- Finds the evidence for one question: the whole read path after embedding and analysis.
--
-- Words (BM25: Robertson and Zaragoza 2009; df, lengths and count are the user's own)
-- 1. known: the postings of the question's terms. meant: a term without any gives way to the nearest that the log
--    knows, at a discount: the 3 that share most spellings (whole, less a letter) with it, if it is more than one
--    spelling, or one letter is all that differs, or the first is the same. A lone character of a script written
--    without spaces stands for the pairs that hold it as well, up to 50.
-- 2. lexical: BM25 of each memory that holds a term, and a bit for each of the first 62 terms that it holds. Summed in
--    whole numbers of 1e-11, which a float8 adds exactly (256 terms of weight 10 stay below 2^53): in whatever order,
--    so that the same log gives the same last bit.
-- Candidates of a large log (users.indexed_through above 0; of any other log every memory is one)
-- 3. near: of each kind the best `candidates`: by the vectors' index (large_vectors: vectors with the code of their
--    user, which keeps them together in it) and what it does not reach yet; by words; by a time that the question
--    names, unless that holds over 5,000; where there is no vector, the newest. candidate: and the messages that facts
--    rest on.
--    LATERAL ... LIMIT 1: probes of the key, whatever the planner takes their number for.
-- Scores, the same rule for both, so that nothing jumps on the day a log becomes large: what no candidate can give
-- counts for nothing in any log.
-- 4. scored: every candidate, with its distance (inner product, vectors have length 1; `second` is the recall
--    question of a second round: the better of the two counts, NULL drops out of LEAST) and its BM25. `query` NULL:
--    the vectors say nothing; with no term either, the newest come first.
-- 5. based: both from 0 to 1 within this search, 0 at the last of the best `candidates`, weighted. trust: where all
--    that is known of the question are terms of little weight (misspelt, of an answer choice), the words count for no
--    more than the heaviest of them.
-- 6. keyed: a message adds a share of the best fact that rests on it. OFFSET 0: planned into the windows it was
--    computed anew for each neighbour, and the whole took 5.9 times the plain scan in place of 5.4. What is below a
--    fifth of the most that words and vectors give is not passed on to neighbours (any@20 .867, .869 without).
-- 7. held: the share of the question's terms, by their rarity among sessions, that a session holds; how many hold a
--    term is estimated from the memories that do, as if spread at random (exact: .869 at 20, in place of .867).
-- 8. surrounded: a share of the better neighbour at distance 1, of the better at 2. In a large log beside looks for
--    the neighbours of those that give, and they join the candidates.
-- 9. total: adds what the session holds, if it has anything of its own, and `time` to a memory that was said in a
--    time that the question names, or says a date in it.
-- Evidence (without what is `withheld`)
-- 10. varied: maximal marginal relevance (Carbonell and Goldstein 1998) of the best 200, where `variety` is above 0:
--    next comes what is most relevant (from 0 to 1 among them) less what it is like one that came (the inner
--    product). Some 20,000 products and steps.
-- 11. hits: of the best, those the walk can reach: each that repeats no other's line brings a line, so the set is
--    full after `memories` of them.
-- 12. walk: each hit, then for a message its neighbours in session order at distance 1 to radius, nearest first,
--    earlier before later, under the hit's score. Index probes, only where there is a radius.
-- 13. taken: what repeats a line already taken is skipped; a memory's own second coming is such a repeat.
--    A tag, of at most 60 characters and 30 tokens, is written after a line that tells a state, where `tagged`.
-- 14. kept: up to `memories`, or before the first that no longer fits a budget; the first always.
-- 15. messages first, facts after (unless raw_first is off), each by rank.
-- Ties: distance, occurred_at, turn_index (`ties` 1: the earlier first, -1: the later), kind, position, session: no id,
--    so that the same log under other ids comes back alike.
-- parameters: user_id text, query halfvec, second halfvec, terms text[], weights float8[], key_places integer[],
--   keys text[], missings smallint[], dense float8, lexical float8, neighbour float8, second_neighbour float8,
--   session float8, fact float8, spelling float8, time float8, first_days date[], last_days date[], variety float8,
--   candidates integer, coded halfvec, second_coded halfvec,
--   ties integer, hits integer, radius integer, memories integer,
--   characters bigint, tokens bigint, raw_first boolean, glossed boolean, withheld bigint[], tagged boolean
WITH asked AS MATERIALIZED (
    SELECT place::integer, term, weight
    FROM unnest(%(terms)b::text[], %(weights)b::float8[]) WITH ORDINALITY AS a(term, weight, place)
), known AS MATERIALIZED (
    SELECT a.place, a.weight, t.n, t.count, t.length
    FROM asked AS a JOIN terms AS t ON t.user_id = %(user_id)b::text AND t.term = a.term
), meant AS (
    SELECT * FROM (
        SELECT k.place, s.term, CASE WHEN length(a.term) = 1 THEN 50 ELSE 3 END AS most,
               row_number() OVER (PARTITION BY k.place ORDER BY count(*) DESC, sum(s.missing), s.term) AS nearness
        FROM unnest(%(key_places)b::integer[], %(keys)b::text[], %(missings)b::smallint[]) AS k(place, key, missing)
        JOIN spellings AS s ON s.user_id = %(user_id)b::text AND s.key = k.key
        JOIN asked AS a ON a.place = k.place
        WHERE k.missing + s.missing > 0
          AND (length(a.term) = 1 OR k.place <> ALL (ARRAY(SELECT DISTINCT place FROM known)))
        GROUP BY k.place, s.term, a.term
        HAVING count(*) > 1 OR min(k.missing + s.missing) = 1 OR left(s.term, 1) = left(a.term, 1)
    ) AS ranked WHERE nearness <= most
), posted AS MATERIALIZED (
    SELECT * FROM known
    UNION ALL
    SELECT a.place, a.weight * %(spelling)b::float8, t.n, t.count, t.length
    FROM meant AS m JOIN asked AS a ON a.place = m.place
    JOIN terms AS t ON t.user_id = %(user_id)b::text AND t.term = m.term
), log_size AS MATERIALIZED (
    SELECT (next_n - forgotten)::float8 AS memories,
           greatest(terms_length, 1)::float8 / greatest(next_n - forgotten, 1) AS average,
           indexed_through,
           indexed_through > 0 AND next_n - forgotten > %(candidates)b::integer AS large
    FROM users WHERE user_id = %(user_id)b::text
), rarity AS MATERIALIZED (
    SELECT place, count(*)::float8 AS holders,
           max(weight) * ln(1 + greatest(memories - count(*) + 0.5::float8, 0) / (count(*) + 0.5::float8)) AS idf
    FROM posted CROSS JOIN log_size GROUP BY place, memories
), lexical AS MATERIALIZED (
    SELECT n, bit_or(CASE WHEN place <= 62 THEN 1::bigint << (place - 1) ELSE 0 END) AS places,
           sum(round(idf * count::float8 * 1.9e11::float8
                     / (count::float8 + 0.9::float8 * (0.25::float8 + 0.75::float8 * length::float8 / average))))
               / 1e11::float8 AS bm25
    FROM posted JOIN rarity USING (place) CROSS JOIN log_size GROUP BY n
), asked_times AS MATERIALIZED (
    SELECT first_day, last_day
    FROM unnest(%(first_days)b::date[], %(last_days)b::date[]) AS t(first_day, last_day)
), dated AS MATERIALIZED (
    SELECT DISTINCT n FROM asked_times AS t
    JOIN dates AS d ON d.user_id = %(user_id)b::text AND d.first_day <= t.last_day AND d.last_day >= t.first_day
), timely AS MATERIALIZED (
    (SELECT n FROM asked_times AS t
     JOIN messages AS m ON m.user_id = %(user_id)b::text
         AND m.sort_at >= (t.first_day - 1)::timestamp AT TIME ZONE 'UTC'
         AND m.sort_at < (t.last_day + 2)::timestamp AT TIME ZONE 'UTC'
         AND (occurred_at AT TIME ZONE 'UTC' + utc_offset * interval '1 minute')::date
             BETWEEN t.first_day AND t.last_day
     WHERE (SELECT large FROM log_size) LIMIT 5001)
    UNION
    (SELECT n FROM dated WHERE (SELECT large FROM log_size) LIMIT 5001)
), near AS MATERIALIZED (
    (SELECT n FROM large_vectors
     WHERE user_id = %(user_id)b::text AND %(coded)b::halfvec IS NOT NULL AND (SELECT large FROM log_size)
     ORDER BY coded <#> %(coded)b::halfvec LIMIT %(candidates)b::integer)
    UNION ALL
    (SELECT n FROM large_vectors
     WHERE user_id = %(user_id)b::text AND %(second_coded)b::halfvec IS NOT NULL AND (SELECT large FROM log_size)
     ORDER BY coded <#> %(second_coded)b::halfvec LIMIT %(candidates)b::integer)
    UNION ALL
    SELECT n FROM messages
    WHERE user_id = %(user_id)b::text AND n >= (SELECT indexed_through FROM log_size WHERE large)
    UNION ALL
    SELECT n FROM facts
    WHERE user_id = %(user_id)b::text AND n >= (SELECT indexed_through FROM log_size WHERE large)
    UNION ALL
    (SELECT n FROM messages
     WHERE user_id = %(user_id)b::text AND %(query)b::halfvec IS NULL AND (SELECT large FROM log_size)
     ORDER BY sort_at DESC LIMIT %(candidates)b::integer)
    UNION ALL
    (SELECT n FROM facts
     WHERE user_id = %(user_id)b::text AND %(query)b::halfvec IS NULL AND (SELECT large FROM log_size)
     ORDER BY n DESC LIMIT %(candidates)b::integer)
    UNION ALL
    (SELECT n FROM lexical WHERE (SELECT large FROM log_size) ORDER BY bm25 DESC LIMIT %(candidates)b::integer)
    UNION ALL
    SELECT n FROM timely WHERE (SELECT count(*) FROM timely) <= 5000
), candidate AS MATERIALIZED (
    SELECT n FROM near
    UNION
    SELECT unnest(source_ns) FROM near
    CROSS JOIN LATERAL (SELECT source_ns FROM facts
                        WHERE user_id = %(user_id)b::text AND facts.n = near.n LIMIT 1) AS fact
), scored AS MATERIALIZED (
    SELECT m.n, kind, session_id, sort_at, turn_index, position, line_key,
           characters + CASE WHEN %(glossed)b::boolean THEN gloss_characters ELSE 0 END AS characters,
           tokens + CASE WHEN %(glossed)b::boolean THEN gloss_tokens ELSE 0 END AS tokens,
           source_ns,
           CASE WHEN %(query)b::halfvec IS NULL
                THEN -coalesce(date_part('epoch', occurred_at), -1e12)
                ELSE least(embedding <#> %(query)b::halfvec, embedding <#> %(second)b::halfvec)
           END AS distance,
           CASE WHEN cardinality(%(first_days)b::date[]) > 0
                THEN (occurred_at AT TIME ZONE 'UTC' + utc_offset * interval '1 minute')::date
           END AS said_on,
           coalesce(bm25, 0) AS bm25, coalesce(places, 0) AS places
    FROM (
        SELECT n, 0 AS kind, session_id, sort_at, occurred_at, utc_offset, turn_index, position, line_key,
               characters, tokens, gloss_characters, gloss_tokens, NULL::bigint[] AS source_ns, embedding
        FROM messages WHERE user_id = %(user_id)b::text AND (SELECT NOT large FROM log_size)
        UNION ALL
        SELECT n, 1 AS kind, session_id, sort_at, occurred_at, utc_offset, turn_index, position, line_key,
               characters, tokens, gloss_characters, gloss_tokens, source_ns AS source_ns, embedding
        FROM facts WHERE user_id = %(user_id)b::text AND (SELECT NOT large FROM log_size)
        UNION ALL
        SELECT message.* FROM candidate CROSS JOIN LATERAL (
            SELECT n, 0 AS kind, session_id, sort_at, occurred_at, utc_offset, turn_index, position, line_key,
                   characters, tokens, gloss_characters, gloss_tokens, NULL::bigint[] AS source_ns, embedding
            FROM messages WHERE user_id = %(user_id)b::text AND messages.n = candidate.n LIMIT 1) AS message
        UNION ALL
        SELECT fact.* FROM candidate CROSS JOIN LATERAL (
            SELECT n, 1 AS kind, session_id, sort_at, occurred_at, utc_offset, turn_index, position, line_key,
                   characters, tokens, gloss_characters, gloss_tokens, source_ns AS source_ns, embedding
            FROM facts WHERE user_id = %(user_id)b::text AND facts.n = candidate.n LIMIT 1) AS fact
    ) AS m LEFT JOIN lexical AS l ON l.n = m.n
), span AS MATERIALIZED (
    SELECT farthest, nullif(farthest - nearest, 0) AS width, lowest, nullif(most - lowest, 0) AS most,
           (SELECT least(1, max(weight)) FROM posted) AS trust
    FROM (SELECT max(distance) AS farthest, min(distance) AS nearest
          FROM (SELECT distance FROM scored ORDER BY distance LIMIT %(candidates)b::integer) AS nearest) AS distances
    CROSS JOIN (SELECT CASE WHEN count(*) < %(candidates)b::integer THEN 0 ELSE min(bm25) END AS lowest,
                       max(bm25) AS most
                FROM (SELECT bm25 FROM lexical ORDER BY bm25 DESC LIMIT %(candidates)b::integer) AS heaviest) AS weighed
), based AS NOT MATERIALIZED (
    SELECT scored.*, %(dense)b::float8 * coalesce(greatest(farthest - distance, 0) / width, 0)
                     + %(lexical)b::float8 * coalesce(trust * greatest(bm25 - lowest, 0) / most, 0) AS base
    FROM scored CROSS JOIN span
), rested AS (
    SELECT source AS n, max(base) AS best FROM based CROSS JOIN LATERAL unnest(source_ns) AS source
    WHERE kind = 1 GROUP BY source
), seen AS MATERIALIZED (
    SELECT session_id, bit_or(places) AS places FROM scored CROSS JOIN span WHERE kind = 0 AND bm25 > lowest
    GROUP BY session_id
), session_rarity AS MATERIALIZED (
    SELECT place, round(weight * 1e11::float8
                        * ln(1 + greatest(sessions - holding + 0.5::float8, 0) / (holding + 0.5::float8))) AS idf
    FROM (SELECT place, sessions, sessions * (1 - exp(-holders / sessions)) AS holding
          FROM rarity
          CROSS JOIN (SELECT greatest(count(*), 1)::float8 AS sessions FROM sessions
                      WHERE user_id = %(user_id)b::text AND next_turn_index > forgotten) AS all_sessions) AS estimated
    JOIN asked USING (place) WHERE place <= 62
), held AS (
    SELECT session_id, (SELECT trust FROM span) * sum(idf) / (SELECT nullif(sum(idf), 0) FROM session_rarity) AS share
    FROM seen JOIN session_rarity ON (places >> (place - 1)) & 1 = 1 GROUP BY session_id
), keyed AS NOT MATERIALIZED (
    SELECT *, CASE WHEN own >= 0.2::float8 * (%(dense)b::float8 + %(lexical)b::float8) THEN own ELSE 0 END AS gives
    FROM (SELECT based.*, base + CASE WHEN kind = 0 THEN %(fact)b::float8 * coalesce(best, 0) ELSE 0 END AS own
          FROM based LEFT JOIN rested ON rested.n = based.n OFFSET 0) AS summed
    OFFSET 0
), beside AS MATERIALIZED (
    SELECT near.n, %(neighbour)b::float8 * coalesce(max(gives) FILTER (WHERE reach = 1), 0)
                   + %(second_neighbour)b::float8 * coalesce(max(gives) FILTER (WHERE reach = 2), 0) AS around
    FROM keyed AS k CROSS JOIN LATERAL (
        (SELECT row_number() OVER (ORDER BY m.sort_at DESC, m.turn_index DESC) AS reach, m.n
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = k.session_id
           AND (m.sort_at, m.turn_index) < (k.sort_at, k.turn_index)
         ORDER BY m.sort_at DESC, m.turn_index DESC LIMIT 2)
        UNION ALL
        (SELECT row_number() OVER (ORDER BY m.sort_at, m.turn_index), m.n
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = k.session_id
           AND (m.sort_at, m.turn_index) > (k.sort_at, k.turn_index)
         ORDER BY m.sort_at, m.turn_index LIMIT 2)
    ) AS near
    WHERE (SELECT large FROM log_size) AND k.kind = 0 AND k.gives > 0
    GROUP BY near.n
), surrounded AS (
    SELECT n, kind, session_id, sort_at, turn_index, position, line_key, characters, tokens, distance, said_on, own,
           CASE WHEN kind = 0
                THEN %(neighbour)b::float8 * coalesce(greatest(lag(gives) OVER turns, lead(gives) OVER turns), 0)
                     + %(second_neighbour)b::float8
                       * coalesce(greatest(lag(gives, 2) OVER turns, lead(gives, 2) OVER turns), 0)
                ELSE 0
           END AS around
    FROM keyed WHERE (SELECT NOT large FROM log_size)
    WINDOW turns AS (PARTITION BY session_id, kind ORDER BY sort_at, turn_index)
    UNION ALL
    SELECT k.n, kind, session_id, sort_at, turn_index, position, line_key, characters, tokens, distance, said_on, own,
           coalesce(around, 0)
    FROM keyed AS k LEFT JOIN beside ON beside.n = k.n WHERE (SELECT large FROM log_size)
    UNION ALL
    SELECT m.n, 0, session_id, sort_at, turn_index, position, line_key,
           characters + CASE WHEN %(glossed)b::boolean THEN gloss_characters ELSE 0 END,
           tokens + CASE WHEN %(glossed)b::boolean THEN gloss_tokens ELSE 0 END,
           CASE WHEN %(query)b::halfvec IS NULL
                THEN -coalesce(date_part('epoch', occurred_at), -1e12)
                ELSE least(embedding <#> %(query)b::halfvec, embedding <#> %(second)b::halfvec)
           END,
           CASE WHEN cardinality(%(first_days)b::date[]) > 0
                THEN (occurred_at AT TIME ZONE 'UTC' + utc_offset * interval '1 minute')::date
           END,
           0, around
    FROM beside
    CROSS JOIN LATERAL (SELECT * FROM messages WHERE user_id = %(user_id)b::text AND n = beside.n LIMIT 1) AS m
    WHERE NOT EXISTS (SELECT FROM candidate WHERE candidate.n = beside.n)
), best AS MATERIALIZED (
    SELECT s.n, kind, s.session_id, sort_at, turn_index, position, line_key, characters, tokens, distance,
           own + around + CASE WHEN own + around > 0 THEN %(session)b::float8 * coalesce(share, 0) ELSE 0 END
               + CASE WHEN dated.n IS NOT NULL
                           OR said_on IS NOT NULL
                              AND EXISTS (SELECT FROM asked_times WHERE said_on BETWEEN first_day AND last_day)
                      THEN %(time)b::float8 ELSE 0 END AS total
    FROM surrounded AS s LEFT JOIN held ON held.session_id = s.session_id LEFT JOIN dated ON dated.n = s.n
    WHERE s.n <> ALL (%(withheld)b::bigint[])
    ORDER BY total DESC, distance, CASE WHEN %(ties)b::integer < 0 THEN sort_at END DESC NULLS LAST, sort_at,
             %(ties)b::integer * turn_index, kind, position, s.session_id
    LIMIT %(hits)b::integer
), ranked AS MATERIALIZED (
    SELECT *, row_number() OVER (
                  ORDER BY total DESC, distance, CASE WHEN %(ties)b::integer < 0 THEN sort_at END DESC NULLS LAST, sort_at,
                           %(ties)b::integer * turn_index, kind, position, session_id)::integer AS rank
    FROM best
), pool AS MATERIALIZED (
    -- subvector: a fresh value in memory, where the stored one is read from its side table for each product.
    SELECT rank, coalesce((total - min(total) OVER ()) / nullif(max(total) OVER () - min(total) OVER (), 0), 0) AS relevance,
           subvector(coalesce(m.embedding, f.embedding), 1, 1024) AS embedding
    FROM ranked
    LEFT JOIN messages AS m ON kind = 0 AND m.user_id = %(user_id)b::text AND m.n = ranked.n
    LEFT JOIN facts AS f ON kind = 1 AND f.user_id = %(user_id)b::text AND f.n = ranked.n
    WHERE %(variety)b::float8 > 0 AND rank <= 200
), likeness AS MATERIALIZED (
    SELECT a.rank, a.relevance, ARRAY(SELECT -(a.embedding <#> b.embedding) FROM pool AS b ORDER BY b.rank) AS to_each
    FROM pool AS a
), varied AS (
    WITH RECURSIVE left_over(step, rank, alike, chosen) AS (
        SELECT 1, rank, '-Infinity'::float8, 1 FROM likeness
        UNION ALL
        SELECT step + 1, rank, alike, first_value(rank) OVER (
                   ORDER BY (1 - %(variety)b::float8) * relevance - %(variety)b::float8 * alike DESC, rank)
        FROM (SELECT step, rank, relevance, greatest(alike, to_each[chosen]) AS alike
              FROM left_over JOIN likeness USING (rank) WHERE rank <> chosen) AS compared
    )
    SELECT step, rank FROM left_over WHERE rank = chosen
), hits AS MATERIALIZED (
    SELECT * FROM (
        SELECT ranked.*, coalesce(step, ranked.rank) AS hit FROM ranked LEFT JOIN varied ON varied.rank = ranked.rank
    ) AS ordered
    WHERE hit <= %(memories)b::integer + (SELECT count(*) - count(DISTINCT line_key) FROM best)
), walk AS (
    SELECT hit, 0 AS step, n, kind, line_key, characters, tokens, total FROM hits
    UNION ALL
    SELECT hit, 2 * near.reach - near.earlier, near.n, 0, near.line_key, near.characters, near.tokens, total
    FROM hits CROSS JOIN LATERAL (
        (SELECT 1 AS earlier, row_number() OVER (ORDER BY m.sort_at DESC, m.turn_index DESC) AS reach, m.n, m.line_key,
                m.characters + CASE WHEN %(glossed)b::boolean THEN m.gloss_characters ELSE 0 END AS characters,
                m.tokens + CASE WHEN %(glossed)b::boolean THEN m.gloss_tokens ELSE 0 END AS tokens
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = hits.session_id
           AND (m.sort_at, m.turn_index) < (hits.sort_at, hits.turn_index)
         ORDER BY m.sort_at DESC, m.turn_index DESC LIMIT %(radius)b::integer)
        UNION ALL
        (SELECT 0, row_number() OVER (ORDER BY m.sort_at, m.turn_index), m.n, m.line_key,
                m.characters + CASE WHEN %(glossed)b::boolean THEN m.gloss_characters ELSE 0 END,
                m.tokens + CASE WHEN %(glossed)b::boolean THEN m.gloss_tokens ELSE 0 END
         FROM messages AS m
         WHERE m.user_id = %(user_id)b::text AND m.session_id = hits.session_id
           AND (m.sort_at, m.turn_index) > (hits.sort_at, hits.turn_index)
         ORDER BY m.sort_at, m.turn_index LIMIT %(radius)b::integer)
    ) AS near
    WHERE hits.kind = 0 AND %(radius)b::integer > 0 AND near.n <> ALL (%(withheld)b::bigint[])
), taken AS (
    SELECT DISTINCT ON (line_key) hit, step, n, kind, total,
           characters + CASE WHEN tag THEN 60 ELSE 0 END AS characters, tokens + CASE WHEN tag THEN 30 ELSE 0 END AS tokens
    FROM walk
    CROSS JOIN LATERAL (
        SELECT %(tagged)b::boolean AND EXISTS (SELECT FROM states AS s
                                               WHERE s.user_id = %(user_id)b::text AND s.n = walk.n) AS tag
    ) AS tags
    ORDER BY line_key, hit, step
), counted AS (
    SELECT *, row_number() OVER walked AS place,
           sum(characters) OVER walked AS characters_so_far, sum(tokens) OVER walked AS tokens_so_far
    FROM taken WINDOW walked AS (ORDER BY hit, step ROWS UNBOUNDED PRECEDING)
), kept AS (
    SELECT n, kind, place, total FROM counted
    WHERE place <= %(memories)b::integer
      AND (place = 1 OR (characters_so_far <= %(characters)b::bigint AND tokens_so_far <= %(tokens)b::bigint))
)
SELECT k.kind, coalesce(m.id, f.id) AS id, m.speaker, coalesce(m.content, f.content) AS content,
       coalesce(m.occurred_at, f.occurred_at) AS occurred_at, coalesce(m.utc_offset, f.utc_offset) AS utc_offset,
       k.total AS score,
       CASE WHEN %(glossed)b::boolean
            THEN (SELECT jsonb_agg(jsonb_build_array(d.place, d.surface, d.grain, d.first_day, d.last_day, d.rule)
                                   ORDER BY d.place)
                  FROM dates AS d WHERE d.user_id = %(user_id)b::text AND d.n = k.n)
       END AS dates, k.n
FROM kept AS k
LEFT JOIN messages AS m ON k.kind = 0 AND m.user_id = %(user_id)b::text AND m.n = k.n
LEFT JOIN facts AS f ON k.kind = 1 AND f.user_id = %(user_id)b::text AND f.n = k.n
ORDER BY CASE WHEN %(raw_first)b::boolean THEN k.kind ELSE 0 END, k.place
