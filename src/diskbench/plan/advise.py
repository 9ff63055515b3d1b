"""Which disks of the catalogue carry a load, with the smallest machine that does not limit them,
and what both cost a month: pure.

A load is a series of stages (catalog/expect.py). With the cost c of a block at a gate, the stage
uses u = rate × c of it a second. A gate carries the series if it allows every u at once,

    u <= burst                  the baseline where there is no bucket

and its bucket never runs dry: B starts full, dB/dt = baseline - u within B <= C (upwards at most
`refill_per_s`), B >= 0. Gates do not depend on each other while all carry the load, so each is
asked alone. A load that comes every day is carried if the second day ends with no less credit
than the first: then every further day is like the second. What lasts without end gets the
baseline.

Of a type, the smallest size, or the least of what is provisioned, that carries the load is the
cheapest: no price falls with either. A machine is the cheapest current one of the provider whose
gates carry the load. No host cache is counted, because nothing says whether reads would hit it.
Disks inside a machine are left out: what is on them is lost when the machine stops.

A latency is documented of a request that no limit holds back. A target is met where the promised
worst is within it, missed where the usual is above it, and else it has to be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import accumulate
from typing import Literal

from pydantic import Field

from diskbench.catalog import bucket
from diskbench.catalog.books import Books
from diskbench.catalog.charges import Work
from diskbench.catalog.cost import MONTH_HOURS, disk_hourly_usd, monthly
from diskbench.catalog.entry import Catalogue, DiskEntry, catalogue
from diskbench.catalog.expect import CatalogDisk, Simulation, Stage, path_of, simulate
from diskbench.catalog.lookup import DiskLimits, RequestLatency, limits_of
from diskbench.catalog.machine import MachineLimits, machine_of
from diskbench.catalog.machine_book import MachineEntry
from diskbench.catalog.path import Gate, Path, issued, ways
from diskbench.catalog.sourced_figures import FigureSource, Quantity, RatioLimit
from diskbench.catalog.terms import bursting_limits, expanded_limits
from diskbench.errors import InvalidValue, UserError
from diskbench.importers.load import Recorded
from diskbench.model.base import Frozen
from diskbench.model.expectation import LIMIT_WORDS, Load
from diskbench.model.rental import DiskSpec
from diskbench.units import format_duration_s, format_iops, format_mb_per_s, format_share

DAY_S = 86_400.0
_MONTH_S = MONTH_HOURS * 3600
_ROUNDING = 1 + 1e-9
_Target = Literal["met", "measure", "not documented", "missed"]


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
        times = _MONTH_S / period if period else 1.0
        return [
            Work(
                requests=_blocks(stage) * times,
                request_bytes=stage.load.block_bytes,
                seconds=min(stage.seconds, _MONTH_S) * times,
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
    return (stage.load.max_per_s or 0.0) * min(stage.seconds, _MONTH_S)


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
    if most <= (allowance.baseline if held else allowance.ceiling) * _ROUNDING:
        return True
    if not held or most > allowance.ceiling * _ROUNDING:
        return False
    balance, ends = held, []
    for _ in range(2 if demand.daily else 1):
        for seconds, used in stages:
            balance = bucket.balance_after(
                allowance,
                balance,
                used * factor,
                seconds,
                refill_per_s=gate.refill_per_s,
                owed=math.inf,
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
        low, high = gate.allowance.baseline / most, gate.allowance.ceiling / most
        if not gate.capacity:
            low = high
        high = min(high, least)
        while high > low * near:
            middle = (low + high) / 2
            low, high = (middle, high) if _carries(gate, demand, middle) else (low, middle)
        least = min(least, high if low >= high else low)
    return least


class Latency(Frozen):
    """The documented milliseconds of a request, and what they say of a target; None where nothing
    is known."""

    best_ms: float | None = None
    usual_ms: float | None = None
    worst_ms: float | None = None
    target: _Target | None = None


class Sold(Frozen):
    """One disk as it is bought: `iops` and `throughput` (in `unit`) where they are provisioned.
    `more` is what is asked for beside: higher limits, bursts on demand."""

    cloud: str
    disk_type: str
    size_gib: int
    iops: int | None = None
    throughput: int | None = None
    unit: str | None = None
    tier: str | None = None
    more: Literal["performance_plus", "bursting"] | None = None

    @property
    def spec(self) -> DiskSpec:
        """The disk as it is priced and rented."""
        return DiskSpec(
            type=self.disk_type,
            size_gib=self.size_gib,
            iops=self.iops,
            throughput_mib_per_s=self.throughput,
        )

    def words(self) -> str:
        """`gp3 500 GiB, 10,000 IOPS, 250 MiB/s`."""
        tier = f" ({self.tier})" if self.tier else ""
        parts = [f"{self.disk_type} {self.size_gib:,} GiB{tier}"]
        if self.iops is not None:
            parts.append(f"{self.iops:,} IOPS")
        if self.throughput is not None:
            parts.append(f"{self.throughput:,} {self.unit}")
        if self.more:
            parts.append(MORE_WORDS[self.more])
        return ", ".join(parts)


MORE_WORDS = {"performance_plus": "performance plus", "bursting": "bursts on demand"}


class Measured(Frozen):
    """What runs here found of a disk under such a load: of `n` trials, the last on `date`."""

    iops: float
    p99_ms: float | None
    n: int
    date: str
    trust: str


class Advice(Frozen):
    """A disk that carries a demand, on a machine that does not limit it. Prices are US dollars a
    month, None where one is not known. `headroom` is by how much the load may grow. `burst_ios` are
    the transactions a month that bursts on demand are billed for. `priced_on` is the oldest date of
    its prices; "" where one has none."""

    disk: Sold
    region: str
    machine: str | None
    retires: str | None = None
    headroom: float
    latency: Latency
    disk_usd: float | None
    machine_usd: float | None
    total_usd: float | None
    burst_ios: float | None = None
    priced_on: str = ""
    buys_throughput: bool = False
    """Whether more throughput is bought than the least that is sold."""
    measured: Measured | None = None
    sources: tuple[str, ...] = ()


class Refused(Frozen):
    """A disk that does not carry the demand, and why. `headroom` is the part of it that it would
    carry. `most` marks the largest of its type."""

    disk: Sold
    disk_usd: float | None
    headroom: float = 0.0
    why: str
    most: bool = False


class Answer(Frozen):
    """What carries a demand, cheapest first, those of unknown price last; and what does not."""

    format: Literal[1] = 1
    asked: str = ""
    rows: tuple[Advice, ...]
    refused: tuple[Refused, ...]
    regions: dict[str, str] = Field(default_factory=dict)
    """The region of each provider's prices that were asked for; of several see the rows."""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Market:
    """Where is bought: a provider in one region; `machine` is the type that the user has."""

    books: Books
    cloud: str
    region: str
    machine: str | None = None
    measured: Callable[[Sold, str | None], Measured | None] = lambda _disk, _machine: None


