"""Where the level of a per-second series changes (MR-4; docs/METHOD.md, "Phases and cliffs").

Pass 1 is the best fit with K cuts, whose residuals have the variance σ² and lag-1 correlation φ;
pass 2 the best fit with the penalty that follows from them. A segment's ends are moved by at most
half a minute to the second that divides the two levels best. Thresholds are our choice, tested by
simulation; benchmarks/method.py prints their error rates.
"""

import math
from itertools import islice, pairwise

import numpy as np

from diskbench.analysis import segmentation
from diskbench.analysis.segmentation import Floats

SHORTEST_S = 60
"""The least duration of both sides of a change, before its exact second is determined."""
SHORTEST_STEP_S = 60.0
"""Shorter steps have no phases, and what stalled in them shows in their highest latency."""
LEAST_CHANGE = 0.20
SHARPNESS = 0.6
MOST_CUTS = 5
"""The most cuts of the fits from which the noise is estimated; pass 2 may find more."""
_MANY_CUTS = 32
_EXPLAINED = 0.9
"""Of the variance that few cuts leave: where many explain so much of it they count, as those of a
disk that rests and bursts in turn. Of correlated noise they explain half."""
_BINS_A_PHASE = 12
_MOST_BINS = 2000
"""More seconds make longer bins: a day is cut in two seconds."""
_FLOOR = 0.01
"""Of the series' 90th percentile: what a second without I/O is taken for, since log 0 is none."""
_PENALTY = 3.0
_LEAST_PENALTY = 1e-9
_ROUNDING = 1e-6
_OUTLIER = 3 * 1.4826
_MOST_PHI = 0.98


