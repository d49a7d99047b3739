"""`answer` and `judge` against a stand-in model over real HTTP, on a made-up log that was really replayed."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from rich.console import Console
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send
from typer.testing import CliRunner, Result

from ops.bench import answer, judge, replies
from ops.bench.answering_prompts import chosen, read_answer, read_verdict
from ops.bench.dataset import load
from ops.bench.logs import load_logs
from ops.bench.provider import Endpoint, StandIn
from ops.bench.replay import replay
from pgrecall.language.protocol import MalformedReply
from tests.api.reference_server import Reference, serving

CHECKOUT = Path(__file__).parents[2]
SAID = {
    "colour of the boat": "green",
    "state of the house": "very old",
    "sound of the piano": "loud",
    "year of the garden": "1998",
    "price of the bike": "40 euros",
}
REFERENCES: list[str | int | None] = ["Green", "very old", "Loud", 1998, "50 euros", None]
CATEGORIES = [4, 4, 2, 2, 1, 1]
DOCUMENT: dict[str, Any] = {
    "speaker_a": "Ines",
    "session_1_date_time": "1:59 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Ines", "dia_id": f"D1:{number}", "text": f"The {thing} is {what}."}
        for number, (thing, what) in enumerate(SAID.items(), start=1)
    ],
    "qa": [
        {
            "question": f"What is the {thing}?",
            "evidence": [f"D1:{number}"],
            "category": category,
            "answer": reference,
        }
        for number, (thing, reference, category) in enumerate(
            zip([*SAID, "boat"], REFERENCES, CATEGORIES, strict=True), start=1
        )
        for number in [min(number, 5)]
    ],
}


class Model(StandIn):
    """Answers with what the first memory says after "is"; marks by comparing letters. Faults as in StandIn;
    after `silent_after` calls it answers none."""

    counts_tokens = True
    silent_after = 1000

    async def _answer(
        self, endpoint: Endpoint, body: dict[str, Any], request: Request, send: Send
    ) -> Response | None:
        if self.calls["chat"] > self.silent_after:
            await self._break_off("hang", request, send)
            return None
        if any(fault.times is None or fault.times > 0 for fault in self._faults[endpoint]):
            return await super()._answer(endpoint, body, request, send)
        reply = replies.completion(self.say(body["messages"][-1]["content"]))
        if self.counts_tokens:
            reply["usage"] = {"prompt_tokens": 1200, "completion_tokens": 7, "total_tokens": 1207}
        return Response(json.dumps(reply), media_type="application/json")

    def say(self, prompt: str) -> str:
        lines = prompt.splitlines()
        if "<given>" in lines:
            reference, given = (lines[lines.index(tag) + 1].casefold() for tag in ("<reference>", "<given>"))
            return f'```json\n{{"same_meaning": "{"yes" if reference == given else "no"}"}}\n```'
        return lines[1].partition(" is ")[2].rstrip(".")

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.bodies["chat"]]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the log in `log/` and its run in `run.json`."""
    place = tmp_path_factory.mktemp("replayed")
    (place / "log").mkdir()
    (place / "log" / "boat.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")

    async def run(url: str) -> list[Any]:
        async with httpx2.AsyncClient(base_url=url) as client:
            options: dict[str, Any] = {"prefix": "run", "top_k": 5, "workers": 2, "skip_add": False}
            done = await replay(load(place / "log"), client, Console(file=io.StringIO()), **options)
        return [*done.outcomes]

    with serving(Reference()) as url:
        (place / "run.json").write_text(json.dumps(asyncio.run(run(url))), encoding="utf-8")
    return place


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as made:
        yield made


Command = Callable[..., Result]


def called(main: Callable[..., None], *words: object) -> Result:
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "90", "THE_KEY": "secret-1"})


def options(model: Model, out: Path, *more: object) -> list[object]:
    return ["--base-url", model.base_url, "--model", "m", "--workers", 2, "--out", out, *more]


@pytest.fixture
def answering(replayed: Path, model: Model, tmp_path: Path) -> Command:
    out = tmp_path / "answers.json"
    words = [replayed / "log", replayed / "run.json", *options(model, out)]
    return lambda *more: called(answer.main, *words, *more)


