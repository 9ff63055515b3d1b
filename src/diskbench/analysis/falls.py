"""Where a series of runs falls and stays down: a disk whose credit is gone, a throttle that set in.

Values x(1) … x(n) of consecutive runs fall in run r where

    max(x(r) … x(n)) < LEVEL · min(x(1) … x(r-1))

with at least LEAST runs on either side: no run from r on reaches half of what the worst run before
did. Of several such r the one with the smallest ratio of both sides counts. Runs of one machine are
a series and no sample, so no test of chance is made; LEVEL and LEAST are our choice.
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
    """Where the values fall for good; None where they do not."""
    falls: list[tuple[float, Fall]] = []
    for index in range(LEAST, len(values) - LEAST + 1):
        before, after = min(values[:index]), max(values[index:])
        if before > 0 and after < LEVEL * before:
            falls.append((after / before, Fall(index, before, after)))
    return min(falls, key=lambda candidate: candidate[0])[1] if falls else None
