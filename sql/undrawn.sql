-- The requests of all users (or of one) that were stored without a language model, or while it failed, with the messages
-- of them that are there: user after user, in the order they came.
-- parameters: user_id text
SELECT r.user_id, u.original_id AS original_user_id, r.request_id, r.original_id AS original_request_id, r.session_id,
       r.body_digest, m.ns, m.messages
FROM requests AS r
JOIN users AS u ON u.user_id = r.user_id
JOIN (SELECT user_id, request_id, array_agg(n ORDER BY n) AS ns,
             json_agg(json_build_array(role, speaker, content, dated, (extract(epoch FROM occurred_at) * 1000000)::bigint,
                                       utc_offset) ORDER BY n) AS messages
      FROM messages GROUP BY user_id, request_id) AS m
  ON m.user_id = r.user_id AND m.request_id = r.request_id
WHERE r.extraction IN ('off', 'failed') AND (%(user_id)b::text IS NULL OR r.user_id = %(user_id)b::text)
ORDER BY r.user_id, m.ns[1]
