from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pgrecall.contract.timestamps import LAST_MILLISECOND, read_timestamp

MAY_20 = datetime(2023, 5, 20, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sent", "moment"),
    [
        (1684591200000, MAY_20),
        (1684591200, MAY_20),
        (1684591200.25, MAY_20.replace(microsecond=250_000)),
        (1684591200000.0, MAY_20),
        (1684591200123456, MAY_20.replace(microsecond=123_000)),
        (1684591200123456789, MAY_20.replace(microsecond=123_000)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
        (-0.0, datetime(1970, 1, 1, tzinfo=UTC)),
        (4102444800000 + 86_400_000, datetime(2100, 1, 2, tzinfo=UTC)),
        (LAST_MILLISECOND, datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
    ],
)
def test_number_is_told_by_its_size(sent: object, moment: datetime) -> None:
    assert read_timestamp(sent) == moment


@pytest.mark.parametrize(
    "sent",
    [
        "1684591200000",
        " 1684591200 ",
        "1684591200.0",
        "１６８４５９１２００",
        "2023-05-20T14:00:00Z",
        "2023-05-20t14:00:00z",
        "2023-05-20T14:00",
        "2023-05-20 14:00",
        "2023-05-20 14:00:00.000000 UTC",
        "2023-05-20T16:00:00+02:00",
        "2023-05-20 16:00 +0200",
        "2023-05-20 10:00 EDT",
        "20230520T140000Z",
        "20230520140000",
        "2023/05/20 14:00",
        "2023/05/20 (Sat) 14:00",
        "2023.5.20 2:00 pm",
        "20 May 2023 14:00",
        "20-May-2023 14:00",
        "20th of May, 2023 at 2pm",
        "May 20, 2023 2:00 PM",
        "2:00 p.m. on 20 May, 2023",
        "Sat, 20 May 2023 16:00:00 +0200",
        "Sat May 20 14:00:00 2023",
        "Sat May 20 2023 16:00:00 GMT+0200 (Central European Summer Time)",
        "2023年5月20日 14:00",
        "2023年5月20日下午2点00分",
    ],
)
def test_text_is_read(sent: str) -> None:
    assert read_timestamp(sent) == MAY_20


@pytest.mark.parametrize(
    "sent", ["2023-05-20", "2023/5/20", "20 May 2023", "May 20, 2023", "20230520", "2023-W20-6"]
)
def test_date_alone_is_midnight_in_utc(sent: str) -> None:
    assert read_timestamp(sent) == MAY_20.replace(hour=0)


def test_midnight_and_noon_are_told_apart() -> None:
    assert read_timestamp("12:05 am on 20 May, 2023") == MAY_20.replace(hour=0, minute=5)
    assert read_timestamp("12:05 pm on 20 May, 2023") == MAY_20.replace(hour=12, minute=5)


@pytest.mark.parametrize("text", ["0800-12-24 18:00", "24 December 0800 18:00"])
def test_early_years_are_read(text: str) -> None:
    assert read_timestamp(text) == datetime(800, 12, 24, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "sent",
    [
        None,
        True,
        False,
        -1,
        -1684591200000,
        -0.5,
        float("nan"),
        float("inf"),
        float("-inf"),
        LAST_MILLISECOND + 1,
        500_000_000_000_000,
        8_640_000_000_000_000,
        2**53 - 1,
        10**17,
        2**63,
        10**400,
        1e300,
        [],
        [1684591200000],
        {},
        "",
        " ",
        "-1684591200000",
        "soon",
        "yesterday",
        "today at 14:00",
        "14:00",
        "May 2023",
        "2023-02-30",
        "2023-05-20 25:00",
        "2023-05-20 14:00 15:00",
        "2023-05-20 13:00 pm",
        "2023-05-20 14:00 Mars",
        "3/4/2023",
        "0000-01-01",
        "10000-01-01",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:00-05:00",
        "9" * 5000,
        "2023-05-20 " * 50,
        "\ud800",
    ],
)
def test_what_dates_nothing_leaves_the_message_undated(sent: object) -> None:
    assert read_timestamp(sent) is None