def advise(markets: Sequence[Market], demand: Demand) -> Answer:
    """What carries a demand in the given markets: at most two rows a type, each in its cheapest
    region."""
    of_type = dict[tuple[str, str], list[Advice]]()
    refused, left_out = dict[Sold, Refused](), list[str]()
    for market in markets:
        book = catalogue(market.cloud)
        for name, entry in book.disks.items():
            if entry.place != "network":
                left_out.append(name)
                continue
            found, failed = _of_type(market, book, name, entry, demand)
            of_type.setdefault((market.cloud, name), []).extend(found)
            refused |= {one.disk: one for one in failed}
    rows = [row for found in of_type.values() for row in _two(sorted(found, key=_order))]
    return Answer(
        rows=tuple(sorted(rows, key=_order)),
        refused=tuple(
            sorted(refused.values(), key=lambda one: (one.disk_usd is None, -(one.disk_usd or 0)))
        ),
        regions={market.cloud: market.region for market in markets},
        left_out=tuple(dict.fromkeys(left_out)),
    )


def _two(rows: list[Advice]) -> list[Advice]:
    """The cheapest, and beside it the one whose bursts are paid for, else the second."""
    others = [row for row in rows[1:] if row.disk != rows[0].disk]
    bursts = [row for row in others if row.disk.more == "bursting"]
    return [*rows[:1], *(bursts or others)[:1]]


def _order(row: Advice) -> tuple[bool, float, float, str]:
    total = row.total_usd
    return (total is None, total or row.disk_usd or 0.0, row.disk_usd or 0.0, row.disk.words())


