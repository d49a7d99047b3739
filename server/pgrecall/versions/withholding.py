"""Which memories a question can do without, because what they state was replaced or did not hold at its date."""

from __future__ import annotations

import enum
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime

import regex

from pgrecall.versions.asking import Asked, Wanted, attributes_asked, wanted
from pgrecall.versions.chains import Chains, Link
from pgrecall.versions.patterns import rest
from pgrecall.versions.registry import is_shared, is_single
from pgrecall.versions.statements import OWNER, Statement, subject_key

MOST_REST = 6
"""Words beside the statement in a message that says little else, where no model has drawn facts from it."""


_WORD = regex.compile(r"\p{Han}{1,2}|[[\p{L}\p{N}]--\p{Han}][[\p{L}\p{N}'’]--\p{Han}]*+", regex.VERSION1)


class Mode(enum.Flag):
    """For which questions anything is withheld."""

    OFF = 0
    CURRENT = enum.auto()
    DATED = enum.auto()


def says_more(text: str, drawn: Iterable[Statement | None] | None) -> bool:
    """Whether a message says something else worth keeping than states of one value at a time.

    `drawn`: what each fact that a model drew from it states, None where it states nothing. What states nothing (an
    event, a plan) is kept by its own fact, and the message may leave; states of several values (an allergy) never
    end, so the message stays. Without a model, `drawn` is None, and the words beside the statement are counted.
    """
    if drawn is not None:
        return any(one is not None and not is_single(one.attribute) for one in drawn)
    return len(_WORD.findall(rest(text))) > MOST_REST


def withheld(
    chains: Chains,
    question: str,
    as_of: date | None,
    mode: Mode,
    *,
    through: date | None = None,
    keep: Collection[Hashable] = (),
    texts: Mapping[Hashable, str] | None = None,
) -> set[Hashable]:
    """The memories that `question` can do without.

    `as_of` to `through`: the days that the question names, by the clock that moments bear. `keep`: memories that
    say something else worth keeping. `texts`: what memories say; without them nothing is withheld of a state of
    which the subject may have several at once, where the question tells which ("my optician appointment").
    """
    what = wanted(question)
    leaving: set[Hashable] = set()
    staying: set[Hashable] = set(keep)
    if what is Wanted.CURRENT and Mode.CURRENT in mode:
        day = None
    elif what is Wanted.DATED and Mode.DATED in mode and as_of is not None:
        day = (as_of, max(as_of, through or as_of))
    else:
        return leaving
    asked = {(subject_key(one.subject), one.attribute): one for one in attributes_asked(question)}
    for state, links in chains.items():
        periods = list(_periods(links))
        if state in asked and _comparable(asked[state], periods, texts):
            kept = _current(periods) if day is None else _held(periods, *day)
            for period in periods:
                (staying if period in kept else leaving).update(period.memories)
        else:
            # What is current elsewhere stays; what was replaced elsewhere is no reason to stay.
            for period in periods if day else _current(periods):
                staying.update(period.memories)
    return leaving - staying


@dataclass(frozen=True, slots=True)
class _Period:
    """A value while it held; or, without one, the time after an end without a successor."""

    since: datetime | None
    until: datetime | None
    relative: bool
    memories: tuple[Hashable, ...]
    corrected: bool = False


def _periods(links: tuple[Link, ...]) -> Iterator[_Period]:
    for place, link in enumerate(links):
        yield _Period(link.since, link.until, link.relative, link.memories, link.corrected)
        if link.closed:
            after = links[place + 1].since if place + 1 < len(links) else None
            yield _Period(link.until, after, False, link.ended_by)


def _current(periods: list[_Period]) -> list[_Period]:
    """The last; all where it is told relative to those before."""
    return periods if periods[-1].relative else periods[-1:]


def _held(periods: list[_Period], first: date, last: date) -> list[_Period]:
    """Those that held on a day of `first` to `last`, with what they are told relative to.

    On the day of a change both values held. When a state began is not known, only when it was told: so before the
    first was told it may have held, and where dates are missing everything may. What was corrected never held.
    """
    if any(period.since is None for period in periods):
        return periods
    places = [
        place
        for place, period in enumerate(periods)
        if not period.corrected
        and (not any(not one.corrected for one in periods[:place]) or _day(period.since) <= last)
        and (period.until is None or _day(period.until) >= first)
    ]
    start = places[0]
    while start and periods[start].relative:
        start -= 1
    return [period for period in periods[start : places[-1] + 1] if not period.corrected]


def _day(moment: datetime | None) -> date:
    assert moment is not None
    return moment.date()


def _comparable(asked: Asked, periods: list[_Period], texts: Mapping[Hashable, str] | None) -> bool:
    """Whether what is asked for is one chain: of several appointments, those that all name the optician.

    Where the question names no kind, the owner's at the dentist and at the optician would replace each other. A
    named thing ("the Heron report") is known by its name.
    """
    if not is_shared(asked.attribute) or any(period.relative for period in periods):
        return True
    if asked.kind is None:
        return asked.subject != OWNER
    kind = asked.kind.casefold().rstrip("s")
    return texts is not None and all(
        any(kind in texts.get(memory, "").casefold() for memory in period.memories) for period in periods
    )
