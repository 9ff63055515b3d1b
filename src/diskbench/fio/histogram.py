"""Latency histograms as fio keeps them (latency in ns → number of I/Os), and the quantiles that may
be printed, because they rest on enough I/Os (MR-10).

fio sorts a latency v into buckets that are exact below 128 and 1/64 of a power of two wide above
(stat.h, FIO_IO_U_PLAT_BITS 6); the key of a bucket is its middle, so a value read back is off by at
most 1/128. Counts of jobs are summed, which loses nothing; percentiles are never averaged.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate

from diskbench.fio.reported import FioOutput, ReportedLatency
from diskbench.model.result import Direction

Histogram = Mapping[int, int]
"""Middle of a bucket in ns → how many I/Os fell into it."""

PLAT_BITS = 6
_PLAT_VALUES = 1 << PLAT_BITS
QUANTILES: dict[str, float] = {
    "p50_ns": 0.50, "p90_ns": 0.90, "p95_ns": 0.95, "p99_ns": 0.99, "p99_9_ns": 0.999,
    "p99_99_ns": 0.9999,
}  # fmt: skip
"""The quantiles of a Measurement: field name → fraction."""


def merge(histograms: Iterable[Histogram]) -> dict[int, int]:
    """The histogram of all I/Os of `histograms`: counts summed per bucket, buckets ascending."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return dict(sorted(total.items()))


def count(histogram: Histogram) -> int:
    """How many I/Os the histogram holds."""
    return sum(histogram.values())


def value_at(histogram: Histogram, fraction: float) -> int | None:
    """The smallest bucket with at least `fraction` of all I/Os at or below it; None when empty.

    The same rule as fio's calc_clat_percentiles (stat.c), so it equals what fio prints.
    """
    total = count(histogram)
    if not total:
        return None
    # The slack keeps 0.999 · 1000 from asking for the 1000th I/O because of binary rounding.
    rank = fraction * total - 1e-9 * total
    values = sorted(histogram)
    counted = list(accumulate(histogram[value] for value in values))
    return values[bisect_left(counted, max(rank, 1))]


def bucket_middle_ns(index: int, *, coarseness: int = 0) -> int:
    """The middle of bucket `index` in ns (stat.c, plat_idx_to_val).

    `coarseness` is fio's log_hist_coarseness: each column of a histogram log then holds 2^c
    buckets, and the middle is that of all of them.
    """
    first = index << coarseness
    low, high = _lower_edge_ns(first), _lower_edge_ns(first + (1 << coarseness))
    return low if high - low <= 1 else (low + high) // 2


def _lower_edge_ns(index: int) -> int:
    if index < 2 * _PLAT_VALUES:
        return index
    error_bits = (index >> PLAT_BITS) - 1
    return (_PLAT_VALUES + (index & (_PLAT_VALUES - 1))) << error_bits


def longest_ns(version: tuple[int, int]) -> int:
    """Where the last bucket of a version's histograms begins, which holds all longer latencies,
    too: 17.05 s in fio 3 (29 groups of 64 buckets of ns), 16.65 s in fio 2 (19 of µs; stat.h,
    FIO_IO_U_PLAT_GROUP_NR). For a version that is not known the lesser of both."""
    groups, unit_ns = (29, 1) if version[0] >= 3 else (19, 1000)
    return _lower_edge_ns((groups << PLAT_BITS) - 1) * unit_ns


def step_histograms(output: FioOutput, direction: Direction) -> dict[str, dict[int, int]]:
    """Histograms merged over all jobs of the step, one for each kind of latency that fio kept.

    Keys are among `lat` (total), `clat` (completion) and `slat` (submission); empty ones are left
    out. Direction `sync` has `lat` alone.
    """
    of_jobs = [job.directions[direction] for job in output.jobs if direction in job.directions]
    kinds: dict[str, list[ReportedLatency | None]] = {
        "lat": [stats.lat for stats in of_jobs],
        "clat": [stats.clat for stats in of_jobs],
        "slat": [stats.slat for stats in of_jobs],
    }
    kept = {kind: [of.bins for of in timed if of and of.bins] for kind, timed in kinds.items()}
    return {kind: merge(histograms) for kind, histograms in kept.items() if histograms}


def needed(fraction: float) -> int:
    """The least N with pᴺ ≤ 0.05, so N ≥ ln 0.05 / ln p: p99 needs 299, p99.9 2,995.

    With fewer I/Os, all of them lie below the true quantile in more than 5 % of cases, and the
    largest is no upper bound for it.
    """
    # The slack keeps an exact whole number from being rounded up by the last bit.
    return math.ceil(math.log(0.05) / math.log(fraction) - 1e-9)


def quantile(histogram: Histogram, fraction: float) -> float | None:
    """Quantile `fraction` (0.99 for p99) in ns, within 1/128; None with too few I/Os."""
    if count(histogram) < needed(fraction):
        return None
    value_ns = value_at(histogram, fraction)
    return None if value_ns is None else float(value_ns)


def within(value: float | None, low: float, high: float) -> float | None:
    """A quantile no lower than the exact minimum and no higher than the exact maximum.

    The middle of a bucket may lie beyond the values that were counted in it. Without usable
    extremes (no maximum, or one below the minimum) the value is unchanged.
    """
    if value is None or high <= 0 or high < low:
        return value
    return min(max(value, float(low)), float(high))
