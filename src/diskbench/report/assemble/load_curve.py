"""Latency against throughput: the steps of one trial that differ only in their load.

    closed loop   steps of one pattern and block size at three queue depths or more. A point is
                  saturated where no deeper queue brings 5 % more IOPS, from the second such
                  point on: the first is the knee itself
    offered       steps at given rates (MR-11). A point is saturated where the disk could not
                  follow: what the run warned of

With several runs, each figure is the median run's (analysis/figure.py). Thresholds are our choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from diskbench.analysis.figure import middle
from diskbench.fio.jobfile import jobs, parse
from diskbench.fio.offered import references, share_of
from diskbench.model.doubts import SATURATED
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.spec import Plan

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