def _of_type(
    market: Market, book: Catalogue, name: str, entry: DiskEntry, demand: Demand
) -> tuple[list[Advice], list[Refused]]:
    """The rows of a type, and its disks that do not carry the demand: the smallest that is sold
    with the asked size, and, where none does, the largest."""
    rows, refused = list[Advice](), list[Refused]()
    for more in (None, "performance_plus", "bursting"):
        sold = _least(book, name, entry, demand, more)
        if sold is None:
            continue
        row = _row(market, book, sold, demand)
        if isinstance(row, Advice):
            rows.append(row)
        else:
            refused.append(row)
    if not rows and not refused and (most := _most(book, name, entry)) is not None:
        refused.append(_refusal(market, book, most, demand, most=True))
    base = _base(book, name, entry, demand.size_gib)
    if base is not None and rows and all(row.disk != base for row in rows):
        gates = _disk_path(book, base).gates
        if not carries(gates, demand):
            refused.append(_refusal(market, book, base, demand))
    return rows, refused


def _limits(book: Catalogue, sold: Sold) -> DiskLimits:
    limits = limits_of(book, sold.disk_type, sold.size_gib, sold.iops, sold.throughput)
    if sold.more == "performance_plus":
        return expanded_limits(book.cloud, limits)
    return bursting_limits(book.cloud, limits) if sold.more == "bursting" else limits


def _disk_path(book: Catalogue, sold: Sold) -> Path:
    return path_of(CatalogDisk(_limits(book, sold)), MachineLimits(""))


def _sold(
    book: Catalogue,
    name: str,
    size: float,
    iops: float | None = None,
    throughput: float | None = None,
    more: Literal["performance_plus", "bursting"] | None = None,
) -> Sold:
    entry = book.disks[name]
    return Sold(
        cloud=book.cloud,
        disk_type=name,
        size_gib=math.ceil(size),
        iops=None if iops is None else math.ceil(iops),
        throughput=None if throughput is None else math.ceil(throughput),
        unit=entry.throughput.unit if entry.throughput else None,
        tier=entry.tiers.row(size).name if entry.tiers else None,
        more=more,
    )


def _least(
    book: Catalogue,
    name: str,
    entry: DiskEntry,
    demand: Demand,
    more: Literal["performance_plus", "bursting"] | None,
) -> Sold | None:
    """The cheapest disk of a type that carries a demand; None where none does, or nothing is known
    of it."""
    if entry.size_gib is None or demand.size_gib > entry.size_gib.max:
        return None
    low, high = max(demand.size_gib, entry.size_gib.min), entry.size_gib.max

    def fits(size: int) -> bool:
        sold = _sold(book, name, size, more=more)
        try:
            gates = _disk_path(book, sold).gates
        except UserError:  # not sold so
            return False
        return bool(gates) and carries(gates, demand)

    if entry.tiers is not None:
        sizes = [low, *(row.gib for row in entry.tiers.rows if row.gib > low)]
        if more == "bursting":
            if entry.on_demand is None:
                return None
            least = entry.on_demand.above_gib + 1
            sizes = [max(low, least), *(size for size in sizes if size > least)]
        size = next((size for size in sizes if fits(size)), None)
        if size is None:
            return None
        sold = _sold(book, name, size, more=more)
        # A disk that bursts all the time is not what bursts are sold for, nor one that never does.
        if more == "bursting" and not 0 < _bursting(book, sold, demand) < 1:
            return None
        return sold
    if more is not None:
        return None  # both are sold of tiers alone
    if (entry.iops and entry.iops.provisioned) or (
        entry.throughput and entry.throughput.provisioned
    ):
        return _provisioned(book, name, entry, demand, low, high)
    return _sold(book, name, _smallest(low, high, fits)) if fits(high) else None


def _smallest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The smallest whole number from `low` to `high` that fits, where `high` does and all above
    one that fits do."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return high


def _provisioned(
    book: Catalogue, name: str, entry: DiskEntry, demand: Demand, low: int, high: int
) -> Sold | None:
    """The least that is to be bought: what the load uses, what the type sells at least, and what
    its ratios ask for. Provisioned figures have no bucket, so the busiest moment decides."""
    ios, rate = (_peak(entry, demand, counts) for counts in ("ios", "bytes"))
    unit = entry.throughput.unit_bytes if entry.throughput else 1
    iops = throughput = None
    if entry.throughput and entry.throughput.provisioned:
        throughput = _bought(entry.throughput, rate / unit)
        if entry.iops and entry.iops.per_throughput:
            throughput = max(throughput, math.ceil(ios / entry.iops.per_throughput))
    if entry.iops and entry.iops.provisioned:
        iops = _bought(entry.iops, ios)
        by_ratio = entry.throughput_ratio
        if throughput and by_ratio and by_ratio.max_per_iops and throughput > by_ratio.free:
            iops = max(iops, math.ceil(throughput / by_ratio.max_per_iops))
        if entry.throughput and entry.throughput.per_iops:
            most = math.floor(entry.iops.max or 0)
            wanted, quantity = rate / unit, entry.throughput
            if quantity.value(low, most) * _ROUNDING < wanted:
                return None
            iops = _smallest(iops, most, lambda n: quantity.value(low, n) * _ROUNDING >= wanted)
    size = max(low, _gib_for(entry.iops_ratio, iops), _gib_for(entry.throughput_ratio, throughput))
    if size > high:
        return None
    iops = _at_least(entry.iops_ratio, iops, size)
    throughput = _at_least(entry.throughput_ratio, throughput, size)
    sold = _sold(book, name, size, iops, throughput)
    try:
        gates = _disk_path(book, sold).gates
    except UserError:  # more than is sold
        return None
    return sold if carries(gates, demand) else None


