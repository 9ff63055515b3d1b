"""Statistics of several replicates (MR-5, MR-6, MR-7; docs/METHOD.md, "Replicates"). A sample is a
machine with a disk, never a run on it. A figure far from the others is named and still counts."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import comb
from statistics import fmean, median, stdev

import numpy as np
from numpy.typing import NDArray

from diskbench.model.comparison import Interval, Replicated

LEAST_FOR_INTERVAL = 6
"""Fewer replicates have no interval at 95 % (MR-6)."""
FIRST = 10
"""The harness asks for at least so many before it calls an interval narrow enough (MR-7)."""
NARROW = 0.05
MOST = 400
"""If more replicates would be needed than that, no number is given."""
OUTLIER = 14.826
"""In median absolute deviations: ten standard deviations of a normal one (hyperfine 1.19)."""
_LEAST_MAD = 0.005
"""Of the median; figures alike to the last digit would make any other one an outlier."""
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Sample:
    """The figure of one trial. Trials with the same `machine` form one sample."""

    name: str
    value: float
    machine: Hashable


def disagreement(runs: Sequence[float]) -> float:
    """Return (max − min) / median of the runs of a trial: the spread that its figure hides."""
    middle = median(runs)
    return (max(runs) - min(runs)) / middle if middle else 0.0


def replicated(samples: Iterable[Sample]) -> Replicated:
    """Return the statistics of the replicates. Raises ValueError without any."""
    of_trials = list(samples)
    if not of_trials:
        raise ValueError("no replicate, so there is nothing to say")
    values = by_machine(of_trials)
    return Replicated(
        trials=len(of_trials), machines=len(values), median=median(values), low=min(values),
        high=max(values), interval=median_interval(values), variation=variation(values),
        more=more_needed(values), outliers=outliers(of_trials),
    )  # fmt: skip


def by_machine(samples: Iterable[Sample]) -> list[float]:
    """Return one value per machine, the median of its trials, in the order of first samples."""
    by_machine_: dict[Hashable, list[float]] = {}
    for sample in samples:
        by_machine_.setdefault(sample.machine, []).append(sample.value)
    return [median(values) for values in by_machine_.values()]


def variation(values: Sequence[float]) -> float | None:
    """Return the coefficient of variation, a fraction; None for one value or a mean of zero."""
    mean = fmean(values)
    return stdev(values) / mean if len(values) > 1 and mean else None


def width(values: Sequence[float]) -> float | None:
    """max(U − m, m − L) / m, which MR-7 wants at 5 % or less; infinite where m is zero, None where
    there is no interval."""
    interval = median_interval(values)
    if interval is None:
        return None
    middle = median(values)
    return max(interval.high - middle, middle - interval.low) / middle if middle else math.inf


def outliers(samples: Sequence[Sample]) -> tuple[str, ...]:
    """The names of the samples with |x − median| > 14.826 · MAD, by machine; none of fewer than
    six. The MAD counts as half a percent of the median where it is less."""
    values = by_machine(samples)
    if len(values) < LEAST_FOR_INTERVAL:
        return ()
    middle = median(values)
    mad = median(abs(value - middle) for value in values)
    reach = OUTLIER * max(mad, _LEAST_MAD * middle)
    return tuple(sample.name for sample in samples if abs(sample.value - middle) > reach)


def more_needed(values: Sequence[float], *, narrow: float = NARROW) -> int | None:
    """Return how many more replicates would bring the interval under `narrow`, by CONFIRM.

    0 if ten or more replicates are under it now. Fewer than six figures do not show the noise:
    then the number missing to ten. None if more than MOST in all would be needed.
    """
    n = len(values)
    if n < LEAST_FOR_INTERVAL:
        return FIRST - n
    now = width(values)
    if n >= FIRST and now is not None and now <= narrow:
        return 0
    middle = median(values)
    for size in range(max(FIRST, n + 1), MOST + 1):
        low, high = expected_bounds(values, size)
        if max(high - middle, middle - low) <= narrow * middle:
            return size - n
    return None


def expected_bounds(values: Sequence[float], size: int) -> tuple[float, float]:
    """The means of MR-6's two bounds over all samples of `size` drawn from the values with
    replacement."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    low, high = (float(np.sum(weights * ordered)) for weights in _weights(ordered.size, size))
    return low, high


@lru_cache(maxsize=4096)  # each metric of a comparison asks for the same
def _weights(n: int, size: int) -> tuple[NDArray[np.float64], ...]:
    """How likely each of n sorted values is MR-6's lower bound of `size` draws; the upper one."""
    chances, rank = _chances(n, size), rank_of(size)
    # j or more draws are at most this value
    at_most = (chances[j:].sum(axis=0) for j in (rank, size + 1 - rank))
    return tuple(np.diff(one, prepend=0.0) for one in at_most)


def _chances(n: int, size: int) -> NDArray[np.float64]:
    """How likely i of `size` draws are among the k smallest of n values: row i, column k - 1."""
    ways = np.array([math.log(math.comb(size, i)) for i in range(size + 1)])[:, None]
    i = np.arange(size + 1)[:, None]
    share = np.arange(1, n) / n
    chances = np.zeros((size + 1, n))
    chances[:, :-1] = np.exp(ways + i * np.log(share) + (size - i) * np.log1p(-share))
    chances[size, -1] = 1.0  # all draws are among all values
    return chances


def median_interval(values: Sequence[float]) -> Interval | None:
    """The narrowest interval [x(j), x(n+1−j)] of order statistics that covers the median in 95 of
    100 cases (docs/METHOD.md, "Interval of the median"): from order statistics alone (Hoefler &
    Belli 2015). None where even j = 1 does not cover, which is n < 6."""
    n = len(values)
    rank = rank_of(n)
    if rank == 0:
        return None
    ordered = sorted(values)
    tail = sum(comb(n, i) for i in range(rank)) / (1 << n)
    return Interval(low=ordered[rank - 1], high=ordered[n - rank], coverage=1 - 2 * tail)


@cache
def rank_of(n: int) -> int:
    """The largest j with coverage(j) ≥ 0.95; 0 where there is none."""
    rank, tail, term = 0, 0, 1  # term: C(n, rank); tail: the sum of those before
    while 2 * (rank + 1) <= n and 1 - 2 * ((tail + term) / (1 << n)) >= CONFIDENCE:
        tail += term
        rank += 1
        term = term * (n - rank + 1) // rank
    return rank
