"""The data set's observations as extracted facts, served by the stand-in provider.

    python -m ops.bench.observations FOLDER --port 9100

They stand in for what a fact-extracting model would return, so the same replay measures facts without one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from rich.console import Console

from ops.bench.dataset import Conversation, DatasetError, load
from ops.bench.provider import StandIn
from ops.bench.replies import Draw, Drawn
from ops.bench.scoring import Returned, TurnFinder

SETTINGS = """\
PGRECALL_LLM_MODE=required
PGRECALL_LLM_BASE_URL=http://127.0.0.1:{port}/v1
PGRECALL_LLM_API_KEY=stand-in
PGRECALL_RECALL_QUESTION=false"""


def damaged(
    conversations: Sequence[Conversation], dropped: float, misplaced: float, seed: int
) -> list[Conversation]:
    """As a model that overlooks a share of the observations, and cites a wrong turn of the same session for
    another."""
    choice = random.Random(seed)
    made = []
    for conversation in conversations:
        beside = {turn.id: session.turns for session in conversation.sessions for turn in session.turns}
        kept = []
        for observation in conversation.observations:
            if not observation.sources or choice.random() < dropped:
                continue
            if choice.random() < misplaced:
                wrong = choice.choice(beside[observation.sources[0]]).id
                kept.append(replace(observation, sources=(wrong,)))
            else:
                kept.append(observation)
        made.append(replace(conversation, observations=tuple(kept)))
    return made


def draw_observations(conversations: Sequence[Conversation]) -> Draw:
    """A function from a request's rendered lines to the observations that rest on any of them, in the data
    set's order, each with the numbers (1-based) of those lines.

    The lines of one request are of one conversation: the one that recognises most of them.
    """
    known = [(conversation, TurnFinder(conversation.turns)) for conversation in conversations]

    def draw(lines: list[str]) -> Drawn:
        returned = [Returned(line) for line in lines]
        read = [(conversation, finder.turn_ids(returned)) for conversation, finder in known]
        conversation, turn_ids = max(read, key=lambda one: len(one[1]) - one[1].count(None))
        numbers = {turn: number for number, turn in enumerate(turn_ids, start=1) if turn is not None}
        resting = [
            (observation.text, [numbers[turn] for turn in observation.sources if turn in numbers])
            for observation in conversation.observations
        ]
        return [(text, cited) for text, cited in resting if cited]

    return draw


def main(
    folder: Annotated[Path, typer.Argument(help="one JSON file per conversation")],
    port: Annotated[int, typer.Option(help="port on 127.0.0.1")] = 9100,
    drop: Annotated[float, typer.Option(min=0, max=1, help="share of the observations left out")] = 0.0,
    misplace: Annotated[float, typer.Option(min=0, max=1, help="share that cites a wrong turn")] = 0.0,
    seed: Annotated[int, typer.Option(help="of both choices")] = 7,
) -> None:
    """Serve until interrupted; prints the settings to start the memory server with."""
    try:
        conversations = load(folder)
    except DatasetError as error:
        raise typer.BadParameter(str(error)) from error
    console = Console(highlight=False)
    console.print("Observations as facts. Start the memory server with:")
    console.print(SETTINGS.format(port=port))
    provider = StandIn()
    provider.facts_from(draw_observations(damaged(conversations, drop, misplace, seed)))
    uvicorn.run(provider, host="127.0.0.1", port=port, lifespan="off", log_level="warning")


if __name__ == "__main__":
    typer.run(main)
