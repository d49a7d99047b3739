"""The wire: body bytes to an understood call, and an answer to bytes. Lenient in, strict out.

A 422 ends an evaluator's run, so only what cannot be understood is refused. One definition serves both
ways: the models that read a call also describe it in OpenAPI.
"""

from pgrecall.contract.add import AddCall, AddRequest, MessageRequest, read_add
from pgrecall.contract.answers import (
    AddResponse,
    ErrorDetail,
    ErrorResponse,
    HealthResponse,
    Memory,
    ProviderHealth,
    SearchResponse,
)
from pgrecall.contract.json_body import parse_json, render_json
from pgrecall.contract.search import SearchCall, SearchRequest, read_search

__all__ = [
    "AddCall",
    "AddRequest",
    "AddResponse",
    "ErrorDetail",
    "ErrorResponse",
    "HealthResponse",
    "Memory",
    "MessageRequest",
    "ProviderHealth",
    "SearchCall",
    "SearchRequest",
    "SearchResponse",
    "parse_json",
    "read_add",
    "read_search",
    "render_json",
]
