"""What replaced what: the plain reference that the statement in SQL is compared with.

A chain is the values of one single-valued attribute of one subject by when they were said, whatever the order in
which they arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pgrecall.versions.registry import is_single
from pgrecall.versions.statements import Statement, states, subject_key, value_key

Chains = Mapping[tuple[str, str], tuple["Link", ...]]
"""By (subject key, attribute)."""


@dataclass(frozen=True, slots=True)
class Said:
    """A statement as a memory makes it. `order`: of arrival; it decides only where two were said at one moment.
    `corrects`: it sets right what was said before it."""

    statement: Statement
    at: datetime | None
    order: int
    memory: Hashable
    corrects: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """One value while it held. `until`: when the next was said, or the end of it, `closed`; None for the last link
    of a chain, and where nothing dates what came next. `memories`: what states it, in the order it was said.
    `ended_by`: what told its end, where it is closed. `corrected`: it never held; `until` is then when it was set
    right, and the next link holds from `since` on."""

    subject: str
    attribute: str
    value: str | None
    since: datetime | None
    until: datetime | None
    relative: bool
    closed: bool
    memories: tuple[Hashable, ...]
    ended_by: tuple[Hashable, ...] = ()
    corrected: bool = False


def chains(said: Iterable[Said]) -> dict[tuple[str, str], tuple[Link, ...]]:
    """The chains of what was said, each of at least one link."""
    by_state: dict[tuple[str, str], list[Said]] = defaultdict(list)
    for one in said:
        if is_single(one.statement.attribute) and states(one.statement):
            by_state[subject_key(one.statement.subject), one.statement.attribute].append(one)
    linked = {state: _links(state[0], sorted(ones, key=_place)) for state, ones in by_state.items()}
    return {state: tuple(links) for state, links in linked.items() if links}


def _place(one: Said) -> tuple[bool, datetime, int, bool, bool, str]:
    """By when it was said; what nothing dates comes first: that it replaced anything can't be shown.

    The last three decide only between statements of one memory.
    """
    moment = one.at or datetime.min.replace(tzinfo=UTC)
    statement = one.statement
    return one.at is not None, moment, one.order, statement.closes, statement.relative, statement.value or ""


def _links(subject: str, said: Sequence[Said]) -> list[Link]:
    links: list[Link] = []
    for one in said:
        statement = one.statement
        current = links[-1] if links and not links[-1].closed else None
        if statement.closes:
            if current and _ends(statement, current):
                links[-1] = replace(current, until=one.at, closed=True, ended_by=(one.memory,))
            elif links and links[-1].closed and one.memory not in links[-1].ended_by:
                links[-1] = replace(links[-1], ended_by=(*links[-1].ended_by, one.memory))
        elif current and not statement.relative and _same(statement, current):
            if one.memory not in current.memories:
                links[-1] = replace(current, memories=(*current.memories, one.memory))
        else:
            link = _link(subject, one)
            if current and one.corrects and not statement.relative:
                links[-1] = replace(current, until=one.at, corrected=True)
                link = replace(link, since=current.since)
            elif current:
                links[-1] = replace(current, until=one.at)
            links.append(link)
    return links


def _link(subject: str, one: Said) -> Link:
    statement = one.statement
    return Link(
        subject=subject,
        attribute=statement.attribute,
        value=statement.value,
        since=one.at,
        until=None,
        relative=statement.relative,
        closed=False,
        memories=(one.memory,),
    )


def _same(statement: Statement, current: Link) -> bool:
    """One more, said twice, is two more: a relative value is never the same again."""
    return not current.relative and value_key(statement.value or "") == value_key(current.value or "")


def _ends(statement: Statement, current: Link) -> bool:
    """An end that names another value than the current one is of a state replaced long ago, or misread.
    `Volvo` ends `old Volvo`."""
    if statement.value is None or current.value is None:
        return True
    ended, held = value_key(statement.value), value_key(current.value)
    return ended in held or held in ended
