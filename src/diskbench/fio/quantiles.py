"""Quantiles that may be printed, because they rest on enough I/Os (MR-10)."""

import math

from diskbench.fio.histogram import Histogram, count, value_at

QUANTILES: dict[str, float] = {
    "p50_ns": 0.50,
    "p90_ns": 0.90,
    "p95_ns": 0.95,
    "p99_ns": 0.99,
    "p99_9_ns": 0.999,
    "p99_99_ns": 0.9999,
}
"""The quantiles of a Measurement: field name → fraction."""


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
