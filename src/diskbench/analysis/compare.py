"""Do two sets of replicates differ? (MR-9; docs/METHOD.md, "Do two differ?")"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from diskbench.analysis.repeats import median_interval
from diskbench.model.comparison import Compared, Finding, Interval

LEAST_DIFFERENCE = 0.05
FALSE_DISCOVERIES = 0.05
_EXACT, _EXACT_TIED = 50, 13
"""Up to so many ratios p is exact: without equal ones, and with some that are equal or 1."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two figures of one round, each with its machine."""

    a: float
    b: float
    machine_a: Hashable
    machine_b: Hashable


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio B / A over `n` independent pairs. `p` is None without an interval: n < 6 cannot
    reach 5 %."""

    n: int
    pairs: int
    ratio: float
    interval: Interval | None
    p: float | None


def compare(pairs: Sequence[Pair]) -> Ratio:
    """Return the median of the ratios, its interval and the test. Raises ValueError without a pair,
    or for a figure that is not above zero."""
    ratios = independent_ratios(pairs)
    if not ratios:
        raise ValueError("no pair, so there is nothing to compare")
    interval = median_interval(ratios)
    p = signed_rank(ratios) if interval else None
    return Ratio(len(ratios), len(pairs), median(ratios), interval, p)


def independent_ratios(pairs: Sequence[Pair]) -> list[float]:
    """Return one ratio for each group of pairs that share a machine of either side: the median."""
    group_of: dict[Hashable, list[float]] = {}
    groups: list[list[float]] = []
    for pair in pairs:
        if pair.a <= 0 or pair.b <= 0:
            raise ValueError(f"a ratio needs figures above zero, not {pair.a:g} and {pair.b:g}")
        machines = (pair.machine_a, pair.machine_b)
        linked = [group_of[machine] for machine in machines if machine in group_of]
        group = linked[0] if linked else []
        if not linked:
            groups.append(group)
        for other in linked[1:]:
            if other is not group:
                group += other
                groups = [candidate for candidate in groups if candidate is not other]
                group_of = {k: group if v is other else v for k, v in group_of.items()}
        group.append(pair.b / pair.a)
        group_of |= dict.fromkeys(machines, group)
    return [median(group) for group in groups]


def signed_rank(ratios: Sequence[float]) -> float:
    """Return Wilcoxon's two-sided p of the logs of the ratios; 1 if all are 1.

    Ratios of 1 are left out, and equal ones have their mean rank (Wilcoxon 1945; Pratt 1959). Where
    it is not exact, p is of the normal distribution with the variance of these ranks. When it is
    exact is SciPy 1.17's choice (scipy.stats.wilcoxon), with which it agrees."""
    # Rounded, so that figures and their reciprocals tie in the same way.
    logs = [round(math.log(ratio), 12) for ratio in ratios]
    sizes = sorted(abs(log) for log in logs if log)
    # Twice the mean rank, which is whole.
    ranks = {size: bisect_left(sizes, size) + bisect_right(sizes, size) + 1 for size in sizes}
    total = sum(ranks[size] for size in sizes)
    above = sum(ranks[log] for log in logs if log > 0)
    if len(logs) <= (_EXACT if len(ranks) == len(logs) else _EXACT_TIED):
        # How many of the 2^n choices of signs give each sum: at most 2^50, so they are exact.
        ways = np.zeros(total + 1, dtype=np.int64)
        ways[0] = 1
        for size in sizes:
            ways[ranks[size] :] += ways[: -ranks[size]]
        extreme = int(ways[: min(above, total - above) + 1].sum())
        return float(min(1.0, 2 * extreme / 2 ** len(sizes)))
    deviation = math.sqrt(sum(ranks[size] ** 2 for size in sizes))
    return math.erfc(abs(2 * above - total) / deviation / math.sqrt(2)) if sizes else 1.0


def adjusted(p: Sequence[float]) -> list[float]:
    """Return the q of each p in the same order, by Benjamini & Hochberg."""
    order = sorted(range(len(p)), key=p.__getitem__, reverse=True)
    q, lowest = [1.0] * len(p), 1.0
    for behind, index in enumerate(order):
        lowest = min(lowest, p[index] * len(p) / (len(p) - behind))
        q[index] = lowest
    return q


def judge(ratio: Ratio, q: float | None) -> Finding:
    """Return the finding for a ratio (model/comparison.py has what each means)."""
    if ratio.interval is None or q is None:
        return "too few"
    low, high = ratio.interval.low, ratio.interval.high
    excludes = low > 1 or high < 1
    if excludes and q <= FALSE_DISCOVERIES and abs(ratio.ratio - 1) >= LEAST_DIFFERENCE:
        return "differs"
    if low >= 1 - LEAST_DIFFERENCE and high <= 1 + LEAST_DIFFERENCE:
        return "alike"
    return "small" if excludes and q <= FALSE_DISCOVERIES else "noise"


_RATES = {"iops": "IOPS", "bytes_per_s": "bytes a second"}
_TIMES = {
    "lat_mean_ns": "mean latency",
    "p50_ns": "median latency",
    "p99_ns": "99th percentile of latency",
    "p99_9_ns": "99.9th percentile of latency",
}


def sentence(compared: Compared) -> str:
    """What may be said of B against A, with the interval and the number of independent pairs."""
    unit = "blocks" if compared.blocks else "independent pairs"
    if compared.interval is None:
        return (
            f"B/A is {compared.ratio:.2f}{_of_pairs(compared)}; no interval (n = {compared.n}): at "
            f"least six {unit} are needed to tell a difference from noise"
        )
    count = f"n = {compared.n} blocks on one machine" if compared.blocks else f"n = {compared.n}"
    within = f"{percent(compared.interval.low)} to {percent(compared.interval.high)}, {count}"
    match compared.finding:
        case "differs":
            return f"{_difference(compared)}{_of_pairs(compared)} ({within})"
        case "alike":
            return f"A and B are alike within 5 % ({within})"
        case "small":
            below = ", below the 5 % that matter"
            return f"{_difference(compared)}{_of_pairs(compared)}{below} ({within})"
        case _:
            return f"the difference is smaller than the noise ({within})"


def _of_pairs(compared: Compared) -> str:
    """What the ratio is of, where it is not that of the medians that stand beside it."""
    same = percent(compared.ratio) == percent(compared.of_medians)
    return "" if same else " in the median pair"


def _difference(compared: Compared) -> str:
    off = abs(compared.ratio - 1)
    share = f"{off:.{0 if off >= 0.095 else 1}%}".replace("%", " %")
    more = compared.ratio > 1
    if compared.metric in _RATES:
        return f"B delivers {share} {'more' if more else 'fewer'} {_RATES[compared.metric]} than A"
    higher = "higher" if more else "lower"
    return f"the {_TIMES[compared.metric]} of B is {share} {higher} than that of A"


def percent(ratio: float) -> str:
    """Return a ratio as a difference: `+4.0 %`, `−12 %`."""
    change = (ratio - 1) * 100
    return f"{'−' if change < 0 else '+'}{abs(change):.{0 if abs(change) >= 9.95 else 1}f} %"
