"""What a search brought back, counted: pure functions, no I/O.

`any@k`: at least one evidence turn stands among the first k memories. `all@k`: every one does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from ops.bench.dataset import Turn
from pgrecall.rendering import estimate_tokens

DEPTHS = (5, 10, 20, 40, 100)
BUDGETS = (1_000, 4_000, 16_000)
"""Estimated tokens: memories can be fattened, tokens can't."""

_BRACKET = re.compile(r"\[([^\]]*)\]\s+")
_ADDED = re.compile(r" \[= [^\]\n]{1,100}\]| \((?:latest as of|earlier; replaced|ended) [^)\n]{1,40}\)$")
"""What a server may write into a line beside what was said: dates that words mean, whether a state still holds."""
_MINUTE = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})")


@dataclass(frozen=True, slots=True)
class Returned:
    """One memory as a server returned it."""

    content: str
    created_at: str | None = None


class TurnFinder:
    """Maps what a server returned back to the turns of one conversation.

    A memory counts for a turn only when it is that turn: `[2023-05-08 13:56] NAME: text`, or the bare
    `NAME: text`, spacing aside, and what the server writes into the line beside what was said; of turns without
    a name, the one that the server put before it is passed over. A fact is no turn. Where one text was said twice,
    the minute in the bracket (else in `created_at`) tells which; where nothing does, they count in document order.
    """

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._by_text: dict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._by_text[_spaced_once(turn.content)].append(turn)

    def turn_ids(self, returned: Iterable[Returned]) -> list[str | None]:
        """For each memory, in order, the id of the turn that it is, or None."""
        taken: set[str] = set()
        found: list[str | None] = []
        for memory in returned:
            identity = self._turn_id(memory, taken)
            if identity is not None:
                taken.add(identity)
            found.append(identity)
        return found

    def _turn_id(self, memory: Returned, taken: set[str]) -> str | None:
        bracket = _BRACKET.match(memory.content)
        shown = memory.content[bracket.end() :] if bracket else memory.content
        said_so: list[Turn] = []
        for text in dict.fromkeys((shown, _ADDED.sub("", shown))):
            said_so = said_so or self._by_text.get(_spaced_once(text), [])
            said_so = said_so or self._by_text.get(_spaced_once(text.partition(": ")[2]), [])
        minute = _minute((bracket and bracket[1]) or memory.created_at or "")
        candidates = [turn for turn in said_so if f"{turn.said_at:%Y-%m-%d %H:%M}" == minute] or said_so
        fresh = [turn for turn in candidates if turn.id not in taken]
        return next((turn.id for turn in fresh or candidates), None)


@dataclass(frozen=True, slots=True)
class Scored:
    """One question's outcome. `ranks`: for each evidence turn its first rank from 1, or None."""

    category: int
    ranks: Sequence[int | None]
    characters: int
    reaches: Sequence[int] = ()
    """For each budget of BUDGETS, how many memories from the first on fit it."""

    def any_at(self, depth: int) -> bool:
        return any(rank is not None and rank <= depth for rank in self.ranks)

    def all_at(self, depth: int) -> bool:
        return all(rank is not None and rank <= depth for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of questions from 0 to 1 by depth, and the mean number of characters returned."""

    questions: int
    any_at: Mapping[int, float]
    all_at: Mapping[int, float]
    characters: float
    any_within: Mapping[int, float]
    all_within: Mapping[int, float]
    """The same within a budget of tokens, as many memories as fit it."""


def reaches(contents: Sequence[str]) -> list[int]:
    """How many memories, from the first on, fit each of BUDGETS."""
    spent = list(accumulate(map(estimate_tokens, contents)))
    return [bisect_right(spent, budget) for budget in BUDGETS]


def ranks(evidence: Sequence[str], found: Sequence[str | None]) -> list[int | None]:
    """The first rank, from 1, of each evidence turn among `found`."""
    return [found.index(turn) + 1 if turn in found else None for turn in evidence]


def coverage(scored: Sequence[Scored]) -> Coverage:
    """Means over at least one question."""
    count = len(scored)
    return Coverage(
        questions=count,
        any_at={depth: sum(one.any_at(depth) for one in scored) / count for depth in DEPTHS},
        all_at={depth: sum(one.all_at(depth) for one in scored) / count for depth in DEPTHS},
        characters=sum(one.characters for one in scored) / count,
        any_within=_within(scored, Scored.any_at),
        all_within=_within(scored, Scored.all_at),
    )


def _within(scored: Sequence[Scored], found: Callable[[Scored, int], bool]) -> dict[int, float]:
    measured = [one for one in scored if one.reaches]
    return {
        budget: sum(found(one, one.reaches[place]) for one in measured) / max(1, len(measured))
        for place, budget in enumerate(BUDGETS)
    }


def by_category(scored: Iterable[Scored]) -> dict[int, Coverage]:
    """One Coverage per category that occurs, in ascending order."""
    groups: dict[int, list[Scored]] = defaultdict(list)
    for one in scored:
        groups[one.category].append(one)
    return {category: coverage(groups[category]) for category in sorted(groups)}


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: the smallest value that at least `share` (0 to 1) of the values do not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _minute(written: str) -> str | None:
    match = _MINUTE.search(written)
    return f"{match[1]} {match[2]}" if match else None


def _spaced_once(text: str) -> str:
    return " ".join(text.split())
