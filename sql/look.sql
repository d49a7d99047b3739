-- Has this request been stored? Its digest tells a repeat from another body.
-- parameters: user_id text, request_id text
SELECT body_digest
FROM requests
WHERE user_id = %(user_id)b::text AND request_id = %(request_id)b::text
