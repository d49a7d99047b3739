"""The same log under other ids, by other workers: the same evidence in the same order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from ops.bench.provider import StandIn
from tests.api.calling import AT_14, post
from tests.running import fresh, serving

DAY = 86_400_000
PLACES = ("Oslo", "Bergen", "Porto")
SESSIONS = [
    [
        (f"Ida: I took the night train to {place}.", None),
        ("Per: Did you sleep?", None),
        ("Ida: Hardly. The heating rattled until five.", 60_000),
        (f"Per: My aunt keeps bees near {place}.", 120_000),
        ("Ida: Bees? How many hives?", 120_000),
        ("Per: Nine, and one that swarmed in May.", 180_000),
        ("Ida: I ran today.", 240_000),
        ("Per: I ran today.", 240_000),
        (f"Ida: In {place} I bought a green teapot for 40 crowns.", 300_000),
        ("Per: A teapot!", 300_000),
        ("Ida: It drips a little.", 300_000),
        ("Per: My cello lessons begin on Tuesday.", 360_000),
        (f"Ida: The exhibition in {place} closes next week.", None),
        ("Per: Then we go on Saturday.", 420_000),
        ("Ida: Saturday it is.", 480_000),
        ("Per: I still owe you 12 crowns.", 480_000),
        ("Ida: Keep them for the ferry.", 540_000),
        ("Per: The ferry leaves at seven.", 540_000),
        (f"Ida: I wrote a postcard from {place} to my brother Nils.", 600_000),
        ("Per: Nils still collects stamps.", 600_000),
    ]
    for place in PLACES
]
"""Sixty messages: some undated, some of the same minute, some said twice."""

QUESTIONS = (
    "Where did Ida buy the teapot?",
    "How many hives does Per's aunt keep?",
    "When do the cello lessons begin?",
    "Who ran today?",
    "What does Nils collect?",
    "When does the ferry leave?",
    "Which exhibition closes?",
    "",
)


def requests_of(session: int, user: str) -> list[dict[str, Any]]:
    """The Adds of a session, in order: five messages each."""
    lines = SESSIONS[session]
    messages = [
        {
            "role": "user",
            "content": content,
            "timestamp": None if after is None else AT_14 + session * DAY + after,
        }
        for content, after in lines
    ]
    return [
        {
            "user_id": user,
            "session_id": f"{user}-{session}",
            "request_id": fresh("r"),
            "messages": messages[at : at + 5],
        }
        for at in range(0, len(messages), 5)
    ]


def replay(client: httpx2.Client, workers: int) -> list[list[str]]:
    """What each question gets from a fresh user; sessions side by side, the Adds of one in order."""
    user = fresh("replayed")

    def add(session: int) -> None:
        for body in requests_of(session, user):
            assert post(client, "/add", body).status_code == 200

    def ask(question: str, top_k: int) -> list[str]:
        response = post(client, "/search", {"user_id": user, "query": question, "top_k": top_k})
        assert response.status_code == 200
        return [memory["content"] for memory in response.json()["data"]]

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(add, reversed(range(len(SESSIONS))) if workers > 1 else range(len(SESSIONS))))
        jobs = [pool.submit(ask, question, top_k) for question in QUESTIONS for top_k in (3, 20, 100)]
        return [job.result() for job in jobs]


@pytest.mark.parametrize("embed_backend", ["static", "openai"])
def test_a_log_replayed_under_other_ids_gives_the_same_contents_in_the_same_order(
    database: str, embed_backend: str
) -> None:
    with StandIn() as provider, serving(
        database, llm_mode="required", llm_base_url=provider.base_url,
        embed_backend=embed_backend, embed_base_url=provider.base_url,
    ) as client:  # fmt: skip
        alone = replay(client, workers=1)
        again = replay(client, workers=1)
        together = replay(client, workers=8)
        provider.misbehave("chat", "slow", seconds=0.02)
        slowly = replay(client, workers=8)
    assert alone == again
    assert alone == together
    assert alone == slowly
    assert any("I noted" in line for line in alone[2])
