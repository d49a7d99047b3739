"""What /search promises."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isfinite

from pgrecall.smoke.caller import SAID_AT, Caller, answered, expect, fresh

MINUTE = 60_000
"""In milliseconds."""


def remembered(caller: Caller, *lines: str) -> str:
    """A fresh user who said these lines, a minute apart."""
    user_id = fresh()
    messages = [
        {"role": "user", "content": line, "timestamp": SAID_AT + number * MINUTE}
        for number, line in enumerate(lines)
    ]
    caller.add(user_id, *messages)
    return user_id


def ids_and_scores(caller: Caller) -> None:
    user_id = remembered(caller, "Jon: I dance.", "Gina: I paint.", "Jon: I bake.", "Gina: I climb.")
    first, second = (caller.search(user_id, "Who dances?") for _ in range(2))
    ids = [memory["id"] for memory in first]
    expect(len(set(ids)) == len(ids), "an id stands twice")
    expect(ids == [memory["id"] for memory in second], "the same search returns other ids")
    for memory in first:
        score = memory["score"]
        number = isinstance(score, int | float) and not isinstance(score, bool)
        expect(number and isfinite(score), "a score is no finite number")
        if memory.get("created_at") is not None:
            expect(in_utc(memory["created_at"]), "created_at is no ISO date in UTC")


def in_utc(written: object) -> bool:
    """Whether this is an ISO date and time that says UTC."""
    try:
        return datetime.fromisoformat(str(written)).utcoffset() == timedelta(0)
    except ValueError:
        return False


def top_k(caller: Caller) -> None:
    user_id = remembered(caller, *(f"Jon: In the month {number} I danced." for number in range(8)))
    for none in (0, -3):
        expect(not caller.search(user_id, "dance", top_k=none), f"top_k {none} returns something")
    for three in (3, "3"):
        expect(len(caller.search(user_id, "dance", top_k=three)) == 3, f"top_k {three!r} does not return 3")
    whole = len(caller.search(user_id, "dance"))
    expect(whole >= 8, f"without top_k {whole} of 8 messages return")
    odd_ones: tuple[object, ...] = (None, 2.5, True, "many", [], 10**30)
    for odd in odd_ones:
        found = len(caller.search(user_id, "dance", top_k=odd))
        expect(found == whole, f"top_k {odd!r} returns {found}, without top_k {whole}")


def unknown_user(caller: Caller) -> None:
    expect(not caller.search(fresh(), "anything"), "an unknown user has memories")


def other_users(caller: Caller) -> None:
    owner = remembered(caller, "Gina: The safe opens with 4711.")
    other = remembered(caller, "Jon: My safe is blue.")
    for user_id in (other, fresh(), owner.upper(), owner + " ", f"{owner}%"):
        contents = caller.contents(user_id, "The safe opens with 4711.")
        expect(not any("4711" in content for content in contents), "another user's message is returned")


def aliases(caller: Caller) -> None:
    user_id = fresh()
    message = {"role": "user", "content": "Gina: I opened a shop.", "timestamp": SAID_AT}
    caller.add(user_id, message, path="/v1/memory/add")
    found = caller.search(user_id, "shop", path="/v1/memory/search")
    expect(bool(found) and found == caller.search(user_id, "shop"), "the aliases do not answer alike")


def nothing_asked(caller: Caller) -> None:
    user_id = remembered(caller, "Jon: I dance.", "Jon: I bake.")
    for query in (None, "", "  \n", "the of and"):
        found = len(caller.search(user_id, query))
        expect(found >= 2, f"{query!r} returns {found} of the 2 newest messages")


def options(caller: Caller) -> None:
    user_id = remembered(caller, "Jon: I dance.")
    for value in (None, "dancing", ["dancing", 3, None, {"text": "baking"}], 7, []):
        expect(bool(caller.search(user_id, "hobby", options=value)), f"options {value!r} returns nothing")


def unclear_user(caller: Caller) -> None:
    for body in (
        {"query": "anything"},
        {"query": "anything", "user_id": 7},
        {"query": "anything", "user_id": ""},
    ):
        answered(caller.post("/search", body), 422)


READING = {
    "ids are unique and stable, scores finite": ids_and_scores,
    "any top_k is understood": top_k,
    "an unknown user has no memories": unknown_user,
    "no user sees another's memories": other_users,
    "the aliases under /v1/memory answer alike": aliases,
    "a blank query returns the newest": nothing_asked,
    "any options are understood": options,
    "a search without a user is a 422": unclear_user,
}