def changes(filled: Floats, *, shortest_s: int = SHORTEST_S) -> tuple[tuple[int, bool], ...]:
    """Return the changes, in order, of a series of one value per second with filled stalls: the
    second of each, and whether it is sharp, which is to say happens within seconds.

    `shortest_s` scales all durations in proportion, for disks whose credit was scaled down.
    """
    if filled.size < 2 * shortest_s:
        return ()
    # Running means show the level of a disk that serves I/O in batches of several seconds.
    y, calm = _logs(filled), _logs(segmentation.running_mean(filled, max(1, shortest_s // 12)))
    width = max(1, round(shortest_s / _BINS_A_PHASE), math.ceil(y.size / _MOST_BINS))
    cuts = [cut * width for cut in segment(_bins(filled, width), math.ceil(shortest_s / width))]
    cuts = _merged(calm, _refined(y, calm, cuts, max(shortest_s // 2, 2 * width)), shortest_s)
    edges = [0, *cuts, y.size]
    levels = _levels(calm, edges)
    return tuple(
        (
            cut,
            # A level between two changes must last: a steep transition has none.
            (i == 0 or cut - edges[i] >= shortest_s)
            and (i == len(cuts) - 1 or edges[i + 2] - cut >= shortest_s)
            and _is_sharp(calm, cut, levels[i + 1] - levels[i], shortest_s)
            and _is_step(calm, cut, min(cut - edges[i], edges[i + 2] - cut)),
        )
        for i, cut in enumerate(cuts)
    )


def _logs(values: Floats) -> Floats:
    floor = max(float(np.quantile(values, 0.9)) * _FLOOR, 1e-9)
    logs: Floats = np.log(np.maximum(values, floor))
    return logs


def _bins(filled: Floats, width: int) -> Floats:
    """The logs of means of `width` seconds, outliers clipped, without a last bin that is cut."""
    count = filled.size // width
    y = _logs(filled[: count * width].reshape(count, width).mean(axis=1))
    middle = segmentation.running_median(y, _BINS_A_PHASE - 1, "edge")
    reach = _OUTLIER * float(np.median(np.abs(y - middle)))
    clipped: Floats = np.clip(y, middle - reach, middle + reach) if reach else middle
    return clipped


def segment(y: Floats, smallest: int) -> list[int]:
    """Return the bins at which a segment of at least `smallest` begins, except the first segment,
    of a series of logs; with the penalty for correlated noise."""
    n, smallest = y.size, max(2, smallest)
    if n < 2 * smallest or float(np.ptp(y)) < -math.log(1 - LEAST_CHANGE):
        return []  # nothing differs by enough
    costs = segmentation.Costs(y, smallest)
    fits = segmentation.best_fits(costs)
    cuts: list[int] = []
    for fit in islice(fits, 1, MOST_CUTS + 1):
        cuts = _cuts(y, costs, fit) or cuts
    least_noise = (1 - _EXPLAINED) * _noise(y, [0, *cuts, n])[0]
    if _least_error_of_many(costs, cuts, least_noise * n) > least_noise * n:
        return cuts
    many = list(islice(fits, _MANY_CUTS - MOST_CUTS))
    if not many or _noise(y, [0, *many[-1], n])[0] > least_noise:
        return cuts
    for fit in many:
        if _noise(y, [0, *fit, n])[0] <= least_noise:
            cuts = _cuts(y, costs, fit) or cuts
    return cuts


def _least_error_of_many(costs: segmentation.Costs, cuts: list[int], enough: float) -> float:
    """Return a lower bound of the squared error with `_MANY_CUTS` cuts, found without their fit: no
    division has a lower sum of error and penalties than `penalized_cuts`, for any penalty. Ours is
    half of what each further cut would have to explain to leave `enough`."""
    further = max(1, _MANY_CUTS - len(cuts))
    penalty = max(0.5 * (costs.error(cuts) - enough) / further, _LEAST_PENALTY)
    best = segmentation.penalized_cuts(costs, penalty)
    bound = costs.error(best) + (len(best) - _MANY_CUTS) * penalty
    return bound * (1 - _ROUNDING)


def _cuts(y: Floats, costs: segmentation.Costs, best: list[int]) -> list[int]:
    """Return the cuts for the penalty of the noise around the `best` fit of its count of cuts, if
    there are at least so many."""
    sigma2, phi = _noise(y, [0, *best, y.size])
    penalty = _PENALTY * math.log(y.size) * sigma2 * (1 + phi) / (1 - phi)
    cuts = segmentation.penalized_cuts(costs, max(penalty, _LEAST_PENALTY))
    return cuts if len(cuts) >= len(best) else []


def _noise(y: Floats, edges: list[int]) -> tuple[float, float]:
    """Return variance and lag-1 correlation of a fit's residuals."""
    sizes = np.diff(edges)
    residuals = y - np.repeat(np.add.reduceat(y, edges[:-1]) / sizes, sizes)
    sigma2 = float(residuals.var())
    if sigma2 <= 0:
        return 0.0, 0.0
    phi = float((residuals[1:] * residuals[:-1]).mean()) / sigma2
    return sigma2, min(max(phi, 0.0), _MOST_PHI)


def _levels(y: Floats, edges: list[int]) -> list[float]:
    return [float(np.median(y[a:b])) for a, b in pairwise(edges)]


def _refined(y: Floats, calm: Floats, cuts: list[int], reach: int) -> list[int]:
    """The cuts, each moved to the second that best divides its levels (least absolute error)."""
    moved = list(cuts)
    for i, cut in enumerate(cuts):
        before = moved[i - 1] if i else 0
        after = cuts[i + 1] if i + 1 < len(cuts) else y.size
        left, right = _levels(calm, [before, cut, after])
        low, high = max(before + 1, cut - reach), min(after - 1, cut + reach)
        part = y[low:high]
        cost = np.concatenate([[0.0], np.cumsum(np.abs(part - left) - np.abs(part - right))])
        moved[i] = low + int(np.argmin(cost))
    return moved


def _merged(y: Floats, cuts: list[int], shortest_s: int) -> list[int]:
    """Return the cuts without those between similar levels; the most similar are removed first."""
    merged = list(cuts)
    least = -math.log(1 - LEAST_CHANGE)
    while merged:
        levels = _levels(y, [0, *merged, y.size])
        steps = [abs(b - a) for a, b in pairwise(levels)]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] >= least:
            break
        del merged[smallest]
    merged = _without_blips(y, merged, shortest_s)
    # Refining may have left less than half a phase between two cuts: the later one is removed.
    edges = [0, *merged, y.size]
    return [cut for before, cut in pairwise(edges[:-1]) if cut - before >= shortest_s // 2]


def _without_blips(y: Floats, cuts: list[int], shortest_s: int) -> list[int]:
    """Return the cuts without pairs around a short excursion that returns to the same level: half a
    minute is not a phase."""
    lasting = list(cuts)
    while True:
        edges = [0, *lasting, y.size]
        levels = _levels(y, edges)
        for i in range(1, len(lasting)):
            back = abs(levels[i + 1] - levels[i - 1]) < -math.log(1 - LEAST_CHANGE)
            if edges[i + 1] - edges[i] < shortest_s and back:
                del lasting[i - 1 : i + 1]
                break
        else:
            return lasting


def _is_sharp(y: Floats, cut: int, difference: float, shortest_s: int) -> bool:
    far, near = max(2, shortest_s // 2), max(1, shortest_s // 12)
    before, after = y[max(0, cut - far) : cut - near], y[cut + near : cut + far]
    if not before.size or not after.size:
        return False
    jump = float(np.median(after) - np.median(before))
    return jump * difference > 0 and abs(jump) >= SHARPNESS * abs(difference)


def _is_step(y: Floats, cut: int, reach: int) -> bool:
    """Whether two levels fit the `reach` seconds around the cut better than one line does."""
    part = y[cut - reach : cut + reach]
    middle = np.arange(part.size) - (part.size - 1) / 2
    slope = float((middle * part).sum()) / max(float((middle**2).sum()), 1.0)
    line = part - part.mean() - slope * middle
    sides = (part[:reach], part[reach:])
    return sum(float(((side - side.mean()) ** 2).sum()) for side in sides) <= float((line**2).sum())
