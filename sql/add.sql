-- Stores one Add, all of it or nothing; returns whose request stands: (stored, body_digest).
--
-- A request that waited for its twin to commit sees the twin's digest: DO UPDATE returns the row, where DO
-- NOTHING would return none; xmax = 0 on a row that this statement inserted. Everything after it draws from
-- `request` WHERE stored, so a repeat touches nothing else. The owner's row is locked until the commit: the
-- order of n is the order of commits.
-- parameters: user_id text, original_user_id bytea, session_id text, original_session_id bytea,
--   request_id text, original_request_id bytea, body_digest bytea, extraction text, extraction_reason text,
--   message_ids uuid[], roles text[], speakers text[], contents text[], occurred_ats timestamptz[],
--   dateds boolean[], utc_offsets smallint[], line_keys bytea[], characters integer[], tokens integer[],
--   gloss_characters integer[], gloss_tokens integer[], embeddings halfvec[],
--   message_count integer, fact_count integer, fact_ids uuid[], fact_contents text[],
--   fact_sources text[], fact_line_keys bytea[], fact_characters integer[], fact_tokens integer[],
--   fact_gloss_characters integer[], fact_gloss_tokens integer[], fact_embeddings halfvec[],
--   prompt_version smallint, language_model text, terms_version smallint, terms_length bigint,
--   term_places integer[], terms text[], term_counts smallint[], term_lengths integer[], term_words text[],
--   words text[], word_terms text[], date_memories integer[], date_places integer[], date_surfaces text[],
--   date_grains text[], first_days date[], last_days date[], date_rules text[],
--   state_memories integer[], state_places smallint[], subject_keys text[], attributes text[], state_values text[],
--   relatives boolean[], closings boolean[], drawns boolean[], alones boolean[]
WITH request AS (
    INSERT INTO requests (user_id, request_id, original_id, session_id, body_digest,
                          message_count, fact_count, extraction, extraction_reason)
    VALUES (%(user_id)b::text, %(request_id)b::text, %(original_request_id)b::bytea, %(session_id)b::text,
            %(body_digest)b::bytea, %(message_count)b::integer, %(fact_count)b::integer,
            %(extraction)b::text, %(extraction_reason)b::text)
    ON CONFLICT (user_id, request_id) DO UPDATE SET body_digest = requests.body_digest
    RETURNING (xmax = 0) AS stored, body_digest
), owner AS (
    -- analysed_n follows only where nothing before this Add waits to be analysed.
    INSERT INTO users AS u (user_id, original_id, next_n, terms_version, analysed_n, terms_length)
    SELECT %(user_id)b::text, %(original_user_id)b::bytea, %(message_count)b::integer + %(fact_count)b::integer,
           %(terms_version)b::smallint, %(message_count)b::integer + %(fact_count)b::integer,
           %(terms_length)b::bigint
    FROM request WHERE stored
    ON CONFLICT (user_id) DO UPDATE SET
        next_n = u.next_n + excluded.next_n,
        terms_length = u.terms_length + excluded.terms_length,
        analysed_n = CASE WHEN u.analysed_n = u.next_n AND u.terms_version = excluded.terms_version
                          THEN u.next_n + excluded.next_n ELSE u.analysed_n END
    RETURNING next_n - %(message_count)b::integer - %(fact_count)b::integer AS first_n
), session AS (
    INSERT INTO sessions AS s (user_id, session_id, original_id, next_turn_index)
    SELECT %(user_id)b::text, %(session_id)b::text, %(original_session_id)b::bytea, %(message_count)b::integer
    FROM owner
    ON CONFLICT (user_id, session_id) DO UPDATE SET next_turn_index = s.next_turn_index + excluded.next_turn_index
    RETURNING next_turn_index - %(message_count)b::integer AS first_turn
), said AS (
    INSERT INTO messages (user_id, n, id, turn_index, position, characters, tokens, dated, occurred_at, utc_offset,
                          line_key, gloss_characters, gloss_tokens, session_id, request_id, role, speaker, content,
                          embedding)
    SELECT %(user_id)b::text, owner.first_n + m.place - 1, m.id, session.first_turn + m.place - 1, m.place - 1,
           m.characters, m.tokens, m.dated, m.occurred_at, m.utc_offset, m.line_key, m.gloss_characters,
           m.gloss_tokens, %(session_id)b::text, %(request_id)b::text, m.role, m.speaker, m.content, m.embedding
    FROM owner, session,
         unnest(%(message_ids)b::uuid[], %(roles)b::text[], %(speakers)b::text[], %(contents)b::text[],
                %(occurred_ats)b::timestamptz[], %(dateds)b::boolean[], %(utc_offsets)b::smallint[],
                %(line_keys)b::bytea[], %(characters)b::integer[], %(tokens)b::integer[],
                %(gloss_characters)b::integer[], %(gloss_tokens)b::integer[], %(embeddings)b::halfvec[])
         WITH ORDINALITY
         AS m(id, role, speaker, content, occurred_at, dated, utc_offset, line_key, characters, tokens,
              gloss_characters, gloss_tokens, embedding, place)
), drawn AS (
    -- fact_sources: one array literal of positions a fact; a fact bears the date of its first source.
    INSERT INTO facts (user_id, n, id, turn_index, position, characters, tokens, prompt_version, occurred_at,
                       utc_offset, line_key, gloss_characters, gloss_tokens, session_id, request_id, language_model,
                       content, source_ns, embedding)
    SELECT %(user_id)b::text, owner.first_n + %(message_count)b::integer + f.place - 1, f.id,
           session.first_turn + (f.sources::integer[])[1], f.place - 1, f.characters, f.tokens,
           %(prompt_version)b::smallint, (%(occurred_ats)b::timestamptz[])[(f.sources::integer[])[1] + 1],
           (%(utc_offsets)b::smallint[])[(f.sources::integer[])[1] + 1], f.line_key, f.gloss_characters,
           f.gloss_tokens, %(session_id)b::text, %(request_id)b::text, %(language_model)b::text, f.content,
           ARRAY(SELECT owner.first_n + s FROM unnest(f.sources::integer[]) AS s), f.embedding
    FROM owner, session,
         unnest(%(fact_ids)b::uuid[], %(fact_contents)b::text[], %(fact_sources)b::text[],
                %(fact_line_keys)b::bytea[], %(fact_characters)b::integer[], %(fact_tokens)b::integer[],
                %(fact_gloss_characters)b::integer[], %(fact_gloss_tokens)b::integer[],
                %(fact_embeddings)b::halfvec[])
         WITH ORDINALITY AS f(id, content, sources, line_key, characters, tokens, gloss_characters, gloss_tokens,
                              embedding, place)
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
), told AS (
    INSERT INTO states (user_id, n, place, subject_key, attribute, value, relative, closes, drawn, alone)
    SELECT %(user_id)b::text, owner.first_n + s.memory, s.place, s.subject_key, s.attribute, s.value, s.relative,
           s.closes, s.drawn, s.alone
    FROM owner, unnest(%(state_memories)b::integer[], %(state_places)b::smallint[], %(subject_keys)b::text[],
                       %(attributes)b::text[], %(state_values)b::text[], %(relatives)b::boolean[],
                       %(closings)b::boolean[], %(drawns)b::boolean[], %(alones)b::boolean[])
         AS s(memory, place, subject_key, attribute, value, relative, closes, drawn, alone)
), spelt AS (
    -- A word that the log knows brought its spellings when it came. OFFSET 0 keeps that a look into the index a word:
    -- joined, it read every spelling of the user, or, planned on the empty tables of a new database, of everybody.
    INSERT INTO spellings (user_id, key, missing, term)
    SELECT DISTINCT %(user_id)b::text, left(w.word, gap) || substr(w.word, gap + 2),
           CASE WHEN gap = length(w.word) THEN 0 ELSE 1 END, w.term
    FROM owner, unnest(%(words)b::text[], %(word_terms)b::text[]) AS w(word, term)
    CROSS JOIN LATERAL generate_series(0, length(w.word)) AS gap
    WHERE NOT EXISTS (SELECT FROM spellings AS s WHERE s.user_id = %(user_id)b::text
                      AND s.key = w.word AND s.missing = 0 AND s.term = w.term OFFSET 0)
    ON CONFLICT DO NOTHING
)
SELECT stored, body_digest FROM request
