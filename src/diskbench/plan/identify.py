"""Which disks of the catalogue behave as one that was measured: pure.

A level is a load with the rate that it reached. A disk of the catalogue fits a level where its rate
lies within 7 % of what its tightest cap allows, with credit, without, or with the credit that
flowed in during a pause before the step (catalog/expect.py, from full buckets and what the
steps before it did); averages and ranges and latencies fit nothing. All dated versions are tried,
disks without a bucket too. Where a figure grows with the size or is bought, the sizes and the
figures tried are those that the levels ask for; such a level then fits by construction and is not
counted. A fall fits where burst, baseline and the time until it agree with the bucket of the disk
within 10 %.

Disks are ranked by

    cost = Σ over figures  min(distance / 5 %, 2)  +  2 × figures that were chosen to fit

so that a figure that was missed by little counts little, and one that was bought has to explain
others, too. One fits at all only if at least two things fit, or
the only one that was measured does, and at least as many fit as do not.
Of a disk with bought figures everything must fit, two things beside those figures. The factors are
our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.catalog.entry import clouds
from diskbench.catalog.expect import CatalogDisk, Stage, expect_on, path_of, simulate
from diskbench.catalog.machine import MachineLimits
from diskbench.plan.disk_candidates import NEAR, candidates
from diskbench.units import format_duration_s, format_iops

if TYPE_CHECKING:
    from diskbench.catalog.path import Path
    from diskbench.model.expectation import Bound, ExpectedLevel, Load
    from diskbench.plan.disk_candidates import DiskCandidate

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
