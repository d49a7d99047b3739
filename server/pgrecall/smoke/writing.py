"""What /add promises, and /health."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor

from pgrecall.smoke.caller import SAID_AT, Caller, answered, expect, fresh

NECKLACE = "Caroline: My necklace is from Sweden."
DATED = f"[2023-05-20 14:00] {NECKLACE}"


def message(content: object, **more: object) -> dict[str, object]:
    """A user's message at SAID_AT; `more` adds fields, or replaces them."""
    return {"role": "user", "content": content, "timestamp": SAID_AT, **more}


def health(caller: Caller) -> None:
    response = caller.client.get("/health")
    expect(response.status_code == 200, f"{response.status_code} instead of 200")


def odd_ids(caller: Caller) -> None:
    for user_id in (fresh() + " é🙂/", fresh() + "\x00", fresh() + "\ud800", fresh() * 400):
        caller.add(user_id, message(NECKLACE), request_id="r " + user_id, session_id="s " + user_id)
        expect(DATED in caller.contents(user_id, "necklace"), "an odd id is accepted but finds nothing")
        expect(not caller.search(user_id[:-1], "necklace"), "two ids that differ in the last character collide")


def repeat(caller: Caller) -> None:
    user_id = fresh()
    body = caller.add(user_id, message(NECKLACE))
    respaced = json.dumps(dict(reversed(body.items())), indent=2).encode()
    for again in (body, respaced):
        answered(caller.post("/add", again), 200)
    stored = caller.contents(user_id, "necklace").count(DATED)
    expect(stored == 1, f"the message is found {stored} times")


def repeat_at_once(caller: Caller) -> None:
    user_id = fresh()
    body = {"request_id": fresh(), "user_id": user_id, "session_id": "s", "messages": [message(NECKLACE)]}
    with ThreadPoolExecutor(4) as pool:
        for response in pool.map(lambda _: caller.post("/add", body), range(4)):
            answered(response, 200)
    stored = caller.contents(user_id, "necklace").count(DATED)
    expect(stored == 1, f"the message is found {stored} times")


def conflict(caller: Caller) -> None:
    user_id = fresh()
    body = caller.add(user_id, message(NECKLACE))
    other = body | {"messages": [message("Caroline: My ring is from Norway.")]}
    answer = answered(caller.post("/add", other), 409)
    expect_reason(answer)
    contents = caller.contents(user_id, "necklace")
    expect(DATED in contents, "what the first body stored is lost")
    expect(not any("Norway" in content for content in contents), "the refused body was stored")


def request_ids_of_two_users(caller: Caller) -> None:
    first, second, request_id = fresh(), fresh(), fresh()
    caller.add(first, message(NECKLACE), request_id=request_id)
    caller.add(second, message("Melanie: I painted a lake."), request_id=request_id)
    expect(DATED in caller.contents(first, "necklace"), "the first user's message is lost")
    found = any("painted a lake" in content for content in caller.contents(second, "lake"))
    expect(found, "the second user's message is lost")


def unknown_fields(caller: Caller) -> None:
    user_id = fresh()
    caller.add(user_id, message(NECKLACE, mood="calm"), experiment={"arm": 2})
    expect(DATED in caller.contents(user_id, "necklace", trace=True), "the message is not found")


def speakers(caller: Caller) -> None:
    cases = [
        (message("I moved to Oslo."), "I: I moved to Oslo."),
        (message("You moved to Oslo.", role="assistant"), "assistant: You moved to Oslo."),
        (message("We moved to Bergen.", name="Melanie"), "Melanie: We moved to Bergen."),
        (message("Melanie: We sold the flat.", name="Melanie"), "Melanie: We sold the flat."),
        (message("The flat is sold.", role="narrator"), "narrator: The flat is sold."),
    ]
    user_id = fresh()
    caller.add(user_id, *(sent for sent, _ in cases))
    contents = caller.contents(user_id, "Oslo")
    for number, (_, line) in enumerate(cases):
        expect(f"[2023-05-20 14:00] {line}" in contents, f"case {number} is not rendered as [date] speaker: text")


