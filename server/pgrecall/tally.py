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

    def success(self) -> None:
        self.successes += 1

    def failure(self, kind: str) -> None:
        self.failures += 1
        self.last_failure = kind


@dataclass(slots=True)
class Tally:
    """One per process; `calls` counts adds, repeats, searches and errors by code."""

    calls: Counter[str] = field(default_factory=Counter)
    embedding: ProviderTally = field(default_factory=ProviderTally)
    language: ProviderTally = field(default_factory=ProviderTally)
    extraction: Counter[str] = field(default_factory=Counter)
    extraction_failing: bool = False
    """Whether the model gave no facts when it was last asked for some."""
