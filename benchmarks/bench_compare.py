"""When a benchmark is worse than it was: by its ratio to a floor that was measured beside it.

Seconds of two machines, or of two days, say nothing of each other; their ratio to a floor that ran
in turn with them does. A row without a floor of its own has another measure: what is wanted of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

WORSE = 4 / 3
"""A row fails when its ratio grows by more than a third (our choice)."""


@dataclass(frozen=True)
class Measured:
    """The values of one row in one sitting; `floor` is None where nothing was measured beside."""

    name: str
    unit: str
    ours: tuple[float, ...]
    floor: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Span:
    """A median with its range, of `n` values."""

    median: float
    low: float
    high: float
    n: int


def span(values: Sequence[float]) -> Span:
    """The median and the range of `values`, of which there is at least one."""
    return Span(statistics.median(values), min(values), max(values), len(values))


def ratios(ours: Sequence[float], floor: Sequence[float]) -> list[float]:
    """`ours` over `floor`: pair by pair where they were measured in pairs, else each over the
    median of the floor."""
    if len(ours) == len(floor):
        return [one / other for one, other in zip(ours, floor, strict=True)]
    middle = statistics.median(floor)
    return [one / middle for one in ours]


def is_worse(now: Span, kept: Span) -> bool:
    """Whether `now` is worse than `kept` by more than a third, beyond what both vary.

    The medians decide, and the ranges say what is noise: where they overlap by any value, one busy
    moment explains the difference. A single value has no range, so its median alone decides.
    """
    if now.median <= WORSE * kept.median:
        return False
    return now.low > kept.high
