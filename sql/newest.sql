-- When the newest message of one user was said: what "last summer" in a question is counted from.
-- parameters: user_id text
SELECT occurred_at, utc_offset FROM messages
WHERE user_id = %(user_id)b::text AND occurred_at IS NOT NULL
ORDER BY sort_at DESC, n DESC LIMIT 1
