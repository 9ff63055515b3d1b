"""Seconds in which next to nothing was done (MR-4's stalls; method.md B6: one a minute moves p99.9
of an open loop from 0.2 to 952 ms, and no mean shows it)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STALLED = 0.10
"""Of the median: less is a stall; the issue's figure."""
RARE = 0.20
"""Where more seconds than this share are stalls, starting and stopping is how the disk works then,
as one that serves its baseline in batches; our choice."""


def stalls(values: Floats, *, median: float | None = None) -> tuple[tuple[int, int], ...]:
    """The runs of seconds [start, end) below a tenth of the median of `values`, or of the median
    that is given. None where the median is zero."""
    import numpy as np

    if not values.size:
        return ()
    middle = float(np.median(values)) if median is None else median
    low = np.concatenate([[False], values < STALLED * middle, [False]])
    edges = np.flatnonzero(low[1:] != low[:-1])
    return tuple((int(a), int(b)) for a, b in pairwise(edges.tolist()))[::2]


def filled(values: Floats, *, longest_s: int) -> Floats:
    """The series with its short stalls (below `longest_s`) at the level around them, so that they
    are not taken for changes of it. That level is a running median of two `longest_s`. Where stalls
    are not rare the series stays as it is."""
    import numpy as np
    from scipy.ndimage import median_filter

    if not values.size:
        return values
    around = median_filter(values, size=min(2 * longest_s + 1, values.size), mode="reflect")
    low = values < STALLED * around
    found: Floats = np.where(low, around, values) if low.mean() <= RARE else values
    return found
