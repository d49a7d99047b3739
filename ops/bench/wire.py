"""A caller that costs little: HTTP/1.1 over one kept connection, for answers with a Content-Length. httpx2 takes
some 2 ms of CPU a call, a third of what the server needs for a search: on two cores that measures the harness."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

LARGEST_HEAD = 1 << 16
"""Bytes of status line and headers."""


class WireError(Exception):
    """No usable answer; the message is a short kind of failure."""


class Wire:
    """One connection to the server at `url`, made at the first call and again after a failed one."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        own = {"Host": parts.netloc, "Content-Type": "application/json"} | headers
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        """Status and body of the answer. Raises WireError."""
        try:
            async with asyncio.timeout(seconds):
                return await self._post(path, body)
        except (OSError, EOFError, ValueError, LookupError, asyncio.LimitOverrunError) as error:
            self.drop()
            raise WireError(f"no answer: {type(error).__name__}") from error

    async def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=LARGEST_HEAD)
        reader, writer = self._streams
        writer.write(f"POST {path} HTTP/1.1\r\n{self._fixed}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        answer = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.drop()
        return int(status.split()[1]), answer

    def drop(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()
