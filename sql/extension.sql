-- Where pgvector lives, the numbers of its half-precision type, and its version.
-- parameters:
SELECT n.nspname, t.oid, t.typarray, e.extversion
FROM pg_extension AS e
JOIN pg_namespace AS n ON n.oid = e.extnamespace
JOIN pg_type AS t ON t.typnamespace = n.oid AND t.typname = 'halfvec'
WHERE e.extname = 'vector'
