"""The replay against the reference server, with a made-up conversation."""

from __future__ import annotations

import io
from typing import Any

import httpx2
from rich.console import Console

from ops.bench.caller import pause
from ops.bench.dataset import Conversation, parse
from ops.bench.replay import replay, report, report_differences
from ops.bench.run import Run
from tests.api.reference_server import Answer, Reference, serving

TOPICS = ("boat", "garden", "piano", "bakery")
CONVERSATIONS = [
    parse(
        name,
        {
            "speaker_a": "Ines",
            "session_1": [
                {
                    "speaker": ("Ines", "Karl")[number % 2],
                    "dia_id": f"D1:{number}",
                    "text": f"My {TOPICS[number % 4]}, part {number}",
                }
                for number in range(1, 46)
            ],
            "session_1_date_time": "1:59 pm on 8 May, 2023",
            "qa": [
                {"question": f"My {topic}, part {number}", "evidence": [f"D1:{number}"], "category": 4}
                for number, topic in ((1, "garden"), (30, "piano"))
            ],
        },
    )
    for name in ("a", "b")
]


async def replayed(
    url: str, conversations: list[Conversation], prefix: str = "run", **more: Any
) -> tuple[Run, str]:
    """The run, and what its report printed."""
    printed = io.StringIO()
    console = Console(file=printed, width=120)
    options: dict[str, Any] = {"prefix": prefix, "top_k": 10, "workers": 4, "skip_add": False} | more
    async with httpx2.AsyncClient(base_url=url) as client:
        run = await replay(conversations, client, console, **options)
    report(run, conversations, console)
    return run, printed.getvalue()


async def test_every_turn_is_added_and_every_question_scored() -> None:
    reference = Reference()
    with serving(reference) as url:
        run, printed = await replayed(url, CONVERSATIONS)

    assert {user: len(log) for user, log in reference.memories.items()} == {"run-a": 45, "run-b": 45}
    assert len(reference.requests) == len(run.adds.latencies) == 6
    assert [(one["conversation"], one["question"], one["ranks"]) for one in run.outcomes] == [
        (name, number, [1]) for name in ("a", "b") for number in (0, 1)
    ]
    assert "1.000" in printed


async def test_what_may_pass_is_sent_again_with_the_same_body() -> None:
    class OftenAway(Reference):
        """Each body is refused once with 503, then with 429, before it is taken."""

        seen: dict[bytes, int]

        def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            self.seen[body] = self.seen.get(body, 0) + 1
            if method == "POST" and self.seen[body] < 3:
                return (503, 429)[self.seen[body] - 1], {"error": "away", "detail": {"reason": "soon"}}
            return super().answer(method, path, headers, body)

    reference = OftenAway()
    reference.seen = {}
    with serving(reference) as url:
        run, printed = await replayed(url, CONVERSATIONS[:1])

    assert run.adds.retries == {"503": 3, "429": 3}
    assert not run.adds.errors
    assert len(reference.memories["run-a"]) == 45
    assert "add retries: 3 x 503, 3 x 429" in printed


async def test_what_is_final_is_counted_as_an_error_and_not_sent_again() -> None:
    class Refusing(Reference):
        calls = 0

        def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            self.calls += 1
            return 422, {"error": "invalid_request", "detail": {"reason": "no"}}

    reference = Refusing()
    console = Console(file=io.StringIO(), width=120)
    with serving(reference) as url:
        run, printed = await replayed(url, CONVERSATIONS[:1])

    assert reference.calls == 5
    assert (run.adds.errors, run.searches.errors) == ({"422": 3}, {"422": 2})
    assert not report(run, CONVERSATIONS[:1], console)
    assert "search errors: 2 x 422" in printed


async def test_an_answer_that_breaks_the_contract_is_an_error() -> None:
    class Sloppy(Reference):
        def search(self, call: dict[str, Any]) -> dict[str, Any]:
            found = super().search(call)["data"]
            return {"data": found[:1] * 2}

        def add(self, call: dict[str, Any]) -> dict[str, Any]:
            return super().add(call) | {"request_id": "mine"}

    with serving(Sloppy()) as url:
        run, _ = await replayed(url, CONVERSATIONS[:1])

    assert (run.adds.errors, run.searches.errors) == ({"ids not echoed": 3}, {"an id twice": 2})


async def test_two_runs_are_compared_question_by_question() -> None:
    console = Console(file=io.StringIO(), width=120)
    with serving(Reference()) as url:
        first, _ = await replayed(url, CONVERSATIONS, workers=1)
        second, _ = await replayed(url, CONVERSATIONS, prefix="again", workers=8)
        found_anew, _ = await replayed(url, CONVERSATIONS, skip_add=True)
    assert first.outcomes == second.outcomes == found_anew.outcomes
    assert report_differences(console, first.outcomes, second.outcomes)

    second.outcomes[3]["contents"].reverse()
    printed = io.StringIO()
    assert not report_differences(Console(file=printed, width=120), first.outcomes, second.outcomes)
    assert printed.getvalue().splitlines() == [
        "1 of 4 questions got other contents, or another order",
        "the first of them: b#1",
    ]


def test_the_pause_is_what_the_server_asks_for_or_doubles() -> None:
    assert [pause(attempt, None) for attempt in (0, 1, 2, 31)] == [0.25, 0.5, 1.0, 10.0]
    assert [pause(0, asked) for asked in ("0", "7", "600", "soon")] == [0.0, 7.0, 60.0, 0.25]
