"""The way of an Add and of a search, over real HTTP on a real Postgres."""

from __future__ import annotations

import httpx2

from tests.running import add_body


def test_what_was_added_is_found_as_date_speaker_and_text(client: httpx2.Client, user: str) -> None:
    answered = client.post("/add", json=add_body(user, "I moved to Lisbon", "The flat has a blue door"))
    assert answered.status_code == 200
    found = client.post("/search", json={"user_id": user, "query": "Where do I live?", "top_k": 5}).json()["data"]
    assert [memory["content"] for memory in found] == [
        "[2023-05-20 14:00] I: I moved to Lisbon",
        "[2023-05-20 14:01] I: The flat has a blue door",
    ]
    assert found[0]["created_at"] == "2023-05-20T14:00:00Z"
