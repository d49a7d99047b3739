"""The same request again: nothing twice, nothing mixed, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from ops.bench.provider import StandIn
from tests.api.calling import added, contents, post, stored
from tests.running import add_body, serving


@pytest.fixture(scope="module")
def provider() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture(scope="module")
def extracting(database: str, provider: StandIn) -> Iterator[httpx2.Client]:
    """A client of a server that draws facts."""
    with serving(database, llm_mode="required", llm_base_url=provider.base_url) as made:
        yield made


@pytest.fixture
def slow_model(provider: StandIn) -> StandIn:
    """The provider, whose every chat reply takes 0.7 s."""
    provider.behave()
    provider.misbehave("chat", "slow", seconds=0.7)
    return provider


def test_a_repeated_request_stores_nothing(client: httpx2.Client, database: str, user: str) -> None:
    body = added(client, user, "I sail", "I row")
    before = stored(database, user)
    assert [post(client, "/add", body).json() for _ in range(3)] == [
        {"success": True, **{name: body[name] for name in ("request_id", "user_id", "session_id")}}
    ] * 3
    assert stored(database, user) == before


def test_key_order_spacing_and_unknown_fields_make_no_other_body(
    client: httpx2.Client, database: str, user: str
) -> None:
    body = added(client, user, "I sail")
    turned = dict(reversed((body | {"trace": "another"}).items()))
    turned["messages"] = [dict(reversed((message | {"trace": 1}).items())) for message in body["messages"]]
    assert client.post("/add", content=json.dumps(turned, indent=4).encode()).status_code == 200
    assert stored(database, user)["messages"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"session_id": "another"},
        {"messages": [{"role": "user", "content": "something else"}]},
        {"messages": [{"role": "assistant", "content": "first", "timestamp": 1684591200000}]},
        {"messages": [{"role": "user", "content": "first", "timestamp": 1684591200001}]},
        {"messages": [{"role": "user", "content": "first", "timestamp": 1684591200000, "name": "Ann"}]},
        {"messages": [{"role": "user", "content": "first", "timestamp": 1684591200000}] * 2},
    ],
)
def test_another_body_is_a_409_and_the_first_stands(
    client: httpx2.Client, database: str, user: str, change: dict[str, object]
) -> None:
    body = added(client, user, "first")
    before = stored(database, user)
    response = post(client, "/add", body | change)
    assert response.status_code == 409
    assert response.json()["error"] == "request_conflict"
    assert response.json()["detail"]["reason"]
    assert "something else" not in response.text
    assert stored(database, user) == before
    assert contents(client, user) == ["[2023-05-20 14:00] I: first"]
    assert post(client, "/add", body).status_code == 200


def test_the_same_request_id_of_another_user_is_independent(client: httpx2.Client, user: str) -> None:
    added(client, user, "mine", request_id="shared")
    added(client, user + "-2", "theirs", request_id="shared")
    assert contents(client, user) == ["[2023-05-20 14:00] I: mine"]
    assert contents(client, user + "-2") == ["[2023-05-20 14:00] I: theirs"]


def test_eight_identical_calls_at_once_cost_one_extraction(
    extracting: httpx2.Client, database: str, slow_model: StandIn, user: str
) -> None:
    body = add_body(user, "I sail", "I row")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(extracting, "/add", body), range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert slow_model.calls["chat"] == 1
    counted = stored(database, user)
    assert (counted["requests"], counted["messages"], counted["facts"]) == (1, 2, 2)


def test_two_bodies_at_once_store_one_and_refuse_the_other(
    extracting: httpx2.Client, database: str, slow_model: StandIn, user: str
) -> None:
    bodies = [add_body(user, text, request="shared") for text in ("I sail", "I row")]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda body: post(extracting, "/add", body), bodies))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert stored(database, user) | {"facts": 1} == stored(database, user)
    winner = [answer.status_code for answer in answers].index(200)
    assert contents(extracting, user, top_k=1)[0].endswith(bodies[winner]["messages"][0]["content"])


def leave(client: httpx2.Client, body: object) -> None:
    """Call and hang up after 0.2 s."""
    with (
        httpx2.Client(base_url=client.base_url, timeout=0.2, trust_env=False) as hasty,
        pytest.raises(httpx2.ReadTimeout),
    ):
        post(hasty, "/add", body)


def test_a_client_that_leaves_does_not_cancel_the_others(
    extracting: httpx2.Client, database: str, slow_model: StandIn, user: str
) -> None:
    body = add_body(user, "I sail")
    with ThreadPoolExecutor(4) as pool:
        leaving = pool.submit(leave, extracting, body)
        staying = [pool.submit(post, extracting, "/add", body) for _ in range(3)]
        leaving.result()
        assert [answer.result().status_code for answer in staying] == [200] * 3
    assert slow_model.calls["chat"] == 1
    assert stored(database, user)["messages"] == 1


def test_what_a_client_left_behind_is_not_paid_for_again(
    extracting: httpx2.Client, database: str, slow_model: StandIn, user: str
) -> None:
    body = add_body(user, "I sail")
    leave(extracting, body)
    assert post(extracting, "/add", body).status_code == 200
    assert slow_model.calls["chat"] == 1
    assert stored(database, user)["facts"] == 1
