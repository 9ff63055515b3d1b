"""Where the level of a history changed: one figure per point in time, oldest first (MR-15;
docs/METHOD.md, "Change over time"); and where a series of runs falls and stays low.

It falls in run r where max(x(r) … x(n)) < LEVEL · min(x(1) … x(r-1)), with at least LEAST runs on
either side; of several the smallest ratio counts. Runs of one machine are a time series and not a
random sample, so no significance test is made; LEVEL and LEAST are our choice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import median

import numpy as np

from diskbench.analysis.segmentation import Costs, Floats, penalized_cuts

LEAST_STEP = 0.05
MOST_CHANCE = 0.001
SHORTEST = 3
"""The fewest figures that make a level."""
WINDOW = 50
LEAST_HISTORY = 2 * SHORTEST
_PENALTY = 3.0
_LEAST_SIGMA = 1e-3
_FOUND = 1.645
"""Normal quantile of 0.95: the step that would be found 95 times of 100."""
_FOUND_SIGMAS = 4.2
"""By simulation: a step of 4.2 σ was found three figures after it in 98 of 100 histories of 60."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The level changed between figure `at` − 1 and figure `at`, counted from 0. `before` and
    `after` are medians of the two levels; `p` is not a number where it was not tested."""

    at: int
    before: float
    after: float
    p: float = math.nan

    @property
    def change(self) -> float:
        """The change as a fraction of the level before: −0.1 is a tenth less."""
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class Drift:
    """The changes of a history of `n` figures.

    `noise` is its coefficient of variation without them, `span` (max − min) / median. `visible` is
    the smallest step that is detected three figures after it in 95 of 100 cases; None if the
    history is too short.
    """

    n: int
    shifts: tuple[Shift, ...]
    noise: float
    span: float
    visible: float | None


def drift(values: Sequence[float]) -> Drift:
    """Return the changes of a history. Raises ValueError for figures that are not above zero."""
    if any(value <= 0 for value in values):
        raise ValueError("a history holds figures above zero")
    n = len(values)
    middle = median(values) if n else 0.0
    span = (max(values) - min(values)) / middle if n else 0.0
    if n < LEAST_HISTORY:
        return Drift(n=n, shifts=(), noise=0.0, span=span, visible=None)
    x = np.asarray(values, dtype=np.float64)
    y = np.log(x)
    steps = np.diff(y)
    mad = float(np.median(np.abs(steps - np.median(steps))))
    sigma = max(1.4826 * mad / math.sqrt(2), _LEAST_SIGMA)
    cuts = penalized_cuts(Costs(y, SHORTEST), _PENALTY * math.log(y.size) * sigma**2)
    edges = _kept([0, *cuts, n], x, y)
    shifts = tuple(_shift(x, y, *around) for around in _cuts(edges))
    last = n - edges[-2]
    return Drift(n=n, shifts=shifts, noise=sigma, span=span, visible=_visible(sigma, last))


def _cuts(edges: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return each cut with the start of its left side and the end of its right side."""
    return [(a, b, c) for (a, b), (_, c) in pairwise(pairwise(edges))]


def _kept(edges: list[int], x: Floats, y: Floats) -> list[int]:
    """Return the edges without cuts that are not changes; the weakest cut is removed first."""
    edges = list(edges)
    while len(edges) > 2:
        shifts = [_shift(x, y, *around) for around in _cuts(edges)]
        weak = [
            shift
            for shift, (begin, at, end) in zip(shifts, _cuts(edges), strict=True)
            if shift.p > MOST_CHANCE
            or abs(shift.change) < LEAST_STEP
            or min(_settled(x[begin:at][::-1], shift), _settled(x[at:end], shift)) < SHORTEST
        ]
        if not weak:
            break
        edges.remove(max(weak, key=lambda shift_: shift_.p).at)
    return edges


def _settled(side: Floats, shift: Shift) -> int:
    """Return how many figures of a side remain without those next to the cut that lie nearer to the
    other level: two bad nights and a good one are not a new level."""
    own, other = np.median(side), shift.before + shift.after - np.median(side)
    on_own = np.abs(np.log(side / own)) <= np.abs(np.log(side / other)) if other > 0 else side > 0
    return int(side.size - np.argmax(on_own))


def _shift(x: Floats, y: Floats, begin: int, at: int, end: int) -> Shift:
    begin, end = max(begin, at - WINDOW), min(end, at + WINDOW)
    left, right = y[begin:at], y[at:end]
    free = left.size + right.size - 2
    squares = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    # Identical figures have no noise; then any step counts.
    scale = math.sqrt(max(squares / free, _LEAST_SIGMA**2) * (1 / left.size + 1 / right.size))
    t = abs(float(right.mean() - left.mean())) / scale
    return Shift(
        at=at,
        before=float(np.median(x[begin:at])),
        after=float(np.median(x[at:end])),
        p=chance(t, free),
    )


def chance(t: float, free: int) -> float:
    """Return the p of Student's t, two-sided, for t ≥ 0 and up to 100 degrees of freedom (`free`).

    With t = √free · cot u its density (Student 1908) is that of sin(u)^(free − 1), whose integral
    is Gauss and Legendre's sum: 64 points are exact to the last digits, also where p is tiny."""
    at, weights = _points()
    beyond, half = (
        end * float(weights @ np.sin(end * at) ** (free - 1))
        for end in (math.atan2(math.sqrt(free), t), math.pi / 2)
    )
    return beyond / half


@cache
def _points() -> tuple[Floats, Floats]:
    """Return the points of a quadrature between 0 and 1, and their weights."""
    at, weights = np.polynomial.legendre.leggauss(64)
    return (at + 1) / 2, weights


@cache
def _least_t(free: int) -> float:
    """Return the t whose p is MOST_CHANCE, to the last digit."""
    low, high = 0.0, 1e6
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if chance(middle, free) > MOST_CHANCE else (low, middle)
    return middle


def _visible(sigma: float, last: int) -> float | None:
    """The least step found three figures after it, with `last` figures on the level before."""
    if last < SHORTEST:
        return None
    known = min(last, WINDOW)
    free = known + SHORTEST - 2
    reach = _least_t(free) + _FOUND
    step = reach * sigma * math.sqrt(1 / known + 1 / SHORTEST)
    return max(LEAST_STEP, 1 - math.exp(-max(step, _FOUND_SIGMAS * sigma)))


LEVEL = 0.5
LEAST = 2


def fall_of(values: Sequence[float]) -> Shift | None:
    """Return the first run after which the values fall permanently, with the least one before and
    the largest after; None if they do not."""
    falls: list[tuple[float, Shift]] = []
    for index in range(LEAST, len(values) - LEAST + 1):
        before, after = min(values[:index]), max(values[index:])
        if before > 0 and after < LEVEL * before:
            falls.append((after / before, Shift(index, before, after)))
    return min(falls, key=lambda candidate: candidate[0])[1] if falls else None
