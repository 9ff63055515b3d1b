"""A disk as it is bought, and what may be bought beyond its type, size, IOPS and throughput: pure.

A performance tier above the size's own (`tiers.chosen` of a disk type), higher limits for the
asking (`tiers.expanded`), and bursting on demand (`on_demand`): the rules and figures are in the
provider's limits.yaml.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from pydantic import Field

from diskbench.catalog.bucket import Allowance, SharedLimits
from diskbench.catalog.lookup import DiskLimits, limits
from diskbench.catalog.shipped import DiskEntry, catalogue
from diskbench.errors import InvalidValue, check_known
from diskbench.model.base import Frozen
from diskbench.model.rental import DiskSpec

More = Literal["performance_plus", "bursting"]
"""What is asked for beside size and figures: higher limits, bursts on demand."""
MORE_WORDS: dict[More, str] = {
    "performance_plus": "performance plus",
    "bursting": "bursts on demand",
}


class Sold(Frozen):
    """One disk as it is bought: `iops` and `throughput` (in `unit`) where they are provisioned.
    `cache` is the host cache: none, readonly or readwrite; None where hosts do not cache disks."""

    cloud: str
    disk_type: str
    size_gib: int | float
    iops: int | float | None = None
    throughput: int | float | None = None
    unit: str | None = None
    tier: str | None = None
    more: More | None = None
    cache: str | None = Field(default=None, exclude=True)

    @property
    def spec(self) -> DiskSpec:
        """The disk as it is priced and rented."""
        iops = None if self.iops is None else math.ceil(self.iops)
        name, gib, rate = self.disk_type, math.ceil(self.size_gib), self.throughput
        return DiskSpec(type=name, size_gib=gib, iops=iops, throughput_mib_per_s=rate)

    def words(self) -> str:
        """`gp3 500 GiB, 10,000 IOPS, 250 MiB/s`."""
        tier = f" ({self.tier})" if self.tier else ""
        parts = [f"{self.disk_type} {self.size_gib:,} GiB{tier}"]
        parts += [f"{self.iops:,} IOPS"] if self.iops is not None else []
        parts += [f"{self.throughput:,} {self.unit}"] if self.throughput is not None else []
        return ", ".join([*parts, *([MORE_WORDS[self.more]] if self.more else [])])

    def limits(self) -> DiskLimits:
        """Its documented limits. Raises UserError for one that is not sold so."""
        own = limits(self.cloud, self.disk_type, self.size_gib, self.iops, self.throughput)
        plus, bursting = self.more == "performance_plus", self.more == "bursting"
        return with_terms(self.cloud, own, plus=plus, bursting=bursting)


def with_terms(
    cloud: str,
    disk_limits: DiskLimits,
    *,
    tier: str | None = None,
    plus: bool = False,
    bursting: bool = False,
) -> DiskLimits:
    """Return the limits of the same disk in a tier above its own, with higher limits for the asking
    (`plus`), and bursting on demand. Raises UserError for what the disk cannot have."""
    if tier:
        disk_limits = tier_limits(cloud, disk_limits.disk_type, tier, disk_limits.size_gib)
    if plus:
        disk_limits = expanded_limits(cloud, disk_limits)
    return bursting_limits(cloud, disk_limits) if bursting else disk_limits


def tier_limits(cloud: str, disk_type: str, tier: str, size_gib: float) -> DiskLimits:
    """Return the limits of a disk of `size_gib` in a tier above its own. Raises UnknownName for a
    tier that is not sold, InvalidValue for one that this disk cannot have."""
    table = catalogue(cloud).disk(disk_type).tiers
    if table is None or table.chosen is None:
        sold = _types_with(cloud, lambda entry: bool(entry.tiers and entry.tiers.chosen))
        raise InvalidValue(
            f"--performance-tier {tier} cannot be used with {disk_type}",
            advice=f"only {sold} has tiers to choose from" if sold else "leave it out",
            field="performance_tier",
        )
    own = limits(cloud, disk_type, size_gib)
    rows = {row.name: row for row in table.rows}
    check_known("performance tier", tier, rows, field="performance_tier")
    assert own.tier is not None
    if rows[tier].gib < rows[own.tier].gib:
        raise InvalidValue(
            f"--performance-tier {tier} is below {own.tier}, the tier of {size_gib:,g} GiB",
            advice=f"choose {own.tier} or above",
            field="performance_tier",
        )
    large, above = table.chosen.large, table.chosen.above_gib
    if tier in large and size_gib <= above:
        raise InvalidValue(
            f"--performance-tier {tier} cannot be used with {size_gib:,g} GiB",
            advice=f"{', '.join(large)} are for disks above {above:,} GiB",
            field="performance_tier",
        )
    return replace(limits(cloud, disk_type, rows[tier].gib), size_gib=size_gib)


def bursting_limits(cloud: str, disk_limits: DiskLimits) -> DiskLimits:
    """The same disk with bursting on demand: no bucket, for as long as it is paid for. Raises
    InvalidValue for a type or size that has none."""
    entry = catalogue(cloud).disk(disk_limits.disk_type)
    burst, tiers = entry.on_demand, entry.tiers
    if burst is None or tiers is None:
        sold = _types_with(cloud, lambda other: other.on_demand is not None)
        raise InvalidValue(
            f"--bursting cannot be used with {disk_limits.disk_type}",
            advice=f"only {sold} bursts on demand" if sold else "leave it out",
            field="bursting",
        )
    if disk_limits.size_gib <= burst.above_gib:
        raise InvalidValue(
            f"--bursting cannot be used with {disk_limits.size_gib:,g} GiB: disks up to "
            f"{burst.above_gib} GiB burst on credit without it",
            advice=f"leave it out, or use more than {burst.above_gib} GiB",
            field="bursting",
        )
    most = burst.throughput * tiers.unit_bytes
    pools = tuple(
        SharedLimits(
            pool.covers,
            pool.iops and Allowance(pool.iops.baseline, burst.iops),
            pool.bytes_per_s and Allowance(pool.bytes_per_s.baseline, most),
        )
        for pool in disk_limits.pools
    )
    return replace(disk_limits, pools=pools)


def expanded_limits(cloud: str, disk_limits: DiskLimits) -> DiskLimits:
    """The same disk with the higher limits that are asked for when it is made. Raises InvalidValue
    for a type or size that has none."""
    entry = catalogue(cloud).disk(disk_limits.disk_type)
    table = entry.tiers
    if table is None or table.expanded is None:
        sold = _types_with(cloud, lambda other: bool(other.tiers and other.tiers.expanded))
        raise InvalidValue(
            f"--performance-plus cannot be used with {disk_limits.disk_type}",
            advice=f"the catalogue has its figures for {sold}" if sold else "leave it out",
            field="performance_plus",
        )
    row = table.expanded.rows.get(disk_limits.tier or "")
    if row is None:
        least = next(r.gib for r in reversed(table.rows) if r.name not in table.expanded.rows)
        raise InvalidValue(
            f"--performance-plus cannot be used with {disk_limits.size_gib:,} GiB",
            advice=f"leave it out, or use more than {least} GiB",
            field="performance_plus",
        )
    iops, rate = Allowance(row.iops), Allowance(row.throughput * table.unit_bytes)
    pools = tuple(
        SharedLimits(pool.covers, pool.iops and iops, pool.bytes_per_s and rate)
        for pool in disk_limits.pools
    )
    return replace(disk_limits, pools=pools)


def _types_with(cloud: str, sells: Callable[[DiskEntry], bool]) -> str:
    return ", ".join(name for name, entry in catalogue(cloud).disks.items() if sells(entry))
