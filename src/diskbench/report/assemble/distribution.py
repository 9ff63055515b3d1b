"""The latency distribution of one step and direction: data for charts.

    p(v)     I/Os in buckets up to v, over all N of them (fio's own rule, stat.c)
    highest  the highest quantile that may be drawn: p with pᴺ = 0.05, so p = 0.05^(1/N) (MR-10)

Counts are summed over the jobs of a step, never over runs or rounds: a run at 3,000 IOPS would
outweigh one at 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

_KINDS = ("lat", "clat")
_ORDER = ("read", "write", "trim", "mixed", "sync")
_TAIL = 0.05
SHOWN = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
"""The quantiles marked in a plot of a tail, if N is large enough."""


@dataclass(frozen=True)
class Distribution:
    """Buckets of latencies in ns, ascending, with the I/Os in each; `completion_only`: fio recorded
    no total latency. `round` is the round of a repeated step."""

    run_id: str
    step: str
    step_index: int
    direction: str
    latency_ns: NDArray[np.float64]
    counts: NDArray[np.int64]
    round: int | None = None
    completion_only: bool = False

    @property
    def n(self) -> int:
        """The number of I/Os."""
        return int(self.counts.sum())

    @property
    def highest(self) -> float:
        """The highest fraction whose quantile N I/Os support (MR-10)."""
        return math.exp(math.log(_TAIL) / self.n) if self.n else 0.0

    def shares(self) -> NDArray[np.float64]:
        """The fraction of I/Os in each bucket and all before it."""
        import numpy as np

        return np.asarray(np.cumsum(self.counts) / max(self.n, 1), dtype=np.float64)

    def quantile(self, fraction: float) -> float | None:
        """Quantile `fraction` in ns, computed as fio does; None if too few I/Os support it."""
        import numpy as np

        if not self.n or fraction > self.highest:
            return None
        place = int(np.searchsorted(self.shares(), fraction * (1 - 1e-9)))
        return float(self.latency_ns[min(place, self.latency_ns.size - 1)])


def distributions(histogram: pl.DataFrame) -> tuple[Distribution, ...]:
    """The distributions of one run's steps in order (`load_histogram`), read before write.

    Total latency if fio recorded it, else completion latency. The last round of a repeated step.
    """
    if not histogram.height:
        return ()
    by_key: dict[tuple[str, str, str], Distribution] = {}
    keys = ["step", "direction", "kind", "step_index"]
    for (step, direction, kind, index), rows in histogram.group_by(keys, maintain_order=True):
        key = (str(step), str(direction), str(kind))
        if kind not in _KINDS or (key in by_key and by_key[key].step_index > index):
            continue
        ordered = rows.sort("latency_ns")
        by_key[key] = Distribution(
            run_id=str(ordered["run_id"][0]),
            step=str(step),
            step_index=int(index),
            direction=str(direction),
            latency_ns=ordered["latency_ns"].cast(float).to_numpy(),
            counts=ordered["count"].to_numpy(),
            round=ordered["round"][0],
            completion_only=kind == "clat",
        )
    return _chosen(list(by_key.values()))


def _chosen(spreads: Sequence[Distribution]) -> tuple[Distribution, ...]:
    total = {(spread.step, spread.direction) for spread in spreads if not spread.completion_only}
    drawable = [
        spread
        for spread in spreads
        if not spread.completion_only or (spread.step, spread.direction) not in total
    ]
    return tuple(
        sorted(drawable, key=lambda spread: (spread.step_index, _ORDER.index(spread.direction)))
    )
