"""How well dates said in words are found: on sets of sentences, and on conversations in the form of LoCoMo.

    python -m ops.bench.dates --sets tests/dates
    python -m ops.bench.dates FOLDER [--read 200 --seed 1]

Of a conversation count the questions of category 2 whose answer is a date, a month, a year, or a weekday, week or
weekend before, after or of a date. Such a question is met where an annotation of one of its evidence turns names
exactly that range. `the Friday before` a date is the nearest one before it, `the week before` it the calendar
week before, `the weekend before` it the last one over by then; what lasts `since` a year names that year.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ops.bench.answered_dates import answered
from ops.bench.dataset import Conversation, DatasetError, Turn, load
from ops.bench.date_sets import score
from pgrecall.temporal import periods
from pgrecall.temporal.annotating import annotated
from pgrecall.temporal.expressions import TimeExpression
from pgrecall.temporal.finding import find
from pgrecall.temporal.periods import Period

TEMPORAL = 2
"""The category of the questions that ask when."""


@dataclass(slots=True)
class Tally:
    questions: int = 0
    met: int = 0
    met_or_own: int = 0
    """Or the answer is the day or month in which the evidence was said: its own timestamp names that."""
    missed: list[str] = field(default_factory=list)


def tally(conversations: Sequence[Conversation]) -> Tally:
    counts = Tally()
    for conversation in conversations:
        turns = {turn.id: turn for turn in conversation.turns}
        for question in conversation.questions:
            meant = answered(question.answer) if question.category == TEMPORAL else None
            if meant is None:
                continue
            evidence = [turns[identity] for identity in question.evidence]
            met = any(_names(one, meant) for turn in evidence for one in found_in(turn))
            own_date = any(
                period(turn.said_at.date()) == meant for turn in evidence for period in (periods.day, periods.month)
            )
            counts.questions += 1
            counts.met += met
            counts.met_or_own += met or own_date
            if not (met or own_date):
                counts.missed.append(f"{conversation.name} {question.answer} {', '.join(question.evidence)}")
    return counts


def found_in(turn: Turn) -> tuple[TimeExpression, ...]:
    return find(turn.content, turn.said_at.date())


def all_found(conversations: Sequence[Conversation]) -> Iterator[tuple[Turn, TimeExpression]]:
    for conversation in conversations:
        for turn in conversation.turns:
            yield from ((turn, one) for one in found_in(turn))


def _names(expression: TimeExpression, meant: Period) -> bool:
    if expression.rule == "since_year":
        return periods.year(expression.first) == meant
    if expression.rule == "since_month":
        return periods.month(expression.first) == meant
    return (expression.first, expression.last) == (meant.first, meant.last)


def _shown(turn: Turn, expression: TimeExpression) -> str:
    """The expression with what is written beside it, in 60 characters to each side."""
    start, end = max(0, expression.start - 60), expression.end + 60
    said_on: date = turn.said_at.date()
    before, after = turn.content[start : expression.start], turn.content[expression.end : end]
    note = annotated(expression.surface, [replace(expression, start=0)], said_on)
    return f"{said_on:%a %d %b %Y} | {before}>>{note}<<{after}"


def _sets(folder: Path, console: Console) -> None:
    table = Table("file", "expected", "found", "right", "precision", "recall")
    for path in sorted(folder.glob("*.jsonl")):
        one = score(path)
        counts = [str(number) for number in (one.expected, one.found, one.right)]
        table.add_row(path.name, *counts, f"{one.precision:.3f}", f"{one.recall:.3f}")
    console.print(table)


def main(
    folder: Annotated[Path | None, typer.Argument(help="one JSON file per conversation")] = None,
    sets: Annotated[Path | None, typer.Option(help="folder of *.jsonl, sentences with the times they name")] = None,
    read: Annotated[int, typer.Option(help="print so many annotations, drawn at random")] = 0,
    seed: Annotated[int, typer.Option(help="of the draw")] = 1,
    missed: Annotated[bool, typer.Option(help="print the questions that were not met")] = False,
) -> None:
    """Prints a table for each."""
    console = Console(highlight=False, soft_wrap=True)
    if sets is not None:
        _sets(sets, console)
    if folder is None:
        return
    try:
        conversations = load(folder)
    except DatasetError as error:
        raise typer.BadParameter(str(error)) from error
    counts, made = tally(conversations), list(all_found(conversations))
    table = Table("of the questions", "number", "share")
    for name, number in (("the answer is a date", counts.questions), ("an annotation names it", counts.met),
                         ("or the date of the turn does", counts.met_or_own)):  # fmt: skip
        table.add_row(name, str(number), f"{number / max(1, counts.questions):.3f}")
    console.print(f"{len(made)} annotations, one range each")
    console.print(table)
    for line in counts.missed if missed else ():
        console.print("missed", line, markup=False)
    for turn, expression in random.Random(seed).sample(made, min(read, len(made))):
        console.print(_shown(turn, expression), markup=False)


if __name__ == "__main__":
    typer.run(main)
