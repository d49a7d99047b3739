"""The contract in memory, over real HTTP, short and obvious: what the smoke run and the replay are held to.

A defective server is a subclass that overrides one step.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

Answer = tuple[int, dict[str, Any]]
LATEST_MS = 253_402_300_800_000
"""The year 10000 begins here."""


class Refused(Exception):
    """Becomes an error's body. The reason never holds what was sent."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Reference:
    """Answers add and search; keeps the rendered messages of each user in order."""

    def __init__(self, secret: str | None = None) -> None:
        self.secret = secret
        self.requests: dict[tuple[str, str], str] = {}
        self.memories: dict[str, list[dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        try:
            if (method, path) == ("GET", "/health"):
                return 200, {"status": "ok"}
            self.authorize(headers)
            handle = self.add if path in ("/add", "/v1/memory/add") else self.search
            with self._lock:
                return 200, handle(self.parse(body))
        except Refused as refused:
            return refused.status, {"error": "refused", "detail": {"reason": refused.reason}}

    def authorize(self, headers: dict[str, str]) -> None:
        shown = {headers.get("authorization", "").partition(" ")[2], headers.get("x-api-key")}
        if self.secret is not None and self.secret not in shown:
            raise Refused(401, "no header carries the secret")

    def parse(self, body: bytes) -> dict[str, Any]:
        try:
            call = json.loads(body)
        except ValueError:
            raise Refused(422, "the body is not JSON") from None
        if not isinstance(call, dict):
            raise Refused(422, "the body is no JSON object")
        return call

    def require_id(self, call: dict[str, Any], name: str) -> str:
        value = call.get(name)
        if not isinstance(value, str) or not value:
            raise Refused(422, f"{name} must be a non-empty string")
        return value

    def add(self, call: dict[str, Any]) -> dict[str, Any]:
        names = ("request_id", "user_id", "session_id")
        ids = {name: self.require_id(call, name) for name in names}
        messages = call.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(422, "messages must be a list that holds something")
        key = (ids["user_id"], ids["request_id"])
        digest = json.dumps(messages, sort_keys=True)
        if self.is_new(key, digest):
            self.requests[key] = digest
            self.store(key, messages)
        return {"success": True, **ids}

    def is_new(self, key: tuple[str, str], digest: str) -> bool:
        if self.requests.get(key, digest) != digest:
            raise Refused(409, "the request_id was used for another body")
        return key not in self.requests

    def store(self, key: tuple[str, str], messages: list[dict[str, Any]]) -> None:
        log = self.memories.setdefault(key[0], [])
        for message in messages:
            text = text_of(message.get("content")) or text_of(message.get("tool_calls"))
            if text.strip():
                when = moment(message.get("timestamp"))
                content = self.render(message, text, when)
                name = json.dumps([*key, len(log)])
                memory = {"id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)), "content": content, "score": 0.5}
                log.append(memory | ({"created_at": when.isoformat()} if when else {}))

    def render(self, message: dict[str, Any], text: str, when: datetime | None) -> str:
        role = message["role"]
        speaker = message.get("name") or ("I" if role == "user" else role)
        line = text if ":" in text[:12] else f"{speaker}: {text}"
        return f"[{when:%Y-%m-%d %H:%M}] {line}" if when else line

    def search(self, call: dict[str, Any]) -> dict[str, Any]:
        log = self.log_of(self.require_id(call, "user_id"))
        words = set(str(call.get("query")).casefold().replace("?", "").split())

        def place(memory: dict[str, Any]) -> tuple[int, str, str]:
            shared = words & set(memory["content"].casefold().split())
            return -len(shared), memory.get("created_at", ""), memory["content"]

        return {"data": sorted(log, key=place)[: limit(call.get("top_k"))]}

    def log_of(self, user_id: str) -> list[dict[str, Any]]:
        return self.memories.get(user_id, [])


def text_of(content: object) -> str:
    if isinstance(content, str):
        return content.replace("\x00", "").encode("utf-8", "replace").decode()
    if isinstance(content, list):
        return " ".join(part_text(part) for part in content)
    return "" if content is None else json.dumps(content)


def part_text(part: dict[str, Any]) -> str:
    if part.get("type") == "image_url":
        return "[image]"
    return str(part["text"]) if "text" in part else json.dumps(part)


def moment(timestamp: object) -> datetime | None:
    """Seconds to nanoseconds by size, ISO, digits; None where nothing can be read."""
    if isinstance(timestamp, str):
        if timestamp.isdecimal():
            return moment(int(timestamp))
        try:
            return datetime.fromisoformat(timestamp)
        except ValueError:
            return None
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float) or not 0 <= timestamp < 1e20:
        return None
    milliseconds = timestamp * 1000 if timestamp < 1e11 else timestamp
    while milliseconds >= LATEST_MS:
        milliseconds /= 1000
    return datetime.fromtimestamp(milliseconds // 1000, UTC)


def limit(top_k: object) -> int:
    if isinstance(top_k, str) and top_k.isdecimal():
        top_k = int(top_k)
    if isinstance(top_k, bool) or not isinstance(top_k, int):
        return 100
    return max(0, min(top_k, 100))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer of several segments waits 40 ms for an ACK
    reference: ClassVar[Reference]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def _answer(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, answer = self.reference.answer(self.command, self.path, headers, body)
        payload = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        if status in (429, 503):
            self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        """Silent: pytest shows what matters."""


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # the default of 5 turns connections away when 16 workers start at once


@contextmanager
def serving(reference: Reference) -> Iterator[str]:
    """The URL of a server that answers as `reference` does."""
    handler = type("BoundHandler", (Handler,), {"reference": reference})
    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
