"""Performance tiers and bursting on demand of Premium SSD: pure.

Source: MicrosoftDocs disk-bursting.md (2023-05-02) and managed-disks-bursting-2.md (2025-01-14): on
demand a disk larger than 512 GiB reaches 30,000 IOPS and 1,000 MB/s; disks-change-performance.md:
P60 to P80 are for disks larger than 4 TiB. The figures stand in the catalogue (`on_demand`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.catalog.bucket import Allowance
from diskbench.catalog.entry import catalogue
from diskbench.catalog.lookup import Pool, limits
from diskbench.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from diskbench.catalog.entry import OnDemandBurst
    from diskbench.catalog.lookup import DiskLimits

PREMIUM = "Premium_LRS"
_LARGE_TIERS = frozenset({"P60", "P70", "P80"})
_LARGE_GIB = 4096
_MB = 10**6


def tier_limits(disk_type: str, tier: str, size_gib: int) -> DiskLimits:
    """What a disk of `size_gib` may do in a tier above its own. Raises UserError."""
    if disk_type != PREMIUM:
        raise InvalidValue(
            f"--performance-tier {tier} does not go with {disk_type}",
            advice=f"only {PREMIUM} has tiers to choose from",
            field="performance_tier",
        )
    own = limits("azure", disk_type, size_gib)
    table = catalogue("azure").disks[PREMIUM].tiers
    assert table is not None, "Premium SSD is sold in tiers"
    rows = {row.name: row for row in table.rows}
    if tier not in rows:
        raise UnknownName("performance tier", tier, rows, field="performance_tier")
    assert own.tier is not None
    if rows[tier].gib < rows[own.tier].gib:
        raise InvalidValue(
            f"--performance-tier {tier} is below {own.tier}, which {size_gib:,} GiB are",
            advice=f"{own.tier} or above",
            field="performance_tier",
        )
    if tier in _LARGE_TIERS and size_gib <= _LARGE_GIB:
        raise InvalidValue(
            f"--performance-tier {tier} on {size_gib:,} GiB",
            advice=f"{', '.join(sorted(_LARGE_TIERS))} are for disks above {_LARGE_GIB:,} GiB",
            field="performance_tier",
        )
    return replace(limits("azure", disk_type, rows[tier].gib), size_gib=size_gib)


def check_bursting(disk_type: str, size_gib: int, *, on: bool) -> None:
    """Refuse bursting on demand where it is not sold. Raises InvalidValue."""
    if on and disk_type != PREMIUM:
        raise InvalidValue(
            f"--bursting does not go with {disk_type}",
            advice=f"only {PREMIUM} bursts on demand",
            field="bursting",
        )
    above = _on_demand().above_gib
    if on and size_gib <= above:
        raise InvalidValue(
            f"--bursting on {size_gib:,} GiB: disks up to {above} GiB burst on credit, "
            "without asking",
            advice=f"leave it out, or take more than {above} GiB",
            field="bursting",
        )


def bursting_limits(found: DiskLimits) -> DiskLimits:
    """The same disk with bursting on demand: no bucket, for as long as it is paid for."""
    told = _on_demand()
    pools = tuple(
        Pool(
            pool.covers,
            _raised(pool.iops, told.iops),
            _raised(pool.bytes_per_s, told.throughput * _MB),
        )
        for pool in found.pools
    )
    return replace(found, pools=pools)


def _on_demand() -> OnDemandBurst:
    told = catalogue("azure").disks[PREMIUM].on_demand
    assert told is not None, "Premium SSD bursts on demand"
    return told


def _raised(allowance: Allowance | None, burst: float) -> Allowance | None:
    return None if allowance is None else Allowance(allowance.baseline, burst)
