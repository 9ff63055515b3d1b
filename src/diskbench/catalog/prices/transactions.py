"""How many transactions a disk is charged for: expected before a run, and counted after it.

Before a run they are those of a disk that is always busy and reaches its promised rates,

    requests = min(iops / c_iops, bytes_per_s / c_bytes) × seconds × disks

with c the cost of one request (catalog/limits/bucket.py) and the burst rate where there is one;
afterwards those of the rows. A disk that is faster than promised makes more than expected.
Requests that the guest serves from memory or merges are counted although the cloud never receives
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.limits.lookup import limits
from diskbench.catalog.prices.charges import Work, charges_of
from diskbench.errors import UserError
from diskbench.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.catalog.limits.lookup import DiskLimits, SharedLimits
    from diskbench.catalog.prices.charges import Counting, Transactions
    from diskbench.model.rental import DiskSpec
    from diskbench.model.result import Measurement


@dataclass(frozen=True)
class Charge:
    """How the transactions of a disk are counted and priced; `price` is None where no price is
    known in its region."""

    counting: Counting
    price: Transactions | None
    source: str


def charge_of(cloud: str, disk: DiskSpec, region: str | None) -> Charge | None:
    """Return the charge of a disk; None if its transactions are free."""
    ours = charges_of(cloud)
    charge = ours.transactions.get(disk.type) if ours else None
    if ours is None or charge is None:
        return None
    limited = disk_limits(cloud, disk)
    source = ours.sources[charge.source]
    return Charge(
        counting=charge.counted_as(limited.tier if limited else None),
        price=charge if region == ours.region else None,
        source=source.words(),
    )


def expected_work(
    cloud: str,
    disk: DiskSpec,
    request_sizes: Iterable[int],
    seconds: float,
    requests_per_s: float | None = None,
) -> Work:
    """Return the most expensive work that `disk.count` disks can do in `seconds` with requests of
    one of the sizes, at most `requests_per_s`; no requests if the disk's limits are unknown."""
    disk_limits_ = disk_limits(cloud, disk)
    charged = charge_of(cloud, disk, None)
    works = [
        Work(
            requests=min(rate * disk.count, requests_per_s or float("inf")) * seconds,
            request_bytes=size,
            seconds=seconds,
        )
        for size in request_sizes
        if disk_limits_ is not None and (rate := _most_per_s(disk_limits_, size)) is not None
    ]
    units = charged.counting.units if charged else (lambda _: 1)
    return max(
        works,
        key=lambda work: work.requests * units(work.request_bytes),
        default=Work(requests=0, request_bytes=0, seconds=seconds),
    )


def done_work(rows: Iterable[Measurement]) -> tuple[Work, ...]:
    """Return the work of the jobs of measured steps, in order; fsync calls are not transactions.

    The time of a step is counted once, in its longest row, so that hours are not counted twice.
    """
    works: list[Work] = []
    seconds_of: dict[tuple[str, int, int | None], float] = {}
    for row in sorted(rows, key=lambda row_: -(row_.runtime_ns or 0)):
        if row.scope != "job" or row.direction == "sync" or not row.ios or row.bytes is None:
            continue
        step = (row.run_id, row.step_index, row.round)
        seconds = 0.0 if step in seconds_of else (row.runtime_ns or 0) / NS_PER_S
        seconds_of[step] = seconds
        works.append(Work(requests=row.ios, request_bytes=row.bytes / row.ios, seconds=seconds))
    return tuple(works)


def disk_limits(cloud: str, disk: DiskSpec) -> DiskLimits | None:
    """Return the catalogue's limits of one disk of a spec; None for an unknown disk."""
    try:
        return limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s)
    except UserError:
        return None


def _most_per_s(disk: DiskLimits, request_bytes: int) -> float | None:
    rates = [
        rate for pool in disk.pools if (rate := _of_pool(pool, disk, request_bytes)) is not None
    ]
    return max(rates, default=None)


def _of_pool(pool: SharedLimits, disk: DiskLimits, request_bytes: int) -> float | None:
    rule = disk.accounting
    operations, size = rule.ios(request_bytes), rule.bytes(request_bytes)
    sides = []
    if pool.iops is not None:
        sides.append(pool.iops.ceiling / operations)
    if pool.bytes_per_s is not None and size:
        sides.append(pool.bytes_per_s.ceiling / size)
    return min(sides, default=None)
