"""Where a series of runs falls and stays low: a disk without credit, a throttle that became active.

Values x(1) … x(n) of consecutive runs fall in run r where

    max(x(r) … x(n)) < LEVEL · min(x(1) … x(r-1))

with at least LEAST runs on either side: no run from r on reaches half of the worst run before. Of
several such r the one with the smallest ratio counts. Runs of one machine are a time series and not
a random sample, so no significance test is made; LEVEL and LEAST are our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.5
LEAST = 2


@dataclass(frozen=True, slots=True)
class Fall:
    """The first run after it (`index` from 0), the least value before and the largest after."""

    index: int
    before: float
    after: float


def fall_of(values: Sequence[float]) -> Fall | None:
    """Return where the values fall permanently; None if they do not."""
    falls: list[tuple[float, Fall]] = []
    for index in range(LEAST, len(values) - LEAST + 1):
        before, after = min(values[:index]), max(values[index:])
        if before > 0 and after < LEVEL * before:
            falls.append((after / before, Fall(index, before, after)))
    return min(falls, key=lambda candidate: candidate[0])[1] if falls else None
