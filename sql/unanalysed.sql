-- The first user after `after` whose log waits to be analysed: stored by an older analysis, or by a server that
-- knew none. Across users: it names them to the server, which then works for one at a time.
-- parameters: user_id text, terms_version smallint
SELECT user_id FROM users
WHERE user_id > %(user_id)b::text AND (analysed_n < next_n OR terms_version < %(terms_version)b::smallint)
ORDER BY user_id LIMIT 1
