-- Gives a request that was stored without facts those that a language model drew of its messages since: behind lock.sql,
-- unless someone else was faster, or one of the messages is gone. They are numbered after all that is stored by now; in
-- all else they are as add.sql would have left them.
-- message_ns: the messages that the model was shown; fact_sources: one array literal of places among these a fact.
-- Facts tell the states of their messages, in place of what patterns read.
-- parameters: user_id text, request_id text, extraction text, extraction_reason text, message_ns bigint[],
--   fact_count integer, fact_ids uuid[], fact_contents text[], fact_sources text[], fact_line_keys bytea[],
--   fact_characters integer[], fact_tokens integer[], fact_gloss_characters integer[], fact_gloss_tokens integer[],
--   fact_embeddings halfvec[], prompt_version smallint, language_model text, terms_version smallint,
--   terms_length bigint, term_places integer[], terms text[], term_counts smallint[], term_lengths integer[],
--   term_words text[], words text[], word_terms text[], date_memories integer[], date_places integer[],
--   date_surfaces text[], date_grains text[], first_days date[], last_days date[], date_rules text[],
--   state_memories integer[], state_places smallint[], subject_keys text[], attributes text[], state_values text[],
--   relatives boolean[], closings boolean[], drawns boolean[], alones boolean[]
WITH request AS (
    UPDATE requests SET extraction = %(extraction)b::text, extraction_reason = %(extraction_reason)b::text,
                        fact_count = %(fact_count)b::integer
    WHERE user_id = %(user_id)b::text AND request_id = %(request_id)b::text AND extraction IN ('off', 'failed')
      AND NOT EXISTS (
          SELECT FROM unnest(%(message_ns)b::bigint[]) AS shown(n)
          WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.user_id = %(user_id)b::text AND m.n = shown.n))
    RETURNING session_id
), owner AS (
    UPDATE users AS u SET
        next_n = u.next_n + %(fact_count)b::integer,
        terms_length = u.terms_length + %(terms_length)b::bigint,
        analysed_n = CASE WHEN u.analysed_n = u.next_n AND u.terms_version = %(terms_version)b::smallint
                          THEN u.next_n + %(fact_count)b::integer ELSE u.analysed_n END
    FROM request WHERE u.user_id = %(user_id)b::text
    RETURNING u.next_n - %(fact_count)b::integer AS first_n
), drawn AS (
    INSERT INTO facts (user_id, n, id, turn_index, position, characters, tokens, prompt_version, occurred_at,
                       utc_offset, line_key, gloss_characters, gloss_tokens, session_id, request_id, language_model,
                       content, source_ns, embedding)
    SELECT %(user_id)b::text, owner.first_n + f.place - 1, f.id, m.turn_index, f.place - 1, f.characters, f.tokens,
           %(prompt_version)b::smallint, m.occurred_at, m.utc_offset, f.line_key, f.gloss_characters, f.gloss_tokens,
           m.session_id, %(request_id)b::text, %(language_model)b::text, f.content,
           ARRAY(SELECT (%(message_ns)b::bigint[])[s + 1] FROM unnest(f.sources::integer[]) AS s), f.embedding
    FROM owner, unnest(%(fact_ids)b::uuid[], %(fact_contents)b::text[], %(fact_sources)b::text[],
                       %(fact_line_keys)b::bytea[], %(fact_characters)b::integer[], %(fact_tokens)b::integer[],
                       %(fact_gloss_characters)b::integer[], %(fact_gloss_tokens)b::integer[],
                       %(fact_embeddings)b::halfvec[])
         WITH ORDINALITY AS f(id, content, sources, line_key, characters, tokens, gloss_characters, gloss_tokens,
                              embedding, place)
    JOIN messages AS m
      ON m.user_id = %(user_id)b::text AND m.n = (%(message_ns)b::bigint[])[(f.sources::integer[])[1] + 1]
), held AS (
    INSERT INTO terms (user_id, term, n, count, length, words)
    SELECT %(user_id)b::text, t.term, owner.first_n + t.place, t.count, t.length, t.words::text[]
    FROM owner, unnest(%(term_places)b::integer[], %(terms)b::text[], %(term_counts)b::smallint[],
                       %(term_lengths)b::integer[], %(term_words)b::text[]) AS t(place, term, count, length, words)
), meant AS (
    INSERT INTO dates (user_id, n, place, surface, grain, first_day, last_day, rule)
    SELECT %(user_id)b::text, owner.first_n + d.memory, d.place, d.surface, d.grain, d.first_day, d.last_day, d.rule
    FROM owner, unnest(%(date_memories)b::integer[], %(date_places)b::integer[], %(date_surfaces)b::text[],
                       %(date_grains)b::text[], %(first_days)b::date[], %(last_days)b::date[],
                       %(date_rules)b::text[]) AS d(memory, place, surface, grain, first_day, last_day, rule)
), untold AS (
    DELETE FROM states USING owner
    WHERE user_id = %(user_id)b::text AND n = ANY (%(message_ns)b::bigint[]) AND %(extraction)b::text = 'done'
    RETURNING n
), free AS MATERIALIZED (
    SELECT count(*) AS states FROM untold
), told AS (
    -- From `free`: what is deleted must be so before its like is inserted.
    INSERT INTO states (user_id, n, place, subject_key, attribute, value, relative, closes, drawn, alone)
    SELECT %(user_id)b::text,
           coalesce((%(message_ns)b::bigint[])[s.memory + 1],
                    owner.first_n + s.memory - cardinality(%(message_ns)b::bigint[])),
           s.place, s.subject_key, s.attribute, s.value, s.relative, s.closes, s.drawn, s.alone
    FROM free, owner, unnest(%(state_memories)b::integer[], %(state_places)b::smallint[], %(subject_keys)b::text[],
                             %(attributes)b::text[], %(state_values)b::text[], %(relatives)b::boolean[],
                             %(closings)b::boolean[], %(drawns)b::boolean[], %(alones)b::boolean[])
         AS s(memory, place, subject_key, attribute, value, relative, closes, drawn, alone)
), spelt AS (
    INSERT INTO spellings (user_id, key, missing, term)
    SELECT DISTINCT %(user_id)b::text, left(w.word, gap) || substr(w.word, gap + 2),
           CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
    FROM owner, unnest(%(words)b::text[], %(word_terms)b::text[]) AS w(word, term)
    CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
    WHERE NOT EXISTS (SELECT FROM spellings AS s WHERE s.user_id = %(user_id)b::text
                      AND s.key = w.word AND s.missing = 0 AND s.term = w.term)
    ON CONFLICT DO NOTHING
)
SELECT first_n FROM owner
