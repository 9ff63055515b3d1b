"""Which disks of the catalogue behave as one that was measured: pure.

A level is a load with the rate that it reached. A disk of the catalogue fits a level where the rate
lies within 5 % of what its tightest cap allows, with credit or without; averages and ranges and
latencies fit nothing. All dated versions are tried, disks without a bucket too. Where a figure
grows with the size, the sizes tried are those that the levels ask for; such a level then fits by
construction and is not counted. A fall fits where burst, baseline and the time until it agree with
the bucket of the disk within 10 %.

Disks are ranked by what fits and by how well; one fits at all only if at least two things fit, or
the only one that was measured does, and at least as many fit as do not. The factors are our choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.limits.entry import GIB_PER_TIB, catalogue, clouds
from diskbench.catalog.limits.expect import CatalogDisk, expect_on, path_of
from diskbench.catalog.limits.lookup import limits_of
from diskbench.catalog.machines.machine import MachineLimits
from diskbench.errors import UserError
from diskbench.units import format_duration_s, format_iops

if TYPE_CHECKING:
    from diskbench.catalog.limits.entry import Catalogue, DiskEntry
    from diskbench.catalog.limits.lookup import DiskLimits
    from diskbench.model.expectation import Load

NEAR = 0.05
_NEAR_FALL = 0.10
_NOT_CAPS = frozenset({"latency", "offered"})


@dataclass(frozen=True)
class Level:
    """A rate in blocks a second that a load reached. Where it fell there, `fell_from` is the rate
    before and `after_s` how long that lasted."""

    name: str
    load: Load
    iops: float
    fell_from: float | None = None
    after_s: float | None = None


@dataclass(frozen=True)
class LikelyDisk:
    """A disk of the catalogue as `--as-disk` takes it, with the name of its tier, the last day of
    its limits if they were replaced, and what fits and what does not, each a clause. `off` is the
    mean distance of what fits, as a fraction; `proof` is how many figures fit beyond those to which
    the size was fitted."""

    disk: str
    tier: str | None
    until: str | None
    fits: tuple[str, ...]
    misses: tuple[str, ...]
    off: float
    proof: int


def identify(
    levels: Sequence[Level], *, cloud: str | None = None, day: str | None = None
) -> tuple[LikelyDisk, ...]:
    """Return the disks that fit, the best first; none if nothing does. `cloud` and `day`
    (`2018-03-16`) leave out what was not sold there or then."""
    found = [
        fit
        for name in clouds()
        if cloud is None or name == cloud
        for limits, free in _candidates(name, levels, day)
        if (fit := _fit(name, limits, levels, free)) is not None
    ]
    ranked: dict[str, LikelyDisk] = {}
    for fit in sorted(found, key=lambda fit: (len(fit.misses) - fit.proof, fit.off, fit.disk)):
        ranked.setdefault(fit.disk, fit)  # the best of a disk's dated versions
    return tuple(ranked.values())


def _candidates(
    cloud: str, levels: Sequence[Level], day: str | None
) -> Iterator[tuple[DiskLimits, int]]:
    """Yield the disks to try, each with how many of its figures were chosen to fit."""
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
                    yield limits, free


def _sizes(entry: DiskEntry, levels: Sequence[Level]) -> list[float]:
    """Return the sizes at which a figure that grows with the size is the measured one."""
    sizes: set[float] = set()
    for quantity in (entry.iops, entry.write_iops, entry.throughput, entry.throughput_burst):
        per_gib = quantity.per_gib + quantity.per_tib / GIB_PER_TIB if quantity else 0.0
        if quantity is None or not per_gib:
            continue
        for level in levels:
            rate = level.iops
            if quantity.unit is not None:
                rate *= level.load.block_bytes / quantity.unit_bytes
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


def _limits(book: Catalogue, name: str, size_gib: float) -> DiskLimits | None:
    try:
        return limits_of(book, name, size_gib)
    except UserError:
        return None  # such a size or such a default is not sold


def _fit(cloud: str, limits: DiskLimits, levels: Sequence[Level], free: int) -> LikelyDisk | None:
    path = path_of(CatalogDisk(limits), MachineLimits(""))
    fits: list[str] = []
    misses: list[str] = []
    offs: list[float] = []
    for level in levels:
        expected = expect_on(path, level.load)
        if expected is None:
            return None
        states = (expected.lasting, expected.begin)
        caps = [state.bounds[0] for state in states if state.bounds]
        caps = [cap for cap in caps if cap.limit not in _NOT_CAPS and not cap.is_range]
        best = min((abs(level.iops / cap.iops - 1) for cap in caps), default=1.0)
        cap = min(caps, key=lambda one: abs(level.iops / one.iops - 1), default=None)
        beside = "no cap" if cap is None else f"{format_iops(cap.iops)}, {best:.1%} off"
        words = f"{level.name}: {format_iops(level.iops)} IOPS of {beside}"
        (fits if best <= NEAR else misses).append(words)
        if best <= NEAR:
            offs.append(best)
        if level.fell_from is None or level.after_s is None:
            continue
        lasts, before = expected.lasts_s, expected.begin.iops
        said = f"{level.name}: fell after {format_duration_s(level.after_s)}"
        if lasts is None:
            misses.append(f"{said}, and this disk has no bucket")
            continue
        arithmetic = f"{said}, by arithmetic {format_duration_s(lasts)}"
        near = abs(level.after_s / lasts - 1) <= _NEAR_FALL
        near = near and abs(level.fell_from / before - 1) <= _NEAR_FALL
        (fits if near else misses).append(arithmetic)
        if near:
            offs.append(abs(level.after_s / lasts - 1))
    proof = len(fits) - free  # a size that was chosen to fit a level proves nothing by it
    asked = len(fits) + len(misses)
    if proof < (1 if asked == 1 or free else 2) or len(fits) < len(misses):
        return None
    size = f"{limits.size_gib:g}"
    return LikelyDisk(
        disk=f"{cloud}:{limits.disk_type}:{size}",
        tier=limits.tier,
        until=limits.until,
        fits=tuple(fits),
        misses=tuple(misses),
        off=sum(offs) / len(offs),
        proof=proof,
    )
