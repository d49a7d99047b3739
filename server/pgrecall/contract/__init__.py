"""The wire: body bytes to an understood call, and an answer to bytes. Lenient in, strict out.

A 422 ends an evaluator's run, so only what cannot be understood is refused. One definition serves both
ways: the models that read a call also describe it in OpenAPI.
"""

from pgrecall.contract.add import AddCall, AddRequest, MessageRequest, read_add
from pgrecall.contract.answers import (
    AddResponse,
    ErrorDetail,
    ErrorResponse,
    ForgetResponse,
    HealthResponse,
    Memory,
    ProviderHealth,
    SearchResponse,
)
from pgrecall.contract.forget import (
    ForgetCall,
    ForgetRequest,
    RestoreCall,
    RestoreRequest,
    read_forget,
    read_restore,
)
from pgrecall.contract.json_body import parse_json, render_json
from pgrecall.contract.search import SearchCall, SearchRequest, read_search
from pgrecall.contract.zones import zone_of

__all__ = [
    "AddCall",
    "AddRequest",
    "AddResponse",
    "ErrorDetail",
    "ErrorResponse",
    "ForgetCall",
    "ForgetRequest",
    "ForgetResponse",
    "HealthResponse",
    "Memory",
    "MessageRequest",
    "ProviderHealth",
    "RestoreCall",
    "RestoreRequest",
    "SearchCall",
    "SearchRequest",
    "SearchResponse",
    "parse_json",
    "read_add",
    "read_forget",
    "read_restore",
    "read_search",
    "render_json",
    "zone_of",
]
