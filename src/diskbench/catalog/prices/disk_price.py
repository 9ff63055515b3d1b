"""The monthly price of a disk, and its price per 1,000 IOPS and per 100 MB/s.

    total           = storage + transactions of a month at the baseline, in blocks of 4 KiB
    per_1000_iops   = total / (random reads of 4 KiB a second / 1000)
    per_100_mb_per_s = total / (bytes a second read in blocks of 1 MiB / 10^8)

The baseline is the rate after all credit is used up. Figures of the burst are separate, because the
whole month is paid for and the burst does not last it. The disk is not limited by a machine here,
and its queue is as deep as needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.limits.expect import CatalogDisk, MachineLimits, expect
from diskbench.catalog.prices.charges import Work
from diskbench.catalog.prices.cost import HOUR_S, MONTH_HOURS, monthly
from diskbench.model.expectation import DiskPrice, Load
from diskbench.units import KIB, MIB

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.catalog.limits.lookup import DiskLimits
    from diskbench.model.rental import DiskSpec

_SMALL = Load(block_bytes=4 * KIB)
_LARGE = Load(block_bytes=MIB, random=False)


def disk_price(
    books: Books,
    cloud: str,
    disk: DiskSpec,
    region: str,
    limits: DiskLimits | None,
    *,
    tier: str | None = None,
) -> DiskPrice:
    """Return the price of one disk of a spec; None for figures that are not known."""
    bare = CatalogDisk(limits) if limits else None
    small = expect(bare, MachineLimits(""), _SMALL) if bare else None
    large = expect(bare, MachineLimits(""), _LARGE) if bare else None
    work = []
    if small is not None:
        seconds = MONTH_HOURS * HOUR_S
        requests = small.lasting.iops * seconds
        work = [Work(requests=requests, request_bytes=_SMALL.block_bytes, seconds=seconds)]
    month = monthly(books, cloud, disk.model_copy(update={"count": 1}), region, work, tier=tier)
    total = month.total_usd

    def per(rate: float | None, unit: float) -> float | None:
        return None if total is None or not rate else total / (rate / unit)

    return DiskPrice(
        storage_usd=month.storage_usd,
        transactions_usd=month.transactions_usd,
        total_usd=total,
        per_1000_iops_usd=per(small.lasting.iops if small else None, 1000),
        per_1000_burst_iops_usd=per(small.begin.iops, 1000) if small and small.bursts else None,
        per_100_mb_per_s_usd=per(large.lasting.bytes_per_s if large else None, 1e8),
        per_100_burst_mb_per_s_usd=per(large.begin.bytes_per_s, 1e8)
        if large and large.bursts
        else None,
    )
