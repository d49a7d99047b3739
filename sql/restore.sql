-- Brings hidden memories `ns` of one user back, with their terms and dates derived anew, unless one of them is hidden no
-- more: they are then read anew. Behind lock.sql, as forget.sql.
-- parameters: user_id text, audit_id uuid, selected_by text[], ns bigint[], terms_length bigint,
--   gloss_characters integer[], gloss_tokens integer[], term_places integer[], terms text[], term_counts smallint[],
--   term_lengths integer[], term_words text[], words text[], word_terms text[], date_memories integer[],
--   date_places integer[], date_surfaces text[], date_grains text[], first_days date[], last_days date[],
--   date_rules text[], state_memories integer[], state_places smallint[], subject_keys text[], attributes text[],
--   state_values text[], relatives boolean[], closings boolean[], drawns boolean[], alones boolean[]
WITH memories AS MATERIALIZED (
    SELECT m.n, m.place - 1 AS place, m.gloss_characters, m.gloss_tokens
    FROM unnest(%(ns)b::bigint[], %(gloss_characters)b::integer[], %(gloss_tokens)b::integer[])
         WITH ORDINALITY AS m(n, gloss_characters, gloss_tokens, place)
    WHERE NOT EXISTS (
        SELECT FROM unnest(%(ns)b::bigint[]) AS one(n)
        WHERE NOT EXISTS (SELECT FROM forgotten_messages AS m WHERE m.user_id = %(user_id)b::text AND m.n = one.n)
          AND NOT EXISTS (SELECT FROM forgotten_facts AS f WHERE f.user_id = %(user_id)b::text AND f.n = one.n))
), found_messages AS (
    DELETE FROM forgotten_messages AS m USING memories WHERE m.user_id = %(user_id)b::text AND m.n = memories.n
    RETURNING m.*, memories.gloss_characters AS new_characters, memories.gloss_tokens AS new_tokens
), found_facts AS (
    DELETE FROM forgotten_facts AS f USING memories WHERE f.user_id = %(user_id)b::text AND f.n = memories.n
    RETURNING f.*, memories.gloss_characters AS new_characters, memories.gloss_tokens AS new_tokens
), said AS (
    INSERT INTO messages (user_id, n, id, turn_index, position, characters, tokens, dated, occurred_at, utc_offset,
                          line_key, gloss_characters, gloss_tokens, session_id, request_id, role, speaker, content,
                          embedding)
    SELECT user_id, n, id, turn_index, position, characters, tokens, dated, occurred_at, utc_offset, line_key,
           new_characters, new_tokens, session_id, request_id, role, speaker, content, embedding
    FROM found_messages
), drawn AS (
    INSERT INTO facts (user_id, n, id, turn_index, position, characters, tokens, prompt_version, occurred_at,
                       utc_offset, line_key, gloss_characters, gloss_tokens, session_id, request_id, language_model,
                       content, source_ns, embedding)
    SELECT user_id, n, id, turn_index, position, characters, tokens, prompt_version, occurred_at, utc_offset, line_key,
           new_characters, new_tokens, session_id, request_id, language_model, content, source_ns, embedding
    FROM found_facts
), held AS (
    INSERT INTO terms (user_id, term, n, count, length, words)
    SELECT %(user_id)b::text, t.term, m.n, t.count, t.length, t.words::text[]
    FROM memories AS m
    JOIN unnest(%(term_places)b::integer[], %(terms)b::text[], %(term_counts)b::smallint[],
                %(term_lengths)b::integer[], %(term_words)b::text[]) AS t(place, term, count, length, words)
      ON t.place = m.place
), spelt AS (
    INSERT INTO spellings (user_id, key, missing, term)
    SELECT DISTINCT %(user_id)b::text, left(w.word, gap) || substr(w.word, gap + 2),
           CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
    FROM unnest(%(words)b::text[], %(word_terms)b::text[]) AS w(word, term)
    CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
    WHERE EXISTS (SELECT FROM memories)
    ON CONFLICT DO NOTHING
), meant AS (
    INSERT INTO dates (user_id, n, place, surface, grain, first_day, last_day, rule)
    SELECT %(user_id)b::text, m.n, d.place, d.surface, d.grain, d.first_day, d.last_day, d.rule
    FROM memories AS m
    JOIN unnest(%(date_memories)b::integer[], %(date_places)b::integer[], %(date_surfaces)b::text[],
                %(date_grains)b::text[], %(first_days)b::date[], %(last_days)b::date[], %(date_rules)b::text[])
         AS d(memory, place, surface, grain, first_day, last_day, rule)
      ON d.memory = m.place
), told AS (
    -- Its states stayed where they were, unless it was hidden before it was read for any.
    INSERT INTO states (user_id, n, place, subject_key, attribute, value, relative, closes, drawn, alone)
    SELECT %(user_id)b::text, m.n, s.place, s.subject_key, s.attribute, s.value, s.relative, s.closes, s.drawn, s.alone
    FROM memories AS m
    JOIN unnest(%(state_memories)b::integer[], %(state_places)b::smallint[], %(subject_keys)b::text[],
                %(attributes)b::text[], %(state_values)b::text[], %(relatives)b::boolean[], %(closings)b::boolean[],
                %(drawns)b::boolean[], %(alones)b::boolean[])
         AS s(memory, place, subject_key, attribute, value, relative, closes, drawn, alone)
      ON s.memory = m.place
    WHERE NOT EXISTS (SELECT FROM states AS there WHERE there.user_id = %(user_id)b::text AND there.n = m.n)
), filled AS (
    UPDATE sessions SET forgotten = sessions.forgotten - found.messages
    FROM (SELECT session_id, count(*) AS messages FROM found_messages GROUP BY session_id) AS found
    WHERE sessions.user_id = %(user_id)b::text AND sessions.session_id = found.session_id
), counts AS MATERIALIZED (
    SELECT (SELECT count(*) FROM found_messages) AS messages, (SELECT count(*) FROM found_facts) AS facts
), owner AS (
    -- The vectors' index reaches what comes back when it has been copied again: until then from there on is scanned.
    UPDATE users SET forgotten = forgotten - messages - facts, terms_length = terms_length + %(terms_length)b::bigint,
                     indexed_through = least(indexed_through, (SELECT min(n) FROM memories))
    FROM counts WHERE user_id = %(user_id)b::text AND messages + facts > 0
), audited AS (
    INSERT INTO audit (user_id, audit_id, action, selected_by, messages, facts)
    SELECT %(user_id)b::text, %(audit_id)b::uuid, 'restore', %(selected_by)b::text[], messages, facts
    FROM counts WHERE messages + facts = cardinality(%(ns)b::bigint[])
)
SELECT messages, facts FROM counts WHERE messages + facts = cardinality(%(ns)b::bigint[])
