"""Is everything that was answered there, and nothing there by halves? Asked of the tables themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, LiteralString

import psycopg

BY_HALVES: Mapping[str, LiteralString] = {
    "requests stored by halves": """
        SELECT count(*) FROM requests AS r
        LEFT JOIN (SELECT user_id, request_id, count(*) AS rows, max(position) AS last
                   FROM messages GROUP BY user_id, request_id) AS m USING (user_id, request_id)
        LEFT JOIN (SELECT user_id, request_id, count(*) AS rows, max(position) AS last
                   FROM facts GROUP BY user_id, request_id) AS f USING (user_id, request_id)
        WHERE (r.message_count, r.message_count) <> (coalesce(m.rows, 0), coalesce(m.last + 1, 0))
           OR (r.fact_count, r.fact_count) <> (coalesce(f.rows, 0), coalesce(f.last + 1, 0))""",
    "memories without a request": """
        SELECT count(*) FROM (SELECT user_id, request_id FROM messages
                              UNION ALL SELECT user_id, request_id FROM facts) AS memory
        WHERE NOT EXISTS (SELECT FROM requests AS r
                          WHERE (r.user_id, r.request_id) = (memory.user_id, memory.request_id))""",
    "sessions with gaps or doubles in turn_index": """
        SELECT count(*) FROM sessions AS s
        LEFT JOIN (SELECT user_id, session_id, count(DISTINCT turn_index) AS turns, count(*) AS rows,
                          max(turn_index) AS last
                   FROM messages GROUP BY user_id, session_id) AS m USING (user_id, session_id)
        WHERE (s.next_turn_index, s.next_turn_index, s.next_turn_index)
           <> (coalesce(m.turns, 0), coalesce(m.rows, 0), coalesce(m.last + 1, 0))""",
    "users with gaps or doubles in n": """
        SELECT count(*) FROM users AS u
        LEFT JOIN (SELECT user_id, count(DISTINCT n) AS numbers, count(*) AS rows, max(n) AS last
                   FROM (SELECT user_id, n FROM messages UNION ALL SELECT user_id, n FROM facts) AS memory
                   GROUP BY user_id) AS m USING (user_id)
        WHERE (u.next_n, u.next_n, u.next_n)
           <> (coalesce(m.numbers, 0), coalesce(m.rows, 0), coalesce(m.last + 1, 0))""",
}
"""Each counts what must not be."""

STORED: LiteralString = """
    SELECT user_id, request_id, array_agg(content ORDER BY position) FROM messages GROUP BY user_id, request_id"""


def losses(url: str, answered: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is amiss in the database at `url`, a line each: Adds of `answered` (their bodies) that are not
    there as they were sent, and anything stored by halves."""
    with psycopg.connect(url, autocommit=True) as connection:
        for name, statement in BY_HALVES.items():
            count = connection.execute(statement).fetchall()[0][0]
            if count:
                yield f"{count} {name}"
        there = {(user, request): contents for user, request, contents in connection.execute(STORED)}
    for body in answered:
        said = [message["content"] for message in body["messages"]]
        if there.get((body["user_id"], body["request_id"])) != said:
            yield f"request {body['request_id']}: answered 200, but not there as it was sent"
