"""Which disks of the catalogue behave as one that was measured: pure.

A level is a load with the rate that it reached. A disk of the catalogue fits a level where its rate
lies within 7 % of what its tightest cap allows, with credit, without, or with the credit that
flowed in during a pause before the step (catalog/expect.py, from full buckets and what the steps
before it did); averages and ranges and latencies fit nothing. All dated versions are tried, disks
without a bucket too. Where a figure grows with the size or is bought, the sizes and the figures
tried are those that the levels ask for; such a level then fits by construction and is not counted.
A fall fits where burst, baseline and the time until it agree with the bucket of the disk within
10 %.

Disks are ranked by

    cost = Σ over figures  min(distance / 5 %, 2)  +  2 × figures that were chosen to fit

so that a figure that was missed by little counts little, and one that was bought has to explain
others, too. One fits at all only if at least two things fit, or the only one that was measured
does, and at least as many fit as do not. Of a disk with bought figures everything must fit, two
things beside those figures. The factors are our choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from diskbench.catalog.bucket import NO_RULE
from diskbench.catalog.entry import Catalogue, DiskEntry, catalogue, clouds
from diskbench.catalog.expect import CatalogDisk, Stage, expect_on, path_of, simulate
from diskbench.catalog.lookup import DiskLimits, limits_of
from diskbench.catalog.machine import MachineLimits
from diskbench.catalog.path import Path
from diskbench.catalog.sourced_figures import GIB_PER_TIB, Quantity
from diskbench.errors import UserError
from diskbench.model.expectation import Bound, ExpectedLevel, Load
from diskbench.units import format_duration_s, format_iops

_UNIT, _MISSED, _CHOSEN = 0.05, 2.0, 2.0
_NEAR_FALL = 0.10
_REFILLED = 1.5
"""Between the rate without credit and this multiple of it a short step after a pause fits; a longer
pause would let anything fit. Our choice."""
_NOT_CAPS = frozenset({"latency", "offered"})


@dataclass(frozen=True)
class Level:
    """A rate in blocks a second that a load reached. Where it fell there, `fell_from` is the rate
    before and `after_s` how long that lasted. `mean_iops` is the rate of the whole step of
    `seconds`, and `idle_s` the pause before it; None: not known, and then no credit that flowed in
    before it is considered."""

    name: str
    load: Load
    iops: float
    fell_from: float | None = None
    after_s: float | None = None
    mean_iops: float | None = None
    seconds: float | None = None
    idle_s: float = 0.0


@dataclass(frozen=True)
class LikelyDisk:
    """A disk of the catalogue as `--as-disk` takes it, with the name of its tier, the last day of
    its limits if they were replaced, and what fits and what does not, each a clause. `off` is the
    mean distance of what fits, as a fraction; `proof` is how many figures fit beyond those that
    were chosen to fit; the lower the `cost`, the better."""

    disk: str
    tier: str | None
    until: str | None
    fits: tuple[str, ...]
    misses: tuple[str, ...]
    off: float
    proof: int
    cost: float


def identify(
    levels: Sequence[Level],
    *,
    cloud: str | None = None,
    day: str | None = None,
    time_scale: float = 1.0,
    is_fresh: bool = False,
    fits_bought: bool = True,
) -> tuple[LikelyDisk, ...]:
    """Return the disks that fit, the best first; none if nothing does. `cloud` and `day`
    (`2018-03-16`) leave out what was not sold there or then. `time_scale` divides the capacity of
    buckets, as on the lab. `is_fresh`: the disk was new when the first level was measured, so its
    buckets were full. `fits_bought`: figures that are bought may be the measured ones, else
    they are the defaults."""
    likely = [
        fit
        for name in clouds()
        if cloud is None or name == cloud
        for candidate in candidates(name, levels, day, fits_bought=fits_bought)
        if (fit := _fit(name, candidate, levels, time_scale, is_fresh=is_fresh)) is not None
    ]
    ranked: dict[str, LikelyDisk] = {}
    for fit in sorted(likely, key=lambda fit: (fit.cost, fit.off, fit.disk)):
        ranked.setdefault(fit.disk, fit)  # the best of a disk's dated versions
    return tuple(ranked.values())


def _fit(
    cloud: str,
    candidate: DiskCandidate,
    levels: Sequence[Level],
    time_scale: float,
    *,
    is_fresh: bool,
) -> LikelyDisk | None:
    limits = candidate.limits
    path = path_of(CatalogDisk(limits, time_scale=time_scale), MachineLimits(""))
    means = _means(path, levels)
    fits: list[str] = []
    misses: list[str] = []
    offs: list[float] = []
    cost = _CHOSEN * candidate.free
    for level, mean in zip(levels, means, strict=True):
        expected = expect_on(path, level.load)
        if expected is None:
            return None
        states = (expected.lasting, expected.begin)
        caps = [cap for state in states if (cap := _tightest(state)) is not None]
        least = caps[0].iops if caps else 0.0
        if caps and mean is not None:
            promised = caps[0].model_copy(update={"iops": mean})
            caps = [promised] if is_fresh else [*caps, promised]
        best = min((abs(level.iops / cap.iops - 1) for cap in caps), default=1.0)
        if level.load.depth == 1 and caps and level.iops < (1 - NEAR) * least:
            continue  # one I/O at a time need not reach any limit
        # Of what flows in during a pause a bucket may keep less: it was full, or owed something.
        is_between = mean is not None and least < level.iops < mean < _REFILLED * least
        cap = min(caps, key=lambda bound: abs(level.iops / bound.iops - 1), default=None)
        beside = "no cap" if cap is None else f"{format_iops(cap.iops)}, {best:.1%} off"
        words = f"{level.name}: {format_iops(level.iops)} IOPS of {beside}"
        is_fit = best <= NEAR or is_between
        cost += min((0.0 if is_between else best) / _UNIT, _MISSED)
        (fits if is_fit else misses).append(words)
        if is_fit:
            offs.append(best)
        if level.fell_from is None or level.after_s is None:
            continue
        lasts, before = expected.lasts_s, expected.begin.iops
        fell = f"{level.name}: fell after {format_duration_s(level.after_s)}"
        if lasts is None:
            misses.append(f"{fell}, and this disk has no bucket")
            cost += _MISSED
            continue
        arithmetic = f"{fell}, by arithmetic {format_duration_s(lasts)}"
        near = abs(level.after_s / lasts - 1) <= _NEAR_FALL
        near = near and abs(level.fell_from / before - 1) <= _NEAR_FALL
        (fits if near else misses).append(arithmetic)
        cost += min(abs(level.after_s / lasts - 1) / _UNIT, _MISSED) if near else _MISSED
        if near:
            offs.append(abs(level.after_s / lasts - 1))
    free = candidate.free
    proof = len(fits) - free  # a size that was chosen to fit a level proves nothing by it
    asked = len(fits) + len(misses)
    least = 2 if candidate.bought else 1 if asked == 1 or free else 2
    is_chance = candidate.bought and misses  # what is bought as measured must explain the rest
    if proof < least or is_chance or len(fits) < len(misses):
        return None
    size = f"{limits.size_gib:g}"
    return LikelyDisk(
        disk=f"{cloud}:{limits.disk_type}:{size}{candidate.bought}",
        tier=limits.tier,
        until=limits.until,
        fits=tuple(fits),
        misses=tuple(misses),
        off=sum(offs) / len(offs),
        proof=proof,
        cost=cost,
    )


def _tightest(state: ExpectedLevel) -> Bound | None:
    """Return the tightest cap of a level; a range and a latency are not caps."""
    caps = (bound for bound in state.bounds if bound.limit not in _NOT_CAPS and not bound.is_range)
    return next(caps, None)


def _means(path: Path, levels: Sequence[Level]) -> list[float | None]:
    """Return the mean rate that each level's step should have: at full load, for its time, with the
    credit that the steps and pauses before it left in buckets that were full at first. None for a
    disk without a bucket, where a step's time is not known, or where no cap is reached."""
    means: list[float | None] = []
    credit = path.full()
    for level in levels:
        seconds, rate = level.seconds, level.mean_iops
        if seconds is None or rate is None or not any(path.full()):
            return [None] * len(levels)
        credit = simulate(path, [Stage(None, seconds=level.idle_s)], credit=credit).left
        course = simulate(path, [Stage(level.load, seconds=seconds)], credit=credit)
        is_capped = all(leg.limited_by not in _NOT_CAPS for leg in course.legs)
        done = sum(leg.iops * leg.seconds for leg in course.legs)
        means.append(done / seconds if is_capped and done > 0 and level.fell_from is None else None)
        if level.fell_from is not None:  # it ended without credit, whatever was drawn before
            credit = simulate(path, [Stage(level.load)], credit=credit).left
            continue
        held = level.load.model_copy(update={"max_per_s": rate})
        credit = simulate(path, [Stage(held, seconds=seconds)], credit=credit).left
    return means


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
