"""The latencies of a step, data for charts: their distribution, a heat map over time, and, of steps
that differ only in their load, latency against throughput.

    p(v)     I/Os in buckets up to v, over all N of them (fio's own rule, stat.c)
    highest  the highest quantile that may be drawn: p with pᴺ = 0.05, so p = 0.05^(1/N) (MR-10)

Counts are summed over the jobs of a step, never over runs or rounds: a run at 3,000 IOPS would
outweigh one at 100.

Over time they are counted by stretch and bucket. Buckets are those of store/log_counts.py,
merged until they can be distinguished; stretches have equal numbers of seconds. A cell holds the
mean I/Os per second, so that a shorter last stretch is not paler.

Against throughput, over the steps of one trial:

    closed loop   steps of one pattern and block size at three queue depths or more. A point is
                  saturated where no deeper queue brings 5 % more IOPS, from the second such
                  point on: the first is the knee itself
    offered       steps at given rates (MR-11). A point is saturated where the disk could not
                  follow: what the run warned of

With several runs, each figure is the median run's (analysis/figure.py). Thresholds are our choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.analysis.figure import middle
from diskbench.fio.histogram import needed
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import references, share_of
from diskbench.model.doubts import SATURATED
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Plan

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


MOST_STRETCHES = 90
"""The most columns that are at least three pixels wide."""
_MOST_BUCKETS = 36
_DOUBLINGS = (1, 2, 4, 8)
"""Buckets per power of two: the finest division within the limit of buckets is used."""


@dataclass(frozen=True)
class LatencyMap:
    """One direction of one step of one run. `cells` are its I/Os: `start` to `end` in seconds,
    `low` to `high` in ns, and `per_s` I/Os a second. `stretches` have `start`, `end`, their `n`
    I/Os, and the upper edges of the buckets of `p50`, `p99` (null if too few I/Os support it) and
    `highest`."""

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


def latency_map(counted: pl.DataFrame, *, most: int = MOST_STRETCHES) -> LatencyMap | None:
    """The map of one step (`store.stored_series.latency_seconds`), of reads if it has several
    directions; rounds of a repeated step follow each other. None for fewer than two seconds."""
    import polars as pl

    if not counted.height:
        return None
    rows = _after_each_other(counted)
    seconds = int(rows["second"].max()) + 1  # type: ignore[arg-type]
    if seconds < 2:
        return None
    rows = rows.filter(pl.col("direction") == pl.col("direction").min())
    width = math.ceil(seconds / most)
    start = pl.col("second") // width * width
    rows = rows.with_columns(
        start=start, end=pl.min_horizontal(start + width, seconds), bucket=_bucket(rows)
    )
    # All buckets have equal width, even if a part of one is empty.
    edges = rows.group_by("bucket").agg(low=pl.col("from_ns").min(), high=pl.col("to_ns").max())
    cells = (
        rows.group_by("start", "end", "bucket")
        .agg(per_s=pl.col("count").sum() / (pl.col("end").first() - pl.col("start").first()))
        .join(edges, on="bucket")
        .sort("low", "start")
    )
    first = rows.row(0, named=True)
    return LatencyMap(
        run_id=first["run_id"],
        step=first["step"],
        step_index=first["step_index"],
        direction=first["direction"],
        seconds=seconds,
        cells=cells,
        stretches=_stretches(rows),
    )


def _after_each_other(counted: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    start, parts = 0, []
    for of_round in counted.sort("step_index", maintain_order=True).partition_by("step_index"):
        parts.append(of_round.with_columns(second=pl.col("second") + start))
        start += int(of_round["second"].max()) + 1  # type: ignore[arg-type]
    return pl.concat(parts)


def _bucket(rows: pl.DataFrame) -> pl.Series:
    """The bucket number of each row, at the finest division within the limit of buckets."""
    import polars as pl

    low = float(rows["from_ns"].filter(rows["from_ns"] > 0).min() or 64.0)  # type: ignore[arg-type]
    doublings = math.log2(float(rows["to_ns"].max()) / low)  # type: ignore[arg-type]
    fitting = [
        per_doubling for per_doubling in _DOUBLINGS if doublings * per_doubling <= _MOST_BUCKETS
    ]
    parts = max(fitting, default=1)
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


LEAST_POINTS = 3
NO_MORE = 1.05
_DIRECTIONS = ("read", "write", "trim")


@dataclass(frozen=True)
class LoadPoint:
    """One step: its load (`QD 8`, `75 %`) and its result. `load` orders the points: I/Os in flight,
    or the offered share; latencies in ns, None if too few I/Os support them."""

    step: str
    words: str
    load: float
    iops: float
    p50_ns: float | None
    p99_ns: float | None
    saturated: bool = False


@dataclass(frozen=True)
class LoadCurve:
    """The points of one pattern, block size and direction, by load; each is based on `runs`
    runs."""

    name: str
    direction: str
    offered: bool
    points: tuple[LoadPoint, ...]
    runs: int


def load_curves(
    measurements: Iterable[Measurement],
    warnings: Sequence[Warning] = (),
    plan: Plan | None = None,
) -> tuple[LoadCurve, ...]:
    """The curves in one trial's rows; a curve needs at least three loads of one kind.

    `plan` gives the offered rates; without it such steps are labelled with their names.
    """
    shares = _shares(plan)
    doubted = {warning.step for warning in warnings if warning.code == SATURATED.code}
    groups: dict[tuple[object, ...], dict[str, list[Measurement]]] = {}
    for row in measurements:
        if row.scope != "step" or row.direction not in _DIRECTIONS or not row.iops:
            continue
        if row.role not in ("measure", "offered") or row.round is not None:
            continue
        key = (row.role == "offered", row.direction, row.rw, row.block_bytes)
        groups.setdefault(key, {}).setdefault(row.step, []).append(row)
    curves = []
    for (offered, direction, *_), steps in groups.items():
        points = [
            _point(step, rows, shares.get(step) if offered else None, saturated=step in doubted)
            for step, rows in steps.items()
        ]
        points = sorted((point for point in points if point.load), key=lambda point: point.load)
        if len({point.load for point in points}) < LEAST_POINTS:
            continue
        first = next(iter(steps.values()))[0]
        curves.append(
            LoadCurve(
                name=_name(first),
                direction=str(direction),
                offered=bool(offered),
                points=tuple(points if offered else _with_knee(points)),
                runs=len({row.run_id for rows in steps.values() for row in rows}),
            )
        )
    return tuple(curves)


def _point(
    step: str, rows: Sequence[Measurement], share: float | None, *, saturated: bool
) -> LoadPoint:
    depth = (rows[0].iodepth or 1) * rows[0].jobs
    offered = rows[0].role == "offered"
    p50 = [row.p50_ns for row in rows if row.p50_ns is not None]
    p99 = [row.p99_ns for row in rows if row.p99_ns is not None]
    iops = middle([row.iops or 0.0 for row in rows])
    return LoadPoint(
        step=step,
        words=(f"{share:.0%}" if share else step) if offered else f"QD {depth}",
        load=(share or iops) if offered else float(depth),
        iops=iops,
        p50_ns=middle(p50, worst_is_high=True) if len(p50) == len(rows) else None,
        p99_ns=middle(p99, worst_is_high=True) if len(p99) == len(rows) else None,
        saturated=saturated,
    )


def _with_knee(points: Sequence[LoadPoint]) -> list[LoadPoint]:
    flat = [
        max((later.iops for later in points[at + 1 :]), default=0.0) < NO_MORE * point.iops
        for at, point in enumerate(points)
    ]
    knee = next((at for at, still in enumerate(flat) if all(flat[at:])), len(points))
    return [replace(point, saturated=at > knee) for at, point in enumerate(points)]


def _name(row: Measurement) -> str:
    size = row.block_bytes
    block = f" {size // 1024}k" if size and size % 1024 == 0 else f" {size} B" if size else ""
    return f"{row.rw or row.direction}{block}"


def _shares(plan: Plan | None) -> Mapping[str, float]:
    """Step → its offered rate as a share of an earlier step's rate."""
    shares: dict[str, float] = {}
    for step in plan.steps if plan else ():
        if "% of" not in step.job or not references(parse(step.job).sections):
            continue
        for job in jobs(parse(step.job).sections):
            asked = share_of(job.get("rate_iops"))
            if asked:
                shares[step.name] = asked[0]
    return shares
