"""What /health tells of the providers, and of the facts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from ops.bench.provider import StandIn
from tests.api.calling import added, contents, post
from tests.running import add_body, serving


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
def best_effort(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    with serving(database, llm_mode="best_effort", llm_base_url=standing_in.base_url, llm_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def required(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    with serving(database, llm_mode="required", llm_base_url=standing_in.base_url, llm_retries=0) as made:
        yield made


@pytest.fixture(scope="module")
def embedding(database: str, standing_in: StandIn) -> Iterator[httpx2.Client]:
    """A client of a server whose embeddings come from the provider."""
    with serving(database, embed_backend="openai", embed_base_url=standing_in.base_url, embed_retries=0) as made:
        yield made


def test_health_counts_how_the_embeddings_ended(embedding: httpx2.Client, provider: StandIn, user: str) -> None:
    added(embedding, user, "I swim")
    before = embedding.get("/health").json()["providers"]["embedding"]
    added(embedding, user, "I sail")
    provider.misbehave("embeddings", "status", status=500)
    post(embedding, "/search", {"user_id": user, "query": "sailing"})
    after = embedding.get("/health").json()["providers"]["embedding"]
    assert after["successes"] == before["successes"] + 1
    assert after["failures"] == before["failures"] + 1
    assert after["last_failure"] == "http 500"


def degraded(client: httpx2.Client) -> bool:
    told: bool = client.get("/health").json()["extraction_degraded"]
    return told


def test_extraction_is_degraded_by_calls_for_facts_alone(
    best_effort: httpx2.Client, provider: StandIn, user: str
) -> None:
    added(best_effort, user, "I sail")
    provider.misbehave("chat", "status", status=500)
    contents(best_effort, user, "sailing")
    assert provider.calls["chat"] == 2  # the recall question failed
    assert not degraded(best_effort)
    added(best_effort, user, "I row")
    assert degraded(best_effort)
    provider.behave()
    contents(best_effort, user, "sailing")
    assert provider.calls["chat"] == 1  # the recall question came
    assert degraded(best_effort)
    added(best_effort, user, "I swim")
    assert not degraded(best_effort)


def test_replies_without_facts_degrade_extraction_though_the_provider_answers(
    required: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("chat", "prose")
    added(required, user, "I sail")
    assert degraded(required)
    provider.behave()
    added(required, user, "I row")
    assert not degraded(required)


def test_a_required_model_that_fails_degrades_extraction(
    required: httpx2.Client, provider: StandIn, user: str
) -> None:
    provider.misbehave("chat", "status", status=500)
    assert post(required, "/add", add_body(user, "I sail")).status_code == 503
    assert degraded(required)


def test_health_names_only_providers_that_were_called(
    best_effort: httpx2.Client, provider: StandIn, user: str
) -> None:
    added(best_effort, user, "I sail")
    assert best_effort.get("/health").json()["providers"].keys() == {"language_model"}
