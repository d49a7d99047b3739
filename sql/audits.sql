-- What was forgotten and restored, user after user, in the order it was done; as export.sql.
-- parameters: user_id text
SELECT a.user_id, u.original_id, a.audit_id, (extract(epoch FROM a.done_at) * 1000000)::bigint AS done_at, a.action,
       a.selected_by, a.messages, a.facts
FROM audit AS a JOIN users AS u ON u.user_id = a.user_id
WHERE %(user_id)b::text IS NULL OR a.user_id = %(user_id)b::text
ORDER BY a.user_id, a.done_at, a.audit_id
