"""Every way a request can fail: a status, a code, a reason and, where waiting helps, how long.

Reasons never quote what the caller sent: they reach logs and error bodies.
"""

from __future__ import annotations

from typing import ClassVar


class PgrecallError(Exception):
    """Base of all errors that become an answer `{"error": code, "detail": {"reason": ...}}`."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    retry_after: ClassVar[int | None] = None
    """Seconds the caller may wait before the same body again; None where waiting does not help."""

    def __init__(self, reason: str, *, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field


class InvalidRequest(PgrecallError):
    """The call cannot be understood. A 422 is final for an evaluator, so this is the last resort."""

    status, code = 422, "invalid_request"


class BodyTooLarge(PgrecallError):
    """The body exceeds 32 MiB."""

    status, code = 413, "body_too_large"


class Unauthorized(PgrecallError):
    """No header carries the right secret."""

    status, code = 401, "unauthorized"


class RequestConflict(PgrecallError):
    """The request_id was stored before with another body: nothing is written, nothing lost."""

    status, code = 409, "request_conflict"


class DatabaseUnavailable(PgrecallError):
    """Postgres is away, restarting, out of connections or read-only."""

    status, code, retry_after = 503, "database_unavailable", 2


class EmbeddingUnavailable(PgrecallError):
    """The embedding provider failed, or its reply cannot be used."""

    status, code, retry_after = 503, "embedding_unavailable", 5


class LanguageUnavailable(PgrecallError):
    """The language model failed in a way that may pass: timeout, 429, 5xx, network, a wrong key."""

    status, code, retry_after = 503, "language_model_unavailable", 10


class DeadlineExceeded(PgrecallError):
    """The call's time is up; nothing was written."""

    status, code, retry_after = 503, "deadline_exceeded", 1


class LanguageRefused(Exception):
    """The language model will not do this request, now or later: a refusal, or malformed twice.

    Never an answer of the server: the messages are stored without facts, the reason on the request's row.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StartRefused(Exception):
    """The server must not start like this. `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}\n{remedy}")
        self.reason = reason
        self.remedy = remedy
