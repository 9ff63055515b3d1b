"""Which disks of the catalogue carry a load, with the smallest machine that does not limit them,
and what both cost a month: pure.

What carries a load says demand.py, which disk of a type is bought cheapest_disk.py. A machine is
the cheapest current one of the provider whose gates carry the load. Disks inside a machine are left
out: what is on them is lost when the machine stops.

A latency is documented of a request that no limit holds back. A target is met where the promised
worst is within it, missed where the usual is above it, and else it has to be measured.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from diskbench.catalog.books import Books
from diskbench.catalog.cost import MONTH_HOURS, disk_hourly_usd, monthly
from diskbench.catalog.expect import path_of
from diskbench.catalog.lookup import DiskLimits
from diskbench.catalog.machine import machine_of
from diskbench.catalog.path import Path, without_cache
from diskbench.catalog.shipped import catalogue
from diskbench.catalog.terms import Sold
from diskbench.model.base import Frozen
from diskbench.plan.cheapest_disk import base_of, burst_ios_of, buys_throughput, least_of, most_of
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

    @property
    def words(self) -> str:
        """`n = 6, 2026-11-29, trust yes`."""
        return f"n = {self.n}, {self.date or 'date unknown'}, trust {self.trust}"


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
        for name, entry in catalogue(market.cloud).disks.items():
            if entry.place != "network":
                left_out.append(name)
                continue
            found, failed = _of_type(market, name, demand)
            of_type.setdefault((market.cloud, name), []).extend(found)
            refused |= {one.disk: one for one in failed}
    rows = list[Advice]()
    for found in of_type.values():
        # The cheapest, and beside it the one whose bursts are paid for, else the second.
        ranked = sorted(found, key=_order)
        others = [row for row in ranked[1:] if row.disk != ranked[0].disk]
        bursts = [row for row in others if row.disk.more == "bursting"]
        rows += [*ranked[:1], *(bursts or others)[:1]]
    dear = sorted(refused.values(), key=lambda one: (one.disk_usd is None, -(one.disk_usd or 0)))
    return Answer(
        rows=tuple(sorted(rows, key=_order)),
        refused=tuple(dear),
        regions={market.cloud: market.region for market in markets},
        left_out=tuple(dict.fromkeys(left_out)),
    )


def _order(row: Advice) -> tuple[bool, float, float, str]:
    total = row.total_usd
    return (total is None, total or row.disk_usd or 0.0, row.disk_usd or 0.0, row.disk.words())


def _of_type(market: Market, name: str, demand: Demand) -> tuple[list[Advice], list[Refused]]:
    """The rows of a type, and its disks that do not carry the demand: the smallest that is sold
    with the asked size, and, where none does, the largest."""
    rows, refused = list[Advice](), list[Refused]()
    for more in (None, "performance_plus", "bursting"):
        if (sold := least_of(market.cloud, name, demand, more)) is not None:
            row = _row(market, sold, demand)
            rows += [row] if isinstance(row, Advice) else []
            refused += [row] if isinstance(row, Refused) else []
    if not rows and not refused and (most := most_of(market.cloud, name)) is not None:
        refused.append(_refusal(market, most, demand).model_copy(update={"most": True}))
    base = base_of(market.cloud, name, demand.size_gib) if rows else None
    is_other = base is not None and all(row.disk != base for row in rows)
    if base is not None and is_other and not carries(path_of(base.limits()).gates, demand):
        refused.append(_refusal(market, base, demand))
    return rows, refused


def path_to(books: Books, row: Advice) -> Path:
    """The path to a disk that was advised, through its machine."""
    on = machine_of(books, row.disk.cloud, row.machine, row.disk.disk_type)
    return path_of(row.disk.limits(), on)


def _row(market: Market, sold: Sold, demand: Demand) -> Advice | Refused:
    limits = sold.limits()
    latency = _latency(limits, demand)
    if latency.target == "missed":
        usual = latency.usual_ms or latency.best_ms
        return _refused(market, sold, f"documented latency is usually {usual:.3g} ms")
    chosen = _machine(market, sold, demand)
    if isinstance(chosen, Refused):
        return chosen
    (machine, on), provider = chosen, market.books.of(market.cloud)
    path, found = path_of(limits, on), market.measured(sold, machine)
    if found is not None:
        if found.iops < demand.most_iops:
            words = f"measured {format_iops(found.iops)} IOPS here ({found.words})"
            return _refused(market, sold, words)
        if demand.p99_ms is not None and found.p99_ms is not None:
            if found.p99_ms > demand.p99_ms:
                words = f"measured p99 {found.p99_ms:.3g} ms here ({found.words})"
                return _refused(market, sold, words)
            latency = latency.model_copy(update={"target": "met"})
    prices = provider.prices_in(market.region)
    hourly = prices.machine_hourly_usd(machine, market.region) if machine else None
    machine_usd = None if hourly is None else hourly * MONTH_HOURS
    parts: Sequence[float | None] = (None,)  # what bursts on demand cost is not known
    if sold.more != "bursting":
        parts = monthly(market.books, market.cloud, sold.spec, market.region, demand.month())
    disk_usd = None if None in parts else sum(part or 0.0 for part in parts)
    priced = prices.disks.get(sold.disk_type)
    dates = [prices.sources[priced.source]] if priced else []
    if machine and (of_machine := prices.machine_price(machine)) is not None:
        dates.append(prices.sources[of_machine[1]])
    entry = provider.machines.types.get(machine or "")
    retires = entry.traits.get("retires") if entry else None
    sources = [*path.sources, *(source.words() for source in dates)]
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
        burst_ios=burst_ios_of(sold, demand) if sold.more == "bursting" else None,
        priced_on=min((source.as_of or "" for source in dates), default=""),
        buys_throughput=buys_throughput(sold),
        measured=found,
        sources=tuple(dict.fromkeys(sources)),
    )


def _latency(limits: DiskLimits, demand: Demand) -> Latency:
    """The slower direction of the load."""
    reads = [limits.latency] if demand.read_share > 0 else []
    writes = [limits.write_latency or limits.latency] if demand.read_share < 1 else []
    known = [latency for latency in (*reads, *writes) if latency is not None]
    target: _Target | None = None
    if len(known) < len(reads + writes):
        return Latency(target="not documented" if demand.p99_ms else None)
    slow = max(known, key=lambda latency: latency.usual)
    if demand.p99_ms is not None:
        target = "measure"
        if slow.worst_ms <= demand.p99_ms:
            target = "met"
        elif (slow.usual_ms or slow.best_ms or 0.0) > demand.p99_ms:
            target = "missed"
    best, usual, worst = slow.best_ms, slow.usual_ms, slow.worst_ms
    return Latency(best_ms=best, usual_ms=usual, worst_ms=worst, target=target)


def _machine(market: Market, sold: Sold, demand: Demand) -> tuple[str | None, Path] | Refused:
    """The cheapest machine of a provider that does not limit a disk's load, by its name, None where
    none is known; or the user's own, or why it does."""
    for name in (market.machine,) if market.machine else _machines(market):
        on = machine_of(market.books, market.cloud, name, sold.disk_type)
        gates = without_cache(on.gates)
        if gates and carries(gates, demand):
            return name, on
        if name == market.machine:
            words = why(on, demand) + f", by {name}"
            unknown = f"{on.unknown[0] if on.unknown else name} not documented"
            return _refused(market, sold, words if on.gates else unknown)
    return None, Path()


