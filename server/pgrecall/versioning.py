"""Versions of what changes: which memories a question can do without, and whether what one states still holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime

import regex

from pgrecall.memory import StoredState
from pgrecall.versions.chains import Chains, Link, Said, chains
from pgrecall.versions.patterns import corrects
from pgrecall.versions.registry import is_shared
from pgrecall.versions.statements import OWNER
from pgrecall.versions.withholding import Mode, withheld

_HAN = regex.compile(r"\p{Han}")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def linked(states: Sequence[StoredState]) -> Chains:
    """The chains of states as the store gives them; memories are their numbers n."""
    return chains(
        Said(one.statement, one.occurred_at, one.n, one.n, corrects=corrects(one.content)) for one in states
    )


def leaving(
    states: Sequence[StoredState], question: str, times: Sequence[tuple[date, date]], mode: Mode
) -> set[int]:
    """Numbers of the memories that the question can do without. A question that names several times keeps all."""
    first, last = times[0] if len(times) == 1 else (None, None)
    gone = withheld(
        linked(states),
        question,
        first,
        mode,
        through=last,
        keep={one.n for one in states if not one.alone},
        texts={one.n: one.content for one in states},
    )
    return {n for n in gone if isinstance(n, int)}


def tags(states: Sequence[StoredState]) -> Mapping[int, str]:
    """Of each memory that states a value whether it is the latest, in the memory's language. A value that the next
    is told relative to ("one more") has none: it holds on in that one. Nor has one that nothing dates, nor one of
    which its owner may have several: a haircut's appointment replaces none at the dentist's."""
    by_n = {one.n: one for one in states}
    tagged: dict[int, str] = {}
    for (subject, attribute), links in linked(states).items():
        if subject == OWNER and is_shared(attribute):
            continue
        for place, link in enumerate(links):
            followed = place + 1 < len(links)
            if followed and links[place + 1].relative and not link.closed:
                continue
            for n in link.memories:
                if isinstance(n, int) and (tag := _tag(link, by_n, by_n[n].content)):
                    tagged.setdefault(n, tag)
    return tagged


def _tag(link: Link, by_n: Mapping[int, StoredState], content: str) -> str | None:
    """`(latest as of 9 June 2023)`, `(earlier; replaced 9 June 2023)`, `(ended 9 June 2023)`, `(wrong; corrected 9
    June 2023)`."""
    chinese = _HAN.search(content) is not None
    if link.closed:
        return _said("（已于{}结束）" if chinese else " (ended {})", link.until, chinese)
    if link.corrected:
        return _said("（有误；已于{}更正）" if chinese else " (wrong; corrected {})", link.until, chinese)
    if link.until is not None:
        return _said("（旧；{}起有新的）" if chinese else " (earlier; replaced {})", link.until, chinese)
    moments = [moment for n in link.memories if isinstance(n, int) and (moment := by_n[n].occurred_at)]
    if link.since is None or not moments:
        return None
    return _said("（截至{}为最新）" if chinese else " (latest as of {})", max(moments), chinese)


def _said(form: str, moment: datetime | None, chinese: bool) -> str | None:
    if moment is None:
        return None
    day = f"{moment.year}年{moment.month}月{moment.day}日" if chinese else _english(moment)
    return form.format(day)


def _english(moment: datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"
