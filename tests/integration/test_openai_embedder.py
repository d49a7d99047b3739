"""The OpenAI-compatible embedder against a real HTTP server that misbehaves on command."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from ops.bench.provider import StandIn
from pgrecall.deadline import Deadline
from pgrecall.embedding.openai import OpenAIEmbedder
from pgrecall.errors import DeadlineExceeded, EmbeddingUnavailable, StartRefused
from pgrecall.memory import DIMENSIONS
from pgrecall.tally import ProviderTally

SECRET = "sk-secret-key"
TEXTS = [f"text number {number}" for number in range(35)]


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    with StandIn() as provider:
        yield provider


@pytest.fixture
def provider(running: StandIn) -> StandIn:
    running.behave()
    return running


@pytest.fixture
def tally() -> ProviderTally:
    return ProviderTally()


@pytest.fixture
async def embedder(provider: StandIn, tally: ProviderTally) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(api_key=SECRET, base_url=provider.base_url, timeout=0.5, retries=1, tally=tally)
    yield embedder
    await embedder.close()


async def test_texts_go_out_in_batches_of_ten_four_at_once(
    provider: StandIn, embedder: OpenAIEmbedder, tally: ProviderTally
) -> None:
    provider.misbehave("embeddings", "slow", seconds=0.1)
    rows = await embedder.embed(TEXTS, Deadline(5))
    assert rows.shape == (35, DIMENSIONS)
    assert sorted(len(body["input"]) for body in provider.bodies["embeddings"]) == [5, 10, 10, 10]
    assert provider.most_at_once["embeddings"] == 4
    assert (tally.successes, tally.failures) == (4, 0)


async def test_calls_at_once_are_limited_over_all_callers(provider: StandIn, embedder: OpenAIEmbedder) -> None:
    provider.misbehave("embeddings", "slow", seconds=0.02)
    await asyncio.gather(*(embedder.embed(TEXTS, Deadline(5)) for _ in range(5)))
    assert provider.most_at_once["embeddings"] == 4
    assert provider.calls["embeddings"] == 20


async def test_search_does_not_wait_for_all_of_a_large_add(provider: StandIn, embedder: OpenAIEmbedder) -> None:
    provider.misbehave("embeddings", "slow", seconds=0.05)
    large = asyncio.create_task(embedder.embed(TEXTS * 20, Deadline(10)))
    await asyncio.sleep(0.1)
    await embedder.embed(["query"], Deadline(5))
    assert not large.done()
    assert provider.calls["embeddings"] < 30
    await large


async def test_request_says_what_it_wants(provider: StandIn, embedder: OpenAIEmbedder) -> None:
    await embedder.embed(["hello"], Deadline(5))
    assert provider.bodies["embeddings"][0] == {
        "model": "text-embedding-v4",
        "input": ["hello"],
        "encoding_format": "float",
        "dimensions": 1024,
    }


async def test_dimensions_can_be_left_unsaid(provider: StandIn) -> None:
    embedder = OpenAIEmbedder(api_key=None, base_url=provider.base_url, send_dimensions=False)
    await embedder.embed(["hello"], Deadline(5))
    assert "dimensions" not in provider.bodies["embeddings"][0]
    await embedder.close()


async def test_order_follows_the_index(provider: StandIn, embedder: OpenAIEmbedder) -> None:
    right = await embedder.embed(TEXTS, Deadline(5))
    provider.misbehave("embeddings", "reversed")
    assert (await embedder.embed(TEXTS, Deadline(5)) == right).all()


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("too_few", "9 vectors for 10 texts"),
        ("wrong_dimensions", "vectors of 1023 dimensions, not 1024"),
        ("nan", "vectors with values that are no numbers"),
        ("null", "vectors with values that are no numbers"),
        ("infinite", "vectors with values that are no numbers"),
        ("zeros", "a vector of zeros"),
        ("text", "malformed"),
        ("same_index", "indices that do not match the texts"),
        ("no_index", "indices that do not match the texts"),
        ("other_json", "malformed"),
        ("malformed_json", "malformed"),
        ("reset", "network"),
        ("hang", "timeout"),
        ("trickle", "timeout"),
    ],
)
async def test_reply_that_cannot_be_used_is_refused(
    provider: StandIn, embedder: OpenAIEmbedder, tally: ProviderTally, how: str, kind: str
) -> None:
    provider.misbehave("embeddings", how)
    with pytest.raises(EmbeddingUnavailable) as raised:
        await embedder.embed(TEXTS[:10], Deadline(5))
    assert raised.value.reason == f"the embedding provider failed: {kind}"
    assert raised.value.__suppress_context__
    assert (tally.successes, tally.failures, tally.last_failure) == (0, 1, kind)


@pytest.mark.parametrize(
    ("status", "calls"), [(400, 1), (401, 1), (403, 1), (404, 1), (422, 1), (429, 2), (500, 2), (503, 2)]
)
async def test_only_a_status_that_may_pass_is_tried_again(
    provider: StandIn, embedder: OpenAIEmbedder, status: int, calls: int
) -> None:
    provider.misbehave("embeddings", "status", status=status)
    with pytest.raises(EmbeddingUnavailable, match=f"http {status}"):
        await embedder.embed(["hello"], Deadline(5))
    assert provider.calls["embeddings"] == calls


@pytest.mark.parametrize("how", ["status", "reset", "hang"])
async def test_failure_that_passes_is_outlived(
    provider: StandIn, embedder: OpenAIEmbedder, tally: ProviderTally, how: str
) -> None:
    provider.misbehave("embeddings", how, times=1)
    await embedder.embed(["hello"], Deadline(5))
    assert (provider.calls["embeddings"], tally.successes, tally.failures) == (2, 1, 0)


async def test_retry_after_is_kept(provider: StandIn, embedder: OpenAIEmbedder) -> None:
    provider.misbehave("embeddings", "status", status=429, retry_after="1", times=1)
    started = time.monotonic()
    await embedder.embed(["hello"], Deadline(5))
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize("retry_after", ["3", "60", "inf"])
async def test_wait_that_does_not_fit_the_deadline_is_not_begun(
    provider: StandIn, embedder: OpenAIEmbedder, retry_after: str
) -> None:
    provider.misbehave("embeddings", "status", status=429, retry_after=retry_after)
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="http 429"):
        await embedder.embed(["hello"], Deadline(2))
    assert time.monotonic() - started < 1


async def test_deadline_cuts_a_slow_provider(provider: StandIn, tally: ProviderTally) -> None:
    embedder = OpenAIEmbedder(api_key=None, base_url=provider.base_url, timeout=20, tally=tally)
    provider.misbehave("embeddings", "slow", seconds=1.5)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        await embedder.embed(TEXTS, Deadline(0.3))
    assert 0.25 < time.monotonic() - started < 0.8
    assert tally.last_failure == "deadline"
    await embedder.close()


async def test_nothing_listening_is_a_network_failure() -> None:
    embedder = OpenAIEmbedder(api_key=None, base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(EmbeddingUnavailable, match="network"):
        await embedder.embed(["hello"], Deadline(5))
    await embedder.close()


async def test_endpoint_is_told_without_credentials() -> None:
    embedder = OpenAIEmbedder(api_key=SECRET, base_url="https://me:pw@example.org:8443/v1/?token=x")
    assert embedder.identity.endpoint == "https://example.org:8443/v1"
    await embedder.close()


async def test_key_is_never_borrowed(provider: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    with pytest.raises(StartRefused) as refused:
        OpenAIEmbedder(api_key=None)
    assert "PGRECALL_EMBED_API_KEY" in refused.value.reason
    embedder = OpenAIEmbedder(api_key=None, base_url=provider.base_url)
    await embedder.embed(["hello"], Deadline(5))
    assert provider.keys == {"Bearer none"}
    own = OpenAIEmbedder(api_key=SECRET)
    assert own.identity.endpoint == "https://api.openai.com/v1"
    await own.close()
    await embedder.close()


@pytest.mark.parametrize(("key", "url"), [("schlüssel", None), ("", None), ("key", "localhost:8000/v1")])
def test_key_or_url_that_cannot_work_stops_the_start(key: str, url: str | None) -> None:
    with pytest.raises(StartRefused):
        OpenAIEmbedder(api_key=key, base_url=url)
