"""The form of `charges.yaml`: what a provider charges besides hourly prices: disk transactions,
public addresses, and a minimum billed time (docs/METHOD.md, "Prices and costs").

A bill may round up to whole multiples of `per`. A disk that is faster than promised makes more
transactions than expected. Requests that the guest serves from memory or merges are counted
although the cloud never receives them.
"""

import math
from collections.abc import Iterable

from pydantic import Field

from diskbench.catalog import sourced_figures
from diskbench.catalog.bucket import SharedLimits
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.catalog.yaml_loader import CHARGES, shipped_book
from diskbench.errors import UserError
from diskbench.model.base import Frozen
from diskbench.model.rental import DiskSpec
from diskbench.model.result import Measurement
from diskbench.units import KIB, NS_PER_S

_HOUR_S = 3600


class Work(Frozen):
    """Requests during a period of time; `request_bytes` is their mean size."""

    requests: float = Field(ge=0)
    request_bytes: float = Field(ge=0)
    seconds: float = Field(ge=0)


class Counting(sourced_figures.SourcedFigure):
    """How requests become transactions. `unit_kib` None: each request is one, of any size."""

    unit_kib: int | None = None
    most_units: int | None = None
    hourly_cap: int | None = None

    def units(self, request_bytes: float) -> int:
        """Return how many transactions one request is."""
        if self.unit_kib is None:
            return 1
        units = max(1, math.ceil(request_bytes / (self.unit_kib * KIB)))
        return units if self.most_units is None else min(units, self.most_units)

    def count(self, work: Iterable[Work], *, disks: int = 1) -> float:
        """Return the billed transactions for work on `disks` equal disks, one after another."""
        done = list(work)
        transactions = sum(part.requests * self.units(part.request_bytes) for part in done)
        if self.hourly_cap is None:
            return transactions
        hours = math.ceil(sum(part.seconds for part in done) / _HOUR_S)
        return min(transactions, float(self.hourly_cap * max(hours, 1) * disks))


class Transactions(sourced_figures.SourcedFigure):
    """The charge of a disk type: `usd` for each `per` transactions; `tiers` have their own
    counting rules."""

    usd: float
    per: int = Field(ge=1)
    counting: Counting | None = None
    tiers: dict[str, Counting] = Field(default_factory=dict)

    def counted_as(self, tier: str | None) -> Counting:
        """Return the counting rule of a disk of a tier."""
        return self.tiers.get(tier or "") or self.counting or Counting(source=self.source)

    def cost_usd(self, transactions: float) -> float:
        """Return the cost of `transactions` in USD."""
        return transactions / self.per * self.usd


class Charges(sourced_figures.ProviderFile):
    """One provider's file; prices are those of `region`. A `…_minimum` are the seconds that are
    billed at least; `fast_restore` is a snapshot, in a zone, from which disks are loaded before
    they are used."""

    file = CHARGES
    kind = "list of charges"

    region: str
    address: sourced_figures.HourlyPrice | None = None
    machine_minimum: sourced_figures.SourcedNumber | None = None
    disk_minimum: sourced_figures.SourcedNumber | None = None
    snapshot_usd_per_gib_month: sourced_figures.SourcedNumber | None = None
    fast_restore: sourced_figures.HourlyPrice | None = None
    transactions: dict[str, Transactions] = Field(default_factory=dict)


def charge_of(
    cloud: str, disk: DiskSpec, region: str | None
) -> tuple[Counting, Transactions | None, str] | None:
    """Return how the transactions of a disk are counted and priced, and the source; None if they
    are free. The price is None where none is known in its region."""
    ours = shipped_book(Charges, cloud)
    charge = ours.transactions.get(disk.type) if ours else None
    if ours is None or charge is None:
        return None
    limited = disk_limits(cloud, disk)
    counting = charge.counted_as(limited.tier if limited else None)
    price, source = charge if region == ours.region else None, ours.sources[charge.source]
    return counting, price, source.words()


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
    works, units = list[Work](), charged[0].units if charged else (lambda _: 1)
    for size in request_sizes:
        if disk_limits_ is None:
            break
        rates = [_pool_per_s(pool, disk_limits_, size) for pool in disk_limits_.pools]
        if (rate := max(filter(None, rates), default=None)) is not None:
            requests = min(rate * disk.count, requests_per_s or math.inf) * seconds
            works.append(Work(requests=requests, request_bytes=size, seconds=seconds))
    nothing = Work(requests=0, request_bytes=0, seconds=seconds)
    return max(works, key=lambda w: w.requests * units(w.request_bytes), default=nothing)


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


def _pool_per_s(pool: SharedLimits, disk: DiskLimits, request_bytes: int) -> float | None:
    operations, size = disk.accounting.ios(request_bytes), disk.accounting.bytes(request_bytes)
    sides = [pool.iops.ceiling / operations] if pool.iops else []
    sides += [pool.bytes_per_s.ceiling / size] if pool.bytes_per_s and size else []
    return min(sides, default=None)
