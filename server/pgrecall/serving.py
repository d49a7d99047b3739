"""The running server: uvicorn, its processes, and the embedded Postgres kept alive beside them."""

from __future__ import annotations

import errno
import functools
import http.client
import multiprocessing
import os
import shlex
import shutil
import signal
import socket
import sys
import threading
from multiprocessing.connection import wait
from pathlib import Path
from typing import Literal

import uvicorn
from rich.console import Console
from rich.text import Text
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from pgrecall.app import create_app
from pgrecall.embedded import EmbeddedPostgres
from pgrecall.errors import StartRefused
from pgrecall.settings import Settings, shown

GRACE = 30
"""Seconds that calls under way have to finish after SIGTERM."""
LOOK_EVERY = 1.0
"""Seconds between looks whether the embedded Postgres lives."""
BACKLOG = 2048
"""Callers that may wait to be taken."""
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  nothing is served here
"""Where who serves on all addresses reaches himself: not every system connects to the address of all."""
HUNG = 60
"""Seconds a server process of several may be silent: a body of 32 MiB keeps it busy, and is no reason to kill."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything else starts: who calls too early waits. Raises StartRefused."""
    try:
        # Of several addresses IPv4: a client that is told "localhost" tries both.
        family, _, _, _, address = min(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise StartRefused(
                f"Port {port} on {host} is taken.",
                f"Stop what listens there, or take another port: pgrecall serve --port {port % 65535 + 1}",
            ) from None
        raise StartRefused(
            f"Port {port} on {host} cannot be served: {error.strerror}.",
            "Name an address of this machine and a port from 1024: pgrecall serve --host 127.0.0.1 --port 8000",
        ) from None


HTTP_PARSER: Literal["h11"] = "h11"
"""httptools loses the body of a request that offers an upgrade, as Java's client does with each one."""


def run(
    settings: Settings, url: str, embedded: EmbeddedPostgres | None, listener: socket.socket, console: Console
) -> None:
    """Serve until a signal comes. SystemExit where the server, ready by all that was checked, does not start."""
    config = uvicorn.Config(
        functools.partial(application, settings, url),
        factory=True,
        lifespan="on",
        http=HTTP_PARSER,
        workers=settings.workers,
        log_level="warning",
        access_log=False,  # query strings and paths may name users
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=75,
        timeout_worker_healthcheck=HUNG,
    )
    stopped = threading.Event()
    threading.Thread(target=announce, args=(settings, embedded, listener, stopped, console), daemon=True).start()
    if embedded is not None:
        threading.Thread(target=keep_alive, args=(embedded, stopped, console), daemon=True).start()
    try:
        if settings.workers == 1:
            uvicorn.Server(config).run([listener])
        else:
            processes = Multiprocess(config, [listener])
            processes.run()
            if any(process.exitcode == STARTUP_FAILURE for process in processes.processes):
                sys.exit(1)
    except KeyboardInterrupt:
        pass  # uvicorn has shut down already, and hands the signal on
    finally:
        stopped.set()


def application(settings: Settings, url: str) -> ASGIApp:
    """What each server process makes for itself."""
    stop_with_parent()
    return Refusing(create_app(settings, url))


class Refusing:
    """Tells a refused start in two lines. Starlette would send uvicorn the text of a traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return

        async def untraced(message: Message) -> None:
            if message["type"] != "lifespan.startup.failed":  # the error itself follows
                await send(message)

        try:
            await self._app(scope, receive, untraced)
        except StartRefused as refusal:
            await send({"type": "lifespan.startup.failed", "message": f"{refusal.reason}\n  {refusal.remedy}"})


def announce(
    settings: Settings,
    embedded: EmbeddedPostgres | None,
    listener: socket.socket,
    stopped: threading.Event,
    console: Console,
) -> None:
    """Once the server answers: where it is, where the data lie, and what to try."""
    address, port = listener.getsockname()[:2]
    address = LOOPBACK.get(address, address)
    while not answers(address, port):
        if stopped.wait(0.05):
            return
    tried = url_of(LOOPBACK.get(settings.host, settings.host), port)
    rows = [("serving on", url_of(settings.host, port)), ("try", f"{own_command()} smoke {tried}")]
    if embedded is not None:
        rows.append(("database", f"the embedded Postgres; the data lie in {embedded.data_dir}"))
        rows.append(("psql", f'psql "{embedded.url}"'))
    else:
        rows.append(("database", shown(settings, "database_url")))
    model = settings.llm_model if settings.llm_mode != "off" else "none"
    rows.append(("embedder", settings.embed_backend))
    rows.append(("language model", f"{model} ({settings.llm_mode})"))
    lines = ["pgrecall", *(f"  {name:<15} {value}" for name, value in rows)]
    console.print("\n".join(lines), soft_wrap=True, markup=False)


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def own_command() -> str:
    """What calls this very pgrecall from the directory it was started in."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(from_here(Path(sys.executable)))} -m pgrecall"
    if (known := shutil.which(called.name)) and called.exists() and called.samefile(known):
        return called.name
    return shlex.quote(from_here(called))


def from_here(path: Path) -> str:
    """Relative where it lies below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def answers(address: str, port: int) -> bool:
    """Does the server answer?"""
    connection = http.client.HTTPConnection(address, port, timeout=1)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def keep_alive(embedded: EmbeddedPostgres, stopped: threading.Event, console: Console) -> None:
    """Bring the embedded Postgres back when it dies; where that fails, try again, and say it once."""
    said = ""
    while not stopped.wait(LOOK_EVERY):
        try:
            restarted = embedded.ensure_running()
        except StartRefused as refusal:
            if refusal.reason != said:
                console.print(complaint(refusal), soft_wrap=True)
            said = refusal.reason
            continue
        if (restarted or said) and not stopped.is_set():
            console.print("! The embedded Postgres had died; it is back, and has recovered.", soft_wrap=True)
        said = ""


def complaint(refusal: StartRefused) -> Text:
    """Two lines: what is amiss, and what to do. No markup: a reason may hold [brackets]."""
    return Text.assemble(("✗ ", "bold red"), f"{refusal.reason}\n  {refusal.remedy}")


def stop_with_parent() -> None:
    """End this server process when the one that started it is gone, also by kill -9: else it holds the port."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
