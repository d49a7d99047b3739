"""Who may call. Run only where a secret is known."""

from __future__ import annotations

from pgrecall.smoke.caller import Caller, answered, expect, fresh, secret_headers

SCHEMES = ("bearer", "token", "x-api-key")


def refused_without_the_secret(caller: Caller) -> None:
    for path in ("/add", "/search"):
        response = caller.post(path, {"query": "anything", "user_id": fresh()}, headers={})
        expect(response.status_code == 401, f"{path}: {response.status_code} instead of 401")


def refused_with_another_secret(caller: Caller) -> None:
    for scheme in SCHEMES:
        wrong = secret_headers(fresh(), scheme)
        response = caller.post("/search", {"query": "anything", "user_id": fresh()}, headers=wrong)
        expect(response.status_code == 401, f"{scheme}: {response.status_code} instead of 401")


def accepted_in_any_header(caller: Caller) -> None:
    for scheme in SCHEMES:
        right = secret_headers(caller.secret, scheme)
        answered(caller.post("/search", {"query": "anything", "user_id": fresh()}, headers=right), 200)


ACCESS = {
    "a call without the secret is refused": refused_without_the_secret,
    "a call with another secret is refused": refused_with_another_secret,
    "the secret counts in any of the three headers": accepted_in_any_header,
}
