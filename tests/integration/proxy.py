"""A TCP port in front of the embedded Postgres: it can be away, and it notes what clients send."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict

from tests.running import free_port

BUFFER = 1 << 16
NO_TYPE = (80877103, 80877104)
"""Requests for SSL and GSS: the start-up message, which has no type either, is still to come."""


class Proxy:
    """`sent`: the messages of clients in order, by their type in the wire protocol: P parses, B binds, D
    describes and E executes a statement, S ends an implicit transaction, H asks for what is ready, Q is a
    simple query."""

    def __init__(self, database_url: str) -> None:
        self._target: dict[str, Any] = conninfo_to_dict(database_url)
        self.port = free_port()
        self.sent: list[str] = []
        self._guard = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def url(self, scheme: str = "postgresql", who: str | None = None, parameters: str = "sslmode=disable") -> str:
        """`who` may carry a password, percent-encoded."""
        who = who or self._target["user"]
        return f"{scheme}://{who}@127.0.0.1:{self.port}/{self._target['dbname']}?{parameters}"

    def start(self) -> None:
        listener = self._keep(socket.create_server(("127.0.0.1", self.port)))
        self._spawn(self._accept, listener)

    def stop(self) -> None:
        """Cut every connection; nobody listens any more."""
        with self._guard:
            sockets, self._sockets = self._sockets, []
        for one in sockets:
            with contextlib.suppress(OSError):  # its other end went first
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _keep(self, made: socket.socket) -> socket.socket:
        with self._guard:
            self._sockets.append(made)
        return made

    def _spawn(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):  # closed by stop()
            while True:
                client = self._keep(listener.accept()[0])
                server = self._keep(socket.socket(socket.AF_UNIX))
                server.connect(f"{self._target['host']}/.s.PGSQL.{self._target['port']}")
                self._spawn(self._pump, client, server, Messages(self.sent).feed)
                self._spawn(self._pump, server, client, len)

    def _pump(self, source: socket.socket, sink: socket.socket, look: Callable[[bytes], object]) -> None:
        with contextlib.suppress(OSError):  # cut by stop(), or by the other direction
            while data := source.recv(BUFFER):
                look(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class Messages:
    """Notes the messages of one client in a stream of bytes: type, length of the rest, rest."""

    def __init__(self, sent: list[str]) -> None:
        self._sent = sent
        self._buffer = b""
        self._started = False

    def feed(self, data: bytes) -> None:
        self._buffer += data
        while (head := int(self._started)) + 4 <= len(self._buffer):
            length = head + int.from_bytes(self._buffer[head : head + 4], "big")
            if len(self._buffer) < length:
                return
            message, self._buffer = self._buffer[:length], self._buffer[length:]
            if self._started:
                self._sent.append(chr(message[0]))
            elif int.from_bytes(message[4:8], "big") not in NO_TYPE:
                self._started = True
