"""A stand-in for an OpenAI-compatible provider: real HTTP, replies that depend on the text alone, and
misbehaviour on command.

    with StandIn() as provider:
        provider.misbehave("embeddings", "status", status=429, times=2)
        ... provider.base_url ...

or by itself: python -m ops.bench.provider --port 8090
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, Literal, Self

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ops.bench import replies

Endpoint = Literal["embeddings", "chat"]
PATHS: dict[str, Endpoint] = {"/v1/embeddings": "embeddings", "/v1/chat/completions": "chat"}
TRANSPORT = frozenset({"slow", "hang", "trickle", "status", "reset", "malformed_json", "content"})
"""Faults of either endpoint; replies.SPOILED has those of each. "content" replies `content` as the chat
message, "trickle" sends a byte every 0.1 s and never ends."""


@dataclass
class Fault:
    """One kind of misbehaviour, for the next `times` calls or, with None, until `behave`."""

    how: str
    times: int | None
    seconds: float
    status: int
    retry_after: str | None
    content: str


class StandIn:
    """`calls`, `most_at_once` and `bodies` (the last 1,000) are kept by endpoint; `keys` are the
    Authorization headers seen."""

    def __init__(self) -> None:
        self.calls: Counter[Endpoint] = Counter()
        self.most_at_once: Counter[Endpoint] = Counter()
        self.bodies: dict[Endpoint, deque[dict[str, Any]]] = {
            "embeddings": deque(maxlen=1000),
            "chat": deque(maxlen=1000),
        }
        self.keys: set[str | None] = set()
        self.base_url = ""
        self._draw: replies.Draw = replies.note_each
        self._faults: dict[Endpoint, list[Fault]] = {"embeddings": [], "chat": []}
        self._at_once: Counter[Endpoint] = Counter()
        self._stopping = False

    def facts_from(self, draw: replies.Draw) -> None:
        """Let `draw` make the facts from the numbered lines, in place of one note a line."""
        self._draw = draw

    def misbehave(
        self,
        endpoint: Endpoint,
        how: str,
        *,
        times: int | None = None,
        seconds: float = 0.0,
        status: int = 500,
        retry_after: str | None = None,
        content: str = "",
    ) -> None:
        """From the next call on; faults of one endpoint take their turns in the order they were given."""
        if how not in TRANSPORT | replies.SPOILED[endpoint].keys():
            raise ValueError(f"{endpoint} has no fault {how!r}")
        self._faults[endpoint].append(Fault(how, times, seconds, status, retry_after, content))

    def behave(self) -> None:
        """Forget all faults and all that was counted, once no call is under way (2 s at most)."""
        end = time.monotonic() + 2
        while self._at_once.total() and time.monotonic() < end:
            time.sleep(0.005)
        for endpoint in PATHS.values():
            self._faults[endpoint].clear()
            self.bodies[endpoint].clear()
        self.calls.clear()
        self.most_at_once.clear()
        self.keys.clear()

    def __enter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        self._server = uvicorn.Server(_config(self))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = self._server.should_exit = True
        self._thread.join()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        endpoint = PATHS.get(request.url.path)
        if endpoint is None:
            await Response(status_code=404)(scope, receive, send)
            return
        body = await request.json()
        self.calls[endpoint] += 1
        self.bodies[endpoint].append(body)
        self.keys.add(request.headers.get("authorization"))
        self._at_once[endpoint] += 1
        self.most_at_once[endpoint] = max(self.most_at_once[endpoint], self._at_once[endpoint])
        try:
            response = await self._answer(endpoint, body, request, send)
        finally:
            # Before the last byte goes out: the caller may be back before this line would run after it.
            self._at_once[endpoint] -= 1
        if response is not None:
            await response(scope, receive, send)

    async def _answer(
        self, endpoint: Endpoint, body: dict[str, Any], request: Request, send: Send
    ) -> Response | None:
        """The response; None when the connection was broken off instead."""
        fault = self._next_fault(endpoint)
        how = fault.how if fault else ""
        if fault and how == "slow":
            await self._wait(fault.seconds, request)
        if how in {"hang", "trickle", "reset"}:
            await self._break_off(how, request, send)
            return None
        if fault and how == "status":
            headers = {"retry-after": fault.retry_after} if fault.retry_after is not None else {}
            return _json('{"error": {"message": "as ordered"}}', fault.status, headers)
        if how == "malformed_json":
            return _json('{"data": [')
        if fault and how == "content":
            return _json(json.dumps(replies.completion(fault.content)))
        right = replies.embeddings(body) if endpoint == "embeddings" else replies.chat(body, self._draw)
        spoil = replies.SPOILED[endpoint].get(how)
        return _json(json.dumps(spoil(right) if spoil else right))

    def _next_fault(self, endpoint: Endpoint) -> Fault | None:
        for fault in self._faults[endpoint]:
            if fault.times is None:
                return fault
            if fault.times > 0:
                fault.times -= 1
                return fault
        return None

    async def _break_off(self, how: str, request: Request, send: Send) -> None:
        """Promise more bytes than come: uvicorn then cuts the connection."""
        if how != "hang":
            headers = [(b"content-type", b"application/json"), (b"content-length", b"100000")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
        while how != "reset" and await self._wait(0.1, request):
            if how == "trickle":
                await send({"type": "http.response.body", "body": b" ", "more_body": True})

    async def _wait(self, seconds: float, request: Request) -> bool:
        """Whether the caller is still there after so long; not longer than it is."""
        end = time.monotonic() + seconds
        while not self._stopping and not await request.is_disconnected():
            if (left := end - time.monotonic()) <= 0:
                return True
            await asyncio.sleep(min(left, 0.02))
        return False


def _json(content: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, headers, "application/json")


def _config(provider: StandIn, port: int = 0) -> uvicorn.Config:
    # Faults look like a broken application to uvicorn; they are meant, so its log is off.
    return uvicorn.Config(
        provider, port=port, lifespan="off", log_config=None, log_level=60, timeout_graceful_shutdown=2
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible provider that needs no key.")
    parser.add_argument("--port", type=int, default=8090)
    port: int = parser.parse_args().port
    print(f"Stand-in provider on http://127.0.0.1:{port}/v1", flush=True)
    uvicorn.Server(_config(StandIn(), port)).run()


if __name__ == "__main__":
    main()
