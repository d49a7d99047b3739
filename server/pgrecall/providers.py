"""One OpenAI-compatible endpoint: attempts, deadlines, limits and the kinds of failure, in one place.

Both the embedder and the language model speak through `Provider`. Replies are read as plain JSON, so that
a reply of any form can be checked by the caller instead of failing inside the client's own types.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import anyio
import httpx2
import openai

from pgrecall.deadline import Deadline
from pgrecall.errors import StartRefused

BACKOFF = 0.5
"""Seconds before the first retry, doubled for each further one, where the provider names no wait."""
LONGEST_WAIT = 20.0
"""Longest Retry-After that is waited for: with two attempts of 25 s it still fits the 80 s of a call."""

PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
"""Statuses that the same call may outlive, so that a retry makes sense."""

# At debug level the client logs whole request bodies, which is what users said; at info level its
# transport logs every URL, which may hold a password.
logging.getLogger("openai").setLevel(logging.INFO)
logging.getLogger("httpx2").setLevel(logging.WARNING)


class ProviderFailure(Exception):
    """A call that failed. `kind` is short and holds no contents: "timeout", "network", "http 429",
    "malformed". `status` is the HTTP status, where there was one."""

    def __init__(self, kind: str, status: int | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.status = status


class Provider:
    """Calls to one endpoint, at most `concurrency` at once.

    `timeout`: seconds an attempt may take from connecting to the last byte; the call's deadline clips all
    of it, waiting for a free slot included. `retries`: further attempts after a failure that may pass.
    `names`: the settings a remedy mentions, of the key and of the base URL. Raises StartRefused for a
    missing key; only a named `base_url` may go without one, since local servers need none.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        timeout: float,
        retries: int,
        concurrency: int,
        names: tuple[str, str],
    ) -> None:
        api_key = (api_key or "").strip()
        if not api_key and base_url is None:
            raise StartRefused(
                f"{names[0]} is not set.",
                f"Set it, or set {names[1]} to a server that needs no key.",
            )
        if not api_key.isascii():
            raise StartRefused(f"{names[0]} holds characters that no key has.", "Copy the key anew.")
        if base_url is not None and urlsplit(base_url).scheme not in {"http", "https"}:
            raise StartRefused(f"{names[1]} is no http or https URL.", "Write it like https://host/v1.")
        # An empty key would make the client fall back on OPENAI_API_KEY: a key is never borrowed.
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none", base_url=base_url, max_retries=0, timeout=timeout
        )
        self._timeout = timeout
        self._retries = retries
        self._slots = asyncio.Semaphore(concurrency)

    @property
    def endpoint(self) -> str:
        """The base URL without credentials, query or trailing slash."""
        url = urlsplit(str(self._client.base_url))
        port = f":{url.port}" if url.port else ""
        return f"{url.scheme}://{url.hostname}{port}{url.path}".rstrip("/")

    async def post(self, path: str, body: Mapping[str, object], deadline: Deadline) -> object:
        """The reply's JSON. Raises ProviderFailure, DeadlineExceeded."""
        deadline.clip(0)  # with no time left, no connection is begun
        async with deadline.enforced(), self._slots:
            for attempt in range(self._retries + 1):
                try:
                    return await self._attempt(path, body)
                except openai.OpenAIError as error:
                    failure, wait = _failure(error), _wait(error, attempt)
                lasting = failure.status is not None and failure.status not in PASSING
                if lasting or attempt == self._retries or wait > min(LONGEST_WAIT, deadline.left):
                    break
                await anyio.sleep(wait)
        # Raised out here, so that no traceback carries the client's error, which quotes the reply.
        raise failure

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, path: str, body: Mapping[str, object]) -> object:
        try:
            # The client's own timeout bounds each read, not the sum: a reply that trickles would not end.
            with anyio.fail_after(self._timeout):
                response = await self._client.post(path, cast_to=httpx2.Response, body=body)
        except TimeoutError:
            raise openai.APITimeoutError(httpx2.Request("POST", path)) from None
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError):
            raise ProviderFailure("malformed", response.status_code) from None


def _failure(error: openai.OpenAIError) -> ProviderFailure:
    match error:
        case openai.APITimeoutError():
            return ProviderFailure("timeout")
        case openai.APIStatusError(status_code=status):
            return ProviderFailure(f"http {status}", status)
        case _:
            return ProviderFailure("network")


def _wait(error: openai.OpenAIError, attempt: int) -> float:
    """Seconds until the next attempt: what Retry-After says, else a pause that doubles."""
    said = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    try:
        return max(0.0, float(said))
    except ValueError:
        return BACKOFF * 2.0**attempt


def is_refusal(failure: ProviderFailure) -> bool:
    """Whether the provider will not take this very request, now or later."""
    return failure.status in {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
