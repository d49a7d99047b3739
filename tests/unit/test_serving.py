"""What stands around uvicorn: the socket, the refused start, the embedded Postgres kept alive."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from rich.console import Console
from starlette.applications import Starlette
from starlette.types import Message

from pgrecall import serving
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.errors import StartRefused

REFUSAL = StartRefused("No [vector] here.", "Run: pgrecall migrate")


class Ailing(EmbeddedPostgres):
    """Does at each look what it is told to; then says that it was looked at often enough."""

    def __init__(self, *looks: bool | StartRefused) -> None:
        super().__init__(None)
        self.looks = list(looks)
        self.seen = threading.Event()

    def ensure_running(self) -> bool:
        if not self.looks:
            self.seen.set()
            return False
        look = self.looks.pop(0)
        if isinstance(look, StartRefused):
            raise look
        return look


def kept_alive(embedded: Ailing, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the operator reads."""
    monkeypatch.setattr(serving, "LOOK_EVERY", 0.001)
    stopped, written = threading.Event(), io.StringIO()
    console = Console(file=written)
    thread = threading.Thread(target=serving.keep_alive, args=(embedded, stopped, console))
    thread.start()
    assert embedded.seen.wait(10)
    stopped.set()
    thread.join()
    return written.getvalue().splitlines()


def test_refused_restart_is_said_once_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept_alive(Ailing(REFUSAL, REFUSAL, REFUSAL, True), monkeypatch) == [
        "✗ No [vector] here.",
        "  Run: pgrecall migrate",
        "! The embedded Postgres had died; it is back, and has recovered.",
    ]


def test_second_death_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(kept_alive(Ailing(True, False, True), monkeypatch)) == 2


async def lifespan_messages(error: Exception) -> list[Message]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        raise error
        yield

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    app = serving.Refusing(Starlette(lifespan=lifespan))
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    await app(scope, receive, send)
    return sent


async def test_start_refused_in_the_lifespan_is_told_in_two_lines() -> None:
    assert await lifespan_messages(REFUSAL) == [
        {"type": "lifespan.startup.failed", "message": "No [vector] here.\n  Run: pgrecall migrate"}
    ]


async def test_unforeseen_error_in_the_lifespan_stays_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        await lifespan_messages(ZeroDivisionError())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0"])
def test_taken_port_is_refused_with_another(host: str) -> None:
    with serving.listen(host, 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(StartRefused) as caught:
            serving.listen(host, port)
    assert caught.value.reason == f"Port {port} on {host} is taken."
    assert f"--port {port % 65535 + 1}" in caught.value.remedy


def test_address_of_another_machine_is_refused() -> None:
    with pytest.raises(StartRefused, match=r"cannot be served"):
        serving.listen("192.0.2.1", 0)


def test_port_is_free_again_at_once() -> None:
    with serving.listen("127.0.0.1", 0) as first:
        address = first.getsockname()
        with socket.create_connection(address), first.accept()[0]:
            pass
    serving.listen(*address).close()


def test_who_calls_before_the_server_answers_waits() -> None:
    with serving.listen("127.0.0.1", 0) as listener:
        started = time.monotonic()
        assert not serving.answers(*listener.getsockname())
        assert time.monotonic() - started >= 0.9
