"""Let a model answer each question from what a replay brought back, and keep its answers and their cost.

    python -m ops.bench.answer FOLDER RUN.json --base-url https://HOST/v1 --model NAME --api-key-env KEY \\
        --out ANSWERS.json

RUN.json is what `python -m ops.bench.replay FOLDER --json` saved. Interrupted, it goes on where it stopped.
`ops.bench.judge` marks the answers.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, TypedDict, TypeVar
from urllib.parse import urlsplit

import httpx2
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ops.bench import answering_prompts as prompts
from ops.bench.answering_prompts import UNSPENT, Spent, both, chosen, digest, spent_on
from ops.bench.caller import CallFailed, Phase, call, work_off
from ops.bench.dataset import Conversation, DatasetError, Question, load
from ops.bench.logs import load_logs
from ops.bench.replay import saved
from ops.bench.run import Outcome
from ops.bench.tables import failure_lines, phase_table
from pgrecall.errors import LanguageRefused
from pgrecall.language.openai import read_reply
from pgrecall.language.protocol import MalformedReply
from pgrecall.smoke.caller import secret_headers

LONGEST = 900.0
"""Seconds that one question may take, all attempts and pauses together."""
ANSWER_TOKENS = 1000
"""Room for a model that thinks first; an answer itself has some 10."""

T = TypeVar("T")
Key = tuple[str, int]
"""A question: the name of its conversation and its number there."""


class Bought(TypedDict):
    """What every kept entry has. `asked`: a digest of the request that it came from."""

    conversation: str
    question: int
    category: int
    asked: str
    spent: Spent


class Answer(Bought):
    """`given` is empty where the model refused. `memories`: how many it was shown."""

    text: str
    reference: str
    given: str
    memories: int


E = TypeVar("E", bound=Bought)


class Endpoint:
    """An OpenAI-compatible chat endpoint. `phase` counts its calls; `refusal` is what it said of the last request
    that it would not take."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client
        self.phase = Phase()
        self.refusal = ""

    async def ask(self, body: dict[str, Any], reminder: str, read: Callable[[str], T]) -> tuple[T | None, Spent]:
        """`read` of the reply, None where the model refused. A malformed reply is asked for once more.
        Raises CallFailed."""
        spent = UNSPENT
        try:
            async with asyncio.timeout(LONGEST):
                for tried in (body, prompts.again(body, reminder)):
                    reply = await call(self._client, "chat/completions", tried, self.phase)
                    spent = both(spent, spent_on(tried, reply))
                    try:
                        return read(read_reply(reply)), spent
                    except MalformedReply as error:
                        malformed = str(error)
        except LanguageRefused:
            return None, spent
        except TimeoutError:
            raise CallFailed(f"no answer within {LONGEST:.0f} s") from None
        raise CallFailed(f"malformed twice: {malformed}")

    async def listen(self, response: httpx2.Response) -> None:
        if response.is_client_error and response.status_code != httpx2.codes.TOO_MANY_REQUESTS:
            await response.aread()
            self.refusal = f"{response.status_code}: {' '.join(response.text.split())[:300]}"