def _peak(entry: DiskEntry, demand: Demand, counts: Literal["ios", "bytes"]) -> float:
    """The most that a load uses a second of a limit of the type; of reads or of writes where they
    have limits of their own."""
    rule = entry.accounting.rule() if entry.accounting else bucket.NO_RULE
    return max(
        used
        for covers in (("read", "write") if entry.apart else ("both",))
        for _, used in demand.used_of(Gate("disk-iops", counts, bucket.Allowance(0), covers, rule))
    )


def _bought(quantity: Quantity, need: float) -> int:
    return max(math.ceil(quantity.min or 0), math.ceil(need / _ROUNDING))


def _gib_for(ratio: RatioLimit | None, bought: int | None) -> int:
    if ratio is None or ratio.max_per_gib is None or bought is None or bought <= ratio.free:
        return 0
    return math.ceil(bought / ratio.max_per_gib)


def _at_least(ratio: RatioLimit | None, bought: int | None, size: int) -> int | None:
    if bought is None or ratio is None or ratio.min_per_gib is None:
        return bought
    return max(bought, math.ceil(ratio.min_per_gib * size))


def _base(book: Catalogue, name: str, entry: DiskEntry, size_gib: int) -> Sold | None:
    """The disk of the asked size with what comes with it; None where it is not sold so."""
    if entry.size_gib is None:
        return None
    size = max(size_gib, entry.size_gib.min)
    try:
        sold = _sold(book, name, size)
        _limits(book, sold)
    except UserError:  # figures have to be bought
        return None
    return sold


def _most(book: Catalogue, name: str, entry: DiskEntry) -> Sold | None:
    """The disk of a type with the highest figures that are sold; None where nothing is known."""
    if entry.size_gib is None:
        return None
    iops = entry.iops.max if entry.iops and entry.iops.provisioned else None
    rate = entry.throughput.max if entry.throughput and entry.throughput.provisioned else None
    sold = _sold(book, name, entry.size_gib.max, iops, rate)
    try:
        return sold if _limits(book, sold).pools else None
    except InvalidValue:
        return None


def path_to(books: Books, row: Advice) -> Path:
    """The path to a disk that was advised, through its machine."""
    book = catalogue(row.disk.cloud)
    on = machine_of(books, row.disk.cloud, row.machine, row.disk.disk_type)
    return path_of(CatalogDisk(_limits(book, row.disk)), on)


def _buys_throughput(book: Catalogue, sold: Sold) -> bool:
    quantity = book.disks[sold.disk_type].throughput
    return quantity is not None and (sold.throughput or 0) > (quantity.min or 0)