def _machines(market: Market) -> Iterator[str]:
    """The machine types that can be advised, the cheapest first."""
    provider = market.books.of(market.cloud)
    prices = provider.prices_in(market.region)
    # Sold today, with a processor that does not run on credit, and of the usual kind.
    names = [
        name
        for name, entry in provider.machines.types.items()
        if entry.current and not entry.burstable and entry.arch == "x86_64"
    ]
    if provider.machines.series:
        names += [name for of_source in prices.machines.values() for name in of_source]

    def price(name: str) -> tuple[bool, float, str]:
        hourly = prices.machine_hourly_usd(name, market.region)
        vcpus = provider.machines.vcpus_of(name) or 0
        return (hourly is None, vcpus if hourly is None else hourly, name)

    return iter(sorted(dict.fromkeys(names), key=price))


def _refusal(market: Market, sold: Sold, demand: Demand) -> Refused:
    most_gib = catalogue(sold.cloud).disk(sold.disk_type).size_gib
    if most_gib is not None and demand.size_gib > most_gib.max:
        return _refused(market, sold, f"{most_gib.max:,} GiB at most")
    path = path_of(sold.limits())
    said = _refused(market, sold, why(path, demand))
    return said.model_copy(update={"headroom": headroom(path.gates, demand)})


def _refused(market: Market, sold: Sold, words: str) -> Refused:
    """The price is that of the disk alone: what it does not carry costs no transactions."""
    hourly = disk_hourly_usd(market.books, market.cloud, sold.spec, market.region)
    usd = None if hourly is None else hourly * MONTH_HOURS
    return Refused(disk=sold, disk_usd=usd, why=words)
