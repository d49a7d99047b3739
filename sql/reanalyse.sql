-- Gives the memories `ns`, those from `since` to before `until` of one user, their terms, dates and states in place of those
-- they had, unless another server was faster, or one of them is gone: the batch is then read anew. Behind lock.sql: Adds
-- wait for the moment that it takes, and what was forgotten meanwhile is seen to be.
-- parameters: user_id text, since bigint, until bigint, terms_version smallint, ns bigint[], lengths integer[],
--   gloss_characters integer[], gloss_tokens integer[], term_places integer[], terms text[], term_counts smallint[],
--   term_lengths integer[], term_words text[], words text[], word_terms text[], date_memories integer[],
--   date_places integer[], date_surfaces text[], date_grains text[], first_days date[], last_days date[],
--   date_rules text[], state_memories integer[], state_places smallint[],
--   subject_keys text[], attributes text[], state_values text[], relatives boolean[], closings boolean[], drawns boolean[], alones boolean[]
WITH mine AS MATERIALIZED (
    SELECT user_id FROM users
    WHERE user_id = %(user_id)b::text AND analysed_n = %(since)b::bigint
      AND terms_version = %(terms_version)b::smallint
      AND NOT EXISTS (
          SELECT FROM unnest(%(ns)b::bigint[]) AS memory(n)
          WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.user_id = %(user_id)b::text AND m.n = memory.n)
            AND NOT EXISTS (SELECT FROM facts AS f WHERE f.user_id = %(user_id)b::text AND f.n = memory.n))
), memories AS MATERIALIZED (
    SELECT m.n, m.place - 1 AS place, m.length, m.gloss_characters, m.gloss_tokens
    FROM mine, unnest(%(ns)b::bigint[], %(lengths)b::integer[], %(gloss_characters)b::integer[],
                      %(gloss_tokens)b::integer[])
         WITH ORDINALITY AS m(n, length, gloss_characters, gloss_tokens, place)
), old AS (
    DELETE FROM terms USING mine
    WHERE terms.user_id = %(user_id)b::text AND n >= %(since)b::bigint AND n < %(until)b::bigint
    RETURNING n, length
), gone AS MATERIALIZED (
    SELECT coalesce(sum(length), 0) AS length FROM (SELECT DISTINCT n, length FROM old) AS memories
), held AS (
    -- From `gone`: what is deleted must be so before its like is inserted.
    INSERT INTO terms (user_id, term, n, count, length, words)
    SELECT %(user_id)b::text, t.term, m.n, t.count, t.length, t.words::text[]
    FROM gone, memories AS m
    JOIN unnest(%(term_places)b::integer[], %(terms)b::text[], %(term_counts)b::smallint[],
                %(term_lengths)b::integer[], %(term_words)b::text[]) AS t(place, term, count, length, words)
      ON t.place = m.place
), spelt AS (
    INSERT INTO spellings (user_id, key, missing, term)
    SELECT DISTINCT %(user_id)b::text, left(w.word, gap) || substr(w.word, gap + 2),
           CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
    FROM mine, unnest(%(words)b::text[], %(word_terms)b::text[]) AS w(word, term)
    CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
    WHERE NOT EXISTS (SELECT FROM spellings AS s WHERE s.user_id = %(user_id)b::text
                      AND s.key = w.word AND s.missing = 0 AND s.term = w.term)
    ON CONFLICT DO NOTHING
), old_dates AS (
    DELETE FROM dates USING mine
    WHERE dates.user_id = %(user_id)b::text AND n >= %(since)b::bigint AND n < %(until)b::bigint
    RETURNING n
), dates_gone AS MATERIALIZED (
    SELECT count(*) AS dates FROM old_dates
), meant AS (
    INSERT INTO dates (user_id, n, place, surface, grain, first_day, last_day, rule)
    SELECT %(user_id)b::text, m.n, d.place, d.surface, d.grain, d.first_day, d.last_day, d.rule
    FROM dates_gone, memories AS m
    JOIN unnest(%(date_memories)b::integer[], %(date_places)b::integer[], %(date_surfaces)b::text[],
                %(date_grains)b::text[], %(first_days)b::date[], %(last_days)b::date[], %(date_rules)b::text[])
         AS d(memory, place, surface, grain, first_day, last_day, rule)
      ON d.memory = m.place
), old_states AS (
    -- Not by range: those of what lies hidden wait for its return.
    DELETE FROM states USING memories AS m
    WHERE states.user_id = %(user_id)b::text AND states.n = m.n AND NOT drawn
    RETURNING states.n
), states_gone AS MATERIALIZED (
    SELECT count(*) AS states FROM old_states
), told AS (
    INSERT INTO states (user_id, n, place, subject_key, attribute, value, relative, closes, drawn, alone)
    SELECT %(user_id)b::text, m.n, s.place, s.subject_key, s.attribute, s.value, s.relative, s.closes, s.drawn, s.alone
    FROM states_gone, memories AS m
    JOIN unnest(%(state_memories)b::integer[], %(state_places)b::smallint[], %(subject_keys)b::text[],
                %(attributes)b::text[], %(state_values)b::text[], %(relatives)b::boolean[], %(closings)b::boolean[],
                %(drawns)b::boolean[], %(alones)b::boolean[])
         AS s(memory, place, subject_key, attribute, value, relative, closes, drawn, alone)
      ON s.memory = m.place
), glossed AS (
    UPDATE messages SET gloss_characters = m.gloss_characters, gloss_tokens = m.gloss_tokens
    FROM memories AS m
    WHERE messages.user_id = %(user_id)b::text AND messages.n = m.n
      AND (messages.gloss_characters, messages.gloss_tokens) <> (m.gloss_characters, m.gloss_tokens)
), facts_glossed AS (
    UPDATE facts SET gloss_characters = m.gloss_characters, gloss_tokens = m.gloss_tokens
    FROM memories AS m
    WHERE facts.user_id = %(user_id)b::text AND facts.n = m.n
      AND (facts.gloss_characters, facts.gloss_tokens) <> (m.gloss_characters, m.gloss_tokens)
)
UPDATE users SET analysed_n = %(until)b::bigint,
                 terms_length = terms_length + (SELECT coalesce(sum(length), 0) FROM memories) - gone.length
FROM mine, gone WHERE users.user_id = mine.user_id
RETURNING users.user_id
