"""Seconds with almost no I/O (MR-4's stalls; method.md B6: one per minute moves p99.9 of an open
loop from 0.2 to 952 ms, and no mean shows it)."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diskbench.analysis.segmentation import Floats, running_median

STALLED = 0.10
"""Of the median: less is a stall; the issue's figure."""
_MOVING_S = 60
LEAST_MISSED = 10.0
"""I/Os: of a disk that does four a second every fiftieth second has none by chance; our choice."""
RARE = 0.20
"""If more than this share of seconds are stalls, pauses are the disk's normal operation, as with
one that serves its baseline in batches; our choice."""


def stalls(
    values: Floats, *, missed: float = 0.0, is_moving: bool = False
) -> tuple[tuple[int, int], ...]:
    """The runs of seconds [start, end) below a tenth of the median of `values` in which at least
    `missed` would have been done at the median. None where the median is zero. Of a ramp
    (`is_moving`) it is the running median of two minutes: it may begin at a tenth of its middle."""
    if not values.size:
        return ()
    around = _around(values, _MOVING_S) if is_moving else np.full(values.size, np.median(values))
    runs = _runs(values < STALLED * around)
    return tuple((a, b) for a, b in runs if float(around[a:b].sum()) >= missed)


def filled(values: Floats, *, longest_s: int) -> Floats:
    """Return the series with short stalls (below `longest_s`) replaced by the level around them, so
    that they do not look like changes. The level is the median of the seconds with I/O as far as
    `longest_s` on either side. If stalls are not rare the series is returned unchanged."""
    if not values.size:
        return values
    around = _around(values, longest_s)
    low = values < STALLED * around
    if not low.any() or low.mean() > RARE:
        return values
    result: Floats = values.copy()
    for start, end in _runs(low):
        # Of the seconds with I/O alone: those of a long stall would lower the median.
        near = slice(max(0, start - longest_s), end + longest_s)
        result[start:end] = np.median(values[near][~low[near]])
    return result


def longest(low: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of seconds for which `low` holds."""
    return max((end - start for start, end in _runs(low)), default=0)


def _runs(low: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    """Return the stretches [start, end) of seconds for which `low` holds."""
    edges = np.concatenate([[False], low, [False]])
    at = np.flatnonzero(edges[1:] != edges[:-1]).tolist()
    return tuple((int(a), int(b)) for a, b in pairwise(at))[::2]


def _around(values: Floats, reach_s: int) -> Floats:
    return running_median(values, min(2 * reach_s + 1, values.size), "symmetric")
