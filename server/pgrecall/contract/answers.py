"""What the server answers, as OpenAPI describes it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pgrecall.contract.ids import Id


class AddResponse(BaseModel):
    """Everything is durable and searchable; so it was before, if the request is a repeat."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"success": True, "request_id": "r-1", "user_id": "u-1", "session_id": "s-1"}]
        }
    )

    success: Literal[True] = True
    request_id: Id
    user_id: Id
    session_id: Id


class Memory(BaseModel):
    """One message or fact, as a reader sees it."""

    id: str = Field(description="A UUID, the same whenever this memory is found.")
    content: str = Field(description="The line with its date and speaker; never empty.")
    score: float = Field(description="Finite; of the hit that brought this memory.")
    created_at: str | None = Field(
        None, description="When it was said, ISO 8601 in UTC; absent where nothing dates it."
    )


class WithheldMemory(BaseModel):
    """A memory that was left out: what it says was replaced, or did not hold at the date that is asked for."""

    id: str
    content: str


class SearchResponse(BaseModel):
    """At most top_k memories, best first: messages, then facts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "data": [
                        {
                            "id": "0a0f6c1e-93d5-8b6f-a3c0-5d1d2b9a7f10",
                            "content": "[2023-05-20 14:00] I: I adopted a greyhound called Pixel yesterday.",
                            "score": 0.83,
                            "created_at": "2023-05-20T14:00:00Z",
                        }
                    ],
                    "intent": None,
                    "asks_for": "current",
                }
            ]
        }
    )

    data: list[Memory]
    intent: Literal["latest", "earliest", "before", "after"] | None = Field(
        None, description="What the question wants of time, told by its own words; it orders ties only."
    )
    asks_for: Literal["current", "dated", "history", "event", "other"] = Field(
        "other", description="A state now, a state at a date, how it changed, an event; told by its own words."
    )
    withheld: list[WithheldMemory] | None = Field(
        None, description="What was left out; only where `include` asks for it."
    )


class ForgetResponse(BaseModel):
    """No search that begins now finds what was forgotten; or each finds again what was restored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "success": True,
                    "forget_id": "5b0f6c1e-93d5-4b6f-a3c0-5d1d2b9a7f10",
                    "messages": 2,
                    "facts": 1,
                }
            ]
        }
    )

    success: Literal[True] = True
    forget_id: str | None = Field(None, description="Of a /forget: what /restore undoes it by; not of a /restore.")
    messages: int = Field(description="Messages forgotten or restored.")
    facts: int = Field(description="Facts forgotten or restored.")


class ErrorDetail(BaseModel):
    reason: str = Field(description="Why, in a sentence; never quotes what was sent.")
    field: str | None = Field(None, description="The field that is wrong; absent where none is.")


class ErrorResponse(BaseModel):
    """Any answer but 200. With 429 and 503 the header Retry-After says how many seconds to wait."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": "invalid_request",
                    "detail": {"reason": "user_id must be a non-empty string", "field": "user_id"},
                }
            ]
        }
    )

    error: str = Field(description="A code: invalid_request, request_conflict, database_unavailable, ...")
    detail: ErrorDetail


class ProviderHealth(BaseModel):
    """How a provider's calls ended since the process started."""

    successes: int
    failures: int
    last_failure: str | None = Field(None, description="A kind of failure: timeout, http 429, ...")


class HealthResponse(BaseModel):
    """`status` says that the process lives. The rest is told only to those who hold the secret."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})

    status: Literal["ok"] = "ok"
    database: Literal["ok", "unavailable"] | None = Field(None, description="Whether the database answers.")
    stored: dict[str, int] | None = Field(None, description="Users and memories in the database.")
    pool: dict[str, int] | None = Field(
        None,
        description="Connections of this process: size, free, calls waiting; exhausted: waited in vain so far.",
    )
    calls: dict[str, int] | None = Field(None, description="Adds, repeats, searches, errors by code.")
    extraction: dict[str, int] | None = Field(None, description="What became of the requests' facts.")
    extraction_degraded: bool | None = Field(None, description="Whether the last call for facts failed.")
    providers: dict[str, ProviderHealth] | None = Field(
        None, description="`embedding` and `language_model`: how their calls ended in this process."
    )
