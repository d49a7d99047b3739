"""POST /forget and POST /restore over HTTP: from the answer on nothing comes back, from any channel, while other
calls of the same user go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from tests.api.calling import AT_14, added, contents, found, post, rows
from tests.running import add_body, fresh

HOUR = 3_600_000
SAID = [
    ("s-1", 0, "My locker code is 7381 at the swimming pool"),
    ("s-1", 1, "The heron came back to the pond yesterday"),
    ("s-1", 2, "I moved to Lisbon"),
    ("s-2", 24, "Petra recommended the accordion teacher Zbigniew"),
    ("s-2", 25, "I had lentil soup"),
    ("s-2", 26, "My new number is 555 0148"),
    ("s-3", 48, "The trellis needs paint"),
    ("s-3", 49, "我昨天去了动物园"),
]
"""(session, hours after 14:00, text)."""
SECRET = {"locker", "heron", "Lisbon", "Zbigniew", "lentil", "0148", "trellis", "动物园"}
"""One word of each, that stands nowhere else."""
ASKED = [
    "", "locker code 7381", "hreon", "Where do I live now?", "acordion teacher", "lentil soup",
    "What is my number?", "trellis paint", "动物园", "what happened on 19 May 2023", "pond", "Zbignew",
]  # fmt: skip
"""By time alone, words, misspellings, vectors, dates."""

Select = Callable[[dict[str, str]], dict[str, Any]]
SELECTIONS: dict[str, tuple[Select, set[str]]] = {
    "one id": (lambda ids: {"ids": [ids["locker"]]}, {"locker"}),
    "three ids": (
        lambda ids: {"ids": [ids["heron"], ids["lentil"], ids["动物园"]]},
        {"heron", "lentil", "动物园"},
    ),
    "ids, among them strange ones": (
        lambda ids: {"ids": [ids["trellis"], "", "no id", "5b0f6c1e-93d5-4b6f-a3c0-5d1d2b9a7f10"]},
        {"trellis"},
    ),
    "a session": (lambda ids: {"session_id": "s-2"}, {"Zbigniew", "lentil", "0148"}),
    "since": (lambda ids: {"since": AT_14 + 26 * HOUR}, {"0148", "trellis", "动物园"}),
    "until": (lambda ids: {"until": AT_14 + HOUR}, {"locker"}),
    "a range in ISO": (
        lambda ids: {"since": "2023-05-20T15:00:00Z", "until": "2023-05-21T16:00:00+01:00"},
        {"heron", "Lisbon", "Zbigniew"},
    ),
    "a session in a range": (
        lambda ids: {"session_id": "s-1", "since": AT_14 + HOUR},
        {"heron", "Lisbon"},
    ),
    "an id of another session": (lambda ids: {"ids": [ids["locker"]], "session_id": "s-2"}, set()),
    "everything": (lambda ids: {"since": 0}, SECRET),
}


@contextmanager
def others(client: httpx2.Client, user: str) -> Iterator[list[int]]:
    """Adds and searches of the same user all the while; the statuses of their answers."""
    done, statuses = threading.Event(), list[int]()

    def go_on(number: int) -> None:
        with httpx2.Client(base_url=client.base_url, timeout=60, trust_env=False) as own:
            while not done.is_set():
                body = add_body(user, f"noise {number} gravel", session=fresh("noise"))
                statuses.append(post(own, "/add", body).status_code)
                statuses.append(post(own, "/search", {"user_id": user, "query": "gravel"}).status_code)

    threads = [threading.Thread(target=go_on, args=[number]) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        done.set()
        for thread in threads:
            thread.join()


def say(client: httpx2.Client, user: str) -> None:
    """Everything; again it is a replay."""
    for session, hours, text in SAID:
        message = {"role": "user", "content": text, "timestamp": AT_14 + hours * HOUR}
        added(client, user, message, session_id=session, request_id=text)


def told(client: httpx2.Client, user: str) -> dict[str, str]:
    """Everything said; the id of each message by its secret word."""
    say(client, user)
    memories = found(client, user)
    return {word: one["id"] for word in SECRET for one in memories if word in one["content"]}


def seen(client: httpx2.Client, user: str) -> set[str]:
    """The secrets that come back from any channel, present and past."""
    texts = [line for query in ASKED for line in contents(client, user, query, top_k=1000)]
    texts += [line for query in ASKED[:4] for line in contents(client, user, query, as_of=4_000_000_000_000)]
    return {word for word in SECRET if any(word in text for text in texts)}


@pytest.mark.parametrize("way", ["hidden", "erased", "restored"])
@pytest.mark.parametrize("kind", SELECTIONS)
def test_what_was_forgotten_comes_back_from_no_channel_until_it_is_restored(
    client: httpx2.Client, database: str, user: str, kind: str, way: str
) -> None:
    select, words = SELECTIONS[kind]
    ids = told(client, user)
    assert seen(client, user) == SECRET
    with others(client, user) as statuses:
        selection = {"user_id": user, **select(ids)}
        answer = post(client, "/forget", {**selection, "erase": way == "erased"}).json()
        noise = answer["messages"] - len(words)  # what the others said falls into a range as well
        assert answer["success"]
        assert noise >= 0
        assert ("forget_id" in answer) == (way != "erased")
        assert seen(client, user) == SECRET - words
        say(client, user)  # a replay brings nothing back
        assert seen(client, user) == SECRET - words
        restored = post(client, "/restore", selection).json()
        assert restored["messages"] >= (0 if way == "erased" else len(words))
        assert seen(client, user) == (SECRET - words if way == "erased" else SECRET)
    assert set(statuses) == {200}
    actions = rows(database, "SELECT action FROM audit WHERE user_id = %s ORDER BY done_at", [user])
    assert actions[0] == ("erase" if way == "erased" else "forget",)


def test_erasing_leaves_no_row_that_holds_the_content(client: httpx2.Client, database: str, user: str) -> None:
    told(client, user)
    assert post(client, "/forget", {"user_id": user, "session_id": "s-2"}).json()["messages"] == 3
    assert post(client, "/forget", {"user_id": user, "since": 0, "erase": True}).json()["messages"] == len(SAID)
    derived = ("terms", "spellings", "dates", "states")
    for table in ("messages", "forgotten_messages", "facts", "forgotten_facts", *derived):
        assert rows(database, f"SELECT count(*) FROM {table} WHERE user_id = %s", [user]) == [(0,)], table
    kept = rows(database, "SELECT next_n - forgotten, terms_length FROM users WHERE user_id = %s", [user])
    assert kept == [(0, 0)]


def test_nobody_forgets_for_another(client: httpx2.Client, user: str) -> None:
    ids = told(client, user)
    answer = post(client, "/forget", {"user_id": fresh("other"), "ids": list(ids.values()), "erase": True}).json()
    assert (answer["messages"], answer["facts"]) == (0, 0)
    assert seen(client, user) == SECRET


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, None),
        ({"ids": None, "session_id": None}, None),
        ({"session_id": "s-1", "id": ["x"], "erase": True}, None),
        ({"ids": "x"}, "ids"),
        ({"ids": [1]}, "ids"),
        ({"since": "some day"}, "since"),
        ({"until": True}, "until"),
        ({"session_id": "s", "erase": "yes"}, "erase"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": 7}, "session_id"),
    ],
)
def test_what_could_be_meant_otherwise_is_refused(
    client: httpx2.Client, user: str, body: dict[str, Any], field: str | None
) -> None:
    told(client, user)
    response = post(client, "/forget", {"user_id": user, **body})
    assert response.status_code == 422
    assert response.json()["detail"].get("field") == field
    assert seen(client, user) == SECRET


def test_forget_id_restores_what_that_call_hid_and_no_more(client: httpx2.Client, user: str) -> None:
    ids = told(client, user)
    first = post(client, "/forget", {"user_id": user, "ids": [ids["locker"]]}).json()
    post(client, "/forget", {"user_id": user, "ids": [ids["heron"]]})
    assert seen(client, user) == SECRET - {"locker", "heron"}
    assert post(client, "/restore", {"user_id": user, "forget_id": first["forget_id"]}).json()["messages"] == 1
    assert seen(client, user) == SECRET - {"heron"}
    assert post(client, "/restore", {"user_id": user, "forget_id": first["forget_id"]}).json()["messages"] == 0


def test_what_was_hidden_belongs_to_the_forgetting_that_hid_it(client: httpx2.Client, user: str) -> None:
    ids = told(client, user)
    first = post(client, "/forget", {"user_id": user, "ids": [ids["locker"]]}).json()
    second = post(client, "/forget", {"user_id": user, "session_id": "s-1"}).json()
    assert (first["messages"], second["messages"]) == (1, 2)
    assert post(client, "/restore", {"user_id": user, "forget_id": second["forget_id"]}).json()["messages"] == 2
    assert seen(client, user) == SECRET - {"locker"}
    assert post(client, "/restore", {"user_id": user, "forget_id": first["forget_id"]}).json()["messages"] == 1
    assert seen(client, user) == SECRET


@pytest.mark.parametrize("hidden_before", [False, True])
def test_erasing_leaves_no_spelling_of_what_an_older_release_analysed(
    client: httpx2.Client, database: str, user: str, hidden_before: bool
) -> None:
    added(client, user, "sailing quokkas", session_id="gone")
    added(client, user, "she sails", session_id="kept")
    with psycopg.connect(database, autocommit=True) as connection:  # as it was before words were kept
        connection.execute("UPDATE terms SET words = NULL WHERE user_id = %s", [user])
    selection = {"user_id": user, "session_id": "gone"}
    if hidden_before:
        post(client, "/forget", selection)
    assert post(client, "/forget", {**selection, "erase": True}).json()["messages"] == 1
    keys = {key for (key,) in rows(database, "SELECT key FROM spellings WHERE user_id = %s", [user])}
    assert not {key for key in keys if "sailin" in key or "quokk" in key}


def test_erasing_keeps_the_spellings_of_what_is_left(client: httpx2.Client, database: str, user: str) -> None:
    added(client, user, "she sails", session_id="kept")
    statement = "SELECT key, missing, term FROM spellings WHERE user_id = %s ORDER BY key, missing, term"
    before = rows(database, statement, [user])
    added(client, user, "sailing quokkas", session_id="gone")
    assert len(rows(database, statement, [user])) > len(before) > 0
    post(client, "/forget", {"user_id": user, "session_id": "gone", "erase": True})
    assert rows(database, statement, [user]) == before
