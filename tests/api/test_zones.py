"""Whose clock a line goes by, and what its words mean."""

from __future__ import annotations

import httpx2
import pytest

from tests.api.calling import AT_14, added, found


@pytest.mark.parametrize(
    ("zone", "timestamp", "shown"),
    [
        (None, "2023-05-20T16:00:00+02:00", "[2023-05-20 16:00] I: I ran today [= 20 May 2023]"),
        ("Asia/Shanghai", "2023-05-20T16:00:00+02:00", "[2023-05-20 22:00] I: I ran today [= 20 May 2023]"),
        ("Pacific/Auckland", AT_14, "[2023-05-21 02:00] I: I ran today [= 21 May 2023]"),
        ("-05:30", AT_14, "[2023-05-20 08:30] I: I ran today [= 20 May 2023]"),
        ("Nowhere/Atall", AT_14, "[2023-05-20 14:00] I: I ran today [= 20 May 2023]"),
        ("+5:99", AT_14, "[2023-05-20 14:00] I: I ran today [= 20 May 2023]"),
        ("+0560", AT_14, "[2023-05-20 14:00] I: I ran today [= 20 May 2023]"),
        ("+5:59", AT_14, "[2023-05-20 19:59] I: I ran today [= 20 May 2023]"),
        (7, AT_14, "[2023-05-20 14:00] I: I ran today [= 20 May 2023]"),
    ],
)
def test_lines_and_what_their_words_mean_go_by_the_clock_of_who_speaks(
    client: httpx2.Client, user: str, zone: object, timestamp: object, shown: str
) -> None:
    message = {"role": "user", "content": "I ran today", "timestamp": timestamp}
    added(client, user, message, **({} if zone is None else {"timezone": zone}))
    (memory,) = found(client, user)
    assert (memory["content"], memory["created_at"]) == (shown, "2023-05-20T14:00:00Z")
