-- Begins one batch of an import: the requests of many users that are not there yet, and the counters as their Adds one by
-- one would leave them. Returns a row for each request of the batch: its place in it, from 1, whether this one stored it,
-- the digest that stands, and the first numbers n and turn_index of what it brings. What it brings follows by COPY, in the
-- same transaction.
--
-- As add.sql: requests before their owners' rows, so that an Add and an import that meet wait in the same order; within
-- the batch by key, so that two imports do. The owners' rows are locked until the commit. No request may stand twice in
-- one batch.
-- forgotten: of what the request brought those that are forgotten, as an export tells; 0 for a body.
-- parameters: user_ids text[], original_user_ids bytea[], request_ids text[], original_request_ids bytea[],
--   session_ids text[], original_session_ids bytea[], body_digests bytea[], received_ats timestamptz[],
--   message_counts integer[], fact_counts integer[], extractions text[], extraction_reasons text[],
--   terms_lengths bigint[], forgotten_messages integer[], forgotten_facts integer[], terms_version smallint
WITH batch AS MATERIALIZED (
    SELECT * FROM unnest(%(user_ids)b::text[], %(original_user_ids)b::bytea[], %(request_ids)b::text[],
                         %(original_request_ids)b::bytea[], %(session_ids)b::text[],
                         %(original_session_ids)b::bytea[], %(body_digests)b::bytea[],
                         %(received_ats)b::timestamptz[], %(message_counts)b::integer[], %(fact_counts)b::integer[],
                         %(extractions)b::text[], %(extraction_reasons)b::text[], %(terms_lengths)b::bigint[],
                         %(forgotten_messages)b::integer[], %(forgotten_facts)b::integer[]) WITH ORDINALITY
         AS b(user_id, original_user_id, request_id, original_request_id, session_id, original_session_id, body_digest,
              received_at, message_count, fact_count, extraction, extraction_reason, terms_length, forgotten_messages,
              forgotten_facts, place)
), request AS (
    INSERT INTO requests (user_id, request_id, original_id, session_id, body_digest, received_at, message_count,
                          fact_count, extraction, extraction_reason)
    SELECT user_id, request_id, original_request_id, session_id, body_digest, coalesce(received_at, now()),
           message_count, fact_count, extraction, extraction_reason
    FROM batch ORDER BY user_id COLLATE "C", request_id COLLATE "C"
    ON CONFLICT (user_id, request_id) DO UPDATE SET body_digest = requests.body_digest
    RETURNING user_id, request_id, (xmax = 0) AS stored, body_digest
), fresh AS MATERIALIZED (
    SELECT batch.*, message_count + fact_count AS memories,
           sum(message_count + fact_count) OVER (PARTITION BY user_id ORDER BY place) AS memories_through,
           sum(message_count) OVER (PARTITION BY user_id, session_id ORDER BY place) AS messages_through
    FROM batch JOIN request USING (user_id, request_id) WHERE stored
), brought AS MATERIALIZED (
    SELECT user_id, min(original_user_id) AS original_id, sum(memories)::bigint AS memories,
           sum(terms_length)::bigint AS terms_length, min(coalesce(received_at, now())) AS created_at,
           sum(forgotten_messages + forgotten_facts)::bigint AS forgotten
    FROM fresh GROUP BY user_id
), owner AS (
    INSERT INTO users AS u (user_id, original_id, next_n, created_at, terms_version, analysed_n, terms_length,
                            forgotten)
    SELECT user_id, original_id, memories, created_at, %(terms_version)b::smallint, memories, terms_length, forgotten
    FROM brought ORDER BY user_id COLLATE "C"
    ON CONFLICT (user_id) DO UPDATE SET
        next_n = u.next_n + excluded.next_n,
        terms_length = u.terms_length + excluded.terms_length,
        forgotten = u.forgotten + excluded.forgotten,
        analysed_n = CASE WHEN u.analysed_n = u.next_n AND u.terms_version = excluded.terms_version
                          THEN u.next_n + excluded.next_n ELSE u.analysed_n END
    RETURNING user_id, next_n
), session AS (
    INSERT INTO sessions AS s (user_id, session_id, original_id, next_turn_index, forgotten)
    SELECT user_id, session_id, min(original_session_id), sum(message_count)::integer,
           sum(fresh.forgotten_messages)::integer
    FROM owner JOIN fresh USING (user_id) GROUP BY user_id, session_id
    ON CONFLICT (user_id, session_id) DO UPDATE SET
        next_turn_index = s.next_turn_index + excluded.next_turn_index,
        forgotten = s.forgotten + excluded.forgotten
    RETURNING user_id, session_id, next_turn_index
), turned AS MATERIALIZED (
    SELECT user_id, session_id, sum(message_count) AS messages FROM fresh GROUP BY user_id, session_id
)
SELECT batch.place, request.stored, request.body_digest,
       (owner.next_n - brought.memories + fresh.memories_through - fresh.memories)::bigint AS first_n,
       (session.next_turn_index - turned.messages + fresh.messages_through - fresh.message_count)::integer AS first_turn
FROM batch JOIN request USING (user_id, request_id)
LEFT JOIN fresh ON fresh.place = batch.place
LEFT JOIN owner ON owner.user_id = fresh.user_id
LEFT JOIN brought ON brought.user_id = fresh.user_id
LEFT JOIN session ON session.user_id = fresh.user_id AND session.session_id = fresh.session_id
LEFT JOIN turned ON turned.user_id = fresh.user_id AND turned.session_id = fresh.session_id
ORDER BY batch.place
