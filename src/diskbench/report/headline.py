"""What a rented disk promised, and what of it was seen, in two lines above the table.

A burstable disk serves its burst until its credit is used up, so a figure above the baseline says
nothing of the baseline. Whether the credit ran out follows from what the run did:

    spent = Σ over steps of (charged I/Os - baseline × runtime), credit that filling did not cost
    the credit ran out if spent > 0.9 × capacity

with a request above the largest that counts once charged as several (catalog/lookup.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.lookup import limits
from diskbench.errors import UserError
from diskbench.units import NS_PER_S, format_iops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.lookup import Allowance, DiskLimits, Pool
    from diskbench.model.rental import Rental
    from diskbench.model.result import Measurement

_NEARLY = 0.9
"""Between steps a bucket refills a little, and the last second of a step is seldom whole."""


@dataclass(frozen=True)
class Promised:
    """What was rented, what its disk promises, and how long its credit was made to last."""

    offer: str
    promise: str
    limits: DiskLimits | None = None
    time_scale: float = 1.0


def promised(rental: Rental) -> Promised:
    """The promise of a rental; without figures for a disk of no catalogue."""
    disk, cloud = rental.disk, rental.cloud or rental.scope.provider
    found = None
    if disk is not None and disk.count == 1:
        try:
            found = limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)
        except UserError:
            found = None
    return Promised(rental.offer, rental.promise, found, rental.spec.lab.time_scale)


def headline(told: Promised, rows: Sequence[Measurement]) -> str:
    """`burst 3,000 IOPS; baseline not measured, promised 100`; empty for a disk without a burst
    bucket, or where nothing went above its baseline."""
    if told.limits is None:
        return ""
    return next((text for pool in told.limits.pools if (text := _of_pool(told, pool, rows))), "")


def _of_pool(told: Promised, pool: Pool, rows: Sequence[Measurement]) -> str:
    allowance = pool.iops
    if allowance is None or not allowance.capacity or allowance.ceiling <= allowance.baseline:
        return ""
    steps = [
        row
        for row in rows
        if row.scope == "step"
        and row.role not in ("fill", "canary")
        and row.direction in (("read", "write") if pool.covers == "both" else (pool.covers,))
    ]
    peak = max((_charged(told, row) / _seconds(row) for row in steps if row.runtime_ns), default=0)
    if peak <= allowance.baseline * 1.1:
        return ""
    shown = f"burst {format_iops(peak)} IOPS"
    base = format_iops(allowance.baseline)
    if _spent(told, allowance, steps) < _NEARLY * allowance.capacity / told.time_scale:
        return f"{shown}; baseline not measured, promised {base}"
    return f"{shown} until the credit ran out; promised {base} from then on"


def _spent(told: Promised, allowance: Allowance, steps: Sequence[Measurement]) -> float:
    runtime: dict[tuple[str, int, int | None], float] = {}
    charged = 0.0
    for row in steps:
        key = (row.run_id, row.step_index, row.round)
        runtime[key] = max(runtime.get(key, 0.0), _seconds(row))
        charged += _charged(told, row)
    return charged - allowance.baseline * sum(runtime.values())


def _charged(told: Promised, row: Measurement) -> float:
    """The I/Os that a row was charged: a large request counts as several."""
    largest = told.limits.max_io_bytes if told.limits else None
    if largest is None or not row.ios:
        return row.ios
    return row.ios * math.ceil(row.bytes / row.ios / largest)


def _seconds(row: Measurement) -> float:
    return row.runtime_ns / NS_PER_S
