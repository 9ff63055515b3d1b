"""A confidence interval of the median from order statistics alone (MR-6; Hoefler & Belli 2015)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """The median of `n` replicates with [low, high] and the exact `coverage` of that interval."""

    median: float
    low: float
    high: float
    coverage: float
    n: int


def median_interval(
    values: Sequence[float], *, confidence: float = CONFIDENCE
) -> MedianInterval | None:
    """The narrowest interval [x(j), x(n+1−j)] of order statistics that covers the median.

        coverage(j) = 1 − 2·F(j−1; n, ½),   F(k; n, ½) = Σ_{i=0..k} C(n, i) / 2ⁿ

    and j is the largest with coverage(j) ≥ `confidence`. No distribution is assumed, only that the
    values are independent: one number a replicate, never samples of one run (MR-5). None where even
    j = 1 does not cover, which at 95 % is n < 6.
    """
    n = len(values)
    rank = rank_of(n, confidence)
    if rank == 0:
        return None
    ordered = sorted(values)
    return MedianInterval(
        median=median(ordered),
        low=ordered[rank - 1],
        high=ordered[n - rank],
        coverage=_coverage(rank, n),
        n=n,
    )


@cache
def rank_of(n: int, confidence: float = CONFIDENCE) -> int:
    """The largest j with coverage(j) ≥ confidence; 0 where there is none."""
    rank, tail, term = 0, 0, 1  # term: C(n, rank); tail: the sum of those before
    while 2 * (rank + 1) <= n and 1 - 2 * ((tail + term) / (1 << n)) >= confidence:
        tail += term
        rank += 1
        term = term * (n - rank + 1) // rank
    return rank


def _coverage(rank: int, n: int) -> float:
    tail = sum(comb(n, i) for i in range(rank)) / (1 << n)
    return 1 - 2 * tail
