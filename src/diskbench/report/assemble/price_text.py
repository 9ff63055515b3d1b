"""The price of a disk as text: per month, and per measured rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.units import KIB, format_usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.model.expectation import DiskPrice

SMALL_BLOCK = 64 * KIB
"""Up to this block size a disk is priced by IOPS, above it by bytes per second."""


def price_lines(price: DiskPrice) -> Iterator[str]:
    """The price of the disk per month, and per 1,000 IOPS and 100 MB/s."""
    if price.total_usd is None:
        yield "what a month of it costs is not known"
        return
    month = f"{_usd(price.total_usd)} a month"
    if price.transactions_usd:
        month += f", {_usd(price.transactions_usd)} of it transactions at the baseline"
    yield month
    pairs = (
        ("1,000 IOPS", price.per_1000_iops_usd, price.per_1000_burst_iops_usd),
        ("100 MB/s", price.per_100_mb_per_s_usd, price.per_100_burst_mb_per_s_usd),
    )
    for unit, lasting, burst in pairs:
        if lasting is not None:
            apart = f"; {_usd(burst)} of the burst" if burst is not None else ""
            yield f"{_usd(lasting)} per {unit} of the baseline{apart}"


def price_words(price: DiskPrice | None, rate: float | None, block: int | None) -> str:
    """`$0.80 per 1,000 IOPS`: the monthly price over the measured `rate` (blocks per second); empty
    if either is unknown."""
    if price is None or not price.total_usd or not rate:
        return ""
    if block is None or block <= SMALL_BLOCK:
        return f"{format_usd(price.total_usd / rate * 1000)} per 1,000 IOPS"
    return f"{format_usd(price.total_usd / (rate * block) * 1e8)} per 100 MB/s"


def _usd(usd: float) -> str:
    return f"${usd:,.2f}"
