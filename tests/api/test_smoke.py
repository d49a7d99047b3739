"""The smoke run passes on a server that holds the contract, and names what one with a defect breaks."""

from __future__ import annotations

import io
import json
import socket
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

from pgrecall.smoke import run
from tests.api.reference_server import Answer, Reference, Refused, serving

SECRET = "open-sesame"


def smoked(reference: Reference, secret: str | None = None, scheme: str | None = None) -> tuple[bool, list[str]]:
    """Whether all checks hold, and the printed lines."""
    printed = io.StringIO()
    with serving(reference) as url:
        holds = run(url, secret=secret, scheme=scheme, console=Console(file=printed, width=200))
    return holds, printed.getvalue().splitlines()


class LeaksOtherUsers(Reference):
    def log_of(self, user_id: str) -> list[dict[str, Any]]:
        return [memory for log in self.memories.values() for memory in log]


class FoldsUserIds(Reference):
    def log_of(self, user_id: str) -> list[dict[str, Any]]:
        return [memory for user, log in self.memories.items() if user == user_id.casefold() for memory in log]


class StoresRepeats(Reference):
    def is_new(self, key: tuple[str, str], digest: str) -> bool:
        super().is_new(key, digest)
        return True


class OverwritesConflicts(Reference):
    def is_new(self, key: tuple[str, str], digest: str) -> bool:
        return self.requests.get(key) != digest


class SharesRequestIds(Reference):
    def is_new(self, key: tuple[str, str], digest: str) -> bool:
        return super().is_new(key, digest) and all(taken != key[1] for _, taken in self.requests)


class EchoesThePayload(Reference):
    def require_id(self, call: dict[str, Any], name: str) -> str:
        try:
            return super().require_id(call, name)
        except Refused as refused:
            raise Refused(422, f"{refused.reason}, got {call}") from None


class NamesNoField(Reference):
    def require_id(self, call: dict[str, Any], name: str) -> str:
        try:
            return super().require_id(call, name)
        except Refused:
            raise Refused(422, "something is wrong") from None


class RendersNoDate(Reference):
    def render(self, message: dict[str, Any], text: str, when: datetime | None) -> str:
        return super().render(message, text, None)


class ForgetsThatItStored(Reference):
    def store(self, key: tuple[str, str], messages: list[dict[str, Any]]) -> None:
        """Acknowledged, never durable."""


class GivesFreshIds(Reference):
    searches = 0

    def search(self, call: dict[str, Any]) -> dict[str, Any]:
        self.searches += 1
        found = super().search(call)["data"]
        return {"data": [memory | {"id": f"{memory['id']}-{self.searches}"} for memory in found]}


class ScoresNotANumber(Reference):
    def search(self, call: dict[str, Any]) -> dict[str, Any]:
        return {"data": [memory | {"score": float("nan")} for memory in super().search(call)["data"]]}


class IgnoresTopK(Reference):
    def search(self, call: dict[str, Any]) -> dict[str, Any]:
        return super().search(call | {"top_k": None})


class RefusesUnknownFields(Reference):
    def add(self, call: dict[str, Any]) -> dict[str, Any]:
        if call.keys() - {"request_id", "user_id", "session_id", "messages"}:
            raise Refused(422, "unknown field")
        return super().add(call)


class KnowsNoAliases(Reference):
    def answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if path.startswith("/v1"):
            return 404, {"error": "not_found", "detail": {"reason": "no such path"}}
        return super().answer(method, path, headers, body)


class RefusesLateTimestamps(Reference):
    def store(self, key: tuple[str, str], messages: list[dict[str, Any]]) -> None:
        if "253402300799000" in json.dumps(messages):
            raise Refused(422, "the timestamp is past 2100")
        super().store(key, messages)


class AnswersBlankQueriesWithNothing(Reference):
    def search(self, call: dict[str, Any]) -> dict[str, Any]:
        return super().search(call) if str(call["query"] or "").strip() else {"data": []}


class LetsAnyoneIn(Reference):
    def authorize(self, headers: dict[str, str]) -> None:
        """Open to all."""


def test_a_server_that_holds_the_contract_passes() -> None:
    holds, lines = smoked(Reference())

    assert holds
    assert all(line.startswith("✓ ") for line in lines[:-1])
    assert lines[-1] == f"{len(lines) - 1} of {len(lines) - 1} checks hold"


@pytest.mark.parametrize("scheme", [None, "bearer", "token", "x-api-key"])
def test_the_secret_is_shown_in_the_header_of_the_scheme(scheme: str | None) -> None:
    holds, lines = smoked(Reference(SECRET), SECRET, scheme)

    assert holds
    assert "✓ a call without the secret is refused" in lines


@pytest.mark.parametrize(
    ("defective", "broken"),
    [
        (LeaksOtherUsers, "no user sees another's memories"),
        (FoldsUserIds, "no user sees another's memories"),
        (StoresRepeats, "a repeat is answered 200 and stored once"),
        (StoresRepeats, "four repeats at once are stored once"),
        (OverwritesConflicts, "another body under the same request_id is a 409"),
        (SharesRequestIds, "a request_id belongs to its user"),
        (EchoesThePayload, "what cannot be understood is a 422 with field and reason"),
        (NamesNoField, "what cannot be understood is a 422 with field and reason"),
        (RendersNoDate, "a message is found as [date] speaker: text"),
        (RendersNoDate, "odd timestamps are read or left undated"),
        (ForgetsThatItStored, "ids of any form are echoed and kept apart"),
        (GivesFreshIds, "ids are unique and stable, scores finite"),
        (ScoresNotANumber, "ids are unique and stable, scores finite"),
        (IgnoresTopK, "any top_k is understood"),
        (RefusesUnknownFields, "unknown fields are ignored"),
        (KnowsNoAliases, "the aliases under /v1/memory answer alike"),
        (RefusesLateTimestamps, "a timestamp in the year 9999 is accepted"),
        (AnswersBlankQueriesWithNothing, "a blank query returns the newest"),
    ],
)
def test_a_defect_is_named_with_its_reason(defective: type[Reference], broken: str) -> None:
    holds, lines = smoked(defective())

    assert not holds
    (line,) = (line for line in lines if line.startswith(f"✗ {broken}"))
    assert line.removeprefix(f"✗ {broken}").strip()


def test_an_open_door_is_noticed() -> None:
    holds, lines = smoked(LetsAnyoneIn(SECRET), SECRET)

    assert not holds
    assert [line for line in lines if line.startswith("✗ a call without the secret is refused")]


def test_a_closed_door_fails_every_check_but_health() -> None:
    holds, lines = smoked(Reference(SECRET))

    assert not holds
    assert [line for line in lines if line.startswith("✓")] == ["✓ health is open"]


def test_reasons_stand_in_one_column() -> None:
    _, lines = smoked(Reference(SECRET))

    assert len({line.index("  4") for line in lines if line.endswith("401 instead of 200")}) == 1


def test_no_server_is_said_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    printed = io.StringIO()

    assert not run(f"http://127.0.0.1:{port}", console=Console(file=printed, width=200))
    assert printed.getvalue() == f"✗ no server answers at http://127.0.0.1:{port} (ConnectError)\n"
