"""What the checks call with: an Add, a Search, and the shape that every answer must have."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

import httpx2

SAID_AT = 1_684_591_200_000
"""2023-05-20 14:00 UTC in Unix milliseconds."""


class CheckFailed(Exception):
    """The server does not hold to the contract; the message says where."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise CheckFailed with the reason `otherwise` unless `holds`."""
    if not holds:
        raise CheckFailed(otherwise)


def secret_headers(secret: str | None, scheme: str | None) -> dict[str, str]:
    """The header that shows the secret under a scheme (bearer when unset); none without a secret."""
    if secret is None:
        return {}
    if scheme == "x-api-key":
        return {"X-API-Key": secret}
    return {"Authorization": f"{'Token' if scheme == 'token' else 'Bearer'} {secret}"}


def fresh() -> str:
    """An id that nobody used before."""
    return f"smoke-{secrets.token_hex(8)}"


class Caller:
    """Adds and searches over one connection pool, holding every answer to the contract's shape."""

    def __init__(self, client: httpx2.Client, secret: str | None = None, scheme: str | None = None) -> None:
        self.client = client
        self.secret = secret
        self._headers = secret_headers(secret, scheme)

    def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """`body` as JSON, with NaN and lone surrogates as Python writes them; bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        shown = self._headers if headers is None else headers
        return self.client.post(path, content=content, headers={"content-type": "application/json", **shown})

    def add(self, user_id: str, *messages: object, path: str = "/add", **more: object) -> dict[str, Any]:
        """Add, expecting 200 and the ids back. `more` adds or replaces fields. Returns the body sent."""
        body: dict[str, Any] = {"request_id": fresh(), "user_id": user_id, "session_id": "smoke"}
        body |= {"messages": list(messages), **more}
        answer = answered(self.post(path, body), 200)
        echoed = all(answer.get(key) == body[key] for key in ("request_id", "user_id", "session_id"))
        expect(answer.get("success") is True and echoed, "the answer does not echo success and the ids")
        return body

    def search(self, user_id: str, query: object, path: str = "/search", **more: object) -> list[dict[str, Any]]:
        """Search, expecting 200 and a list of memories, each with an id, content and a score."""
        answer = answered(self.post(path, {"query": query, "user_id": user_id, **more}), 200)
        data = answer.get("data")
        expect(isinstance(data, list), "the answer has no list `data`")
        memories: list[dict[str, Any]] = data or []
        for memory in memories:
            shaped = isinstance(memory, dict) and {"id", "content", "score"} <= memory.keys()
            expect(shaped, "a memory lacks id, content or score")
            expect(bool(memory["id"]) and bool(memory["content"]), "a memory's id or content is empty")
        return memories

    def contents(self, user_id: str, query: object, **more: Any) -> list[str]:
        """The contents that a search returns, in order."""
        return [str(memory["content"]) for memory in self.search(user_id, query, **more)]


def answered(response: httpx2.Response, status: int) -> dict[str, Any]:
    """The JSON object of an answer that must have this status."""
    expect(response.status_code == status, f"{response.status_code} instead of {status}")
    try:
        answer = response.json()
    except ValueError as error:
        raise CheckFailed(f"{status} that is not JSON") from error
    expect(isinstance(answer, dict), f"{status} that is no JSON object")
    return dict(answer)
