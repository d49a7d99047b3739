"""The endpoints. No logic: read the call, hand it down, render the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from pgrecall.access import Access
from pgrecall.adding import Adding
from pgrecall.contract import (
    AddRequest,
    AddResponse,
    ErrorResponse,
    ForgetRequest,
    ForgetResponse,
    HealthResponse,
    RestoreRequest,
    SearchRequest,
    SearchResponse,
    parse_json,
    read_add,
    read_forget,
    read_restore,
    read_search,
    render_json,
)
from pgrecall.deadline import Deadline
from pgrecall.errors import BodyTooLarge, DatabaseUnavailable, DeadlineExceeded, PgrecallError
from pgrecall.forgetting import Forgetting
from pgrecall.memory import FoundMemory
from pgrecall.rendering import created_at, line
from pgrecall.searching import Searching
from pgrecall.store import Store
from pgrecall.tally import ProviderTally, Tally

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a body that are accepted."""
LARGE_BODY = 64 * 1024
"""Bytes from which a body is parsed in a thread: 1 MiB takes some 10 ms, and everyone else waits."""
HEALTH_SECONDS = 3.0
"""How long /health waits for the database to answer."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the endpoints need; made once, by app.py, and kept on the application's state."""

    access: Access
    adding: Adding
    searching: Searching
    forgetting: Forgetting
    store: Store
    tally: Tally
    add_seconds: float
    search_seconds: float
    extracts: bool
    zone: tzinfo
    """By which those speak whose requests do not say."""


router = APIRouter()

ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ErrorResponse, "description": "No header carries the right secret"},
    409: {"model": ErrorResponse, "description": "The request_id was stored before with another body"},
    413: {"model": ErrorResponse, "description": "The body is larger than 32 MiB"},
    422: {"model": ErrorResponse, "description": "The call cannot be understood"},
    503: {"model": ErrorResponse, "description": "Send the same body again after Retry-After seconds"},
}


