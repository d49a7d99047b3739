"""What pgrecall keeps, as plain values. No I/O."""

from __future__ import annotations

import enum
import hashlib
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime

from numpy import float32
from numpy.typing import NDArray

from pgrecall.temporal.expressions import TimeExpression
from pgrecall.versions.statements import Statement

DIMENSIONS = 1024
"""Width of the stored vectors, halfvec(1024). Shorter embeddings are padded with zeros."""
CODED_DIMENSIONS = DIMENSIONS + 128
"""With the code of the user (coded.py)."""

Vector = NDArray[float32]
"""Shape (DIMENSIONS,), length 1."""
Vectors = NDArray[float32]
"""Shape (n, DIMENSIONS), rows of length 1."""


class Kind(enum.IntEnum):
    """The two kinds of memory, in the order that breaks ties."""

    MESSAGE = 0
    FACT = 1


class Extraction(enum.StrEnum):
    """What became of the facts of a request; kept on its row."""

    OFF = "off"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it was understood. `occurred_at` is by its speaker's clock, or None: then nothing dates it."""

    role: str
    speaker: str
    content: str
    occurred_at: datetime | None
    dated: bool = True
    """False: `occurred_at` was taken from a dated message of the same request."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One extracted fact. `sources` are positions of the request's messages it rests on, ascending."""

    content: str
    sources: tuple[int, ...]
    statement: Statement | None = None
    """The state that it tells, where it tells one."""


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """One memory that a search returns."""

    id: uuid.UUID
    kind: Kind
    speaker: str | None
    content: str
    occurred_at: datetime | None
    score: float
    dates: tuple[TimeExpression, ...] = ()
    """What of its content is resolved to dates, where lines show that."""
    tag: str = ""
    """Written after the line: whether the state that it tells still holds."""
    n: int = field(default=0, compare=False)
    """Its number among the user's memories: says nothing outside of that store."""


@dataclass(frozen=True, slots=True)
class StoredState:
    """One state that a stored memory tells, and that memory. `alone`: it says nothing else worth keeping."""

    n: int
    statement: Statement
    alone: bool
    occurred_at: datetime | None
    id: uuid.UUID
    speaker: str | None
    content: str


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """What a stored vector means. Vectors of two identities must never meet in one search."""

    backend: str
    model: str
    dimensions: int
    """Dimensions that the backend returns, at most DIMENSIONS."""
    endpoint: str
    """Base URL without credentials; empty for local backends."""
    preprocessing: int
    """Version of everything between a message and the embedder: rendering, segmentation, pooling."""


def memory_id(user_id: str, request_id: str, kind: Kind, position: int) -> uuid.UUID:
    """The id on the wire: the same for the same message of the same request, whoever computes it.

    A UUID of version 8 (RFC 9562: custom) from SHA-256; each part is prefixed by its length, so no two
    different inputs run together. Lone surrogates, which no id is too odd to hold, are kept apart.
    """
    digest = hashlib.sha256()
    for part in (user_id, request_id, str(int(kind)), str(position)):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    octets = bytearray(digest.digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    return uuid.UUID(bytes=bytes(octets))


@dataclass(frozen=True, slots=True)
class Addition:
    """One Add, ready to be stored: vectors and facts are there, nothing more will be asked of anyone."""

    user_id: str
    request_id: str
    session_id: str
    body_digest: bytes
    messages: tuple[Message, ...]
    message_vectors: Vectors
    facts: tuple[Fact, ...]
    fact_vectors: Vectors
    extraction: Extraction
    extraction_reason: str | None
    prompt_version: int
    language_model: str


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """What the language model made of a query, in its one call."""

    text: str
    key_words: tuple[str, ...] = ()
    time: str | None = None
    """The time that the query means, in its own words."""
    asks_for: str | None = None
    """current, dated, history, event or other."""


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term that the log is asked for. `keys`: each spelling under which the log may know it, with the number of
    letters that the spelling lacks."""

    term: str
    weight: float = 1.0
    keys: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What one search is asked with; the default asks for the newest memories."""

    first: Vector | None = None
    """None: the vectors say nothing."""
    second: Vector | None = None
    """Of a second round: a memory counts by the better of the two."""
    terms: tuple[AskedTerm, ...] = ()
    times: tuple[tuple[date, date], ...] = ()
    """First and last day of each time that it names."""
    as_of: datetime | None = None
    """Only what had been said by then."""
    withheld: tuple[int, ...] = ()
    """Numbers n of memories that are left out: what they say was replaced, or did not hold when it is asked for."""
    newest_first: bool = False
    """Of memories that tie, the later first."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each part adds to a memory's score; the defaults are measured (README.md, How well it finds)."""

    dense: float = 0.5
    """Of the similarity of the vectors, 0 to 1 within a search."""
    lexical: float = 0.5
    """Of BM25, 0 to 1 within a search."""
    neighbour: float = 0.4
    """Of the better neighbour's score at distance 1 in the session."""
    second_neighbour: float = 0.25
    """The same at distance 2."""
    session: float = 0.4
    """Of the share of the question's terms that the session holds."""
    fact: float = 0.4
    """Of the best fact that rests on the message."""
    spelling: float = 0.5
    """Of a term that stands for one the log does not know."""
    time: float = 0.5
    """For being of a time that the question names."""


DENSE_ONLY = Weights(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""The ranking by vectors alone."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories to forget or to restore; of several each must hold."""

    ids: tuple[uuid.UUID, ...] | None = None
    session_id: str | None = None
    since: datetime | None = None
    """Said then or later."""
    until: datetime | None = None
    """Said before."""
    forget_id: uuid.UUID | None = None
    """Hidden by that forgetting."""

    @property
    def named(self) -> list[str]:
        """The fields that are named."""
        return [name for name in self.__slots__ if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a forgetting took, or a restoring brought back."""

    audit_id: uuid.UUID
    messages: int
    facts: int


@dataclass(frozen=True, slots=True)
class Caps:
    """What bounds and shapes the evidence of one search."""

    return_limit: int = 100
    window_radius: int = 0
    raw_first: bool = True
    return_char_budget: int = 400_000
    return_token_budget: int | None = None
    weights: Weights = Weights()
    glossed: bool = True
    """Whether lines show the dates that their words mean."""
    tagged: bool = False
    """Whether lines say of states whether they still hold."""
    variety: float = 0.0
    """From 0, by score alone, to 1: how much a memory loses by being like one that stands above it."""
    candidates: int = 400
    """Of each kind, by vectors and by words: those behind get nothing for it. With 200 / 400 / all of some 570
    messages any@5 is .706 / .718 / .716 on LoCoMo, any@20 .866 / .867 / .867."""