@pytest.fixture
def judging(model: Model, tmp_path: Path) -> Command:
    words = [tmp_path / "answers.json", *options(model, tmp_path / "verdicts.json")]
    return lambda *more: called(judge.main, *words, *more)


def entries(path: Path) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["entries"]
    return kept


def row(result: Result, name: str) -> list[str]:
    """The cells of the table's row of that name."""
    cells = ([cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines())
    return next(one[1:] for one in cells if one[:1] == [name])


def unframed(result: Result) -> str:
    """The output on one line, without the box around an error."""
    return " ".join(result.output.replace("│", " ").split())


def test_answers_are_kept_with_their_reference_and_tokens(answering: Command, model: Model, tmp_path: Path) -> None:
    result = answering("--api-key-env", "THE_KEY")

    assert result.exit_code == 0, result.output
    kept = entries(tmp_path / "answers.json")
    assert [(one["question"], one["reference"], one["given"]) for one in kept] == [
        (0, "Green", "green"),
        (1, "very old", "very old"),
        (2, "Loud", "loud"),
        (3, "1998", "1998"),
        (4, "50 euros", "40 euros"),
    ]
    assert kept[0]["text"] == "What is the colour of the boat?"
    assert kept[0]["spent"] == {"prompt": 1200, "completion": 7, "estimated": False}
    assert "1 questions left out: they have no reference answer" in result.output
    assert model.keys == {"Bearer secret-1"}


def test_the_model_sees_the_memories_in_order_with_their_dates_then_the_question(
    answering: Command, model: Model, replayed: Path
) -> None:
    answering("--memories", 2)

    (prompt,) = (one for one in model.prompts if "state of the house?" in one)
    contents = json.loads((replayed / "run.json").read_text(encoding="utf-8"))[1]["contents"]
    assert contents[0] == "[2023-05-08 14:00] Ines: The state of the house is very old."
    assert prompt.splitlines() == [
        "<memories>", *contents[:2], "</memories>", "<question>", "What is the state of the house?", "</question>"
    ]  # fmt: skip
    assert {body["temperature"] for body in model.bodies["chat"]} == {0}


def test_the_table_has_accuracy_with_its_interval_and_tokens_by_category(
    answering: Command, judging: Command
) -> None:
    answering()
    result = judging()

    assert result.exit_code == 0, result.output
    assert row(result, "all") == ["5", "0.800", "0.376-0.964", "1,200", "7", "1,207"]
    assert row(result, "1 multi-hop") == ["1", "0.000", "0.000-0.793", "1,200", "7", "1,207"]
    assert (
        row(result, "2 temporal")
        == row(result, "4 single-hop")
        == ["2", "1.000", "0.342-1.000", "1,200", "7", "1,207"]
    )
    assert max(map(len, result.output.splitlines())) <= 90


def test_a_table_of_large_figures_fits_ninety_columns() -> None:
    spent = {"prompt": 1_234_567, "completion": 12_345, "estimated": False}
    marked: list[Any] = [
        ({"category": category, "spent": spent}, {"same": True}) for category in range(1, 20)
    ] * 600
    printed = io.StringIO()

    Console(file=printed, width=90).print(judge.accuracy_table(marked))

    (row,) = (line for line in printed.getvalue().splitlines() if "11400" in line)
    assert row.replace("│", " ").split()[1:] == [
        "11400", "1.000", "1.000-1.000", "1,234,567", "12,345", "1,246,912"
    ]  # fmt: skip
    assert "…" not in printed.getvalue()


def test_what_may_pass_is_tried_again_after_the_wait_asked_for(
    answering: Command, judging: Command, model: Model
) -> None:
    faults: list[dict[str, Any]] = [
        {"how": "status", "status": 429, "retry_after": "1"}, {"how": "status", "status": 503}, {"how": "hang"},
    ]  # fmt: skip
    for fault in faults:
        model.misbehave("chat", times=1, **fault)
    start = time.monotonic()
    result = answering("--timeout", 0.5, "--workers", 1)

    assert result.exit_code == 0, result.output
    assert model.calls["chat"] == 8
    assert time.monotonic() - start > 1.5
    assert "chat retries: 1 x 429, 1 x 503, 1 x no answer: ReadTimeout" in result.output
    model.misbehave("chat", "status", times=2, status=429, retry_after="0")
    assert row(judging(), "all")[:2] == ["5", "0.800"]


def test_a_call_that_fails_for_good_is_reported_and_asked_for_the_next_time(
    answering: Command, judging: Command, model: Model, tmp_path: Path
) -> None:
    model.misbehave("chat", "status", times=2, status=400)
    result = answering()

    assert result.exit_code == 1
    assert "chat errors: 2 x 400" in result.output
    assert 'the endpoint said 400: {"error": {"message": "as ordered"}}' in result.output
    assert "2 answers to come: run this again" in result.output

    early = judging()
    assert early.exit_code == 1
    assert row(early, "all")[0] == "3"
    assert "2 questions without an answer yet, in no figure" in early.output

    model.behave()
    assert answering().exit_code == 0
    assert model.calls["chat"] == 2
    late = judging()
    assert (late.exit_code, row(late, "all")[0], model.calls["chat"]) == (0, "5", 4)
    assert len(entries(tmp_path / "verdicts.json")) == 5


@pytest.mark.parametrize(
    "content", ["", "Yes, they are the same.", '{"same_meaning": "perhaps"}', '{"same": "yes"}']
)
def test_a_malformed_verdict_is_asked_for_once_more(
    answering: Command, judging: Command, model: Model, tmp_path: Path, content: str
) -> None:
    answering()
    model.behave()
    model.misbehave("chat", "content", times=1, content=content)
    result = judging("--workers", 1)

    assert result.exit_code == 0, result.output
    assert model.calls["chat"] == 6
    assert model.prompts[1].startswith(model.prompts[0])
    assert "JSON object" in model.prompts[1][len(model.prompts[0]) :]
    assert row(result, "all")[:2] == ["5", "0.800"]
    assert [one["spent"]["estimated"] for one in entries(tmp_path / "verdicts.json")] == [True] + [False] * 4


@pytest.mark.parametrize("how", ["prose", "half", "malformed_json", "other_json"])
def test_a_verdict_malformed_twice_is_an_error_and_in_no_figure(
    answering: Command, judging: Command, model: Model, how: str
) -> None:
    answering()
    model.misbehave("chat", how, times=2)
    result = judging("--workers", 1)

    assert result.exit_code == 1
    errors = 2 if how == "malformed_json" else 1  # a 200 that is no JSON is no reply that could be spoken to
    assert row(result, "all")[0] == str(5 - errors)
    assert f"{errors} answers without a verdict yet, in no figure" in result.output
    assert f"chat errors: {errors} x " in result.output
    assert row(judging(), "all")[:2] == ["5", "0.800"]


def test_an_empty_answer_is_asked_for_once_more_and_then_an_error(
    answering: Command, model: Model, tmp_path: Path
) -> None:
    model.misbehave("chat", "empty", times=3)
    result = answering("--workers", 1)

    assert result.exit_code == 1
    assert "chat errors: 1 x malformed twice: the reply is empty" in result.output
    assert [one["question"] for one in entries(tmp_path / "answers.json")] == [1, 2, 3, 4]


def test_a_refusal_counts_as_wrong_and_costs_no_judge(answering: Command, judging: Command, model: Model) -> None:
    model.misbehave("chat", "refuse", times=1)
    assert answering("--workers", 1).exit_code == 0
    model.behave()
    result = judging()

    assert model.calls["chat"] == 4
    assert row(result, "all")[:2] == ["5", "0.600"]
    assert "1 answers refused by the model: they count as wrong" in result.output


def test_tokens_are_estimated_where_the_endpoint_does_not_count(
    answering: Command, judging: Command, model: Model, tmp_path: Path
) -> None:
    model.counts_tokens = False
    answering()
    spent = entries(tmp_path / "answers.json")[0]["spent"]

    assert spent["estimated"]
    assert 300 < spent["prompt"] < 1000
    assert "5 answers whose tokens are estimated" in judging().output


def test_a_killed_run_goes_on_where_it_stopped(replayed: Path, model: Model, tmp_path: Path) -> None:
    out = tmp_path / "answers.json"
    words = [replayed / "log", replayed / "run.json", *options(model, out, "--workers", 1)]
    command = [sys.executable, "-m", "ops.bench.answer", *map(str, words)]
    model.silent_after = 2
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        while running.poll() is None and model.calls["chat"] < 3:
            time.sleep(0.01)
        running.kill()
    held = len(entries(out))
    model.silent_after = 1000
    model.behave()
    second = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=False, text=True)

    assert second.returncode == 0, second.stdout + second.stderr
    assert held == 2
    assert model.calls["chat"] == 3
    assert [one["given"] for one in entries(out)] == ["green", "very old", "loud", "1998", "40 euros"]
    assert not list(tmp_path.glob("*.new"))


