"""The expected rate of one load on a disk of a machine, for how long, and what limits it; and the
simulation of buckets over a sequence of stages: when credit runs out, and the rate after that
(docs/METHOD.md, "What a run should measure" and "Credit").

It is computed three times: with the assumed request sizes, latency and cache hits, with the least
favourable and with the most favourable plausible ones. `begin` holds with the given credit;
`lasting` is the final rate of the simulation under the same endless load. Nothing changes between
two events, so that steps from event to event: a bucket is empty, a stage reaches its time or bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from diskbench.catalog.lookup import DiskLimits
from diskbench.catalog.path import Cache, Case, Path, disk_gates, tightest, without_cache
from diskbench.model import expectation
from diskbench.model.expectation import Bound, Expectation, ExpectedLevel, LimitName, Load

if TYPE_CHECKING:
    import polars as pl


_CASES: tuple[Case, ...] = ("least", "assumed", "best")
_NO_LIMIT = Path()


def path_of(
    limits: DiskLimits,
    machine: Path = _NO_LIMIT,
    *,
    count: int = 1,
    cache: Cache = "none",
    time_scale: float = 1.0,
) -> Path:
    """Return the path through a machine (default: one that limits nothing) to its disk, or to
    `count` equal ones that share a load evenly. `time_scale` divides the capacity of the disks'
    buckets (the lab)."""
    if limits.place == "cache":
        cache = "local"
    gates = machine.gates if cache != "none" else without_cache(machine.gates)
    sources = [source.words() for source in limits.sources]
    return Path(
        (*disk_gates(limits, count=count, time_scale=time_scale), *gates),
        cache=cache,
        limits=limits,
        sources=tuple(dict.fromkeys([*sources, *(gate.source for gate in machine.gates)])),
        unknown=machine.unknown,
    )


def expect_on(
    path: Path, load: Load, *, credit: Sequence[float] | None = None
) -> Expectation | None:
    """Return what a load gets on a path; None if no limit is known. `credit` has one balance per
    gate; default: full."""
    return _expect_on(path, load, tuple(path.full() if credit is None else credit))


@lru_cache(maxsize=1024)  # cells of a matrix and published figures ask for few different ones
def _expect_on(path: Path, load: Load, held: tuple[float, ...]) -> Expectation | None:
    costs = {case: path.costs(load, case) for case in _CASES}
    begin = _level(path, load, costs, dict.fromkeys(_CASES, held))
    if begin is None:
        return None
    lasting, lasts_s = begin, math.inf
    if any(path.full()):  # without a bucket nothing changes
        courses = {case: simulate(path, [Stage(load)], case=case, credit=held) for case in _CASES}
        left = {case: course.left for case, course in courses.items()}
        changed = _level(path, load, costs, left)
        assert changed is not None, "what limits it at first limits it at last"
        lasting, lasts_s = changed, courses["assumed"].legs[0].seconds
    requests = path.requests(load, "assumed")
    return Expectation(
        load=load,
        reads=requests.get("read"),
        writes=requests.get("write"),
        begin=begin,
        lasting=lasting,
        lasts_s=None if math.isinf(lasts_s) else lasts_s,
    )


def _level(
    path: Path,
    load: Load,
    costs: Mapping[Case, Sequence[float]],
    credit: Mapping[Case, Sequence[float]],
) -> ExpectedLevel | None:
    bounds = {case: path.bounds(load, costs[case], credit[case], case) for case in _CASES}
    rates = [tightest(of_case) for of_case in bounds.values()]
    if math.isinf(max(rates)):
        return None
    assumed = bounds["assumed"]
    return ExpectedLevel(
        iops=assumed[0].iops,
        low_iops=min(rates),
        high_iops=max(rates),
        bytes_per_s=assumed[0].iops * load.block_bytes,
        limited_by=assumed[0].limit,
        bounds=assumed,
        others=_others(bounds),
    )


def _others(bounds: dict[Case, tuple[Bound, ...]]) -> tuple[Bound, ...]:
    """Return the tightest cap of the least and the best case, where the assumed case has no bound
    of its limit at its rate."""
    known = {(bound.limit, bound.iops) for bound in bounds["assumed"]}
    others: dict[tuple[LimitName, float], Bound] = {}
    for case in ("least", "best"):
        cap = next((b for b in bounds[case] if b.limit not in expectation.NOT_CAPS), None)
        if cap and not cap.is_range and (cap.limit, cap.iops) not in known:
            others.setdefault((cap.limit, cap.iops), cap)
    return tuple(others.values())


@dataclass(frozen=True)
class Stage:
    """A load for so many seconds, or until so many bytes were moved, whichever comes first, after
    `idle_s` without one. Without a load the buckets refill. `reached` is the rate at which it ran,
    where that was measured, in blocks a second. `credit_is_held`: the load gets what full buckets
    give, and the balances stay as they are (how the lab fills a disk). `is_one`: the load is that
    of all jobs of a step."""

    load: Load | None
    seconds: float = math.inf
    bytes: float = math.inf
    credit_is_held: bool = False
    is_one: bool = True
    reached: float | None = None
    idle_s: float = 0.0


@dataclass(frozen=True)
class Leg:
    """A stretch of one stage at one rate, in blocks of its load; the last one may last for ever.
    `limited_by` is None for one without load, `emptied` are the gates whose buckets are used up at
    its end."""

    stage: int
    start_s: float
    seconds: float
    iops: float
    bytes_per_s: float
    limited_by: LimitName | None
    emptied: tuple[int, ...] = ()

    @property
    def end_s(self) -> float:
        """When it ends."""
        return self.start_s + self.seconds


@dataclass(frozen=True)
class Simulation:
    """What happened. `credit` is the balance of each gate when each stage begins; `left` when all
    have ended, or, of a stage without end, when nothing changes any more."""

    legs: tuple[Leg, ...]
    credit: tuple[tuple[float, ...], ...]
    left: tuple[float, ...]

    def of_stage(self, number: int) -> tuple[Leg, ...]:
        """Return the legs of one stage."""
        return tuple(leg for leg in self.legs if leg.stage == number)

    def first_empty(self, gate: int) -> Leg | None:
        """Return the leg at whose end a gate's bucket is first empty; None: never."""
        return next((leg for leg in self.legs if gate in leg.emptied), None)


