"""Who may call, and what must not be started at all."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from pgrecall.access import Access, configured, weakness
from pgrecall.app import create_app
from pgrecall.errors import StartRefused
from pgrecall.settings import Settings
from tests.api.calling import post
from tests.running import add_body, fresh, serving

SECRET = "correct-horse-battery"  # none that anyone uses
SCHEMES = ("bearer", "token", "x-api-key")
RIGHT = [
    {"authorization": f"Bearer {SECRET}"},
    {"authorization": f"bearer {SECRET}"},
    {"authorization": f"BEARER  {SECRET}"},
    {"authorization": f"Token {SECRET}"},
    {"authorization": f"token {SECRET}"},
    {"x-api-key": SECRET},
    {"authorization": "Basic abc", "x-api-key": SECRET},
    {"authorization": f"Bearer {SECRET}", "x-api-key": "wrong"},
]
WRONG: list[dict[str, Any]] = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer"},
    {"authorization": "Bearer  x"},
    {"authorization": SECRET},
    {"authorization": f"Basic {SECRET}"},
    {"authorization": f"Bearer {SECRET}x"},
    {"authorization": f"Bearer {SECRET[:-1]}"},
    {"authorization": f"Bearer {SECRET.upper()}"},
    {"authorization": f"Bearer Bearer {SECRET}"},
    {"x-api-key": ""},
    {"x-api-key": f"Bearer {SECRET}"},
    {"x-api-key": "wrong"},
    {"x-api-key": "schlüssel".encode()},
]


@pytest.fixture(scope="module", params=SCHEMES)
def guarded(request: pytest.FixtureRequest, database: str) -> Iterator[httpx2.Client]:
    """A client, without the secret, of a server under each scheme."""
    with serving(database, auth_scheme=request.param, auth_token=SECRET) as made:
        yield made


@pytest.mark.parametrize("headers", RIGHT)
def test_any_header_with_the_right_secret_is_accepted_under_any_scheme(
    guarded: httpx2.Client, user: str, headers: dict[str, str]
) -> None:
    assert post(guarded, "/add", add_body(user, "hello"), **headers).status_code == 200
    assert len(post(guarded, "/search", {"user_id": user, "query": ""}, **headers).json()["data"]) == 1


@pytest.mark.parametrize("headers", WRONG)
def test_a_wrong_or_missing_secret_is_a_401(guarded: httpx2.Client, user: str, headers: dict[str, Any]) -> None:
    for path in ("/add", "/add/", "/search", "/search/", "/v1/memory/add", "/v1/memory/search/"):
        response = guarded.post(path, json=add_body(user, "hello") | {"query": "hello"}, headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"]
        assert response.json()["error"] == "unauthorized"
        assert SECRET not in response.text
    right = {"authorization": f"Bearer {SECRET}"}
    assert post(guarded, "/search", {"user_id": user, "query": ""}, **right).json()["data"] == []


def test_who_does_not_know_the_secret_learns_nothing_of_the_body(guarded: httpx2.Client) -> None:
    assert guarded.post("/add", content=b"no json").status_code == 401


def test_health_tells_a_stranger_only_that_it_lives(guarded: httpx2.Client) -> None:
    for headers in ({}, {"x-api-key": "wrong"}):
        response = guarded.get("/health", headers=headers)
        assert response.status_code == 200
        assert response.json() == {"status": "ok"}


@pytest.mark.parametrize("headers", RIGHT)
def test_health_tells_more_with_the_secret(guarded: httpx2.Client, headers: dict[str, str]) -> None:
    health = guarded.get("/health", headers=headers).json()
    assert health["status"] == "ok"
    assert health["database"] == "ok"
    assert health["stored"].keys() >= {"memories"}
    assert health["extraction_degraded"] is False
    assert health["providers"] == {}  # the static embedder is no provider


def test_a_secret_beyond_ascii_is_accepted(database: str) -> None:
    with serving(database, auth_scheme="bearer", auth_token="schlüssel-größe") as client:
        headers = [(b"authorization", "Bearer schlüssel-größe".encode())]
        response = client.post("/search", json={"user_id": fresh("user"), "query": "x"}, headers=headers)
        assert response.status_code == 200


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "token",
    [
        None, "", "  ", "changeme", "CHANGEME", " change-me ", "secret", "your-token", "xxxx", "xxxxxxxxxxxx",
        "changeme123", "change_me_please", "CHANGE ME", "<your-token>", "<a long secret>", "your-secret-here",
        "your_token_here", "YOUR-API-KEY", "put-your-own-secret-in", "replace_me", "Replace this!", "sk-...",
        "sk-xxxxxxxxxxxx", "${PGRECALL_TOKEN}", "{{ secret }}", "my-secret-token", "a-long-random-secret",
        "supersecret1", "test-token", "password123", "a", "1234", "1234567", "12345678", "0123456789", "87654321",
        "********", "abababab",
    ],
)  # fmt: skip
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_an_empty_or_placeholder_secret_stops_the_start(scheme: Any, token: str | None, host: str) -> None:
    with pytest.raises(StartRefused, match="PGRECALL_AUTH_TOKEN"):
        configured(host, scheme, token, allow_open_access=True)
    with pytest.raises(StartRefused, match="PGRECALL_AUTH_TOKEN"):
        create_app(Settings(host=host, auth_scheme=scheme, auth_token=token), "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "10.0.0.1", "memory.example", "", "2001:db8::1"])
def test_beyond_loopback_a_scheme_must_be_chosen(host: str) -> None:
    for allow in (False, True):
        with pytest.raises(StartRefused, match="PGRECALL_AUTH_SCHEME"):
            configured(host, None, None, allow)
    with pytest.raises(StartRefused, match="PGRECALL_AUTH_SCHEME"):
        create_app(Settings(host=host), "")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7"])
def test_open_access_beyond_loopback_must_be_meant(host: str) -> None:
    with pytest.raises(StartRefused, match="PGRECALL_ALLOW_OPEN_ACCESS"):
        configured(host, "none", None, allow_open_access=False)
    assert configured(host, "none", None, allow_open_access=True).open
    create_app(Settings(host=host, auth_scheme="none", allow_open_access=True), "")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
@pytest.mark.parametrize("scheme", [None, "none"])
def test_on_loopback_no_scheme_means_none(host: str, scheme: str | None) -> None:
    assert configured(host, scheme, None, allow_open_access=False).open


def test_a_secret_that_nobody_would_ask_for_stops_the_start() -> None:
    with pytest.raises(StartRefused, match="PGRECALL_AUTH_SCHEME"):
        configured("127.0.0.1", None, SECRET, allow_open_access=False)


def test_a_refusal_to_start_never_quotes_the_secret() -> None:
    for token in ("changeme", "your-token", "hunter2", "87654321", "zzzzzzzz"):
        with pytest.raises(StartRefused) as refused:
            configured("127.0.0.1", "bearer", token, allow_open_access=False)
        assert token not in f"{refused.value} {refused.value.reason} {refused.value.remedy}"
        assert "openssl rand -hex 32" in refused.value.remedy


@pytest.mark.parametrize(
    "token",
    [
        SECRET, "schlüssel-größe", "f3a9c27b", "8" * 4 + "a1b2c3d4", "Xk9_tokenQ-your2", "红色的大象在河里游泳",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "!@#$%^&*()", "k<9Qz>w2{}",
        "sk-proj-4Zr8vN1qLm", "testimony-of-a-token-ring", "xxl-harbour-lantern",
    ],
)  # fmt: skip
def test_a_secret_of_ones_own_is_taken(token: str) -> None:
    assert configured("0.0.0.0", "bearer", token, allow_open_access=False).knows(
        {"x-api-key": token.encode().decode("latin-1")}
    )


def test_a_random_secret_is_never_taken_for_a_placeholder() -> None:
    chance = random.Random(5)
    for _ in range(2000):
        for secret in (chance.randbytes(16).hex(), base64.b64encode(chance.randbytes(24)).decode()):
            assert weakness(secret) is None


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_closes_the_door(scheme: str) -> None:
    access = configured("0.0.0.0", scheme, SECRET, allow_open_access=False)
    assert not access.open
    assert access.knows({"x-api-key": SECRET})
    assert not access.knows({"x-api-key": "wrong"})


def test_an_open_door_knows_no_secret() -> None:
    assert not Access(None).knows({"x-api-key": ""})
