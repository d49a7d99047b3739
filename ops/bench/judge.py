"""Let a model mark the answers that `ops.bench.answer` kept: accuracy by category beside tokens per query.

    python -m ops.bench.judge ANSWERS.json --base-url https://HOST/v1 --model NAME --api-key-env KEY \\
        --out VERDICTS.json

Interrupted, it goes on where it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ops.bench.answer import (
    Answer,
    Asking,
    BaseUrl,
    Bought,
    Changes,
    Endpoint,
    Kept,
    Key,
    KeyName,
    Model,
    Timeout,
    Workers,
    count,
)
from ops.bench.answering_prompts import JUDGE, JUDGE_AGAIN, UNSPENT, digest, judge_prompt, read_verdict
from ops.bench.caller import CallFailed
from ops.bench.tables import CATEGORIES

JUDGE_TOKENS = 1000
"""Room for a model that thinks first; a verdict itself has some 10."""
Z = 1.959964
"""The normal quantile of a two-sided 95%."""


class Verdict(Bought):
    """Whether the answer means the same as the reference; the tokens are the judge's."""

    same: bool


Marked = tuple[Answer, Verdict]


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson, 1927), `total` at least 1. Unlike a bootstrap's it stays honest where
    all of few answers are right."""
    share, spread = right / total, Z * Z / total
    middle = share + spread / 2
    reach = sqrt(share * (1 - share) * spread + spread * spread / 4)
    return max(0.0, (middle - reach) / (1 + spread)), min(1.0, (middle + reach) / (1 + spread))


def accuracy_table(marked: Sequence[Marked]) -> Table:
    """A row for all answers, at least one, then one per category; within 90 columns."""
    table = Table(title="accuracy; tokens are means per query", title_justify="left")
    table.add_column("questions", no_wrap=True)
    for heading in ("count", "accuracy", "95% interval", "prompt", "answer", "tokens/query"):
        table.add_column(heading, justify="right", no_wrap=True)
    groups = {"all": list(marked)}
    for category in sorted({answer["category"] for answer, _ in marked}):
        name = f"{category} {CATEGORIES.get(category, '')}".rstrip()
        groups[name] = [pair for pair in marked if pair[0]["category"] == category]
    for name, group in groups.items():
        right, total = sum(verdict["same"] for _, verdict in group), len(group)
        low, high = wilson(right, total)
        prompt = sum(answer["spent"]["prompt"] for answer, _ in group) / total
        completion = sum(answer["spent"]["completion"] for answer, _ in group) / total
        tokens = [f"{mean:,.0f}" for mean in (prompt, completion, prompt + completion)]
        table.add_row(name, str(total), f"{right / total:.3f}", f"{low:.3f}-{high:.3f}", *tokens)
    return table


def report(answers: Kept[Answer], verdicts: Kept[Verdict], console: Console) -> None:
    """Print the table, and what its figures leave out or rest on."""
    marked = [(answers.entries[key], verdict) for key, verdict in verdicts.entries.items()]
    if marked:
        console.print(accuracy_table(marked))
    count(
        console,
        {
            "questions without an answer yet, in no figure: run ops.bench.answer again": answers.questions
            - len(answers.entries),
            "answers without a verdict yet, in no figure: run this again": len(answers.entries) - len(marked),
            "answers refused by the model: they count as wrong": sum(not answer["given"] for answer, _ in marked),
            "answers whose tokens are estimated, from above: their endpoint did not count": sum(
                answer["spent"]["estimated"] for answer, _ in marked
            ),
        },
    )


def main(
    answers: Annotated[Path, typer.Argument(help="what `answer --out` kept", exists=True, dir_okay=False)],
    base_url: BaseUrl,
    model: Model,
    out: Annotated[Path, typer.Option(help="the verdicts; those it holds are not asked for again")],
    api_key_env: KeyName = None,
    workers: Workers = 8,
    timeout: Timeout = 110.0,
    changes: Changes = "{}",
) -> None:
    """Exit code 1 where an answer or a verdict is missing."""
    console = Console()
    asking = Asking(base_url, model, api_key_env, workers, timeout, changes, console)
    given = Kept[Answer](answers)
    bodies = {
        key: asking.request(JUDGE, judge_prompt(answer["text"], answer["reference"], answer["given"]), JUDGE_TOKENS)
        for key, answer in given.entries.items()
    }
    kept = Kept[Verdict](out)
    missing = kept.missing({key: digest(body) for key, body in bodies.items()})

    async def judged(key: Key, endpoint: Endpoint) -> None:
        answer, spent = given.entries[key], UNSPENT
        same: bool | None = False
        if answer["given"]:  # a refusal is wrong without asking
            same, spent = await endpoint.ask(bodies[key], JUDGE_AGAIN, read_verdict)
        if same is None:
            raise CallFailed("the judge refused")
        kept.keep(
            {
                "conversation": key[0],
                "question": key[1],
                "category": answer["category"],
                "asked": digest(bodies[key]),
                "same": same,
                "spent": spent,
            }
        )

    jobs = [partial(judged, key) for key in missing]
    good = not jobs or asyncio.run(asking.work("Judge, answers", len(kept.entries), jobs))
    report(given, kept, console)
    raise typer.Exit(not (good and given.entries and len(given.entries) == given.questions))


if __name__ == "__main__":
    typer.run(main)
