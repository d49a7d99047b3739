-- All that a store knows of its requests, but for what is derived: a row each, users one after another. Of a user first
-- the requests of which messages are there (hidden ones count), in the order they came; then those without, by key.
-- messages, facts: hidden ones among them; states: those that a language model keyed. Moments as microseconds since 1970:
-- JSON has no other exact form for them that no setting changes.
-- parameters: user_id text
WITH keyed AS (
    SELECT user_id, n, json_agg(json_build_object('subject', subject_key, 'attribute', attribute, 'value', value,
                                                  'relative', relative, 'closes', closes, 'alone', alone)
                                ORDER BY place) AS states
    FROM states WHERE drawn AND (%(user_id)b::text IS NULL OR user_id = %(user_id)b::text) GROUP BY user_id, n
), said AS (
    SELECT user_id, request_id, min(n - position) AS first_n,
           json_agg(json_build_array(role, speaker, content, position, dated,
                                     (extract(epoch FROM occurred_at) * 1000000)::bigint, utc_offset, hidden_by, states)
                    ORDER BY position) AS messages
    FROM (
        SELECT user_id, request_id, n, role, speaker, content, position, dated, occurred_at, utc_offset,
               NULL::uuid AS hidden_by
        FROM messages
        UNION ALL
        SELECT user_id, request_id, n, role, speaker, content, position, dated, occurred_at, utc_offset, audit_id
        FROM forgotten_messages
    ) AS every_message LEFT JOIN keyed USING (user_id, n)
    WHERE %(user_id)b::text IS NULL OR user_id = %(user_id)b::text
    GROUP BY user_id, request_id
), drawn AS (
    SELECT user_id, request_id, min(language_model) AS language_model, min(prompt_version) AS prompt_version,
           json_agg(json_build_array(content, position, source_ns, hidden_by, asked, states) ORDER BY position) AS facts
    FROM (
        SELECT user_id, request_id, n, content, position, source_ns, language_model, prompt_version,
               NULL::uuid AS hidden_by, false AS asked
        FROM facts
        UNION ALL
        SELECT user_id, request_id, n, content, position, source_ns, language_model, prompt_version, audit_id, asked
        FROM forgotten_facts
    ) AS every_fact LEFT JOIN keyed USING (user_id, n)
    WHERE %(user_id)b::text IS NULL OR user_id = %(user_id)b::text
    GROUP BY user_id, request_id
)
SELECT r.user_id, u.original_id AS original_user_id, r.request_id, r.original_id AS original_request_id, r.session_id,
       s.original_id AS original_session_id, r.body_digest,
       (extract(epoch FROM r.received_at) * 1000000)::bigint AS received_at, r.message_count, r.fact_count, r.extraction,
       r.extraction_reason, drawn.language_model, drawn.prompt_version, said.first_n, said.messages, drawn.facts
FROM requests AS r
JOIN users AS u ON u.user_id = r.user_id
JOIN sessions AS s ON s.user_id = r.user_id AND s.session_id = r.session_id
LEFT JOIN said ON said.user_id = r.user_id AND said.request_id = r.request_id
LEFT JOIN drawn ON drawn.user_id = r.user_id AND drawn.request_id = r.request_id
WHERE %(user_id)b::text IS NULL OR r.user_id = %(user_id)b::text
ORDER BY r.user_id, said.first_n NULLS LAST, r.request_id
