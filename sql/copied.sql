-- Says that the vectors of one user from `since` to before `until` are copied, and takes out those of memories that were
-- forgotten while copy.sql was at it. Behind lock.sql: a forgetting comes before or after.
-- Nothing is said where a restore has put the mark back meanwhile: the next batch begins there.
-- parameters: user_id text, since bigint, until bigint
WITH gone AS (
    DELETE FROM large_vectors AS l
    WHERE l.user_id = %(user_id)b::text AND l.n >= %(since)b::bigint AND l.n < %(until)b::bigint
      AND NOT EXISTS (SELECT FROM messages AS m WHERE m.user_id = %(user_id)b::text AND m.n = l.n)
      AND NOT EXISTS (SELECT FROM facts AS f WHERE f.user_id = %(user_id)b::text AND f.n = l.n)
)
UPDATE users SET indexed_through = %(until)b::bigint
WHERE user_id = %(user_id)b::text AND indexed_through = %(since)b::bigint
RETURNING indexed_through