def odd_contents(caller: Caller) -> None:
    user_id = fresh()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,cGdyZWNhbGw="}}
    call = {"id": "1", "type": "function", "function": {"name": "look_up_train", "arguments": "{}"}}
    caller.add(
        user_id,
        message([{"type": "text", "text": "Caroline: Look at this red door."}, image]),
        message({"mood": "melancholy"}),
        message(None, role="assistant", tool_calls=[call]),
        message("Caroline: A nul \x00 and half a pair \ud83d."),
    )
    contents = caller.contents(user_id, "door")
    for said in ("Look at this red door.", "[image", "melancholy", "look_up_train", "A nul"):
        expect(any(said in content for content in contents), f"nothing holds {said!r}")
    expect(not any("cGdyZWNhbGw" in content for content in contents), "an image's bytes are returned")
    expect(not any("\x00" in content for content in contents), "a NUL is returned")


def nothing_said(caller: Caller) -> None:
    user_id = fresh()
    caller.add(user_id, message(None), message(""), message(" \n "), message([]))
    stored = len(caller.search(user_id, "anything"))
    expect(stored == 0, f"{stored} memories of messages that say nothing")


def odd_timestamps(caller: Caller) -> None:
    dated = [
        SAID_AT,
        SAID_AT // 1000,
        SAID_AT * 1000,
        SAID_AT * 1_000_000,
        str(SAID_AT),
        "2023-05-20T14:00:00Z",
    ]
    for value in dated:
        user_id = fresh()
        caller.add(user_id, message(NECKLACE, timestamp=value))
        expect(caller.contents(user_id, "necklace")[:1] == [DATED], f"{value!r} is not read as 2023-05-20 14:00")
    for value in (None, -5, True, float("nan"), "soon", 1e300, {}):
        user_id = fresh()
        caller.add(user_id, message(NECKLACE, timestamp=value))
        expect(caller.contents(user_id, "necklace")[:1] == [NECKLACE], f"{value!r} is not left undated")


def year_9999(caller: Caller) -> None:
    user_id = fresh()
    caller.add(user_id, message(NECKLACE, timestamp=253_402_300_799_000))
    found = f"[9999-12-31 23:59] {NECKLACE}" in caller.contents(user_id, "necklace")
    expect(found, "the message is not found under its date")


def refusals(caller: Caller) -> None:
    hint = secrets.token_hex(8)
    good: dict[str, object] = {"request_id": fresh(), "user_id": fresh(), "session_id": "s"}
    broken = [(name, good | {name: wrong}) for name in good for wrong in ({"hint": hint}, 7, "", None)]
    good |= {"messages": [message(hint)]}
    broken = [(name, good | ids) for name, ids in broken]
    broken += [(name, {key: good[key] for key in good if key != name}) for name in good]
    broken += [("messages", good | {"messages": []}), ("messages", good | {"messages": None})]
    for name, body in broken:
        response = caller.post("/add", body)
        expect(response.status_code == 422, f"{response.status_code} instead of 422 where {name} is wrong")
        detail = expect_reason(answered(response, 422))
        expect(name in json.dumps(detail), f"the reason does not name {name}")
        expect(hint not in response.text, f"the answer about {name} echoes what was sent")


def not_json(caller: Caller) -> None:
    hint = secrets.token_hex(8)
    for body in (f'{{"user_id": "{hint}'.encode(), f'["{hint}"]'.encode(), b""):
        response = caller.post("/add", body)
        expect_reason(answered(response, 422))
        expect(hint not in response.text, "the answer echoes what was sent")


def expect_reason(answer: dict[str, object]) -> dict[str, object]:
    """The detail of an error's body, which must be {"error": code, "detail": {"reason": ...}}."""
    detail = answer.get("detail")
    shaped = isinstance(answer.get("error"), str) and isinstance(detail, dict) and bool(detail.get("reason"))
    expect(shaped, "the error's body is not {error, detail: {reason}}")
    return dict(detail) if isinstance(detail, dict) else {}


WRITING = {
    "health is open": health,
    "ids of any form are echoed and kept apart": odd_ids,
    "a repeat is answered 200 and stored once": repeat,
    "four repeats at once are stored once": repeat_at_once,
    "another body under the same request_id is a 409": conflict,
    "a request_id belongs to its user": request_ids_of_two_users,
    "unknown fields are ignored": unknown_fields,
    "a message is found as [date] speaker: text": speakers,
    "content may be parts, an object or tool calls": odd_contents,
    "messages that say nothing are skipped": nothing_said,
    "odd timestamps are read or left undated": odd_timestamps,
    "a timestamp in the year 9999 is accepted": year_9999,
    "what cannot be understood is a 422 with field and reason": refusals,
    "a body that is not JSON is a 422": not_json,
}
