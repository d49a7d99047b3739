"""Texts that are heavy to analyse: they are stored, in time, and nobody else waits for them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import httpx2
import pytest

from tests.api.calling import post
from tests.running import add_body

CHOICE = random.Random(5)
HEAVY = {
    "100,000 Han characters": "".join(chr(CHOICE.randrange(0x4E00, 0x9FA5)) for _ in range(100_000)),
    "60,000 distinct words": " ".join("".join(CHOICE.choices("abcdefghij", k=8)) for _ in range(60_000)),
    "100,000 combining marks": "\u0301" * 100_000,
    "base64 of 300 KB": "".join(CHOICE.choices("ABCDEFabcdef0123456789+/", k=300_000)),
    "one letter and a point, 100,000 times": "a." * 100_000,
    "a character that unfolds to eighteen": "\ufdfa" * 20_000,
}
LONGEST_WAIT = 2.0
"""Seconds that /health may take meanwhile: with the analysis on the event loop it took 3 to 89."""


@pytest.fixture
def waits(client: httpx2.Client) -> Iterator[list[float]]:
    """How long /health took, asked all the while."""
    taken: list[float] = []
    done = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=client.base_url, timeout=120) as asking:
            while not done.is_set():
                start = time.perf_counter()
                asking.get("/health")
                taken.append(time.perf_counter() - start)
                time.sleep(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    yield taken
    done.set()
    thread.join()


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY)
def test_a_heavy_text_is_stored_and_asked_while_others_are_answered(
    client: httpx2.Client, user: str, waits: list[float], text: str
) -> None:
    for path, body in (
        ("/add", add_body(user, text)),
        ("/search", {"user_id": user, "query": text}),
        ("/search", {"user_id": user, "query": "plum", "options": [text[:1000]] * 64}),
    ):
        assert post(client, path, body).status_code == 200
    assert max(waits) < LONGEST_WAIT
