"""The best division of a series into segments of constant level, by squared error, and running
means and medians of a series.

    cost of y[a:b]  = Σ y² − (Σ y)² / (b − a)    the squared error around the segment's mean
    best_fits       = least sum of the costs for a count of cuts: dynamic programming (Bellman 1961)
    penalized_cuts  = least sum of the costs and of a penalty a cut: optimal partitioning (Jackson
                      et al. 2005)

Both are exact, so they agree with PELT (Killick, Fearnhead & Eckley 2012), which prunes the second
search. They are written out here because `ruptures`, which has both, imports SciPy: 119 MB for one
function of every run's verdict (2026-11-23). tests/unit/analysis/test_steady.py compares.

Each step of a search takes many ends of segments at once, and the searches of one series share its
costs. Time grows with the square of the length.

A running window of even size reaches one figure further back than forward, and its median is the
upper one of the two in the middle. All as `scipy.ndimage` does it.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ENDS_AT_ONCE = 64
"""Ends of segments that are computed together, so that NumPy's calls cost little."""
_MOST_AT_ONCE = 2**18
"""Costs that are computed together: 2 MiB."""
_MOST_KEPT = 2048
"""Figures of the longest series whose costs are kept: 17 MB."""
Edge = Literal["edge", "symmetric"]
"""What lies beyond the ends: the first and the last figure repeated, or the series mirrored."""
_AT_ONCE = 8192
"""Windows held in memory at a time: 8 MB where they are two minutes wide."""


class Costs:
    """The costs of all segments of a series that have at least `smallest` figures."""

    def __init__(self, y: Floats, smallest: int) -> None:
        centred = y - y.mean()  # a common level would cost digits
        self._sums = np.concatenate([[0.0], np.cumsum(centred)])
        self._squares = np.concatenate([[0.0], np.cumsum(centred**2)])
        self.size = y.size
        self.smallest = smallest

    def error(self, cuts: list[int]) -> float:
        """The squared error of a division: the sum of the costs of its segments."""
        squares, sums, parts = self._squares, self._sums, pairwise([0, *cuts, self.size])
        costs = (squares[b] - squares[a] - (sums[b] - sums[a]) ** 2 / (b - a) for a, b in parts)
        return sum(map(float, costs))

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """The costs for a multiple of `smallest` ends at a time: the first of these ends, and a row
        for each end with the cost of y[a:end] at index a; infinite for too short a segment."""
        return iter(self._kept) if self.size <= _MOST_KEPT else self._computed()

    @cached_property
    def _kept(self) -> list[tuple[int, Floats]]:
        return list(self._computed())

    def _computed(self) -> Iterator[tuple[int, Floats]]:
        ends_at_once = min(_ENDS_AT_ONCE, _MOST_AT_ONCE // (self.size + 1))
        width = self.smallest * max(1, ends_at_once // self.smallest)
        for first in range(self.smallest, self.size + 1, width):
            ends = np.arange(first, min(first + width, self.size + 1))[:, None]
            starts = np.arange(ends[-1, 0] - self.smallest + 1)
            figures = ends - starts
            too_short = figures < self.smallest
            figures[too_short] = 1  # these costs are not used: nothing is divided by zero
            costs = self._sums[ends] - self._sums[: starts.size]
            np.square(costs, out=costs)
            costs /= figures
            np.subtract(self._squares[ends] - self._squares[: starts.size], costs, out=costs)
            costs[too_short] = np.inf
            yield first, costs


def best_fits(costs: Costs) -> Iterator[list[int]]:
    """Yield the best cuts for each count of cuts from 0 on, each the first index of a segment, up
    to the most cuts that leave all segments long enough."""
    n, smallest = costs.size, costs.smallest
    if n < smallest:
        return
    # total[t]: the least cost of y[:t] with the cuts so far; starts[k][t]: where the last of k + 1
    # segments begins.
    total = np.full(n + 1, np.inf)
    for first, block in costs.blocks():
        total[first : first + len(block)] = block[:, 0]
    starts: list[NDArray[np.int64]] = []
    yield []
    while n >= (len(starts) + 2) * smallest:
        before, total = total, np.full(n + 1, np.inf)
        start = np.zeros(n + 1, dtype=np.int64)
        least = (len(starts) + 1) * smallest  # the cuts before need so many figures
        for first, block in costs.blocks():
            if block.shape[1] <= least:
                continue
            sums = block[:, least:] + before[least : block.shape[1]]
            at = sums.argmin(axis=1)
            total[first : first + len(block)] = sums[np.arange(at.size), at]
            start[first : first + len(block)] = at + least
        starts.append(start)
        cuts, end = [], n
        for start in reversed(starts):
            end = int(start[end])
            cuts.append(end)
        yield cuts[::-1]


def penalized_cuts(costs: Costs, penalty: float) -> list[int]:
    """Return the cuts, each the first index of a segment, with the least sum of squared error and
    `penalty` a cut."""
    n, smallest = costs.size, costs.smallest
    if n < 2 * smallest:
        return []
    total = np.full(n + 1, np.inf)
    total[0] = -penalty  # the first segment needs no cut
    start = np.zeros(n + 1, dtype=np.int64)
    for first, block in costs.blocks():
        # The segments of so many ends begin where all totals are known.
        for row in range(0, len(block), smallest):
            end = first + row
            rows = block[row : row + smallest, :end]
            sums = rows + total[: rows.shape[1]]
            at = sums.argmin(axis=1)
            start[end : end + at.size] = at
            total[end : end + at.size] = sums[np.arange(at.size), at] + penalty
    cuts, end = [], int(start[n])
    while end:
        cuts.append(end)
        end = int(start[end])
    return cuts[::-1]


def running_mean(values: Floats, size: int) -> Floats:
    """Return the means of `size` figures around each; the ends are repeated."""
    means: Floats = np.convolve(_padded(values, size, "edge"), np.full(size, 1 / size), "valid")
    return means


def running_median(values: Floats, size: int, edge: Edge) -> Floats:
    """Return the medians of `size` figures around each."""
    windows = np.lib.stride_tricks.sliding_window_view(_padded(values, size, edge), size)
    medians = np.empty(values.size)
    for begin in range(0, values.size, _AT_ONCE):
        part = windows[begin : begin + _AT_ONCE]
        medians[begin : begin + _AT_ONCE] = np.partition(part, size // 2, axis=1)[:, size // 2]
    return medians


def _padded(values: Floats, size: int, edge: Edge) -> Floats:
    padded: Floats = np.pad(values, (size // 2, size - 1 - size // 2), mode=edge)
    return padded
