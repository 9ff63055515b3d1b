"""What a provider charges. `prices.yaml`: disks and machines in one region; `charges.yaml`: what
comes besides: disk transactions, public addresses, a minimum billed time (docs/METHOD.md, "Prices
and costs").

month of a disk   per_gib × GiB + Σ over steps  usd × IOPS in the step above what is free
                  + per_mib_per_s (or per_mb_per_s) × throughput above what is free
                  or, for a type that is sold in tiers, the price of the disk's tier
hour of a disk    month / month_hours

A bill may round up to whole multiples of `per`. A disk that is faster than promised makes more
transactions than expected. Requests that the guest serves from memory or merges are counted
although the cloud never receives them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, model_validator

from diskbench.catalog import sourced_figures
from diskbench.catalog.bucket import SharedLimits
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.catalog.shipped import CHARGES, PRICES, shipped_book
from diskbench.errors import UserError
from diskbench.model.base import Frozen
from diskbench.model.rental import DiskSpec
from diskbench.model.result import Measurement
from diskbench.units import KIB, NS_PER_S


class IopsPrice(Frozen):
    """US dollars a month for each IOPS up to `up_to`; the last step has no end."""

    up_to: int | None = None
    usd: float


class PricedDisk(sourced_figures.SourcedFigure):
    """What a disk costs a month, in US dollars: its tier, or its parts; a `free_…` part comes with
    its size. Throughput is priced in the unit in which it is sold."""

    tiers: dict[str, float] = Field(default_factory=dict)
    per_gib: float = 0.0
    per_iops: tuple[IopsPrice, ...] = ()
    free_iops: int = 0
    per_mib_per_s: float = 0.0
    free_mib_per_s: float = 0.0
    per_mb_per_s: float = 0.0
    free_mb_per_s: float = 0.0

    def month_usd(
        self, size_gib: float, iops: float, throughput: float, tier: str | None = None
    ) -> float | None:
        """Return the monthly price of one disk in USD; `iops` and `throughput` are the provisioned
        figures or 0. None for a tier without a price."""
        if self.tiers:
            return self.tiers.get(tier or "")
        total, paid = self.per_gib * size_gib, float(self.free_iops)
        for step in self.per_iops:
            end = iops if step.up_to is None else min(iops, step.up_to)
            total += step.usd * max(0.0, end - paid)
            paid = max(paid, end)
        total += self.per_mib_per_s * max(0.0, throughput - self.free_mib_per_s)
        return total + self.per_mb_per_s * max(0.0, throughput - self.free_mb_per_s)

    def is_in(self, prices: Mapping[str, Any]) -> bool:
        """Whether `prices`, in the form of this entry, have every price that it has."""
        parts = self.model_dump(include=set(_PRICES), exclude_defaults=True)
        tiers = prices.get("tiers") or {}
        return parts.keys() <= prices.keys() and self.tiers.keys() <= tiers.keys()


_PRICES = frozenset({"tiers", "per_gib", "per_iops", "per_mib_per_s", "per_mb_per_s"})


class RegionPrices(Frozen):
    """What is known of the prices of another region, in the form of the file."""

    disks: dict[str, PricedDisk] = Field(default_factory=dict)
    machines: dict[str, dict[str, float]] = Field(default_factory=dict)


class PriceBook(sourced_figures.ProviderFile):
    """The file; its prices are those of `region`, and `regions` holds those of others.
    `month_hours` are the hours that a monthly price covers, `address` is a public one in use.
    `machines` are US dollars an hour on demand, by the key of their source; the last source that
    has a machine counts, so that what is refreshed goes before what was shipped."""

    file = PRICES
    kind = "list of prices"

    region: str
    month_hours: sourced_figures.SourcedNumber | None = None
    disks: dict[str, PricedDisk] = Field(default_factory=dict)
    machines: dict[str, dict[str, float]] = Field(default_factory=dict)
    address: sourced_figures.HourlyPrice | None = None
    regions: dict[str, RegionPrices] = Field(default_factory=dict)

    def named_sources(self) -> dict[str, str]:
        """Return the sources, those of the machines too."""
        books = (self.machines, *(prices.machines for prices in self.regions.values()))
        keys = {key for machines in books for key in machines}
        return super().named_sources() | {f"machines of {key}": key for key in keys}

    @model_validator(mode="after")
    def _month_is_known(self) -> PriceBook:
        if self.month_hours is None and self.disks:
            raise ValueError("prices of a month need `month_hours`, the hours of one")
        return self

    def machine_price(self, machine_type: str) -> tuple[float, str] | None:
        """Return the hourly price of a machine and the key of its source; None if unknown."""
        for key in reversed(self.machines):
            if machine_type in self.machines[key]:
                return self.machines[key][machine_type], key
        return None

    def of_region(self, region: str, patch: Mapping[str, Any] | None = None) -> PriceBook:
        """The prices of another region: those shipped of it and, where this is the shipped file
        with a patch of that region, those that `patch` names. A disk counts only with all its
        prices: none of the shipped region is taken for another's."""
        shipped = self.regions.get(region, RegionPrices())
        patched = (patch or {}).get("disks", {})
        own = self.disks
        disks = {name: own[name] for name in patched if own[name].is_in(patched[name])}
        machines = {key: self.machines[key] for key in (patch or {}).get("machines", {})}
        known = {"machines": shipped.machines | machines, "disks": shipped.disks | disks}
        return self.model_copy(update={"region": region, **known})

    def machine_hourly_usd(self, machine_type: str, region: str | None = None) -> float | None:
        """The price of a machine an hour in a region, this file's unless given; None where none is
        known."""
        priced = self.machine_price(machine_type) if region in (None, self.region) else None
        return priced[0] if priced else None

    def disk_hourly_usd(
        self,
        disk_type: str,
        size_gib: float,
        region: str,
        *,
        iops: float | None = None,
        throughput: float | None = None,
        tier: str | None = None,
    ) -> float | None:
        """The price of one disk an hour, by its tier or by what is provisioned, without
        transactions; None where none is known."""
        price = self.disks.get(disk_type)
        if price is None or self.month_hours is None or region != self.region:
            return None
        month = price.month_usd(size_gib, iops or 0.0, throughput or 0.0, tier)
        return None if month is None else month / self.month_hours.value


def price_book(cloud: str) -> PriceBook:
    """The shipped prices of a provider; an empty book where it lists none. Raises InvalidValue for
    a file that breaks the rules."""
    book = shipped_book(PriceBook, cloud)
    return book if book is not None else PriceBook(format=1, cloud=cloud, region="", sources={})


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
        hours = math.ceil(sum(part.seconds for part in done) / 3600)
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