def _row(market: Market, book: Catalogue, sold: Sold, demand: Demand) -> Advice | Refused:
    limits = _limits(book, sold)
    latency = _latency(limits, demand)
    if latency.target == "missed":
        usual = latency.usual_ms or latency.best_ms
        return _refused(market, sold, f"documented latency is usually {usual:.3g} ms")
    machine = _machine(market, sold, demand)
    if market.machine is not None and machine is None:
        on = machine_of(market.books, market.cloud, market.machine, sold.disk_type)
        if not on.gates:
            return _refused(market, sold, f"{on.unknown or market.machine} not documented")
        return _refused(market, sold, why(Path(on.gates), demand) + f", by {market.machine}")
    found = market.measured(sold, machine)
    if found is not None:
        if found.iops < demand.most_iops:
            return _refused(market, sold, f"measured {format_iops(found.iops)} IOPS here")
        if demand.p99_ms is not None and found.p99_ms is not None:
            if found.p99_ms > demand.p99_ms:
                return _refused(market, sold, f"measured p99 {found.p99_ms:.3g} ms here")
            latency = latency.model_copy(update={"target": "met"})
    books, prices = market.books, market.books.of(market.cloud).prices_in(market.region)
    on = machine_of(books, market.cloud, machine, sold.disk_type)
    path = path_of(CatalogDisk(limits), on)
    hourly = prices.machine_hourly_usd(machine, market.region) if machine else None
    machine_usd = None if hourly is None else hourly * MONTH_HOURS
    disk_usd = _disk_usd(market, sold, demand)
    priced = prices.disks.get(sold.disk_type)
    dates = [prices.sources[priced.source]] if priced else []
    if machine and (of_machine := prices.machine_price(machine)) is not None:
        dates.append(prices.sources[of_machine[1]])
    entry = books.of(market.cloud).machines.types.get(machine or "")
    retires = entry.traits.get("retires") if entry else None
    sources = (*(source.words() for source in limits.sources), *(g.source for g in on.gates))
    return Advice(
        disk=sold,
        region=market.region,
        machine=machine,
        retires=str(retires) if retires else None,
        headroom=headroom(path.gates, demand),
        latency=latency,
        disk_usd=disk_usd,
        machine_usd=machine_usd,
        total_usd=None if disk_usd is None or machine_usd is None else disk_usd + machine_usd,
        burst_ios=_burst_ios(book, sold, demand) if sold.more == "bursting" else None,
        priced_on=_oldest(dates),
        buys_throughput=_buys_throughput(book, sold),
        measured=found,
        sources=tuple(dict.fromkeys((*sources, *(source.words() for source in dates)))),
    )


def _disk_usd(market: Market, sold: Sold, demand: Demand) -> float | None:
    """What a disk costs a month with its transactions; None where a price is not known."""
    if sold.more == "bursting":
        return None
    spec = sold.spec
    parts = monthly(market.books, market.cloud, spec, market.region, demand.month())
    return None if None in parts else sum(part or 0.0 for part in parts)


def _above(book: Catalogue, sold: Sold, demand: Demand) -> list[tuple[float, float]]:
    """The seconds of each stage, and its transactions a second above what a disk has without
    bursts: the larger of I/Os, and of bytes in 256 KiB (disks-types.md, "Premium SSD bursting")."""
    base = _disk_path(book, sold.model_copy(update={"more": None})).gates
    used = [(gate, demand.used_of(gate)) for gate in base]
    above = []
    for number, stage in enumerate(demand.stages):
        over = [0.0]
        for gate, of_stages in used:
            extra = of_stages[number][1] - gate.allowance.baseline
            over.append(extra if gate.counts == "ios" else extra / 1e6 * 1024 / 256)
        above.append((min(stage.seconds, _MONTH_S), max(over)))
    return above


def _bursting(book: Catalogue, sold: Sold, demand: Demand) -> float:
    """The share of the time in which a disk bursts on demand."""
    above = _above(book, sold, demand)
    return sum(seconds for seconds, over in above if over > 0) / sum(s for s, _ in above)


def _burst_ios(book: Catalogue, sold: Sold, demand: Demand) -> float:
    """The transactions that a month's bursts are billed for."""
    above = _above(book, sold, demand)
    return sum(seconds * over for seconds, over in above) * _MONTH_S / sum(s for s, _ in above)


def _oldest(sources: Sequence[FigureSource]) -> str:
    dates = [source.as_of or "" for source in sources]
    return min(dates, default="")


def _latency(limits: DiskLimits, demand: Demand) -> Latency:
    """The slower direction of the load."""
    of_ways: list[RequestLatency | None] = []
    if demand.read_share > 0:
        of_ways.append(limits.latency)
    if demand.read_share < 1:
        of_ways.append(limits.write_latency or limits.latency)
    known = [latency for latency in of_ways if latency is not None]
    target: _Target | None = None
    if len(known) < len(of_ways) or not known:
        return Latency(target="not documented" if demand.p99_ms else None)
    slow = max(known, key=lambda latency: latency.usual)
    if demand.p99_ms is not None:
        target = "measure"
        if slow.worst_ms <= demand.p99_ms:
            target = "met"
        elif (slow.usual_ms or slow.best_ms or 0.0) > demand.p99_ms:
            target = "missed"
    return Latency(
        best_ms=slow.best_ms, usual_ms=slow.usual_ms, worst_ms=slow.worst_ms, target=target
    )


