-- Forgets memories of one user: takes them out of every table that a search reads, at once. Hidden ones lie in
-- forgotten_messages and forgotten_facts, whence restore.sql brings them back; with `erase` nothing of them stays.
-- Behind lock.sql: of two that forget, and of one that adds, the second sees what the first did.
--
-- 1. chosen: the messages that all of what is given picks (ids, session, time said); with `erase`, hidden ones too.
-- 2. going: facts picked by their id (asked); facts left without a message they rest on; with `erase`, every fact
--    that rests on a chosen one.
-- 3. What was derived from them goes: terms, dates, vectors of the index, and spellings that no word of another memory brings (unspelt; with
--    `erase` unwritten). A message's place in its session, and its request, stay: a replay is a repeat and brings
--    nothing back.
-- 4. audit: that it happened, never what was said.
-- parameters: user_id text, audit_id uuid, ids uuid[], session_id text, since timestamptz, until timestamptz,
--   erase boolean, selected_by text[]
WITH chosen AS MATERIALIZED (
    SELECT n, session_id, false AS hidden FROM messages
    WHERE user_id = %(user_id)b::text
      AND (%(ids)b::uuid[] IS NULL OR id = ANY (%(ids)b::uuid[]))
      AND (%(session_id)b::text IS NULL OR session_id = %(session_id)b::text)
      AND (%(since)b::timestamptz IS NULL OR occurred_at >= %(since)b::timestamptz)
      AND (%(until)b::timestamptz IS NULL OR occurred_at < %(until)b::timestamptz)
    UNION ALL
    SELECT n, session_id, true FROM forgotten_messages
    WHERE %(erase)b::boolean AND user_id = %(user_id)b::text
      AND (%(ids)b::uuid[] IS NULL OR id = ANY (%(ids)b::uuid[]))
      AND (%(session_id)b::text IS NULL OR session_id = %(session_id)b::text)
      AND (%(since)b::timestamptz IS NULL OR occurred_at >= %(since)b::timestamptz)
      AND (%(until)b::timestamptz IS NULL OR occurred_at < %(until)b::timestamptz)
), asked AS MATERIALIZED (
    SELECT n, hidden FROM (
        SELECT n, id, session_id, occurred_at, false AS hidden FROM facts WHERE user_id = %(user_id)b::text
        UNION ALL
        SELECT n, id, session_id, occurred_at, true FROM forgotten_facts
        WHERE %(erase)b::boolean AND user_id = %(user_id)b::text
    ) AS every_fact
    WHERE id = ANY (%(ids)b::uuid[])
      AND (%(session_id)b::text IS NULL OR session_id = %(session_id)b::text)
      AND (%(since)b::timestamptz IS NULL OR occurred_at >= %(since)b::timestamptz)
      AND (%(until)b::timestamptz IS NULL OR occurred_at < %(until)b::timestamptz)
), resting AS MATERIALIZED (
    SELECT f.n, source, chosen.n IS NOT NULL AS chosen,
           chosen.n IS NULL AND EXISTS (SELECT FROM messages AS m
                                        WHERE m.user_id = %(user_id)b::text AND m.n = source) AS stays
    FROM facts AS f CROSS JOIN LATERAL unnest(f.source_ns) AS source LEFT JOIN chosen ON chosen.n = source
    WHERE f.user_id = %(user_id)b::text
), going AS MATERIALIZED (
    SELECT n, bool_or(asked) AS asked FROM (
        SELECT n, true AS asked FROM asked WHERE NOT hidden
        UNION ALL
        SELECT n, false FROM resting GROUP BY n
        HAVING bool_or(chosen) AND (%(erase)b::boolean OR NOT bool_or(stays))
    ) AS either GROUP BY n
), taken_messages AS (
    DELETE FROM messages USING chosen WHERE messages.user_id = %(user_id)b::text AND messages.n = chosen.n
    RETURNING messages.*
), taken_facts AS (
    DELETE FROM facts USING going WHERE facts.user_id = %(user_id)b::text AND facts.n = going.n
    RETURNING facts.*, going.asked
), hidden_messages AS (
    INSERT INTO forgotten_messages (user_id, n, id, turn_index, position, characters, tokens, dated, occurred_at,
                                    utc_offset, line_key, gloss_characters, gloss_tokens, session_id, request_id,
                                    role, speaker, content, embedding, audit_id)
    SELECT user_id, n, id, turn_index, position, characters, tokens, dated, occurred_at, utc_offset, line_key,
           gloss_characters, gloss_tokens, session_id, request_id, role, speaker, content, embedding,
           %(audit_id)b::uuid
    FROM taken_messages WHERE NOT %(erase)b::boolean
), hidden_facts AS (
    INSERT INTO forgotten_facts (user_id, n, id, turn_index, position, characters, tokens, prompt_version,
                                 occurred_at, utc_offset, line_key, gloss_characters, gloss_tokens, session_id,
                                 request_id, language_model, content, source_ns, embedding, audit_id, asked)
    SELECT user_id, n, id, turn_index, position, characters, tokens, prompt_version, occurred_at, utc_offset, line_key,
           gloss_characters, gloss_tokens, session_id, request_id, language_model, content, source_ns, embedding,
           %(audit_id)b::uuid, asked
    FROM taken_facts WHERE NOT %(erase)b::boolean
), erased_messages AS (
    DELETE FROM forgotten_messages AS m USING chosen
    WHERE hidden AND m.user_id = %(user_id)b::text AND m.n = chosen.n RETURNING m.n
), erased_facts AS (
    DELETE FROM forgotten_facts AS f
    WHERE %(erase)b::boolean AND f.user_id = %(user_id)b::text
      AND (f.n IN (SELECT n FROM asked WHERE hidden) OR f.source_ns && ARRAY(SELECT n FROM chosen)) RETURNING f.n
), gone AS MATERIALIZED (
    SELECT n FROM chosen WHERE NOT hidden UNION ALL SELECT n FROM going
), unheld AS (
    DELETE FROM terms USING gone WHERE terms.user_id = %(user_id)b::text AND terms.n = gone.n
    RETURNING terms.n, term, length, words
), unindexed AS (
    DELETE FROM large_vectors AS l USING gone WHERE l.user_id = %(user_id)b::text AND l.n = gone.n
), undated AS (
    DELETE FROM dates USING gone WHERE dates.user_id = %(user_id)b::text AND dates.n = gone.n
), untold AS (
    -- States of what is hidden stay: chains.sql reads none whose memory is in neither table.
    DELETE FROM states USING (
        SELECT n FROM gone UNION ALL SELECT n FROM erased_messages UNION ALL SELECT n FROM erased_facts
    ) AS erased
    WHERE %(erase)b::boolean AND states.user_id = %(user_id)b::text AND states.n = erased.n
), unspelt AS (
    DELETE FROM spellings AS s USING (
        SELECT DISTINCT left(word, gap) || substr(word, gap + 2) AS key,
               CASE WHEN gap = length(word) THEN 0 ELSE 1 END AS missing, term
        FROM unheld CROSS JOIN LATERAL unnest(coalesce(words, ARRAY[term])) AS word
        CROSS JOIN LATERAL generate_series(0, length(word)) AS gap
    ) AS lost
    WHERE NOT %(erase)b::boolean
      AND s.user_id = %(user_id)b::text AND s.key = lost.key AND s.missing = lost.missing AND s.term = lost.term
      AND NOT EXISTS (
          SELECT FROM terms AS t CROSS JOIN LATERAL unnest(coalesce(t.words, ARRAY[t.term])) AS word
          WHERE t.user_id = %(user_id)b::text AND t.term = lost.term AND t.n NOT IN (SELECT n FROM gone)
            AND CASE WHEN lost.missing = 0 THEN word = lost.key
                     ELSE length(word) = length(lost.key) + 1
                          AND EXISTS (SELECT FROM generate_series(0, length(word) - 1) AS gap
                                      WHERE left(word, gap) || substr(word, gap + 2) = lost.key)
                END)
), unwritten AS (
    -- Every spelling that no word of what is left brings: of what an older release analysed the words are not known
    -- (NULL), and of what was hidden before the terms are gone. What is left gets its own back when it is analysed.
    DELETE FROM spellings AS s
    WHERE %(erase)b::boolean AND s.user_id = %(user_id)b::text
      AND NOT EXISTS (
          SELECT FROM (SELECT DISTINCT t.term, word
                       FROM terms AS t CROSS JOIN LATERAL unnest(coalesce(t.words, ARRAY[t.term])) AS word
                       WHERE t.user_id = %(user_id)b::text AND t.n NOT IN (SELECT n FROM gone)) AS held
          CROSS JOIN LATERAL generate_series(0, length(word)) AS gap
          WHERE held.term = s.term AND left(word, gap) || substr(word, gap + 2) = s.key
            AND CASE WHEN gap = length(word) THEN 0 ELSE 1 END = s.missing)
), emptied AS (
    UPDATE sessions SET forgotten = sessions.forgotten + taken.messages
    FROM (SELECT session_id, count(*) AS messages FROM taken_messages GROUP BY session_id) AS taken
    WHERE sessions.user_id = %(user_id)b::text AND sessions.session_id = taken.session_id
), counts AS MATERIALIZED (
    SELECT (SELECT count(*) FROM taken_messages) AS messages, (SELECT count(*) FROM taken_facts) AS facts,
           (SELECT count(*) FROM erased_messages) AS erased_messages,
           (SELECT count(*) FROM erased_facts) AS erased_facts,
           (SELECT coalesce(sum(length), 0) FROM (SELECT DISTINCT n, length FROM unheld) AS memories) AS length
), owner AS (
    UPDATE users SET forgotten = forgotten + messages + facts, terms_length = terms_length - length
    FROM counts WHERE user_id = %(user_id)b::text
), audited AS (
    INSERT INTO audit (user_id, audit_id, action, selected_by, messages, facts)
    SELECT %(user_id)b::text, %(audit_id)b::uuid, CASE WHEN %(erase)b::boolean THEN 'erase' ELSE 'forget' END,
           %(selected_by)b::text[], messages + erased_messages, facts + erased_facts
    FROM counts
)
SELECT messages + erased_messages AS messages, facts + erased_facts AS facts FROM counts
