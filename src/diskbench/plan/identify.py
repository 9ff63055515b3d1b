"""Which disks of the catalogue behave as one that was measured: pure.

A level is a load with the rate that it reached. A disk of the catalogue fits a level where its rate
lies within 10 % of what its tightest cap allows, with credit, without, or with the credit that
flowed in during a pause before the step (catalog/expect.py, from full buckets and what the steps
before it did); averages and ranges and latencies fit nothing. All dated versions are tried, disks
without a bucket too. Where a figure grows with the size or is bought, the sizes and the figures
tried are those that the levels ask for; such a level then fits by construction and is not counted.
A fall fits where burst, baseline and the time until it agree with the bucket of the disk within
10 %.

One figure identifies nothing: some disk of any cloud has it. Disks are ranked by

    off = mean over figures of min(distance, 10 %), 10 % of one that does not fit, and as much
          again for each that was chosen to fit

so that a figure that was missed by little counts little, and one that was bought has to explain
others, too. One fits at all only if at least two things fit beside what was chosen, and at least
twice as many as do not. Of a disk with bought figures everything must fit. One I/O at a time
need not reach any limit. The factors are our choice.

A fall between the runs of a trial fits where a bucket that was full before the first of them, less
what was done since, ends within 10 % and one run of it. The limits of machines, without a disk's,
are candidates, too, unless the machine is known: then they hold for every disk.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from diskbench.analysis.caps import SAVED_S, SHORT_S
from diskbench.catalog.books import Books
from diskbench.catalog.bucket import NO_RULE, SharedLimits, capacity
from diskbench.catalog.expect import Stage, expect_on, path_of, simulate
from diskbench.catalog.lookup import DiskLimits, limits_of, promise
from diskbench.catalog.machine import machine_of
from diskbench.catalog.path import Gate, Path, without_cache
from diskbench.catalog.shipped import Catalogue, DiskEntry, catalogue, clouds
from diskbench.catalog.sourced_figures import GIB_PER_TIB, Quantity
from diskbench.errors import UserError
from diskbench.model.expectation import NOT_CAPS, Expectation, Load
from diskbench.units import (
    KIB,
    MIB,
    SHOWN_AS_BYTES,
    counted,
    format_duration_s,
    format_iops,
    format_mb_per_s,
)

_UNIT, _MISSED, _CHOSEN = 0.05, 2.0, 2.0
_FEWEST, _FIGURES_OF_A_FALL, _FOR_EACH_MISS = 2, 3, 2
_NEAR_FALL = 0.10
_ANY_MACHINE = Path()
_REFILLED = 1.5
"""Between the rate without credit and this multiple of it a short step after a pause fits; a longer
pause would let anything fit. Our choice."""
_MOST_TYPES = 5
_AS_WELL = 0.005


@dataclass(frozen=True)
class Level:
    """A rate in blocks a second that a load reached. Where it fell there, `fell_from` is the rate
    before and `after_s` how long that lasted. `mean_iops` is the rate of the whole step of
    `seconds`, and `idle_s` the pause before it; None: not known, and then no credit that flowed in
    before it is considered. Where it fell between two runs, `earlier` is what was done before that
    of the fall, which lasted `slack_s`."""

    name: str
    load: Load
    iops: float
    fell_from: float | None = None
    after_s: float | None = None
    mean_iops: float | None = None
    seconds: float | None = None
    idle_s: float = 0.0
    earlier: tuple[Stage, ...] = ()
    slack_s: float = 0.0

    def words(self, iops: float) -> str:
        """A rate of this load: `3,000 IOPS`, in large blocks `93.8 MB/s`."""
        block = self.load.block_bytes
        large = block >= SHOWN_AS_BYTES
        return f"{format_mb_per_s(iops * block)} MB/s" if large else f"{format_iops(iops)} IOPS"


@dataclass(frozen=True)
class LikelyDisk:
    """A disk of the catalogue as `--as-disk` takes it (or a machine, whose limits alone fit), with
    the name of its tier, what it promises, the last day of its limits if they were replaced, and
    what fits and what does not, each a clause. `off` is how far it is off, as a fraction: the lower
    the better. `proof` is how many figures fit beyond those that were chosen to fit."""

    disk: str
    tier: str | None
    until: str | None
    fits: tuple[str, ...]
    misses: tuple[str, ...]
    off: float
    proof: int
    promise: str = ""

    @property
    def kind(self) -> str:
        """Its cloud and type: `CLOUD:TYPE`."""
        return ":".join(self.disk.split(":")[:2])


def identify(
    levels: Sequence[Level],
    *,
    cloud: str | None = None,
    day: str | None = None,
    time_scale: float = 1.0,
    is_fresh: bool = False,
    fits_bought: bool = True,
    books: Books | None = None,
    machine: Path = _ANY_MACHINE,
) -> tuple[LikelyDisk, ...]:
    """Return the disks that fit, the best first; none if nothing does. `cloud` and `day`
    (`2018-03-16`) leave out what was not sold there or then. `time_scale` divides the capacity of
    buckets, as on the lab. `is_fresh`: the disk was new when the first level was measured, so its
    buckets were full. `fits_bought`: figures that are bought may be the measured ones, else
    they are the defaults. `machine` has the limits of the machine where it is known; where it is
    not, those of the machines of `books` are tried."""
    if sum(1 if level.fell_from is None else _FIGURES_OF_A_FALL for level in levels) < _FEWEST:
        return ()
    likely = []
    for of_cloud in [name for name in clouds() if cloud in (None, name)]:
        for name, limits, free in candidates(of_cloud, levels, day, fits_bought=fits_bought):
            path = path_of(limits, machine, time_scale=time_scale)
            likely.append(_fit(name, path, free, levels, is_fresh=is_fresh))
        if books and not machine.gates:
            found = machines(books, of_cloud, levels)
            likely += [_fit(name, path, 0, levels, is_fresh=is_fresh) for name, path in found]
    ranked: dict[str, LikelyDisk] = {}
    known = [fit for fit in likely if fit is not None]
    for fit in sorted(known, key=lambda fit: (round(fit.off, 3), -fit.proof, fit.disk)):
        ranked.setdefault(fit.disk, fit)  # the best of a disk's dated versions
    return tuple(ranked.values())


def by_type(likely: Sequence[LikelyDisk]) -> tuple[tuple[LikelyDisk, ...], ...]:
    """Return the types of a ranking, at most five: of each its best disk, and those that fit about
    as well."""
    types: dict[str, list[LikelyDisk]] = {}
    for fit in likely:
        of_type = types.setdefault(fit.kind, [])
        if not of_type or fit.off <= of_type[0].off + _AS_WELL:
            of_type.append(fit)
    return tuple(map(tuple, list(types.values())[:_MOST_TYPES]))


def sizes_of(of_type: Sequence[LikelyDisk]) -> tuple[float, ...]:
    """Return the sizes of the disks of one type; none of machines."""
    parts = [fit.disk.split(":") for fit in of_type]
    return tuple(float(size) for _, kind, size, *_ in parts if kind != _MACHINE)


def type_words(of_type: Sequence[LikelyDisk]) -> str:
    """`CLOUD:TYPE of 1 to 33 GiB: 100 IOPS, bursts to 3,000; 134 MB/s`."""
    best, sizes = of_type[0], sizes_of(of_type)
    if not sizes:
        others = len(of_type) - 1
        alike = f" (or {counted(others, 'other kind')})" if others else ""
        return f"{best.disk}{alike}: {best.promise}"
    bought, low, high = best.disk.split(":")[3:], min(sizes), max(sizes)
    size = f"{low:g} to {high:,g} GiB" if low < high else f"{low:,g} GiB"
    size += f" ({best.tier})" if best.tier and low == high else ""
    size += f" with {', '.join(bought)}" if bought else ""
    until = f" (limits until {best.until})" if best.until else ""
    return f"{best.kind} of {size}{until}: {best.promise}"


def _fit(
    name: str, path: Path, free: int, levels: Sequence[Level], *, is_fresh: bool
) -> LikelyDisk | None:
    limits = path.limits
    assert limits is not None, "a candidate has the limits that it is tried with"
    is_bought, is_machine = name.count(":") > 2, name.split(":")[1] == _MACHINE
    means = _means(path, levels)
    fits: list[str] = []
    misses: list[str] = []
    cost, proof, has_fallen = _CHOSEN * free, 0, False
    for level, mean in zip(levels, means, strict=True):
        expected = expect_on(path, level.load)
        if expected is None:
            return None
        bounds = [[b for b in of.bounds if b.is_cap] for of in (expected.lasting, expected.begin)]
        caps = [of_state[0] for of_state in bounds if of_state]
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
        beside = "no cap" if cap is None else f"{level.words(cap.iops)}, {best:.1%} off"
        words = f"{level.name}: {level.words(level.iops)} of {beside}"
        is_fit = best <= NEAR or is_between
        cost += min((0.0 if is_between else best) / _UNIT, _MISSED)
        (fits if is_fit else misses).append(words)
        if level.fell_from is None or level.after_s is None:
            continue
        lasts, before = _lasts(path, level, expected), expected.begin.iops
        fell = f"{level.name}: fell after {format_duration_s(level.after_s)}"
        if lasts is None:
            misses.append(f"{fell}, but this disk has no burst credit")
            cost += _MISSED
            continue
        if has_fallen:
            continue  # what a bucket held after an earlier fall is not known as well
        has_fallen = True
        late = max(0.0, abs(level.after_s - lasts) - level.slack_s) / lasts
        near = late <= _NEAR_FALL and _is_burst(level, before)
        (fits if near else misses).append(f"{fell}, expected after {format_duration_s(lasts)}")
        proof += near  # both the rate before it and the time
        cost += min(late / _UNIT, _MISSED) if near else _MISSED
    proof += len(fits) - free  # a size chosen to fit a level proves nothing by it
    # What is bought as measured must explain the rest, and so must a machine that nobody named.
    is_chance = (is_bought or is_machine) and misses
    least = _FEWEST if is_bought or not free else 1
    if proof < least or is_chance or len(fits) < _FOR_EACH_MISS * len(misses):
        return None
    return LikelyDisk(
        disk=name,
        tier=limits.tier,
        until=limits.until,
        fits=tuple(fits),
        misses=tuple(misses),
        off=cost * _UNIT / (len(fits) + len(misses)),
        proof=proof,
        promise=promise(limits),
    )


def _is_burst(level: Level, before: float) -> bool:
    """Whether a level fell from a burst, or in a few seconds from that and a second of saved
    tokens."""
    most = 1 + _NEAR_FALL
    if level.seconds and level.seconds <= SHORT_S:
        most *= 1 + SAVED_S / level.seconds
    return (1 - _NEAR_FALL) * before <= (level.fell_from or 0.0) <= most * before


def _lasts(path: Path, level: Level, expected: Expectation) -> float | None:
    """Return when the credit ends, in seconds since it was full; None without a bucket."""
    if not level.earlier or expected.lasts_s is None:
        return expected.lasts_s
    course = simulate(path, [*level.earlier, Stage(level.load)])
    empty = [leg.end_s for leg in course.legs if leg.emptied]
    return min(empty, default=None)


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
        stage = Stage(level.load, seconds=seconds, idle_s=level.idle_s)
        course = simulate(path, [stage], credit=credit)
        is_capped = all(leg.limited_by not in NOT_CAPS for leg in course.legs)
        done = sum(leg.iops * leg.seconds for leg in course.legs)
        means.append(done / seconds if is_capped and done > 0 and level.fell_from is None else None)
        did = replace(stage, reached=rate)
        if level.fell_from is not None:  # it ended without credit, whatever was drawn before
            did = replace(stage, seconds=math.inf)
        credit = simulate(path, [did], credit=credit).left
    return means


NEAR = 0.10
"""Within this fraction a rate fits a figure of the catalogue; our choice."""
_BOUGHT_DIGITS = 3
"""A bought figure is tried with so many digits: people buy round ones, and no rate is surer."""
_BOUGHT_MOST = 4
"""Bought figures that are tried of one kind: levels of one limit lie together. Our choice."""


_MACHINE = "machine"
_NEAR_BURST = 0.05


def like(
    before: float, after: float, spent: float, *, counts: Literal["ios", "bytes"] = "ios"
) -> tuple[str, ...]:
    """Return the disks, as `--as-disk` takes them, with a bucket like one that ran empty: the burst
    is within 5 % of the level before the fall, the baseline within 10 % of that after it, and the
    capacity within 10 % of what was `spent` above it; our choice. Of the sizes of
    a type it is the nearest to 1 %, then that of the lowest baseline, then the largest; tiers are
    compared one by one, in I/Os only."""
    block = MIB if counts == "bytes" else 4 * KIB
    level = Level("", Load(block_bytes=block), after / block if counts == "bytes" else after)
    found: dict[str, tuple[float, float, float, str]] = {}
    for cloud in clouds():
        for name, limits, _ in candidates(cloud, [level], None, fits_bought=False):
            if limits.until is not None or (limits.tier is not None and counts == "bytes"):
                continue
            for pool in limits.pools:
                allowed = pool.iops if counts == "ios" else pool.bytes_per_s
                if allowed is None or not (held := capacity(allowed)):
                    continue
                off = abs(after / allowed.baseline - 1)
                is_like = abs(before / allowed.ceiling - 1) <= _NEAR_BURST and off <= NEAR
                if is_like and abs(spent / held - 1) <= NEAR:
                    rank = (round(off, 2), allowed.baseline, -limits.size_gib, name)
                    key = f"{cloud}:{limits.disk_type}:{limits.tier}"
                    found[key] = min(found.get(key, rank), rank)
    return tuple(name for *_, name in found.values())


def machines(books: Books, cloud: str, levels: Sequence[Level]) -> Iterator[tuple[str, Path]]:
    """Yield the limits of the machines of a cloud, those with the same ones together, if one of
    them is near a level, each with its name."""
    alike: dict[tuple[Gate, ...], list[str]] = {}
    book = books.of(cloud).machines
    for name in book.types:
        gates = without_cache(machine_of(books, cloud, name, "").gates)
        if gates:
            alike.setdefault(tuple(replace(gate, source="") for gate in gates), []).append(name)
    for gates, names in alike.items():
        rates = [
            gate.rate(has_credit=has_credit)
            / (level.load.block_bytes if gate.counts == "bytes" else 1)
            for gate, has_credit, level in product(gates, (True, False), levels)
        ]
        if any(abs(level.iops / rate - 1) <= NEAR for level in levels for rate in rates):
            first = {gate.counts: gate.allowance for gate in reversed(gates)}
            pool = SharedLimits("both", first.get("ios"), first.get("bytes"))
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            path = Path(gates, limits=DiskLimits("", 0.0, (pool,)))
            yield f"{cloud}:{_MACHINE}:{names[0]}{more}", path


def candidates(
    cloud: str, levels: Sequence[Level], day: str | None, *, fits_bought: bool
) -> Iterator[tuple[str, DiskLimits, int]]:
    """Yield the disks of a cloud to try, in all versions of their limits that were sold on `day`:
    their names as `--as-disk` takes them, and how many of their figures were chosen to fit.
    `fits_bought`: also with the figures that the levels ask for."""
    book = catalogue(cloud)
    for name, entry in book.disks.items():
        for version in entry.versions(day):
            dated = book.model_copy(update={"disks": {**book.disks, name: version}})
            if version.tiers is not None:
                sizes: dict[float, int] = {float(row.gib): 0 for row in version.tiers.rows}
            else:
                largest = float(version.size_gib.max if version.size_gib else 1)
                sizes = dict.fromkeys(_sizes(version, levels), 1)
                sizes = sizes or {_smallest(version): 0, largest: 0}
            for size, free in sizes.items():
                if limits := _limits(dated, name, size):
                    yield f"{cloud}:{name}:{size:g}", limits, free
            if fits_bought:
                yield from _bought(dated, name, version, levels)


def _bought(
    book: Catalogue, name: str, entry: DiskEntry, levels: Sequence[Level]
) -> Iterator[tuple[str, DiskLimits, int]]:
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
        if limits := _limits(book, name, size, iops, throughput):
            words = f":iops={iops:g}" if iops is not None else ""
            words += f":throughput={throughput:g}" if throughput is not None else ""
            yield f"{book.cloud}:{name}:{size:g}{words}", limits, free


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
    least, most = (entry.size_gib.min, entry.size_gib.max) if entry.size_gib else (1, 65536)
    for quantity in (entry.iops, entry.write_iops, entry.throughput, entry.throughput_burst):
        per_gib = quantity.per_gib + quantity.per_tib / GIB_PER_TIB if quantity else 0.0
        if quantity is None or not per_gib:
            continue
        for level in levels:
            block = level.load.block_bytes
            counted = charged.bytes(block) / quantity.unit_bytes
            rate = level.iops * (charged.ios(block) if quantity.unit is None else counted)
            size = (rate - quantity.base) / per_gib
            if least <= size <= most:
                sizes.add(float(round(size)))
            floor = (quantity.min or 0.0) / per_gib
            if floor and rate <= (1 + NEAR) * (quantity.min or 0.0):
                sizes |= {float(least), float(max(least, int(floor)))}
    return sorted(sizes)


def _smallest(entry: DiskEntry) -> float:
    return float(entry.size_gib.min if entry.size_gib else 1)


def _limits(
    book: Catalogue, name: str, size_gib: float, *bought: float | None
) -> DiskLimits | None:
    """The limits of a disk that has any; None where such a size or such a default is not sold."""
    try:
        limits = limits_of(book, name, size_gib, *bought)
    except UserError:
        return None
    return limits if limits.pools else None
