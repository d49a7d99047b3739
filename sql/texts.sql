-- The next memories of one user to be analysed, in order, and where the analysis of that log stands. With another
-- version it begins anew; a memory is found by its old terms until its turn comes.
-- At most `most` of them, and none that begins after that many characters; the first always. Of two servers the one
-- with the newer analysis has its way.
-- role: NULL where a model drew facts, which tell the states; else they are read by patterns.
-- parameters: user_id text, terms_version smallint, most integer, characters bigint
WITH begun AS (
    UPDATE users SET terms_version = %(terms_version)b::smallint, analysed_n = 0
    WHERE user_id = %(user_id)b::text AND terms_version < %(terms_version)b::smallint
    RETURNING analysed_n
), since AS (
    SELECT coalesce((SELECT analysed_n FROM begun), analysed_n) AS n FROM users WHERE user_id = %(user_id)b::text
)
SELECT since, n, occurred_at, utc_offset, role, speaker, content FROM (
SELECT since.n AS since, memory.n, memory.occurred_at, memory.utc_offset, memory.role, memory.speaker, memory.content,
       sum(memory.characters) OVER (ORDER BY memory.n) - memory.characters AS before
FROM since CROSS JOIN LATERAL (
    (SELECT m.n, m.occurred_at, m.utc_offset, CASE WHEN extraction = 'done' THEN NULL ELSE m.role END AS role,
            m.speaker, m.content, m.characters
     FROM messages AS m JOIN requests AS r ON r.user_id = %(user_id)b::text AND r.request_id = m.request_id
     WHERE m.user_id = %(user_id)b::text AND m.n >= since.n ORDER BY m.n LIMIT %(most)b::integer)
    UNION ALL
    (SELECT f.n, f.occurred_at, f.utc_offset, NULL, NULL, f.content, f.characters FROM facts AS f
     WHERE f.user_id = %(user_id)b::text AND f.n >= since.n ORDER BY f.n LIMIT %(most)b::integer)
    ORDER BY n LIMIT %(most)b::integer
) AS memory
) AS counted WHERE before < %(characters)b::bigint ORDER BY n
