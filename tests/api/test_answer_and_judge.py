"""`answer` and `judge` against a stand-in model over real HTTP, on a made-up log that was really replayed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send
from typer.testing import CliRunner

from ops.bench import answer, judge, provider, replies
from ops.bench.answering_prompts import chosen, read_answer, read_verdict
from ops.bench.dataset import load
from ops.bench.logs import load_logs
from pgrecall.language.protocol import MalformedReply
from tests.api.reference_server import Reference, serving
from tests.api.test_replay import replayed

CHECKOUT = Path(__file__).parents[2]
ASKED: list[tuple[str, str, object, int]] = [
    ("colour of the boat", "green", "Green", 4), ("state of the house", "very old", "very old", 4),
    ("sound of the piano", "loud", "Loud", 2), ("year of the garden", "1998", 1998, 2),
    ("price of the bike", "40 euros", "50 euros", 1), ("name of the dog", "Rex", None, 1),
]  # fmt: skip
"""What a question is about, what the log says of it, the reference answer and the category."""
ANSWERS = ["green", "very old", "loud", "1998", "40 euros"]
DOCUMENT: dict[str, Any] = {
    "speaker_a": "Ines",
    "session_1_date_time": "1:59 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ines", "dia_id": f"D1:{number}", "text": f"The {thing} is {what}."}
        for number, (thing, what, _, _) in enumerate(ASKED)
    ],
    "qa": [
        {"question": f"What is the {thing}?", "evidence": f"D1:{number}", "category": category, "answer": right}
        for number, (thing, _, right, category) in enumerate(ASKED)
    ],
}


class Model(provider.StandIn):
    """Answers with what the first memory says after "is"; marks by comparing letters. Faults as in StandIn;
    after `silent_after` calls it answers none."""

    counts_tokens = True
    silent_after: float = float("inf")

    async def _answer(
        self, endpoint: provider.Endpoint, body: dict[str, Any], request: Request, send: Send
    ) -> Response | None:
        if self.calls["chat"] > self.silent_after:
            await self._break_off("hang", request, send)
            return None
        if any(fault.times is None or fault.times > 0 for fault in self._faults[endpoint]):
            return await super()._answer(endpoint, body, request, send)
        reply = replies.completion(self.say(body["messages"][-1]["content"]))
        if self.counts_tokens:
            reply["usage"] = {"prompt_tokens": 1_234_567, "completion_tokens": 12_345}
        return Response(json.dumps(reply), media_type="application/json")

    def say(self, prompt: str) -> str:
        lines = prompt.splitlines()
        if "<given>" in lines:
            reference, given = (lines[lines.index(tag) + 1].casefold() for tag in ("<reference>", "<given>"))
            return f'```json\n{{"same_meaning": "{"yes" if reference == given else "no"}"}}\n```'
        return lines[1].partition(" is ")[2].rstrip(".")


@dataclass
class Printed:
    """What a command printed, without the box around an error, and its exit code."""

    code: int
    text: str

    def row(self, name: str) -> list[str]:
        """The cells of the table's row of that name."""
        cells = ([cell.strip() for cell in line.split("│")[1:-1]] for line in self.text.splitlines())
        return next(one[1:] for one in cells if one[:1] == [name])

    def __contains__(self, words: str) -> bool:
        return words in " ".join(self.text.replace("│", " ").split())


class Bench:
    """The two commands, on a folder with the log in `log/` and its run in `run.json`; they keep into `out`."""

    def __init__(self, folder: Path, out: Path, model: Model) -> None:
        self.run, self.out, self.model = folder / "run.json", out, model
        asking = ["--base-url", model.base_url, "--model", "m", "--workers", "1", "--out"]
        self.answering = [str(folder / "log"), str(self.run), *asking, str(out / "answers.json")]
        self.judging = [str(out / "answers.json"), *asking, str(out / "verdicts.json")]

    def answer(self, *more: str) -> Printed:
        return called(answer.main, *self.answering, *more)

    def judge(self, *more: str) -> Printed:
        return called(judge.main, *self.judging, *more)

    def kept(self, what: str) -> list[Any]:
        """A field of each kept entry: `answers given`."""
        name, _, field = what.partition(" ")
        return [entry[field] for entry in json.loads((self.out / f"{name}.json").read_text("utf-8"))["entries"]]

    def prompt(self, call: int) -> str:
        return str(self.model.bodies["chat"][call]["messages"][-1]["content"])


def called(main: Callable[..., None], *words: str) -> Printed:
    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "90", "THE_KEY": "secret-1"})
    return Printed(result.exit_code, result.output)