def _machine(market: Market, sold: Sold, demand: Demand) -> str | None:
    """The cheapest machine of a provider that does not limit a disk's load, or the user's own if it
    does not; None where none is known."""
    if market.machine is not None:
        names: Iterable[str] = (market.machine,)
    else:
        names = _machines(market)
    for name in names:
        gates = machine_of(market.books, market.cloud, name, sold.disk_type).gates
        gates = tuple(gate for gate in gates if not gate.limit.startswith("vm-cached"))
        if gates and carries(gates, demand):
            return name
    return None


def _machines(market: Market) -> Iterator[str]:
    """The machine types that can be advised, the cheapest first."""
    provider = market.books.of(market.cloud)
    prices = provider.prices_in(market.region)
    names = [name for name, entry in provider.machines.types.items() if _is_fit(entry)]
    if provider.machines.series:
        names += [name for of_source in prices.machines.values() for name in of_source]

    def price(name: str) -> tuple[bool, float, str]:
        hourly = prices.machine_hourly_usd(name, market.region)
        vcpus = provider.machines.vcpus_of(name) or 0
        return (hourly is None, vcpus if hourly is None else hourly, name)

    return iter(sorted(dict.fromkeys(names), key=price))


def _is_fit(entry: MachineEntry) -> bool:
    """Sold today, with a processor that does not run on credit, and of the usual kind."""
    return entry.current and not entry.burstable and entry.arch == "x86_64"


def _refusal(
    market: Market, book: Catalogue, sold: Sold, demand: Demand, *, most: bool = False
) -> Refused:
    most_gib = book.disk(sold.disk_type).size_gib
    if most_gib is not None and demand.size_gib > most_gib.max:
        return _refused(market, sold, f"{most_gib.max:,} GiB at most", most=most)
    path = _disk_path(book, sold)
    said = _refused(market, sold, why(path, demand), most=most)
    return said.model_copy(update={"headroom": headroom(path.gates, demand)})


def _refused(market: Market, sold: Sold, words: str, *, most: bool = False) -> Refused:
    """The price is that of the disk alone: what it does not carry costs no transactions."""
    hourly = disk_hourly_usd(market.books, market.cloud, sold.spec, market.region)
    usd = None if hourly is None else hourly * MONTH_HOURS
    return Refused(disk=sold, disk_usd=usd, why=words, most=most)


def why(path: Path, demand: Demand) -> str:
    """How a path fails a demand: `3,000 IOPS (disk IOPS), 1,500 after 43 min`; "" if it carries it
    once."""
    if demand.begins_s:
        return _late_words(simulate(path, demand.stages), demand)
    words = list[str]()
    for leg in simulate(path, demand.stages).legs:
        load = demand.stages[leg.stage].load
        if load is None or leg.iops >= (load.max_per_s or 0.0) / _ROUNDING:
            continue
        rate = format_mb_per_s(leg.bytes_per_s) if demand.in_mb_per_s else format_iops(leg.iops)
        after = f" after {format_duration_s(leg.start_s)}" if leg.start_s else ""
        if words:
            return f"{words[0]}, {rate}{after}"
        limit = f" ({LIMIT_WORDS[leg.limited_by]})" if leg.limited_by else ""
        words.append(f"{rate} {'MB/s' if demand.in_mb_per_s else 'IOPS'}{after}{limit}")
    if not words and demand.daily:
        return "the credit of a day is not regained until the next"
    return "".join(words)


def _late_words(course: Simulation, demand: Demand) -> str:
    """When a recorded load is held back: `11 % of the time, Tue 02:10 to 03:40 the longest`."""
    stretches = list[tuple[float, float]]()
    starts_s = list(accumulate((stage.seconds for stage in demand.stages), initial=0.0))
    limits = set[str]()
    for leg in course.legs:
        load = demand.stages[leg.stage].load
        if load is None or leg.iops >= (load.max_per_s or 0.0) / _ROUNDING:
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
    when = f"{_moment(begin, demand)} to {_moment(end, demand)}"
    longest = ", the longest" if len(stretches) > 1 else ""
    told = format_share(share if share < 0.1 else round(share, 2))
    return f"held back {told} of the time, {when}{longest} ({' and '.join(sorted(limits))})"


def _moment(seconds: float, demand: Demand) -> str:
    if not demand.is_dated:
        return format_duration_s(seconds)
    return datetime.fromtimestamp(seconds, UTC).strftime("%a %H:%M")
