"""How the tests of the API call a server, and look into its database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, LiteralString

import httpx2
import psycopg

from tests.running import add_body

AT_14 = 1_684_591_200_000
"""2023-05-20 14:00 UTC in Unix milliseconds, the time of the first message of `add_body`."""


def post(client: httpx2.Client, path: str, body: object, **headers: str) -> httpx2.Response:
    """`body` as Python's JSON: NaN and lone surrogates as they are."""
    return client.post(
        path, content=json.dumps(body).encode(), headers={"content-type": "application/json", **headers}
    )


def added(client: httpx2.Client, user: str, *messages: object, **more: Any) -> dict[str, Any]:
    """The body of an Add of `messages` as they are (or of texts, a minute apart), which was answered 200."""
    body = add_body(user, *messages)
    if messages and not isinstance(messages[0], str):
        body["messages"] = list(messages)
    body |= more
    response = post(client, "/add", body)
    assert response.status_code == 200, response.text
    return body


def found(client: httpx2.Client, user: str, query: object = "", **more: Any) -> list[dict[str, Any]]:
    """The memories of a search that was answered 200; without a query the newest."""
    response = post(client, "/search", {"user_id": user, "query": query, **more})
    assert response.status_code == 200, response.text
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def contents(client: httpx2.Client, user: str, query: object = "", **more: Any) -> list[str]:
    """What a reader sees of a search, in order."""
    return [str(memory["content"]) for memory in found(client, user, query, **more)]


def rows(url: str, statement: LiteralString, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """The rows of one statement of the test's own."""
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement, parameters).fetchall()


def stored(url: str, user: str) -> dict[str, int]:
    """How many rows each table holds of a user."""
    counts = rows(
        url,
        """SELECT (SELECT count(*) FROM users WHERE user_id = %s),
                  (SELECT count(*) FROM sessions WHERE user_id = %s),
                  (SELECT count(*) FROM requests WHERE user_id = %s),
                  (SELECT count(*) FROM messages WHERE user_id = %s),
                  (SELECT count(*) FROM facts WHERE user_id = %s)""",
        [user] * 5,
    )
    return dict(zip(("users", "sessions", "requests", "messages", "facts"), counts[0], strict=True))


NOTHING = {"users": 0, "sessions": 0, "requests": 0, "messages": 0, "facts": 0}
"""`stored` of a user of whom nothing was written."""
