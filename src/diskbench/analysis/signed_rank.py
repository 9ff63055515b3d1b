"""Wilcoxon's signed-rank test (Wilcoxon 1945): is the middle of some differences 0?

    W = the sum of the ranks of |d_i| over all d_i > 0; equal |d_i| share their mean rank

Without differences the signs are those of fair coins, which gives the distribution of W exactly.
With more than 50 differences, and with more than 13 where some are equal or 0, it is taken as
normal, with the correction for ties. The same cases and figures as those of
`scipy.stats.wilcoxon` (1.17.1), which takes a second of CPU to import.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

_MOST_EXACT = 50
_MOST_EXACT_TIED = 13


def two_sided_p(differences: Sequence[float]) -> float:
    """Return the two-sided p. Zeros say nothing and are left out; 1 where all are zero."""
    sizes = [abs(one) for one in differences if one]
    if not sizes:
        return 1.0
    count = len(differences)
    rank_of = _doubled_ranks(sizes)
    observed = sum(rank_of[one] for one in differences if one > 0)
    is_plain = len(rank_of) == count
    if count <= (_MOST_EXACT if is_plain else _MOST_EXACT_TIED):
        return _exact([rank_of[size] for size in sizes], observed)
    return _normal(sizes, observed / 2)


def _doubled_ranks(sizes: Sequence[float]) -> dict[float, int]:
    """Twice the mean rank of each size, which is a whole number."""
    ranks: dict[float, int] = {}
    below = 0
    for size, times in sorted(Counter(sizes).items()):
        ranks[size] = 2 * below + times + 1
        below += times
    return ranks


def _exact(ranks: Sequence[int], observed: int) -> float:
    """From the number of ways in which signs give each sum of ranks."""
    ways = Counter({0: 1})
    for rank in ranks:
        more = Counter(ways)
        for total, number in ways.items():
            more[total + rank] += number
        ways = more
    low = sum(number for total, number in ways.items() if total <= observed)
    high = sum(number for total, number in ways.items() if total >= observed)
    return min(1.0, math.ldexp(min(low, high), 1 - len(ranks)))


def _normal(sizes: Sequence[float], observed: float) -> float:
    n = len(sizes)
    ties = sum(times**3 - times for times in Counter(sizes).values())
    deviation = math.sqrt((n * (n + 1) * (2 * n + 1) - ties / 2) / 24)
    z = abs(observed - n * (n + 1) / 4) / deviation
    return math.erfc(z / math.sqrt(2))
