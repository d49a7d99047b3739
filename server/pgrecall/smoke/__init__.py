"""The contract, run against a live server: `pgrecall smoke URL`.

Every check uses fresh random ids, so it can run beside real callers; what it adds stays, under users
that begin with `smoke-`. Reasons name statuses and counts, never what the server returned.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from rich.console import Console
from rich.text import Text

from pgrecall.smoke.access import ACCESS
from pgrecall.smoke.caller import Caller, CheckFailed
from pgrecall.smoke.reading import READING
from pgrecall.smoke.writing import WRITING

TIMEOUT = 100.0
"""Seconds a call may take: extraction is allowed 80."""


def run(url: str, *, secret: str | None = None, scheme: str | None = None, console: Console) -> bool:
    """Run every check and print a line for each; True when all hold. Stops if no server answers."""
    checks = (WRITING | READING | ACCESS) if secret is not None else (WRITING | READING)
    width = max(map(len, checks))
    failed = 0
    with httpx2.Client(base_url=url, timeout=TIMEOUT) as client:
        try:
            client.get("/health")
        except httpx2.TransportError as error:
            console.print(Text.assemble(("✗", "red"), f" no server answers at {url} ({type(error).__name__})"))
            return False
        caller = Caller(client, secret, scheme)
        for name, check in checks.items():
            reason = outcome(check, caller)
            failed += reason is not None
            mark = ("✓", "green") if reason is None else ("✗", "red")
            console.print(Text.assemble(mark, f" {name:<{width}}  {reason or ''}".rstrip()), soft_wrap=True)
    console.print(f"{len(checks) - failed} of {len(checks)} checks hold", highlight=False)
    return failed == 0


def outcome(check: Callable[[Caller], None], caller: Caller) -> str | None:
    """None if the check holds, else why it does not."""
    try:
        check(caller)
    except CheckFailed as failure:
        return str(failure)
    except httpx2.TransportError as error:
        return f"no answer: {type(error).__name__}"
    return None