def test_answers_of_other_settings_are_not_mixed(answering: Command, model: Model, tmp_path: Path) -> None:
    answering()
    before = (tmp_path / "answers.json").read_bytes()
    model.behave()

    for changed in (["--memories", 1], ["--model", "other"], ["--set", '{"temperature": null}']):
        result = answering(*changed)
        assert result.exit_code == 2
        assert "holds 5 entries of another model" in unframed(result)
    assert (tmp_path / "answers.json").read_bytes() == before
    assert model.calls["chat"] == 0
    assert answering().exit_code == 0


def test_fields_of_the_request_can_be_set_and_taken_out(answering: Command, model: Model) -> None:
    answering("--set", '{"max_tokens": null, "max_completion_tokens": 3000, "temperature": null}')

    body = model.bodies["chat"][0]
    assert body["max_completion_tokens"] == 3000
    assert not {"max_tokens", "temperature"} & body.keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
        (["--base-url", "example.org/v1"], "no http or https URL"),
        (["--set", "[1]"], "no JSON object"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_sent(
    answering: Command, model: Model, words: list[object], said: str
) -> None:
    result = answering(*words)

    assert result.exit_code == 2
    assert said in unframed(result)
    assert model.calls["chat"] == 0


def test_files_that_are_something_else_are_named(
    answering: Command, replayed: Path, model: Model, tmp_path: Path
) -> None:
    run = replayed / "run.json"
    before = run.read_bytes()

    assert called(judge.main, run, *options(model, tmp_path / "verdicts.json")).exit_code == 2
    assert answering("--out", run).exit_code == 2
    assert run.read_bytes() == before
    assert answering("--out", tmp_path / "no" / "such" / "folder.json").exit_code == 2
    assert model.calls["chat"] == 0


def test_a_budget_ends_before_the_memory_that_no_longer_fits_but_never_before_the_first() -> None:
    contents = ["a" * 30, "b" * 30, "c" * 30]  # 10 tokens of text and 20 for the memory, each

    assert chosen(contents, 100) == contents
    assert chosen(contents, 2) == contents[:2]
    assert chosen(contents, 100, 89) == contents[:2]
    assert chosen(contents, 100, 1) == contents[:1]
    assert chosen(contents, 0, 1) == []


def test_replies_are_read_behind_what_was_thought_aloud() -> None:
    assert read_answer("<think>Blue?\nNo.</think>\n green \ud83d\n") == "green ?"
    assert read_verdict('<think>{"same_meaning": "no"}</think>Sure: {"same_meaning": "Yes"}')
    assert read_verdict('{"same_meaning": false}') is False
    with pytest.raises(MalformedReply):
        read_answer("<think>so it is green</think> ")
    with pytest.raises(MalformedReply):
        read_verdict('{"same_meaning": "no')


def test_the_own_logs_hold_a_reference_answer_for_every_question() -> None:
    questions = [one for log in load_logs(CHECKOUT / "tests" / "logs", filler=10) for one in log.questions]

    assert len(questions) == 140
    assert all(question.answer for question in questions)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)]
)
def test_the_interval_is_wilsons(right: int, total: int, low: float, high: float) -> None:
    assert judge.wilson(right, total) == pytest.approx((low, high), abs=5e-5)
