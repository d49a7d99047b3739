-- Of many requests those that are stored, and the digests under which they are.
-- parameters: user_ids text[], request_ids text[]
SELECT r.user_id, r.request_id, r.body_digest
FROM unnest(%(user_ids)b::text[], %(request_ids)b::text[]) AS asked(user_id, request_id)
JOIN requests AS r ON r.user_id = asked.user_id AND r.request_id = asked.request_id