def described(model: type[Any]) -> dict[str, Any]:
    """The body in OpenAPI; read by hand, since FastAPI's own reading refuses what the contract accepts."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def without(responses: dict[int | str, dict[str, Any]], *codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: response for code, response in responses.items() if code not in codes}


@router.post(
    "/add",
    summary="Store what was said",
    description="Answers once everything is durable and searchable. The same request_id and body again is"
    " answered alike and stores nothing.",
    response_model=AddResponse,
    responses=ERRORS,
    openapi_extra=described(AddRequest),
)
@router.post("/add/", include_in_schema=False)  # not every client follows a redirect
@router.post("/v1/memory/add", include_in_schema=False)
@router.post("/v1/memory/add/", include_in_schema=False)
async def add(request: Request) -> Response:
    services = entered(request)
    deadline = Deadline(services.add_seconds)
    async with deadline.enforced():
        body = await read_body(request)
        call = await understood(partial(read_add, zone=services.zone), body)
    await services.adding.add(call, deadline)
    return answer(
        {
            "success": True,
            "request_id": call.request_id,
            "user_id": call.user_id,
            "session_id": call.session_id,
        }
    )


@router.post(
    "/search",
    summary="Find the evidence",
    description="Evidence, never an answer: messages verbatim first, facts after, best first. Nothing of"
    " another user, ever; an unknown user has no memories.",
    response_model=SearchResponse,
    responses=without(ERRORS, 409),
    openapi_extra=described(SearchRequest),
)
@router.post("/search/", include_in_schema=False)  # not every client follows a redirect
@router.post("/v1/memory/search", include_in_schema=False)
@router.post("/v1/memory/search/", include_in_schema=False)
async def search(request: Request) -> Response:
    services = entered(request)
    deadline = Deadline(services.search_seconds)
    async with deadline.enforced():
        body = await read_body(request)
        call = await understood(partial(read_search, zone=services.zone), body)
    evidence = await services.searching.search(call, deadline)
    payload: dict[str, Any] = {
        "data": [shown(memory) for memory in evidence.memories],
        "intent": evidence.intent,
        "asks_for": evidence.asks_for,
    }
    if "withheld" in call.include:
        payload["withheld"] = [
            {"id": str(one.id), "content": line(one.occurred_at, one.speaker, one.content)}
            for one in evidence.withheld
        ]
    return answer(payload)


@router.post(
    "/forget",
    summary="Forget memories",
    description="From the answer on no search finds them: messages, the facts that rest on them alone, and whatever"
    " was derived. Hidden, they can be restored; erased, they cannot, nor any fact that rests on one of them.",
    response_model=ForgetResponse,
    responses=without(ERRORS, 409),
    openapi_extra=described(ForgetRequest),
)
@router.post("/forget/", include_in_schema=False)
async def forget(request: Request) -> Response:
    services = entered(request)
    deadline = Deadline(services.add_seconds)
    async with deadline.enforced():
        call = await understood(read_forget, await read_body(request))
    done = await services.forgetting.forget(call, deadline)
    hidden = {} if call.erase else {"forget_id": str(done.audit_id)}
    return answer({"success": True, **hidden, "messages": done.messages, "facts": done.facts})


@router.post(
    "/restore",
    summary="Bring forgotten memories back",
    description="Undoes /forget for what was hidden, not for what was erased.",
    response_model=ForgetResponse,
    responses=without(ERRORS, 409),
    openapi_extra=described(RestoreRequest),
)
@router.post("/restore/", include_in_schema=False)
async def restore(request: Request) -> Response:
    services = entered(request)
    deadline = Deadline(services.add_seconds)
    async with deadline.enforced():
        call = await understood(read_restore, await read_body(request))
    done = await services.forgetting.restore(call, deadline)
    return answer({"success": True, "messages": done.messages, "facts": done.facts})


@router.get(
    "/health",
    summary="Is it alive?",
    description="Open to everyone and says only that it lives; with the secret also counts, how the"
    " providers' calls ended, whether extraction is degraded, and whether the database answers.",
    response_model=HealthResponse,
    response_model_exclude_unset=True,
)
@router.get("/health/", include_in_schema=False)
async def health(request: Request) -> Response:
    services: Services = request.app.state.services
    if not (services.access.open or services.access.knows(request.headers)):
        return answer({"status": "ok"})
    return answer({"status": "ok", **await details(services)})


async def details(services: Services) -> dict[str, Any]:
    """What only those who know the secret may see."""
    tally = services.tally
    called = {"embedding": tally.embedding, "language_model": tally.language}
    try:
        stored: dict[str, int] | None = await services.store.counts(Deadline(HEALTH_SECONDS))
    except (DatabaseUnavailable, DeadlineExceeded):
        stored = None
    return {
        "database": "ok" if stored is not None else "unavailable",
        "stored": stored,
        "pool": services.store.pool(),
        "calls": dict(tally.calls),
        "extraction": dict(tally.extraction),
        "extraction_degraded": services.extracts and tally.extraction_failing,
        # Only those that were called: the static embedder, say, is none.
        "providers": {name: provider(calls) for name, calls in called.items() if calls.successes + calls.failures},
    }


def provider(calls: ProviderTally) -> dict[str, Any]:
    return {"successes": calls.successes, "failures": calls.failures, "last_failure": calls.last_failure}


def entered(request: Request) -> Services:
    """The services, for who may call. Raises Unauthorized."""
    services: Services = request.app.state.services
    services.access.require(request.headers)
    return services


async def read_body(request: Request) -> bytes:
    """The body, whatever its content type. Raises BodyTooLarge without reading further."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MAX_BODY:
        raise BodyTooLarge("the body is larger than 32 MiB; send the messages in several requests")
    chunks = bytearray()
    async for chunk in request.stream():
        chunks += chunk
        if len(chunks) > MAX_BODY:
            raise BodyTooLarge("the body is larger than 32 MiB; send the messages in several requests")
    return bytes(chunks)


async def understood(read: Any, body: bytes) -> Any:
    """The call in a body. Raises InvalidRequest."""
    if len(body) > LARGE_BODY:
        return await asyncio.to_thread(lambda: read(parse_json(body)))
    return read(parse_json(body))


def shown(memory: FoundMemory) -> dict[str, Any]:
    """One memory on the wire: the date stands in the content, since created_at may not reach the reader."""
    rendered: dict[str, Any] = {
        "id": str(memory.id),
        "content": line(memory.occurred_at, memory.speaker, memory.content, memory.dates) + memory.tag,
        "score": memory.score,
    }
    if memory.occurred_at is not None:
        rendered["created_at"] = created_at(memory.occurred_at)
    return rendered


def answer(payload: Mapping[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(render_json(payload), status, headers, media_type="application/json")


def failed(error: PgrecallError) -> Response:
    """The answer to a call that failed."""
    detail = {"reason": error.reason} | ({"field": error.field} if error.field else {})
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after is not None else {}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer({"error": error.code, "detail": detail}, error.status, headers)
