-- That something was forgotten or restored, as an export tells it; once.
-- parameters: user_id text, audit_id uuid, done_at timestamptz, action text, selected_by text[], messages integer,
--   facts integer
INSERT INTO audit (user_id, audit_id, done_at, action, selected_by, messages, facts)
VALUES (%(user_id)b::text, %(audit_id)b::uuid, %(done_at)b::timestamptz, %(action)b::text, %(selected_by)b::text[],
        %(messages)b::integer, %(facts)b::integer)
ON CONFLICT DO NOTHING
