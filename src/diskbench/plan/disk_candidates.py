"""The disks of the catalogue that a measured one is compared with (plan/identify.py): pure.

Where a figure grows with the size or is bought, the sizes and the figures to try are those that the
measured levels ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from diskbench.catalog.bucket import NO_RULE
from diskbench.catalog.entry import catalogue
from diskbench.catalog.lookup import limits_of
from diskbench.catalog.sourced_figures import GIB_PER_TIB
from diskbench.errors import UserError

if TYPE_CHECKING:
    from diskbench.catalog.entry import Catalogue, DiskEntry
    from diskbench.catalog.lookup import DiskLimits
    from diskbench.catalog.sourced_figures import Quantity
    from diskbench.plan.identify import Level

NEAR = 0.07
"""Within this fraction a rate fits a figure of the catalogue; our choice."""
_BOUGHT_DIGITS = 3
"""A bought figure is tried with so many digits: people buy round ones, and no rate is surer."""
_BOUGHT_MOST = 4
"""Bought figures that are tried of one kind: levels of one limit lie together. Our choice."""


@dataclass(frozen=True)
class DiskCandidate:
    """A disk to try. `free` is how many of its figures were chosen to fit, `bought` what of them is
    bought, as `--as-disk` takes it."""

    limits: DiskLimits
    free: int
    bought: str = ""


def candidates(
    cloud: str, levels: Sequence[Level], day: str | None, *, fits_bought: bool
) -> Iterator[DiskCandidate]:
    """Yield the disks of a cloud to try, in all versions of their limits that were sold on `day`.
    `fits_bought`: also with the figures that the levels ask for."""
    book = catalogue(cloud)
    for name, entry in book.disks.items():
        for version in entry.versions(day):
            dated = book.model_copy(update={"disks": {**book.disks, name: version}})
            if version.tiers is not None:
                sizes: dict[float, int] = {float(row.gib): 0 for row in version.tiers.rows}
            else:
                sizes = dict.fromkeys(_sizes(version, levels), 1) or {_smallest(version): 0}
            for size, free in sizes.items():
                limits = _limits(dated, name, size)
                if limits is not None and limits.pools:
                    yield DiskCandidate(limits, free)
            if fits_bought:
                yield from _bought(dated, name, version, levels)


def _bought(
    book: Catalogue, name: str, entry: DiskEntry, levels: Sequence[Level]
) -> Iterator[DiskCandidate]:
    """Yield the disk with each bought figure that the levels ask for, of the least size that is
    sold with it."""
    charged = entry.accounting.rule() if entry.accounting else NO_RULE
    ios = [level.iops * charged.ios(level.load.block_bytes) for level in levels]
    unit = entry.throughput.unit_bytes if entry.throughput else 1
    moved = [level.iops * level.load.block_bytes / unit for level in levels]
    for iops, throughput in product(_figures(entry.iops, ios), _figures(entry.throughput, moved)):
        free = (iops is not None) + (throughput is not None)
        if not free:
            continue
        ratio = entry.iops_ratio.max_per_gib if entry.iops_ratio else None
        least = _smallest(entry)
        size = least if ratio is None or iops is None else max(least, float(-(-iops // ratio)))
        limits = _limits(book, name, size, iops, throughput)
        if limits is not None and limits.pools:
            words = f":iops={iops:g}" if iops is not None else ""
            words += f":throughput={throughput:g}" if throughput is not None else ""
            yield DiskCandidate(limits, free, words)


def _figures(quantity: Quantity | None, rates: Sequence[float]) -> list[float | None]:
    """Return the figures of a quantity to try: the default (None) and, where it is bought, the
    measured rates within what is sold."""
    if quantity is None or not quantity.provisioned:
        return [None]
    least, most = quantity.min or 0.0, quantity.max or 0.0
    figures: list[float] = []
    for rate in sorted(rates, reverse=True):
        bought = float(f"{rate:.{_BOUGHT_DIGITS}g}")
        bought = least if (1 - NEAR) * least <= bought < least else bought
        is_new = all(abs(bought / other - 1) > NEAR for other in figures)
        if least <= bought <= most and is_new:
            figures.append(bought)
    return [None, *figures[:_BOUGHT_MOST]]


def _sizes(entry: DiskEntry, levels: Sequence[Level]) -> list[float]:
    """Return the sizes at which a figure that grows with the size is the measured one."""
    sizes: set[float] = set()
    charged = entry.accounting.rule() if entry.accounting else NO_RULE
    for quantity in (entry.iops, entry.write_iops, entry.throughput, entry.throughput_burst):
        per_gib = quantity.per_gib + quantity.per_tib / GIB_PER_TIB if quantity else 0.0
        if quantity is None or not per_gib:
            continue
        for level in levels:
            block = level.load.block_bytes
            if quantity.unit is not None:
                rate = level.iops * charged.bytes(block) / quantity.unit_bytes
            else:
                rate = level.iops * charged.ios(block)
            size = (rate - quantity.base) / per_gib
            least = entry.size_gib.min if entry.size_gib else 1
            most = entry.size_gib.max if entry.size_gib else 65536
            if least <= size <= most:
                sizes.add(float(round(size)))
            floor = (quantity.min or 0.0) / per_gib
            if floor and rate <= (1 + NEAR) * (quantity.min or 0.0):
                sizes.add(float(max(least, int(floor))))
    return sorted(sizes)


def _smallest(entry: DiskEntry) -> float:
    return float(entry.size_gib.min if entry.size_gib else 1)


def _limits(
    book: Catalogue,
    name: str,
    size_gib: float,
    iops: float | None = None,
    throughput: float | None = None,
) -> DiskLimits | None:
    try:
        return limits_of(book, name, size_gib, iops, throughput)
    except UserError:
        return None  # such a size or such a default is not sold
