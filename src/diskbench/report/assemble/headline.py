"""The promise of a rented disk, and what was observed of it, in two lines above the table.

A burstable disk serves its burst until its credit is used up, so a figure above the baseline says
nothing about the baseline. Whether the credit ran out is computed from the run, step by step:

    balance ← min(capacity, balance + (baseline - charged rate) × runtime), from a full bucket
    the credit ran out in the first step that leaves less than a tenth

where a request above the largest size that counts once is charged as several
(catalog/lookup.py), and steps that fill are left out. If the seconds of a step show the
cliff itself, they are used instead (analysis/phases.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.bucket import balance_after, capacity, scaled
from diskbench.catalog.lookup import limits
from diskbench.errors import UserError
from diskbench.report.assemble.phase_lines import cliff_words
from diskbench.units import NS_PER_S, format_iops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.bucket import Allowance
    from diskbench.catalog.lookup import DiskLimits, SharedLimits
    from diskbench.model.expectation import Promise
    from diskbench.model.phase import StepPhases
    from diskbench.model.rental import Rental
    from diskbench.model.result import Measurement

_ABOVE = 1.1
"""A rate above the baseline by this factor is called a burst; our choice."""
_NEARLY = 0.9
"""Tolerance: a bucket refills a little between steps, and a step's last second is seldom whole."""


@dataclass(frozen=True)
class HeadlinePromise:
    """The rented offer (empty: nothing was rented), the promise of its disk, and the scale of its
    credit in time; `shared`: other trials used the machine as well."""

    offer: str
    promise: str
    limits: DiskLimits | None = None
    time_scale: float = 1.0
    shared: bool = False


def promised(rental: Rental) -> HeadlinePromise:
    """The promise of a rental; without figures for a disk that no catalogue lists."""
    disk, cloud = rental.disk, rental.catalogue
    promises = None
    if disk is not None and disk.count == 1:
        try:
            promises = limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)
        except UserError:
            promises = None
    return HeadlinePromise(rental.offer, rental.promise_words, promises, rental.spec.time_scale)


def expected(promise: Promise) -> HeadlinePromise:
    """The promise of a machine that was not rented: its owner's expectation."""
    return HeadlinePromise("", promise.words())


def headline(
    promise: HeadlinePromise | None, rows: Sequence[Measurement], phases: Sequence[StepPhases] = ()
) -> str:
    """What was observed of burst and baseline, in the order of the run. A step in which the credit
    ran out never gets one figure for both levels (MR-3): its phases give one each. Empty if no step
    shows a cliff and the disk has no burst bucket, or if no rate exceeded its baseline."""
    pools = promise.limits.pools if promise is not None and promise.limits is not None else ()
    if cliffs := cliff_words(phases):
        base = next(
            (pool.iops.baseline for pool in pools if pool.iops and capacity(pool.iops)), None
        )
        return f"{cliffs} (promised: {format_iops(base)} IOPS)" if base is not None else cliffs
    if promise is None:
        return ""
    return next((text for pool in pools if (text := _of_pool(promise, pool, rows))), "")


def _of_pool(promise: HeadlinePromise, pool: SharedLimits, rows: Sequence[Measurement]) -> str:
    allowance = pool.iops
    if allowance is None or not capacity(allowance):
        return ""
    steps = _steps(promise, pool, rows)
    if max((step.rate for step in steps), default=0) <= allowance.baseline * _ABOVE:
        return ""
    last = _runs_out_in(steps, scaled(allowance, time_scale=promise.time_scale))
    base = format_iops(allowance.baseline)
    if last is None:
        peak = max(step.rate for step in steps)
        return f"burst of {format_iops(peak)} IOPS; baseline not measured (promised: {base} IOPS)"
    mixed, after = steps[last], steps[last + 1 :]
    is_burst = mixed.rate >= _NEARLY * allowance.ceiling
    before = steps[: last + is_burst]
    parts = []
    if before:
        parts.append(f"burst of {format_iops(max(step.rate for step in before))} IOPS")
    ran_out = f"credit used up in {mixed.name}"
    parts.append(ran_out if is_burst else f"{ran_out}, whose figures mix burst and baseline")
    if after:
        parts.append(f"baseline of at most {format_iops(max(step.rate for step in after))} IOPS")
    return f"{'; '.join(parts)} (promised: {base} IOPS)"


@dataclass(frozen=True)
class _Step:
    """One step of the run: charged I/Os per second over both directions, and its seconds."""

    name: str
    rate: float
    seconds: float


def _steps(
    promise: HeadlinePromise, pool: SharedLimits, rows: Sequence[Measurement]
) -> list[_Step]:
    directions = ("read", "write") if pool.covers == "both" else (pool.covers,)
    by_step: dict[tuple[str, int, int | None], _Step] = {}
    for row in rows:
        counts = row.scope == "step" and row.role not in ("fill", "canary")
        if not counts or row.direction not in directions or not row.runtime_ns:
            continue
        key = (row.run_id, row.step_index, row.round)
        before = by_step.get(key, _Step(row.step, 0.0, 0.0))
        seconds = row.runtime_ns / NS_PER_S
        rate = before.rate + _charged(promise, row) / seconds
        by_step[key] = _Step(row.step, rate, max(before.seconds, seconds))
    return list(by_step.values())


def _runs_out_in(steps: Sequence[_Step], allowance: Allowance) -> int | None:
    """The index of the step in which the credit ran out; None if some was left."""
    balance = full = capacity(allowance)
    for position, step in enumerate(steps):
        balance = balance_after(allowance, balance, step.rate, step.seconds)
        if balance < (1 - _NEARLY) * full:
            return position
    return None


def _charged(promise: HeadlinePromise, row: Measurement) -> float:
    """The charged I/Os of a row: a large request counts as several."""
    if promise.limits is None or not row.ios or row.bytes is None:
        return row.ios or 0
    return row.ios * promise.limits.accounting.ios(row.bytes / row.ios)
