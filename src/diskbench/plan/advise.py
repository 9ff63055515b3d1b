"""Which disks of the catalogue carry a load, with the smallest machine that does not limit them,
and what both cost a month: pure.

What carries a load says demand.py, which disk of a type is bought cheapest_disk.py. A machine is
the cheapest current one of the provider whose gates carry the load. Disks inside a machine are left
out: what is on them is lost when the machine stops.

A latency is documented of a request that no limit holds back. A target is met where the promised
worst is within it, missed where the usual is above it, and else it has to be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from diskbench.catalog.books import Books
from diskbench.catalog.cost import MONTH_HOURS, disk_hourly_usd, monthly
from diskbench.catalog.entry import Catalogue, DiskEntry, catalogue
from diskbench.catalog.expect import CatalogDisk, path_of
from diskbench.catalog.lookup import DiskLimits, RequestLatency
from diskbench.catalog.machine import machine_of
from diskbench.catalog.machine_book import MachineEntry
from diskbench.catalog.path import Path
from diskbench.catalog.sourced_figures import FigureSource
from diskbench.model.base import Frozen
from diskbench.plan.cheapest_disk import (
    Sold,
    base_of,
    burst_ios_of,
    buys_throughput,
    disk_path,
    least_of,
    limits_sold,
    most_of,
)
from diskbench.plan.demand import Demand, carries, headroom, why
from diskbench.units import format_iops

_Target = Literal["met", "measure", "not documented", "missed"]


class Latency(Frozen):
    """The documented milliseconds of a request, and what they say of a target; None where nothing
    is known."""

    best_ms: float | None = None
    usual_ms: float | None = None
    worst_ms: float | None = None
    target: _Target | None = None


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
        sold = least_of(book, name, entry, demand, more)
        if sold is None:
            continue
        row = _row(market, book, sold, demand)
        if isinstance(row, Advice):
            rows.append(row)
        else:
            refused.append(row)
    if not rows and not refused and (most := most_of(book, name, entry)) is not None:
        refused.append(_refusal(market, book, most, demand, most=True))
    base = base_of(book, name, entry, demand.size_gib)
    if base is not None and rows and all(row.disk != base for row in rows):
        gates = disk_path(book, base).gates
        if not carries(gates, demand):
            refused.append(_refusal(market, book, base, demand))
    return rows, refused


def path_to(books: Books, row: Advice) -> Path:
    """The path to a disk that was advised, through its machine."""
    book = catalogue(row.disk.cloud)
    on = machine_of(books, row.disk.cloud, row.machine, row.disk.disk_type)
    return path_of(CatalogDisk(limits_sold(book, row.disk)), on)


def _row(market: Market, book: Catalogue, sold: Sold, demand: Demand) -> Advice | Refused:
    limits = limits_sold(book, sold)
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
        burst_ios=burst_ios_of(book, sold, demand) if sold.more == "bursting" else None,
        priced_on=_oldest(dates),
        buys_throughput=buys_throughput(book, sold),
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
    path = disk_path(book, sold)
    said = _refused(market, sold, why(path, demand), most=most)
    return said.model_copy(update={"headroom": headroom(path.gates, demand)})


def _refused(market: Market, sold: Sold, words: str, *, most: bool = False) -> Refused:
    """The price is that of the disk alone: what it does not carry costs no transactions."""
    hourly = disk_hourly_usd(market.books, market.cloud, sold.spec, market.region)
    usd = None if hourly is None else hourly * MONTH_HOURS
    return Refused(disk=sold, disk_usd=usd, why=words, most=most)
