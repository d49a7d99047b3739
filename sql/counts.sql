-- How much is stored: one row per user is read, not one per memory.
-- parameters:
SELECT count(*), coalesce(sum(next_n), 0)::bigint FROM users