class Kept(Generic[E]):
    """What was bought so far, in a JSON file that is whole at any moment: written anew for every entry.

    Raises BadParameter for a file that is not of this kind.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.entries: dict[Key, E] = {}
        self.questions = 0
        if path.exists():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                self.questions = content["questions"]
                self.entries = {(one["conversation"], one["question"]): one for one in content["entries"]}
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise typer.BadParameter(f"{path} is no such file: {error!r}") from error

    def missing(self, asked: Mapping[Key, str]) -> list[Key]:
        """Of the questions, each with its request's digest, those that the file lacks. Raises BadParameter
        where it holds others, or answers to other requests: figures of two kinds never mix. The file is
        written, so that one that cannot be is known before anything is bought."""
        other = [key for key, entry in self.entries.items() if asked.get(key) != entry["asked"]]
        if other:
            raise typer.BadParameter(
                f"{self._path} holds {len(other)} entries of another model, prompt, run or setting: "
                "name another --out"
            )
        self.questions = len(asked)
        self.save()
        return [key for key in asked if key not in self.entries]

    def keep(self, entry: E) -> None:
        self.entries[entry["conversation"], entry["question"]] = entry
        self.save()

    def save(self) -> None:
        content = {"questions": self.questions, "entries": [self.entries[key] for key in sorted(self.entries)]}
        fresh = self._path.with_name(f"{self._path.name}.new")
        try:
            fresh.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
            fresh.replace(self._path)
        except OSError as error:
            raise typer.BadParameter(f"cannot be written: {error}") from error


BaseUrl = Annotated[str, typer.Option(help="of an OpenAI-compatible endpoint: https://HOST/v1")]
Model = Annotated[str, typer.Option(help="the model's name there")]
KeyName = Annotated[str | None, typer.Option("--api-key-env", help="the environment variable with the key")]
Workers = Annotated[int, typer.Option(min=1, help="calls at once")]
Timeout = Annotated[float, typer.Option(min=0.1, help="seconds a call may be silent")]
Changes = Annotated[str, typer.Option("--set", help="JSON object of request fields to set; null takes one out")]

Asked = Callable[[Endpoint], Awaitable[None]]
"""One question put to the endpoint; raises CallFailed."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked, from the command line. Raises BadParameter for what cannot be."""

    base_url: str
    model: str
    key_name: str | None
    workers: int
    timeout: float
    changes: str
    console: Console

    def request(self, system: str, user: str, max_tokens: int) -> dict[str, Any]:
        try:
            changes = json.loads(self.changes)
        except ValueError:
            changes = None
        if not isinstance(changes, dict):
            raise typer.BadParameter("--set is no JSON object")
        return prompts.request(self.model, system, user, max_tokens, changes)

    async def work(self, title: str, held: int, jobs: Sequence[Asked]) -> bool:
        """Run the jobs under a progress bar and print how the calls went; True when none failed."""
        if urlsplit(self.base_url).scheme not in ("http", "https"):
            raise typer.BadParameter("--base-url is no http or https URL")
        key = os.environ.get(self.key_name, "").strip() if self.key_name else None
        if key is not None and not (key and key.isascii() and key.isprintable()):
            raise typer.BadParameter(f"{self.key_name} is not set, or holds what is no key")
        columns = (TextColumn("{task.description:<18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        async with httpx2.AsyncClient(
            base_url=self.base_url,
            headers=secret_headers(key, None),
            timeout=self.timeout,
            limits=httpx2.Limits(max_connections=self.workers, max_keepalive_connections=self.workers),
        ) as client:
            endpoint = Endpoint(client)
            client.event_hooks = {"response": [endpoint.listen]}
            with Progress(*columns, console=self.console) as progress, endpoint.phase.timed():
                bar = progress.add_task(title, total=held + len(jobs), completed=held)

                async def tried(job: Asked) -> None:
                    try:
                        await job(endpoint)
                    except CallFailed as error:
                        endpoint.phase.errors[str(error)] += 1
                    progress.advance(bar)

                await work_off([partial(tried, job) for job in jobs], self.workers)
        phases = {"chat": endpoint.phase}
        self.console.print(phase_table(phases))
        for line in failure_lines(phases):
            self.console.print(line, highlight=False)
        if endpoint.refusal and endpoint.phase.errors:
            self.console.print(f"the endpoint said {endpoint.refusal}", highlight=False, markup=False)
        return not endpoint.phase.errors


def questions_of(conversations: Sequence[Conversation], outcomes: Sequence[Outcome]) -> dict[Key, Question]:
    """The questions that the run asked and that have a reference answer. Raises BadParameter for one that the
    folder lacks."""
    known = {(one.name, question.number): question for one in conversations for question in one.questions}
    asked = [(outcome["conversation"], outcome["question"]) for outcome in outcomes]
    strange = [f"{name}#{number}" for name, number in asked if (name, number) not in known]
    if strange:
        raise typer.BadParameter(f"{len(strange)} questions of the run are not in the folder: {strange[0]}")
    return {key: known[key] for key in asked if known[key].answer}


def count(console: Console, counts: Mapping[str, int]) -> None:
    """A line for each that is not nought."""
    for what, number in counts.items():
        if number:
            console.print(f"{number} {what}", highlight=False)


def main(
    folder: Annotated[Path, typer.Argument(help="what was replayed")],
    run: Annotated[Path, typer.Argument(help="what `replay --json` saved", exists=True, dir_okay=False)],
    base_url: BaseUrl,
    model: Model,
    out: Annotated[Path, typer.Option(help="the answers; those it holds are not asked for again")],
    api_key_env: KeyName = None,
    memories: Annotated[int, typer.Option(min=0, help="the first so many")] = 100,
    token_budget: Annotated[int | None, typer.Option(min=1, help="estimated tokens of the memories")] = None,
    workers: Workers = 8,
    timeout: Timeout = 110.0,
    changes: Changes = "{}",
) -> None:
    """Exit code 1 where a question is left without an answer."""
    console = Console()
    asking = Asking(base_url, model, api_key_env, workers, timeout, changes, console)
    try:
        outcomes = {(one["conversation"], one["question"]): one for one in saved(run)}
        questions = questions_of(load_logs(folder) or load(folder), list(outcomes.values()))
    except (DatasetError, OSError, ValueError, KeyError, TypeError) as error:
        raise typer.BadParameter(f"cannot be read: {error!r}") from error
    shown = {key: chosen(outcomes[key]["contents"], memories, token_budget) for key in questions}
    bodies = {
        key: asking.request(prompts.ANSWER, prompts.answer_prompt(question.text, shown[key]), ANSWER_TOKENS)
        for key, question in questions.items()
    }
    kept = Kept[Answer](out)
    missing = kept.missing({key: digest(body) for key, body in bodies.items()})

    async def answered(key: Key, endpoint: Endpoint) -> None:
        given, spent = await endpoint.ask(bodies[key], prompts.ANSWER_AGAIN, prompts.read_answer)
        kept.keep(
            {
                "conversation": key[0],
                "question": key[1],
                "category": questions[key].category,
                "asked": digest(bodies[key]),
                "text": questions[key].text,
                "reference": questions[key].answer,
                "given": given or "",
                "memories": len(shown[key]),
                "spent": spent,
            }
        )

    jobs = [partial(answered, key) for key in missing]
    good = not jobs or asyncio.run(asking.work("Answer, questions", len(kept.entries), jobs))
    count(
        console,
        {
            "questions left out: they have no reference answer": len(outcomes) - len(questions),
            "questions for which the search found nothing": sum(not one["contents"] for one in outcomes.values()),
            "refused by the model: they count as wrong": sum(not one["given"] for one in kept.entries.values()),
            "answers to come: run this again": len(questions) - len(kept.entries),
        },
    )
    raise typer.Exit(not good)


if __name__ == "__main__":
    typer.run(main)
