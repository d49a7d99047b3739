-- The hidden memories of one user that restore.sql would bring back, with what their terms and dates are derived from.
-- A fact comes back with the first message that it rests on, unless it was forgotten by its own id: then with that.
-- parameters: user_id text, audit_id uuid, ids uuid[], session_id text, since timestamptz, until timestamptz
WITH chosen AS MATERIALIZED (
    SELECT n, occurred_at, utc_offset, role, speaker, content, request_id FROM forgotten_messages
    WHERE user_id = %(user_id)b::text
      AND (%(audit_id)b::uuid IS NULL OR audit_id = %(audit_id)b::uuid)
      AND (%(ids)b::uuid[] IS NULL OR id = ANY (%(ids)b::uuid[]))
      AND (%(session_id)b::text IS NULL OR session_id = %(session_id)b::text)
      AND (%(since)b::timestamptz IS NULL OR occurred_at >= %(since)b::timestamptz)
      AND (%(until)b::timestamptz IS NULL OR occurred_at < %(until)b::timestamptz)
)
SELECT n, occurred_at, utc_offset,
       CASE WHEN EXISTS (SELECT FROM requests AS r WHERE r.user_id = %(user_id)b::text
                         AND r.request_id = chosen.request_id AND extraction = 'done')
            THEN NULL ELSE role END AS role, speaker, content
FROM chosen
UNION ALL
SELECT f.n, f.occurred_at, f.utc_offset, NULL, NULL, f.content FROM forgotten_facts AS f
WHERE f.user_id = %(user_id)b::text
  AND EXISTS (SELECT FROM unnest(f.source_ns) AS source
              WHERE source IN (SELECT n FROM chosen)
                 OR EXISTS (SELECT FROM messages AS m WHERE m.user_id = %(user_id)b::text AND m.n = source))
  AND (NOT asked AND f.source_ns && ARRAY(SELECT n FROM chosen)
       OR (%(audit_id)b::uuid IS NULL OR f.audit_id = %(audit_id)b::uuid)
          AND (%(ids)b::uuid[] IS NULL OR f.id = ANY (%(ids)b::uuid[]))
          AND (%(session_id)b::text IS NULL OR f.session_id = %(session_id)b::text)
          AND (%(since)b::timestamptz IS NULL OR f.occurred_at >= %(since)b::timestamptz)
          AND (%(until)b::timestamptz IS NULL OR f.occurred_at < %(until)b::timestamptz))
ORDER BY n
