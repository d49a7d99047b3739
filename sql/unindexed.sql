-- The first user after `after` whose log is large and not yet all in large_vectors. Across users, as unanalysed.sql.
-- parameters: user_id text, index_from bigint
SELECT user_id FROM users
WHERE user_id > %(user_id)b::text AND indexed_through < next_n
  AND (indexed_through > 0 OR next_n - forgotten > %(index_from)b::bigint)
ORDER BY user_id LIMIT 1
