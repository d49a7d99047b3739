-- The states that are needed to tell what of some chains is current: those of the chains named, or of the chains that
-- the memories `ns` are part of; and all others that the memories of these tell, with what each memory is.
-- What is forgotten is in neither table, and drops out.
-- parameters: user_id text, subject_keys text[], attributes text[], ns bigint[]
WITH named AS MATERIALIZED (
    SELECT DISTINCT subject_key, attribute FROM states
    WHERE user_id = %(user_id)b::text AND n = ANY (%(ns)b::bigint[])
    UNION
    SELECT * FROM unnest(%(subject_keys)b::text[], %(attributes)b::text[]) AS asked(subject_key, attribute)
), linked AS MATERIALIZED (
    SELECT DISTINCT s.n FROM named
    JOIN states AS s ON s.user_id = %(user_id)b::text AND s.subject_key = named.subject_key
                        AND s.attribute = named.attribute
), wanted AS MATERIALIZED (
    SELECT DISTINCT s.subject_key, s.attribute FROM linked
    JOIN states AS s ON s.user_id = %(user_id)b::text AND s.n = linked.n
)
SELECT s.n, s.subject_key, s.attribute, s.value, s.relative, s.closes, s.alone,
       coalesce(m.occurred_at, f.occurred_at) AS occurred_at, coalesce(m.utc_offset, f.utc_offset) AS utc_offset,
       coalesce(m.id, f.id) AS id, m.speaker, coalesce(m.content, f.content) AS content
FROM wanted
JOIN states AS s ON s.user_id = %(user_id)b::text AND s.subject_key = wanted.subject_key
                    AND s.attribute = wanted.attribute
LEFT JOIN messages AS m ON m.user_id = %(user_id)b::text AND m.n = s.n
LEFT JOIN facts AS f ON f.user_id = %(user_id)b::text AND f.n = s.n
WHERE m.n IS NOT NULL OR f.n IS NOT NULL
ORDER BY s.n, s.place
