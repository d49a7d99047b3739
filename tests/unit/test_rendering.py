from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest

from pgrecall.rendering import created_at, estimate_tokens, fitting, fold, line, line_key
from pgrecall.temporal.finding import find

MAY_20 = datetime(2023, 5, 20, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("occurred_at", "speaker", "content", "rendered"),
    [
        (MAY_20, "I", "I ran.", "[2023-05-20 14:00] I: I ran."),
        (None, "I", "I ran.", "I: I ran."),
        (MAY_20, None, "I ran.", "[2023-05-20 14:00] I ran."),
        (None, None, "I ran.", "I ran."),
        (MAY_20, "Caroline", "Caroline: Hi!", "[2023-05-20 14:00] Caroline: Hi!"),
        (None, "Caroline", " Caroline : Hi!", " Caroline : Hi!"),
        (None, "小明", "小明：你好", "小明：你好"),
        (None, "Ann", "Anna: Hi", "Ann: Anna: Hi"),
        (None, "I", "I ran: it rained", "I: I ran: it rained"),
        (MAY_20.replace(second=59), "I", "one\ntwo", "[2023-05-20 14:00] I: one\ntwo"),
    ],
)
def test_line_bears_date_and_speaker(
    occurred_at: datetime | None, speaker: str | None, content: str, rendered: str
) -> None:
    assert line(occurred_at, speaker, content) == rendered


def test_line_is_by_the_clock_of_its_speaker() -> None:
    assert line(MAY_20.astimezone(timezone(timedelta(hours=9))), "I", "hi") == "[2023-05-20 23:00] I: hi"


def test_line_shows_what_its_words_mean_by_that_clock() -> None:
    moment = datetime(2023, 5, 20, 23, tzinfo=UTC).astimezone(timezone(timedelta(hours=9)))
    said = find("I ran yesterday.", moment.date())
    assert line(moment, "I", "I ran yesterday.", said) == "[2023-05-21 08:00] I: I ran yesterday [= 20 May 2023]."
    assert line(None, "I", "I ran yesterday.", said) == "I: I ran yesterday."


def test_early_years_have_four_digits() -> None:
    moment = datetime(800, 1, 2, 3, 4, tzinfo=UTC)
    assert line(moment, "I", "hi") == "[0800-01-02 03:04] I: hi"
    assert created_at(moment) == "0800-01-02T03:04:00Z"


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (None, None),
        (MAY_20, "2023-05-20T14:00:00Z"),
        (MAY_20.replace(microsecond=250_000), "2023-05-20T14:00:00.250Z"),
        (MAY_20.astimezone(timezone(timedelta(hours=-5))), "2023-05-20T14:00:00Z"),
    ],
)
def test_created_at_is_iso_in_utc(moment: datetime | None, text: str | None) -> None:
    assert created_at(moment) == text


def test_lines_that_differ_in_case_and_space_fold_alike() -> None:
    assert fold("[2023-05-20 14:00] I:  Straße\n") == "[2023-05-20 14:00] i: strasse"
    assert line_key("I: I ran") == line_key(" i:\ti RAN ")
    assert line_key("[2023-05-20 14:00] I: I ran") != line_key("[2023-05-21 14:00] I: I ran")


def test_line_key_is_half_a_sha256() -> None:
    assert line_key("I: Hi") == hashlib.sha256(b"i: hi").digest()[:16]


@pytest.mark.parametrize(
    ("rendered", "tokens"),
    [
        ("", 20),
        ("abc", 21),
        ("abcd", 22),
        ("小明", 22),
        ("小，明。", 24),
        ("コーヒー", 24),
        ("한국", 22),
        ("𠀀", 21),
        ("é", 21),
        ("😀", 22),
        ("小abcd明", 24),
    ],
)
def test_tokens_are_estimated_from_above(rendered: str, tokens: int) -> None:
    assert estimate_tokens(rendered) == tokens


@pytest.mark.parametrize(
    ("characters", "tokens", "fits"),
    [(1000, None, 3), (40, None, 3), (39, None, 2), (19, None, 0), (1000, 96, 3), (1000, 95, 2), (1000, 1, 0)],
)
def test_what_else_is_listed_keeps_to_the_budgets_that_the_evidence_left(
    characters: int, tokens: int | None, fits: int
) -> None:
    assert fitting(["a" * 10] * 3, ["b" * 10], characters, tokens) == fits
