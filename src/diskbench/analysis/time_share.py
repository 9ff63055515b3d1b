"""For how much of the time a step kept its promise, with an interval and the worst spell
(docs/METHOD.md, "Share of the time"). Without a second below n / 10 are independent (our choice):
slow seconds come in spells. The interval is of the time that was measured, not of a year."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diskbench.analysis.segmentation import Floats
from diskbench.analysis.stalls import longest
from diskbench.model.phase import KeptSeconds
from diskbench.model.verdict import Kept

AT_LEAST = 0.9
LEAST_S = 600
"""A step of ten minutes or more has a share of the time; our choice."""
LEAST_RUNS = 10
_Z = 1.96
_SPELL = 10


def kept_seconds(values: Floats, promised: float) -> KeptSeconds | None:
    """Return how many seconds reached nine tenths of the promise; None for a short step."""
    if values.size < LEAST_S or promised <= 0:
        return None
    below = values < AT_LEAST * promised
    return KeptSeconds(
        rate=AT_LEAST * promised,
        of=int(values.size),
        kept=int(values.size - below.sum()),
        independent=_independent(below),
        worst_s=longest(below),
    )


def share_of_seconds(seconds: KeptSeconds, designed: float | None) -> Kept:
    """Return the share of a step's seconds with its interval."""
    low, high = _interval(seconds.kept / seconds.of, seconds.independent)
    return Kept(
        unit="s", of=seconds.of, kept=seconds.kept, low=low, high=high, worst=seconds.worst_s,
        designed=designed,
    )  # fmt: skip


def share_of_runs(ratios: Sequence[float], designed: float | None) -> Kept | None:
    """Return the share of runs, of their ratios to the promise in order; None for few."""
    if len(ratios) < LEAST_RUNS:
        return None
    below = np.asarray(ratios) < AT_LEAST
    kept = int(below.size - below.sum())
    # runs of which none is below are not spells of seconds: each counts
    spells = _independent(below) if below.any() else below.size
    low, high = _interval(kept / below.size, min(spells, below.size))
    return Kept(
        unit="runs", of=int(below.size), kept=kept, low=low, high=high, worst=longest(below),
        designed=designed,
    )  # fmt: skip


def _independent(below: NDArray[np.bool_]) -> float:
    n = below.size
    if not below.any() or below.all():
        return n / _SPELL
    off = below.astype(np.float64) - below.mean()
    rho = float((off[1:] * off[:-1]).sum() / (off**2).sum())
    rho = min(max(rho, 0.0), 1 - 1 / n)
    return max(n * (1 - rho) / (1 + rho), 1.0)


def _interval(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(0.0, middle - reach), min(1.0, middle + reach)
