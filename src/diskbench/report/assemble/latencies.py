"""The latencies of a step, data for charts: their distribution, and a heat map over time. They are
summed over the jobs of a step, never over runs or rounds: a run at 3,000 IOPS would outweigh one at
100. The highest quantile that is drawn is p with pᴺ = 0.05 (MR-10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.histogram import needed

if TYPE_CHECKING:
    import polars as pl


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
        return int(self.counts.sum())

    @property
    def highest(self) -> float:
        """The highest fraction whose quantile N I/Os support (MR-10)."""
        return math.exp(math.log(_TAIL) / self.n) if self.n else 0.0

    def shares(self) -> NDArray[np.float64]:
        """The fraction of I/Os in each bucket and all before it."""
        return np.asarray(np.cumsum(self.counts) / max(self.n, 1), dtype=np.float64)

    def quantile(self, fraction: float) -> float | None:
        """Quantile `fraction` in ns, computed as fio does; None if too few I/Os support it."""
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
    by_key: dict[tuple[str, str], Distribution] = {}
    keys = ["step", "direction", "kind", "step_index"]
    for (step, direction, kind, index), rows in histogram.group_by(keys, maintain_order=True):
        before = by_key.get((str(step), str(direction)))
        is_clat = kind == "clat"
        if kind not in _KINDS or (
            before and (is_clat, -index) > (before.completion_only, -before.step_index)
        ):
            continue
        ordered = rows.sort("latency_ns")
        by_key[str(step), str(direction)] = Distribution(
            run_id=str(ordered["run_id"][0]),
            step=str(step),
            step_index=int(index),
            direction=str(direction),
            latency_ns=ordered["latency_ns"].cast(float).to_numpy(),
            counts=ordered["count"].to_numpy(),
            round=ordered["round"][0],
            completion_only=is_clat,
        )
    found = by_key.values()
    return tuple(sorted(found, key=lambda one: (one.step_index, _ORDER.index(one.direction))))


MOST_STRETCHES = 90
"""The most columns that are at least three pixels wide."""
_MOST_BUCKETS = 36
_DOUBLINGS = (1, 2, 4, 8)
"""Buckets per power of two: the finest division within the limit of buckets is used."""


@dataclass(frozen=True)
class LatencyMap:
    """One direction of one step of one run. `cells` are its I/Os: `start` to `end` in seconds,
    `low` to `high` in ns, and `per_s` I/Os a second, so that a shorter last stretch is not paler.
    `stretches` have `start`, `end`, their `n` I/Os, and the upper edges of the buckets of `p50`,
    `p99` (null if too few I/Os support it) and `highest`."""

    run_id: str
    step: str
    step_index: int
    direction: str
    seconds: int
    cells: pl.DataFrame
    stretches: pl.DataFrame

    @property
    def n(self) -> int:
        return int(self.stretches["n"].sum())


def latency_map(counted: pl.DataFrame) -> LatencyMap | None:
    """The map of one step (`store.stored_series.latency_seconds`), of reads if it has several
    directions; rounds of a repeated step follow each other. None for fewer than two seconds."""
    import polars as pl

    if not counted.height:
        return None
    seconds, parts = 0, []
    for of_round in counted.sort("step_index", maintain_order=True).partition_by("step_index"):
        parts.append(of_round.with_columns(second=pl.col("second") + seconds))
        seconds += int(of_round["second"].max()) + 1  # type: ignore[arg-type]
    if seconds < 2:
        return None
    rows = pl.concat(parts).filter(pl.col("direction") == pl.col("direction").min())
    width = math.ceil(seconds / MOST_STRETCHES)
    start = pl.col("second") // width * width
    end = pl.min_horizontal(start + width, seconds)
    rows = rows.with_columns(start=start, end=end, bucket=_bucket(rows))
    # All buckets have equal width, even if a part of one is empty.
    edges = rows.group_by("bucket").agg(low=pl.col("from_ns").min(), high=pl.col("to_ns").max())
    cells = (
        rows.group_by("start", "end", "bucket")
        .agg(per_s=pl.col("count").sum() / (pl.col("end").first() - pl.col("start").first()))
        .join(edges, on="bucket")
        .sort("low", "start")
    )
    first = rows.select("run_id", "step", "step_index", "direction").row(0, named=True)
    return LatencyMap(**first, seconds=seconds, cells=cells, stretches=_stretches(rows))


def _bucket(rows: pl.DataFrame) -> pl.Series:
    """The bucket number of each row, at the finest division within the limit of buckets."""
    import polars as pl

    low = float(rows["from_ns"].filter(rows["from_ns"] > 0).min() or 64.0)  # type: ignore[arg-type]
    doublings = math.log2(float(rows["to_ns"].max()) / low)  # type: ignore[arg-type]
    parts = max((finest for finest in _DOUBLINGS if doublings * finest <= _MOST_BUCKETS), default=1)
    octave = pl.col("from_ns").clip(1).log(2).floor()
    part = ((pl.col("from_ns") / 2**octave - 1) * parts).floor()
    return rows.select((octave * parts + part).cast(pl.Int64).alias("bucket"))["bucket"]


def _stretches(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    def reached(fraction: float) -> pl.Expr:
        return pl.col("to_ns").filter(pl.col("running") >= fraction * pl.col("count").sum()).min()

    return (
        rows.sort("start", "to_ns")
        .with_columns(running=pl.col("count").cum_sum().over("start"))
        .group_by("start", "end", maintain_order=True)
        .agg(
            n=pl.col("count").sum(),
            p50=reached(0.5),
            p99=pl.when(pl.col("count").sum() >= needed(0.99)).then(reached(0.99)),
            highest=pl.col("to_ns").max(),
        )
    )