def simulate(
    path: Path,
    stages: Iterable[Stage],
    *,
    case: Case = "assumed",
    credit: Sequence[float] | None = None,
) -> Simulation:
    """Simulate stages one after the other on a path, from full buckets or the given balances.

    Only the last stage may be endless. A load that no known limit bounds ends its stage.
    """
    balances = list(path.full() if credit is None else credit)
    legs, begun = list[Leg](), list[tuple[float, ...]]()
    at = 0.0
    for number, stage in enumerate(stages):
        if stage.idle_s > 0:
            at += stage.idle_s
            idle = zip(path.gates, balances, strict=True)
            balances = [gate.balance_after(held, 0.0, stage.idle_s) for gate, held in idle]
        begun.append(tuple(balances))
        load = stage.load
        if load is not None and stage.reached is not None:
            load = load.model_copy(update={"max_per_s": stage.reached})
        costs = path.costs(load, case) if load else (0.0,) * len(path.gates)
        seconds, blocks = stage.seconds, stage.bytes / (load.block_bytes if load else 1)
        while seconds > 0 and blocks > 0:
            held = path.full() if stage.credit_is_held else balances
            bounds = path.bounds(load, costs, held, case) if load else ()
            rate = tightest(bounds) if load else 0.0
            if math.isinf(rate):
                break
            drains = [0.0] * len(costs) if stage.credit_is_held else _drains(path, costs, rate)
            until = [seconds, blocks / rate if rate else math.inf]
            until += [b / d for b, d in zip(balances, drains, strict=True) if b > 0 and d > 0]
            length = min(until)
            moved = rate * load.block_bytes if load else 0.0
            limit, emptied = bounds[0].limit if bounds else None, list[int]()
            is_still = stage.credit_is_held or math.isinf(length)
            moving = () if is_still else zip(path.gates, costs, strict=True)
            for index, (gate, cost) in enumerate(moving):
                was = balances[index]
                # After exactly the time to empty, the balance is 0 despite rounding errors.
                done = was > 0 and drains[index] > 0 and was / drains[index] <= length
                balances[index] = 0.0 if done else gate.balance_after(was, rate * cost, length)
                emptied += [index] if done else []
            legs.append(Leg(number, at, length, rate, moved, limit, tuple(emptied)))
            if math.isinf(length):
                break
            at += length
            seconds -= length
            blocks = 0.0 if length == until[1] else blocks - rate * length
    return Simulation(tuple(legs), tuple(begun), tuple(balances))


def _drains(path: Path, costs: Sequence[float], rate: float) -> list[float]:
    """What each bucket loses a second; nothing where it loses only what rounding makes of it."""
    bases = [gate.allowance.baseline for gate in path.gates]
    drains = [(rate * cost - base, base) for cost, base in zip(costs, bases, strict=True)]
    return [drain if drain > base * 1e-9 else 0.0 for drain, base in drains]


def course_frame(path: Path, load: Load, *, seconds: float, credit: float) -> pl.DataFrame:
    """Return one row per stretch of time with a constant rate; docs/api.md lists the columns.
    `credit` is the initial fill of the buckets (1 is full)."""
    import polars as pl

    held = [balance * credit for balance in path.full()]
    legs = simulate(path, [Stage(load, seconds=seconds)], credit=held).legs
    rows = [
        (
            leg.start_s,
            min(leg.end_s, seconds),
            leg.iops,
            leg.bytes_per_s,
            leg.limited_by and expectation.LIMIT_WORDS[leg.limited_by],
        )
        for leg in legs
        if not math.isinf(leg.iops)
    ]
    numbers = dict.fromkeys(("start_s", "end_s", "iops", "bytes_per_s"), pl.Float64)
    return pl.DataFrame(rows, schema={**numbers, "limited_by": pl.String}, orient="row")
