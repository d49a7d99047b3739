"""Servers for tests: over real HTTP, in a thread of their own."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn

from pgrecall.app import create_app
from pgrecall.serving import HTTP_PARSER
from pgrecall.settings import Settings

_numbers = itertools.count()


def fresh(what: str) -> str:
    """An id that no other test of this process uses."""
    return f"{what}-{next(_numbers)}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(database_url: str, **overrides: Any) -> Iterator[httpx2.Client]:
    """A client of a server on `database_url`, in this process but over TCP."""
    settings = Settings(**overrides)
    config = uvicorn.Config(
        create_app(settings, database_url),
        host="127.0.0.1",
        port=0,
        log_level="error",
        lifespan="on",
        http=HTTP_PARSER,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
        yield client
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive(), "the server did not stop"


def add_body(
    user: str, *contents: Any, request: str | None = None, session: str = "s", **more: Any
) -> dict[str, Any]:
    """An Add of user messages a minute apart from 2023-05-20 14:00."""
    start = 1684591200000
    return {
        "request_id": request or fresh("request"),
        "user_id": user,
        "session_id": session,
        "messages": [
            {"role": "user", "content": content, "timestamp": start + place * 60_000}
            for place, content in enumerate(contents)
        ],
        **more,
    }
