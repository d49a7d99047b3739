"""How sure a figure is: intervals of shares and the comparison of two runs. Pure functions, no I/O.

An outcome is 0 or 1: whether a question met a measure. Two runs are compared question by question, since both
answer the same ones: the questions that both meet, or neither, say nothing about which run is the better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000
SEED = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds of its confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Paired:
    """Two runs over the same questions. `difference` is the second's mean less the first's, `p` two-sided."""

    difference: Interval
    won: int
    """Questions that only the second meets."""
    lost: int
    """Questions that only the first meets."""
    p: float


def share(outcomes: Sequence[int], *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The mean of the outcomes with its percentile bootstrap interval (Efron, 1979).

    The sum of a resample of n zeros and ones is binomial with n and their mean, so it is drawn as that. Where all
    outcomes are alike, so is every resample: the interval is a point. Raises ValueError without an outcome or with
    one that is not 0 or 1.
    """
    count, met = len(outcomes), sum(_checked(outcomes))
    means = np.random.default_rng(seed).binomial(count, met / count, size=resamples) / count
    return Interval(met / count, *_bounds(means))


def paired(first: Sequence[int], second: Sequence[int], *, resamples: int = RESAMPLES, seed: int = SEED) -> Paired:
    """What the second run won and lost against the first; place by place the same question.

    The interval of the difference resamples questions, both runs' outcomes together. Raises ValueError where the
    lengths differ, without an outcome, or with one that is not 0 or 1.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} outcomes cannot be paired with {len(second)}")
    count = len(first)
    changes = [new - old for old, new in zip(_checked(first), _checked(second), strict=True)]
    won, lost = changes.count(1), changes.count(-1)
    odds = np.array([won, lost, count - won - lost]) / count
    drawn = np.random.default_rng(seed).multinomial(count, odds, size=resamples)
    difference = Interval((won - lost) / count, *_bounds((drawn[:, 0] - drawn[:, 1]) / count))
    return Paired(difference, won, lost, mcnemar(won, lost))


def mcnemar(won: int, lost: int) -> float:
    """The exact two-sided p of McNemar's test (1947): were a win as likely as a loss, how often would the two be
    at least as far apart? 1.0 where no question differs. Exact in integers up to the division."""
    differing, fewer = won + lost, min(won, lost)
    tail = sum(comb(differing, wins) for wins in range(fewer + 1))
    likelihood: float = 2 * tail / 2**differing
    return min(1.0, likelihood)


def _bounds(means: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return float(low), float(high)


def _checked(outcomes: Sequence[int]) -> Sequence[int]:
    if not outcomes:
        raise ValueError("no outcome")
    if any(outcome not in (0, 1) for outcome in outcomes):
        raise ValueError("an outcome is 0 or 1")
    return outcomes
