"""The contract around the JSON: sizes, content types, paths, methods, and what OpenAPI says of it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.api.calling import added, contents, found, post
from tests.running import add_body

LARGEST = 32 * 1024 * 1024


def of_size(user: str, size: int) -> bytes:
    """An Add of exactly so many bytes; most of it in a field that nobody knows, so that it costs little."""
    body = add_body(user, "a line in a large body", padding="")
    body["padding"] = "x" * (size - len(json.dumps(body)))
    return json.dumps(body).encode()


def in_chunks(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 1 << 20):
        yield body[start : start + (1 << 20)]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_32_mib_is_accepted(client: httpx2.Client, user: str, chunked: bool) -> None:
    body = of_size(user, LARGEST)
    assert client.post("/add", content=in_chunks(body) if chunked else body).status_code == 200
    assert len(found(client, user)) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_one_byte_larger_is_a_413(client: httpx2.Client, user: str, chunked: bool) -> None:
    body = of_size(user, LARGEST + 1)
    response = client.post("/add", content=in_chunks(body) if chunked else body)
    assert response.status_code == 413
    assert response.json()["error"] == "body_too_large"
    assert response.json()["detail"]["reason"]
    assert found(client, user) == []


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_the_content_type_does_not_matter(client: httpx2.Client, user: str, content_type: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}
    body = json.dumps(add_body(user, "hello")).encode()
    assert client.post("/add", content=body, headers=headers).status_code == 200
    response = client.post("/search", content=json.dumps({"user_id": user, "query": ""}).encode(), headers=headers)
    assert len(response.json()["data"]) == 1


def test_the_aliases_answer_alike(client: httpx2.Client, user: str) -> None:
    body = add_body(user, "I sail")
    first, again = post(client, "/v1/memory/add", body), post(client, "/add", body)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    query = {"user_id": user, "query": "sail"}
    assert post(client, "/v1/memory/search", query).json() == post(client, "/search", query).json()
    assert len(contents(client, user)) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("POST", "/add/more", 404),
        ("GET", "/add", 405),
        ("GET", "/add/", 405),
        ("PUT", "/search", 405),
        ("DELETE", "/v1/memory/add", 405),
        ("POST", "/health", 405),
    ],
)
def test_an_unknown_path_or_method_is_answered_in_the_shape_of_an_error(
    client: httpx2.Client, method: str, path: str, status: int
) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert isinstance(response.json()["error"], str)
    assert isinstance(response.json()["detail"]["reason"], str)


@pytest.mark.parametrize("path", ["", "/v1/memory"])
def test_a_slash_at_the_end_is_answered_without_a_redirect(client: httpx2.Client, user: str, path: str) -> None:
    body = add_body(user, "hello")
    first = client.post(f"{path}/add/", json=body)
    assert first.status_code == 200
    assert first.json() == client.post(f"{path}/add", json=body).json()
    query = {"user_id": user, "query": "hello"}
    slashed = client.post(f"{path}/search/", json=query)
    assert slashed.status_code == 200
    assert slashed.json() == client.post(f"{path}/search", json=query).json()
    assert len(found(client, user)) == 1
    assert client.get("/health/").json()["status"] == "ok"


def test_openapi_names_each_endpoint_once(client: httpx2.Client) -> None:
    assert sorted(client.get("/openapi.json").json()["paths"]) == [
        "/add",
        "/forget",
        "/health",
        "/restore",
        "/search",
    ]


def test_health_says_that_it_lives(client: httpx2.Client) -> None:
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json()["status"] == "ok"


def test_openapi_describes_both_endpoints_with_examples_and_errors(client: httpx2.Client) -> None:
    described = client.get("/openapi.json").json()
    for path, fields in (
        ("/add", {"request_id", "user_id", "session_id", "messages"}),
        ("/search", {"query", "user_id", "top_k", "options"}),
    ):
        operation = described["paths"][path]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert fields <= resolved(described, schema)["properties"].keys()
        assert "example" in json.dumps(operation["requestBody"])
        assert {"200", "401", "413", "422", "503"} <= operation["responses"].keys()
        for status in ("200", "422", "503"):
            answer = operation["responses"][status]["content"]["application/json"]
            expected = {"error", "detail"} if status != "200" else {"success"} if path == "/add" else {"data"}
            assert expected <= resolved(described, answer["schema"])["properties"].keys()
    assert "409" in described["paths"]["/add"]["post"]["responses"]
    assert "/health" in described["paths"]


def test_every_reference_in_openapi_leads_somewhere(client: httpx2.Client) -> None:
    described = client.get("/openapi.json").json()
    references = list(referenced(described))
    assert references
    for reference in references:
        resolved(described, {"$ref": reference})


def test_the_examples_in_openapi_are_answered_200(client: httpx2.Client) -> None:
    described = client.get("/openapi.json").json()
    for path in ("/add", "/search"):
        media = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        schema = resolved(described, media["schema"])
        examples = schema.get("examples") or [media["example"]]
        for example in examples:
            assert post(client, path, example).status_code == 200
    added(client, "of the examples", "hello")


def resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference points at; KeyError where it points nowhere."""
    if "$ref" not in schema:
        return schema
    target: Any = described
    for step in schema["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return dict(target)


def referenced(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield str(value)
            else:
                yield from referenced(value)
    elif isinstance(part, list):
        for value in part:
            yield from referenced(value)


def test_an_offer_to_upgrade_is_passed_over(client: httpx2.Client, user: str) -> None:
    """Java's HttpClient offers h2c with each request over plain HTTP; RFC 9110, 7.8: a server may ignore it."""
    body = json.dumps(add_body(user, "I ran today")).encode()
    head = (
        f"POST /add HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        f"HTTP2-Settings: AAEA\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    for second_packet in (False, True):
        with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as connection:
            connection.sendall(head if second_packet else head + body)
            if second_packet:
                time.sleep(0.1)
                connection.sendall(body)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