@pytest.fixture(scope="module")
def saved_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replayed")
    (place / "log").mkdir()
    (place / "log" / "boat.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    with serving(Reference()) as url:
        run, _ = asyncio.run(replayed(url, load(place / "log")))
    (place / "run.json").write_text(json.dumps(run.outcomes), encoding="utf-8")
    return place


@pytest.fixture
def bench(saved_run: Path, tmp_path: Path) -> Iterator[Bench]:
    with Model() as model:
        yield Bench(saved_run, tmp_path, model)


def test_answers_are_kept_with_their_reference_and_tokens(bench: Bench) -> None:
    printed = bench.answer("--api-key-env", "THE_KEY", "--workers", "4")

    assert (printed.code, bench.kept("answers text")[0]) == (0, "What is the colour of the boat?")
    assert bench.kept("answers reference") == ["Green", "very old", "Loud", "1998", "50 euros"]
    assert bench.kept("answers given") == ANSWERS
    assert bench.kept("answers spent") == [{"prompt": 1_234_567, "completion": 12_345, "estimated": False}] * 5
    assert "1 questions left out: they have no reference answer" in printed
    assert bench.model.keys == {"Bearer secret-1"}


def test_the_model_sees_the_memories_in_order_with_their_dates_then_the_question(bench: Bench) -> None:
    bench.answer("--memories", "2")

    first, second, *_ = json.loads(bench.run.read_text("utf-8"))[1]["contents"]
    assert first == "[2023-05-08 14:00] Ines: The state of the house is very old."
    asked = "<question>\nWhat is the state of the house?\n</question>"
    assert bench.prompt(1) == f"<memories>\n{first}\n{second}\n</memories>\n{asked}"


def test_the_table_has_accuracy_with_wilsons_interval_and_tokens_by_category(bench: Bench) -> None:
    bench.answer()
    printed = bench.judge("--workers", "4")

    tokens = ["1,234,567", "12,345", "1,246,912"]
    assert (printed.code, printed.row("all")) == (0, ["5", "0.800", "0.376-0.964", *tokens])
    assert printed.row("1 multi-hop") == ["1", "0.000", "0.000-0.793", *tokens]
    assert printed.row("2 temporal") == printed.row("4 single-hop") == ["2", "1.000", "0.342-1.000", *tokens]


def test_what_may_pass_is_tried_again_after_the_wait_asked_for(bench: Bench) -> None:
    bench.model.misbehave("chat", "status", times=1, status=429, retry_after="1")
    bench.model.misbehave("chat", "status", times=1, status=503)
    bench.model.misbehave("chat", "hang", times=1)
    start = time.monotonic()
    printed = bench.answer("--timeout", "0.5")

    assert (printed.code, bench.model.calls["chat"]) == (0, 8)
    assert time.monotonic() - start > 1.5
    assert "chat retries: 1 x 429, 1 x 503, 1 x no answer: ReadTimeout" in printed
    bench.model.misbehave("chat", "status", times=2, status=429, retry_after="0")
    assert bench.judge().row("all")[:2] == ["5", "0.800"]


def test_a_call_that_fails_for_good_is_reported_and_asked_for_the_next_time(bench: Bench) -> None:
    bench.model.misbehave("chat", "status", times=2, status=400)
    failed, early = bench.answer(), bench.judge()

    assert "chat errors: 2 x 400" in failed
    assert 'the endpoint said 400: {"error": {"message": "as ordered"}}' in failed
    assert "2 answers to come: run this again" in failed
    assert "2 questions without an answer yet, in no figure" in early
    assert (failed.code, early.code, early.row("all")[0]) == (1, 1, "3")

    bench.model.behave()
    mended, late = bench.answer(), bench.judge()
    assert (mended.code, late.code, late.row("all")[0]) == (0, 0, "5")
    assert bench.model.calls["chat"] == 2 + 2


@pytest.mark.parametrize("content", ["", "They are the same.", '{"same_meaning": "perhaps"}', '{"same": "yes"}'])
def test_a_malformed_verdict_is_asked_for_once_more(bench: Bench, content: str) -> None:
    bench.answer()
    bench.model.behave()
    bench.model.misbehave("chat", "content", times=1, content=content)
    printed = bench.judge()

    assert "not the JSON object asked for" in bench.prompt(1).removeprefix(bench.prompt(0))
    assert (printed.code, printed.row("all")[:2], bench.model.calls["chat"]) == (0, ["5", "0.800"], 6)


@pytest.mark.parametrize("how", ["prose", "half", "other_json"])
def test_a_verdict_malformed_twice_is_an_error_and_in_no_figure(bench: Bench, how: str) -> None:
    bench.answer()
    bench.model.misbehave("chat", how, times=2)
    printed = bench.judge()

    assert (printed.code, printed.row("all")[0]) == (1, "4")
    assert "1 answers without a verdict yet, in no figure" in printed
    assert "chat errors: 1 x malformed twice" in printed
    assert bench.judge().row("all")[:2] == ["5", "0.800"]


def test_an_answer_empty_twice_is_an_error_and_a_refusal_counts_as_wrong(bench: Bench) -> None:
    bench.model.misbehave("chat", "empty", times=2)
    bench.model.misbehave("chat", "refuse", times=1)
    printed = bench.answer()

    assert "chat errors: 1 x malformed twice: the reply is empty" in printed
    assert (printed.code, bench.kept("answers given")[:2]) == (1, ["", "loud"])
    bench.answer()
    bench.model.behave()
    judged = bench.judge()
    assert (judged.row("all")[:2], bench.model.calls["chat"]) == (["5", "0.600"], 4)
    assert "1 answers refused by the model: they count as wrong" in judged


def test_tokens_are_estimated_where_the_endpoint_does_not_count(bench: Bench) -> None:
    bench.model.counts_tokens = False
    bench.answer()
    spent = bench.kept("answers spent")[0]
    assert (spent["estimated"], 300 < spent["prompt"] < 1000) == (True, True)
    assert "5 answers whose tokens are estimated" in bench.judge()


def test_a_killed_run_goes_on_where_it_stopped(bench: Bench) -> None:
    command = [sys.executable, "-m", "ops.bench.answer", *bench.answering]
    bench.model.silent_after = 2
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None and bench.model.calls["chat"] < 3:
            time.sleep(0.01)
        running.kill()
    assert bench.kept("answers given") == ANSWERS[:2]
    bench.model.silent_after = float("inf")
    bench.model.behave()
    assert (bench.answer().code, bench.model.calls["chat"]) == (0, 3)
    assert bench.kept("answers given") == ANSWERS


def test_fields_of_the_request_can_be_set_but_answers_of_two_settings_are_not_mixed(bench: Bench) -> None:
    bench.answer("--set", '{"max_tokens": null, "max_completion_tokens": 3000}')
    before = (bench.out / "answers.json").read_bytes()

    sent = bench.model.bodies["chat"][0]
    assert (sent.get("max_tokens"), sent["max_completion_tokens"], sent["temperature"]) == (None, 3000, 0)
    for other in (["--memories", "1"], ["--model", "other"], []):
        assert "holds 5 entries of another model" in bench.answer(*other)
    assert ((bench.out / "answers.json").read_bytes(), bench.model.calls["chat"]) == (before, 5)


def test_what_cannot_be_is_said_before_anything_is_sent(bench: Bench) -> None:
    before = bench.run.read_bytes()
    assert "NO_SUCH_KEY is not set" in bench.answer("--api-key-env", "NO_SUCH_KEY")
    assert "no http or https URL" in bench.answer("--base-url", "example.org/v1")
    assert "no JSON object" in bench.answer("--set", "[1]")
    assert "is no such file" in bench.answer("--out", str(bench.run))
    assert "cannot be written" in bench.answer("--out", str(bench.out / "no" / "folder.json"))
    assert (bench.run.read_bytes(), bench.model.calls["chat"]) == (before, 0)


def test_a_budget_ends_before_the_memory_that_no_longer_fits_but_never_before_the_first() -> None:
    contents = ["a" * 30, "b" * 30, "c" * 30]  # 10 tokens of text and 20 for the memory, each
    bounds = [(100, None), (2, None), (100, 89), (100, 1), (0, 1)]
    assert [len(chosen(contents, *bound)) for bound in bounds] == [3, 2, 2, 1, 0]


def test_replies_are_read_behind_what_was_thought_aloud() -> None:
    assert read_answer("<think>Blue?\nNo.</think>\n green \ud83d\n") == "green ?"
    assert read_verdict('<think>{"same_meaning": "no"}</think>Sure: {"same_meaning": "Yes"}')
    assert read_verdict('{"same_meaning": false}') is False
    with pytest.raises(MalformedReply):
        read_answer("<think>so it is green</think> ")


def test_the_own_logs_hold_a_reference_answer_for_every_question() -> None:
    questions = [one for log in load_logs(CHECKOUT / "tests" / "logs", filler=10) for one in log.questions]
    assert (len(questions), [one for one in questions if not one.answer]) == (140, [])
