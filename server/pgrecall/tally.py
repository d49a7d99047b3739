"""Counts since the process started, for /health. Names and numbers only: never contents or ids."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class ProviderTally:
    """How a provider's calls ended. `last_failure` is a kind of failure ("timeout", "http 429")."""

    successes: int = 0
    failures: int = 0
    last_failure: str | None = None
    failing: bool = False
    """Whether the latest call failed."""

    def success(self) -> None:
        self.successes += 1
        self.failing = False

    def failure(self, kind: str) -> None:
        self.failures += 1
        self.last_failure = kind
        self.failing = True


@dataclass(slots=True)
class Tally:
    """One per process; `calls` counts adds, repeats, searches and errors by code."""

    calls: Counter[str] = field(default_factory=Counter)
    embedding: ProviderTally = field(default_factory=ProviderTally)
    language: ProviderTally = field(default_factory=ProviderTally)
    extraction: Counter[str] = field(default_factory=Counter)
