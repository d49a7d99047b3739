"""Providers that fail: what the caller is told, what is kept, and that nothing said comes out elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from ops.bench.provider import StandIn
from tests.api.calling import NOTHING, added, contents, post, rows, stored
from tests.running import add_body, fresh, serving

MARKER = "quicksilver"
"""Stands in every id, message and key of these tests; must not come out in an error or a log."""

PASSING: list[tuple[str, dict[str, Any]]] = [
    ("status", {"status": 500}),
    ("status", {"status": 429, "retry_after": "1"}),
    ("status", {"status": 429, "retry_after": "3600"}),
    ("status", {"status": 401}),
    ("hang", {}),
    ("trickle", {}),
    ("reset", {}),
]
"""Ways in which either provider fails that may pass."""
SPOILED_VECTORS = [
    (how, dict[str, Any]())
    for how in (
        "malformed_json", "too_few", "same_index", "no_index", "wrong_dimensions", "nan", "null", "infinite",
        "zeros", "text", "other_json",
    )
]  # fmt: skip
FOR_GOOD: list[tuple[str, dict[str, Any]]] = [
    ("refuse", {}), ("content_filter", {}), ("status", {"status": 400}), ("prose", {}), ("half", {}), ("empty", {}),
    ("other_json", {}), ("malformed_json", {}), ("content", {"content": '{"facts": "none"}'}),
]  # fmt: skip
"""Replies of the language model that will not get better."""


@pytest.fixture(scope="module")
def standing_in() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture
def provider(standing_in: StandIn) -> StandIn:
    """Healthy, and its counts at nought."""
    standing_in.behave()
    return standing_in


@pytest.fixture(scope="module")
def embedding(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    """A client of a server whose embeddings come from the provider."""
    url = standing_in.base_url
    with serving(
        database, embed_backend="openai", embed_base_url=url, embed_retries=0, embed_timeout=0.4,
        embed_api_key=f"key-{MARKER}",
    ) as made:  # fmt: skip
        yield made


def with_model(database: str, provider: StandIn, mode: str, **more: Any) -> Any:
    return serving(
        database, llm_mode=mode, llm_base_url=provider.base_url, llm_api_key=f"key-{MARKER}",
        **{"llm_retries": 0, "llm_timeout": 0.4} | more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def best_effort(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    with with_model(database, standing_in, "best_effort") as made:
        yield made


@pytest.fixture(scope="module")
def required(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    with with_model(database, standing_in, "required") as made:
        yield made


@pytest.fixture
def user() -> str:
    return fresh(MARKER)


@pytest.fixture(autouse=True)
def nothing_said_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert MARKER not in "".join(str(vars(record)) + record.getMessage() for record in caplog.records)


def saying(user: str) -> dict[str, Any]:
    return add_body(user, f"My {MARKER} is blue", f"I sail {MARKER}", request=fresh(MARKER))


def assert_unavailable(response: httpx2.Response, code: str) -> None:
    assert response.status_code == 503
    assert 0 < int(response.headers["retry-after"]) <= 60
    assert response.json()["error"] == code
    assert response.json()["detail"]["reason"]
    assert MARKER not in response.text


@pytest.mark.parametrize(("how", "details"), PASSING + SPOILED_VECTORS)
def test_failing_embeddings_are_a_503_and_write_nothing(
    embedding: httpx2.Client, database: str, provider: StandIn, user: str, how: str, details: dict[str, Any]
) -> None:
    body = saying(user)
    provider.misbehave("embeddings", how, **details)
    assert_unavailable(post(embedding, "/add", body), "embedding_unavailable")
    query = f"{MARKER} " * 300  # two pieces: one vector cannot be out of order
    assert_unavailable(post(embedding, "/search", {"user_id": user, "query": query}), "embedding_unavailable")
    assert stored(database, user) == NOTHING
    provider.behave()
    assert post(embedding, "/add", body).status_code == 200
    assert stored(database, user)["messages"] == 2


def test_vectors_that_come_out_of_order_find_their_texts(
    embedding: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("embeddings", "reversed")
    added(embedding, user, "The bread is warm", "A crow sat there", "My bicycle was stolen")
    assert contents(embedding, user, "bicycle stolen", top_k=1)[0].endswith("My bicycle was stolen")


def test_a_blank_query_needs_no_embedding(embedding: httpx2.Client, provider: StandIn, user: str) -> None:
    added(embedding, user, "I sail")
    provider.misbehave("embeddings", "status", status=500)
    assert len(contents(embedding, user)) == 1


def test_facts_that_cannot_be_embedded_keep_the_whole_request_back(
    database: str, provider: StandIn, user: str
) -> None:
    with with_model(
        database, provider, "best_effort", embed_backend="openai", embed_base_url=provider.base_url,
        embed_retries=0,
    ) as client:  # fmt: skip
        provider.misbehave("embeddings", "slow", seconds=0, times=1)  # the messages' own vectors come
        provider.misbehave("embeddings", "status", status=500)
        assert_unavailable(post(client, "/add", saying(user)), "embedding_unavailable")
    assert stored(database, user) == NOTHING


@pytest.mark.parametrize(("how", "details"), PASSING)
def test_best_effort_stores_the_messages_and_keeps_why_there_are_no_facts(
    best_effort: httpx2.Client, database: str, provider: StandIn, user: str, how: str, details: dict[str, Any]
) -> None:
    before = best_effort.get("/health").json()["extraction"].get("failed", 0)
    provider.misbehave("chat", how, **details)
    assert post(best_effort, "/add", saying(user)).status_code == 200
    assert len(contents(best_effort, user, f"my {MARKER}")) == 2
    assert_extraction(database, user, "failed", 2, 0)
    health = best_effort.get("/health").json()
    assert health["extraction"]["failed"] == before + 1
    assert health["extraction_degraded"] is True
    provider.behave()
    added(best_effort, user, "I row")
    assert best_effort.get("/health").json()["extraction_degraded"] is False


@pytest.mark.parametrize(("how", "details"), PASSING)
def test_required_is_a_503_while_the_model_may_recover(
    required: httpx2.Client, database: str, provider: StandIn, user: str, how: str, details: dict[str, Any]
) -> None:
    body = saying(user)
    provider.misbehave("chat", how, **details)
    assert_unavailable(post(required, "/add", body), "language_model_unavailable")
    assert_unavailable(post(required, "/search", {"user_id": user, "query": MARKER}), "language_model_unavailable")
    assert stored(database, user) == NOTHING
    provider.behave()
    assert post(required, "/add", body).status_code == 200
    assert_extraction(database, user, "done", 2, 2)


@pytest.mark.parametrize("mode", ["best_effort", "required"])
@pytest.mark.parametrize(("how", "details"), FOR_GOOD)
def test_a_refusal_is_for_good_in_either_mode(
    mode: str, how: str, details: dict[str, Any], database: str, provider: StandIn, user: str,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    client: httpx2.Client = request.getfixturevalue(mode)
    provider.misbehave("chat", how, **details)
    assert post(client, "/add", saying(user)).status_code == 200
    assert_extraction(database, user, "refused", 2, 0)
    assert len(contents(client, user, f"my {MARKER}")) == 2


def test_a_reply_malformed_once_is_asked_for_again(
    required: httpx2.Client, database: str, provider: StandIn, user: str
) -> None:
    provider.misbehave("chat", "half", times=1)
    assert post(required, "/add", saying(user)).status_code == 200
    assert_extraction(database, user, "done", 2, 2)
    assert provider.calls["chat"] == 2


@pytest.mark.parametrize(("mode", "status"), [("best_effort", 200), ("required", 503)])
def test_a_hanging_model_does_not_outlast_the_deadline(
    database: str, provider: StandIn, user: str, mode: str, status: int
) -> None:
    body = saying(user)
    with with_model(database, provider, mode, llm_timeout=25, add_deadline=3, search_deadline=3) as client:
        added(client, user, "I sail")
        provider.misbehave("chat", "hang")
        begun = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            adding = pool.submit(post, client, "/add", body)
            searching = pool.submit(post, client, "/search", {"user_id": user, "query": MARKER})
            answers = [adding.result(), searching.result()]
        assert 2 < time.monotonic() - begun < 3.3
    for answer in answers:
        if status == 503:
            assert_unavailable(answer, "deadline_exceeded")
        assert answer.status_code == status
    assert stored(database, user)["requests"] == (2 if status == 200 else 1)


def test_embeddings_that_hang_do_not_outlast_the_deadline(database: str, provider: StandIn, user: str) -> None:
    with serving(
        database, embed_backend="openai", embed_base_url=provider.base_url, add_deadline=1, search_deadline=1
    ) as client:
        provider.misbehave("embeddings", "hang")
        taken = []
        for _ in range(3):  # the fastest counts: what else the machine does can only add to it
            begun = time.monotonic()
            with ThreadPoolExecutor(2) as pool:
                adding = pool.submit(post, client, "/add", saying(user))
                searching = pool.submit(post, client, "/search", {"user_id": user, "query": MARKER})
                assert_unavailable(adding.result(), "deadline_exceeded")
                assert_unavailable(searching.result(), "deadline_exceeded")
            taken.append(time.monotonic() - begun)
        assert min(taken) < 1.5
    assert stored(database, user) == NOTHING


def assert_extraction(database: str, user: str, extraction: str, messages: int, facts: int) -> None:
    """What the only request's row of a user says, and that rows and counts agree."""
    ((found, reason, said, drawn),) = rows(
        database,
        "SELECT extraction, extraction_reason, message_count, fact_count FROM requests WHERE user_id = %s",
        [user],
    )
    assert (found, said, drawn) == (extraction, messages, facts)
    assert (reason is None) == (extraction == "done")
    assert MARKER not in (reason or "")
    counted = stored(database, user)
    assert (counted["messages"], counted["facts"]) == (messages, facts)
