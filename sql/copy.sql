-- Copies the next vectors of one user, with the code of the user, into large_vectors: (since, until), the numbers done.
-- No row where another server is at it: one batch at a time over all processes, for each row costs some 5 ms of search
-- in the graph. No lock on the user: Adds go on. What is forgotten meanwhile is taken out by copied.sql.
-- parameters: user_id text, code halfvec, most integer, lock bigint
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock)b::bigint) AS mine
), batch AS MATERIALIZED (
    SELECT indexed_through AS since, least(next_n, indexed_through + %(most)b::integer) AS until FROM users
    WHERE user_id = %(user_id)b::text AND (SELECT mine FROM turn)
), copied AS (
    INSERT INTO large_vectors (user_id, n, coded)
    SELECT %(user_id)b::text, n, embedding || %(code)b::halfvec
    FROM (
        SELECT m.n, m.embedding FROM batch
        JOIN messages AS m ON m.user_id = %(user_id)b::text AND m.n >= since AND m.n < until
        UNION ALL
        SELECT f.n, f.embedding FROM batch
        JOIN facts AS f ON f.user_id = %(user_id)b::text AND f.n >= since AND f.n < until
    ) AS memory
    ON CONFLICT DO NOTHING
)
SELECT since, until FROM batch WHERE since < until
