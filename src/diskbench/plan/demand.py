"""A load that a disk is asked to carry, and whether gates carry it: pure.

A load is a series of stages (catalog/expect.py). With the cost c of a block at a gate, the stage
uses u = rate × c of it a second. A gate carries the series if it allows every u at once,

    u <= burst                  the baseline where there is no bucket

and its bucket never runs dry: B starts full, dB/dt = baseline - u within B <= C (upwards at most
`refill_per_s`), B >= 0. Gates do not depend on each other while all carry the load, so each is
asked alone. A load that comes every day is carried if the second day ends with no less credit
than the first: then every further day is like the second. What lasts without end gets the
baseline.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate

from diskbench.catalog import bucket
from diskbench.catalog.cost import MONTH_HOURS
from diskbench.catalog.expect import Simulation, Stage, simulate
from diskbench.catalog.path import Gate, Path, issued, ways
from diskbench.catalog.prices import Work
from diskbench.importers.load import Recorded
from diskbench.model.expectation import LIMIT_WORDS, Load
from diskbench.units import format_duration_s, format_iops, format_mb_per_s, format_share

DAY_S = 86_400.0
MONTH_S = MONTH_HOURS * 3600
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Demand:
    """What a disk has to hold and to carry: stages from full buckets, once or every day.
    `in_mb_per_s`: its rate was asked in bytes. `begins_s` are the recorded times of stages, Unix
    time of the recorded clock if it `is_dated`."""

    size_gib: int
    stages: tuple[Stage, ...]
    daily: bool = False
    p99_ms: float | None = None
    in_mb_per_s: bool = False
    begins_s: tuple[float, ...] = ()
    is_dated: bool = False
    _used: dict[object, tuple[tuple[float, float], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def used_of(self, gate: Gate) -> tuple[tuple[float, float], ...]:
        """Return the seconds of each stage and what it uses of a gate a second."""
        key = (gate.counts, gate.covers, gate.accounting, gate.allowance.is_range)
        if key not in self._used:
            self._used[key] = tuple((stage.seconds, _used(gate, stage)) for stage in self.stages)
        return self._used[key]

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """The different loads of its stages."""
        return tuple(dict.fromkeys(stage.load for stage in self.stages if stage.load))

    @property
    def rate(self) -> float | None:
        """The blocks a second of the one load that it has; None where there are several."""
        return self.loads[0].max_per_s if len(self.loads) == 1 else None

    @property
    def most_iops(self) -> float:
        """The highest rate in blocks a second."""
        return max((load.max_per_s or 0.0 for load in self.loads), default=0.0)

    @property
    def bytes_each(self) -> float:
        """The block size of its first load."""
        return float(self.loads[0].block_bytes) if self.loads else 1.0

    @cached_property
    def read_share(self) -> float:
        """The share of reads in all blocks."""
        blocks = [(stage.load.read_share, _blocks(stage)) for stage in self.stages if stage.load]
        whole = sum(count for _, count in blocks)
        return sum(share * count for share, count in blocks) / whole if whole else 1.0

    def month(self) -> list[Work]:
        """The requests of a month: of a load that comes once, as if it went on like that."""
        period = sum(stage.seconds for stage in self.stages if not math.isinf(stage.seconds))
        times = MONTH_S / period if period else 1.0
        return [
            Work(
                requests=_blocks(stage) * times,
                request_bytes=stage.load.block_bytes,
                seconds=min(stage.seconds, MONTH_S) * times,
            )
            for stage in self.stages
            if stage.load
        ]


def constant(
    load: Load,
    size_gib: int,
    seconds: float,
    p99_ms: float | None = None,
    *,
    in_mb_per_s: bool = False,
) -> Demand:
    """The demand of a load that comes every day for `seconds` on end; from a day on, without end.
    `load.max_per_s` is its rate."""
    daily = seconds < DAY_S
    idle = (Stage(None, seconds=DAY_S - seconds),) if daily else ()
    stages = (Stage(load, seconds=seconds if daily else math.inf), *idle)
    return Demand(size_gib, stages, daily, p99_ms, in_mb_per_s)


def recorded(load: Recorded, size_gib: int, p99_ms: float | None = None) -> Demand:
    """The demand of a recorded load, once, from full buckets. A sample is a load of its mean block
    size. What a disk does not serve in its time is not asked for later."""
    stages = tuple(
        Stage(
            Load(
                block_bytes=max(512, round((sample.read_bytes + sample.write_bytes) / sample.ios)),
                read_share=sample.reads / sample.ios,
                max_per_s=sample.ios,
            )
            if sample.ios > 0
            else None,
            seconds=sample.seconds,
        )
        for sample in load.samples
    )
    begins = tuple(sample.at_s for sample in load.samples)
    return Demand(size_gib, stages, p99_ms=p99_ms, begins_s=begins, is_dated=load.is_dated)


def _blocks(stage: Stage) -> float:
    assert stage.load is not None
    return (stage.load.max_per_s or 0.0) * min(stage.seconds, MONTH_S)


def _used(gate: Gate, stage: Stage) -> float:
    load = stage.load
    if load is None:
        return 0.0
    made = {way: issued(load, way, "assumed") for way in ways(load)}
    return (load.max_per_s or 0.0) * gate.cost(load, made)


def carries(gates: Iterable[Gate], demand: Demand, factor: float = 1.0) -> bool:
    """Whether gates carry `factor` times a demand."""
    return all(_carries(gate, demand, factor) for gate in gates)


def _carries(gate: Gate, demand: Demand, factor: float) -> bool:
    stages, allowance = demand.used_of(gate), gate.allowance
    most = max((used for _, used in stages), default=0.0) * factor
    held = gate.capacity
    if most <= (allowance.baseline if held else allowance.ceiling) * ROUNDING:
        return True
    if not held or most > allowance.ceiling * ROUNDING:
        return False
    balance, ends = held, []
    for _ in range(2 if demand.daily else 1):
        for seconds, used in stages:
            asked, refill = used * factor, gate.refill_per_s
            balance = bucket.balance_after(
                allowance, balance, asked, seconds, refill_per_s=refill, owed=math.inf
            )
            if balance < -held * 1e-9:
                return False
        ends.append(balance)
    return ends[-1] >= ends[0] * (1 - 1e-9)


def headroom(gates: Iterable[Gate], demand: Demand) -> float:
    """The largest factor by which a demand may grow and still be carried; infinite where nothing
    limits it. Of a recorded load to 0.2 %, for each try walks through all of it."""
    least, near = math.inf, 1.002 if demand.begins_s else 1 + 1e-7
    for gate in gates:
        most = max((used for _, used in demand.used_of(gate)), default=0.0)
        if not most:
            continue
        high = min(gate.allowance.ceiling / most, least)
        low = gate.allowance.baseline / most if gate.capacity else high
        while high > low * near:
            middle = (low + high) / 2
            low, high = (middle, high) if _carries(gate, demand, middle) else (low, middle)
        least = min(least, high if low >= high else low)
    return least


def why(path: Path, demand: Demand) -> str:
    """How a path fails a demand: `3,000 IOPS (disk IOPS), 1,500 after 43 min`; "" if it carries it
    once."""
    if demand.begins_s:
        return _late_words(simulate(path, demand.stages), demand)
    words = list[str]()
    for leg in simulate(path, demand.stages).legs:
        load = demand.stages[leg.stage].load
        if load is None or leg.iops >= (load.max_per_s or 0.0) / ROUNDING:
            continue
        rate = format_mb_per_s(leg.bytes_per_s) if demand.in_mb_per_s else format_iops(leg.iops)
        after = f" after {format_duration_s(leg.start_s)}" if leg.start_s else ""
        if words:
            return f"{words[0]}, {rate}{after}"
        limit = f" ({LIMIT_WORDS[leg.limited_by]})" if leg.limited_by else ""
        words.append(f"{rate} {'MB/s' if demand.in_mb_per_s else 'IOPS'}{after}{limit}")
    if not words and demand.daily:
        return "the credit spent in a day is not regained by the next"
    return "".join(words)


def _late_words(course: Simulation, demand: Demand) -> str:
    """When a recorded load is throttled: `11 % of the time, Tue 02:10 to 03:40 the longest`."""
    stretches = list[tuple[float, float]]()
    starts_s = list(accumulate((stage.seconds for stage in demand.stages), initial=0.0))
    limits = set[str]()
    for leg in course.legs:
        load = demand.stages[leg.stage].load
        if load is None or leg.iops >= (load.max_per_s or 0.0) / ROUNDING:
            continue
        begin = demand.begins_s[leg.stage] + leg.start_s - starts_s[leg.stage]
        end = begin + leg.seconds
        if stretches and begin - stretches[-1][1] < 1.0:
            begin = stretches.pop()[0]
        stretches.append((begin, end))
        limits.add(LIMIT_WORDS[leg.limited_by] if leg.limited_by else "")
    if not stretches:
        return ""
    late = sum(end - begin for begin, end in stretches)
    share = late / sum(stage.seconds for stage in demand.stages)
    begin, end = max(stretches, key=lambda stretch: stretch[1] - stretch[0])
    when = " to ".join(
        f"{datetime.fromtimestamp(at, UTC):%a %H:%M}" if demand.is_dated else format_duration_s(at)
        for at in (begin, end)
    )
    longest = ", the longest" if len(stretches) > 1 else ""
    told = format_share(share if share < 0.1 else round(share, 2))
    return f"throttled {told} of the time, {when}{longest} ({' and '.join(sorted(limits))})"
