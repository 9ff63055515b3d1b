"""The cheapest disk of a type that carries a load: pure.

The smallest size, or the least of what is provisioned, that carries the load is the cheapest: no
price falls with either. No host cache is counted, because nothing says whether reads would hit it.
"""

import math
from collections.abc import Callable
from typing import Literal

from diskbench.catalog import bucket
from diskbench.catalog.expect import path_of
from diskbench.catalog.path import Gate
from diskbench.catalog.shipped import catalogue
from diskbench.catalog.sourced_figures import Quantity
from diskbench.catalog.terms import More, Sold
from diskbench.errors import UserError
from diskbench.plan.demand import MONTH_S, ROUNDING, Demand, carries


def least_of(cloud: str, name: str, demand: Demand, more: More | None) -> Sold | None:
    """The cheapest disk of a type that carries a demand; None where none does, or nothing is known
    of it."""
    entry = catalogue(cloud).disks[name]
    if entry.size_gib is None or demand.size_gib > entry.size_gib.max:
        return None
    low, high = max(demand.size_gib, entry.size_gib.min), entry.size_gib.max

    def fits(size: int) -> bool:
        return _carries(_sold(cloud, name, size, more=more), demand)

    if entry.tiers is not None:
        sizes = [low, *(row.gib for row in entry.tiers.rows if row.gib > low)]
        if more == "bursting":
            if entry.on_demand is None:
                return None
            least = entry.on_demand.above_gib + 1
            sizes = [max(low, least), *(size for size in sizes if size > least)]
        if (size := next((size for size in sizes if fits(size)), None)) is None:
            return None
        sold = _sold(cloud, name, size, more=more)
        # A disk that bursts all the time is not what bursts are sold for, nor one that never does.
        if more == "bursting" and len({over > 0 for _, over in _above(sold, demand)}) < 2:
            return None
        return sold
    if more is not None:
        return None  # both are sold of tiers alone
    if any(of is not None and of.provisioned for of in (entry.iops, entry.throughput)):
        return _provisioned(cloud, name, demand, low, high)
    return _sold(cloud, name, _smallest(low, high, fits)) if fits(high) else None


def _carries(sold: Sold, demand: Demand) -> bool:
    """Whether a disk is sold so, something is known of it, and it carries a demand."""
    try:
        gates = path_of(sold.limits()).gates
    except UserError:
        return False
    return bool(gates) and carries(gates, demand)


def _if_sold(sold: Sold) -> Sold | None:
    """The disk; None where it is not sold so, or nothing is documented of it."""
    try:
        return sold if sold.limits().pools else None
    except UserError:
        return None


def base_of(cloud: str, name: str, size_gib: int) -> Sold | None:
    """The disk of the asked size with what comes with it; None as `_if_sold`."""
    sizes = catalogue(cloud).disks[name].size_gib
    return None if sizes is None else _if_sold(_sold(cloud, name, max(size_gib, sizes.min)))


def most_of(cloud: str, name: str) -> Sold | None:
    """The disk of a type with the highest figures that are sold; None as `_if_sold`."""
    entry = catalogue(cloud).disks[name]
    if entry.size_gib is None:
        return None
    figures = (entry.iops, entry.throughput)
    iops, rate = (of.max if of is not None and of.provisioned else None for of in figures)
    return _if_sold(_sold(cloud, name, entry.size_gib.max, iops, rate))


def buys_throughput(sold: Sold) -> bool:
    """Whether more throughput is bought than the least that is sold."""
    quantity = catalogue(sold.cloud).disks[sold.disk_type].throughput
    return quantity is not None and (sold.throughput or 0) > (quantity.min or 0)


def burst_ios_of(sold: Sold, demand: Demand) -> float:
    """The transactions that a month's bursts are billed for."""
    above = _above(sold, demand)
    return sum(seconds * over for seconds, over in above) * MONTH_S / sum(s for s, _ in above)


def _above(sold: Sold, demand: Demand) -> list[tuple[float, float]]:
    """The seconds of each stage, and its transactions a second above what a disk has without
    bursts: the larger of I/Os, and of bytes in 256 KiB (disks-types.md, "Premium SSD bursting")."""
    base = path_of(sold.model_copy(update={"more": None}).limits()).gates
    above = [(min(stage.seconds, MONTH_S), 0.0) for stage in demand.stages]
    for gate in base:
        unit = 1.0 if gate.counts == "ios" else 1e6 / 1024 * 256
        for number, (_, used) in enumerate(demand.used_of(gate)):
            seconds, over = above[number]
            above[number] = (seconds, max(over, (used - gate.allowance.baseline) / unit))
    return above


def _sold(
    cloud: str,
    name: str,
    size: float,
    iops: float | None = None,
    throughput: float | None = None,
    more: More | None = None,
) -> Sold:
    entry, figures = catalogue(cloud).disks[name], {"iops": iops, "throughput": throughput}
    return Sold(
        cloud=cloud,
        disk_type=name,
        size_gib=math.ceil(size),
        unit=entry.throughput.unit if entry.throughput else None,
        tier=entry.tiers.row(size).name if entry.tiers else None,
        more=more,
        **{field: math.ceil(figure) for field, figure in figures.items() if figure is not None},
    )


def _smallest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The smallest whole number from `low` to `high` that fits, where `high` does and all above
    one that fits do."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return high


def _provisioned(cloud: str, name: str, demand: Demand, low: int, high: int) -> Sold | None:
    """The least that is to be bought: what the load uses, what the type sells at least, and what
    its ratios ask for. Provisioned figures have no bucket, so the busiest moment decides."""
    entry = catalogue(cloud).disks[name]
    rule = entry.accounting.rule() if entry.accounting else bucket.NO_RULE
    kinds: tuple[Literal["ios", "bytes"], ...] = ("ios", "bytes")
    ios, rate = (
        max(  # of reads or of writes where they have limits of their own
            used
            for covers in (("read", "write") if entry.apart else ("both",))
            for _, used in demand.used_of(Gate("disk-iops", of, bucket.Allowance(0), covers, rule))
        )
        for of in kinds
    )
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
            if quantity.value(low, most) * ROUNDING < wanted:
                return None
            iops = _smallest(iops, most, lambda n: quantity.value(low, n) * ROUNDING >= wanted)
    bought = ((entry.iops_ratio, iops), (entry.throughput_ratio, throughput))
    size = low
    for ratio, figure in bought:
        if ratio and ratio.max_per_gib is not None and figure and figure > ratio.free:
            size = max(size, math.ceil(figure / ratio.max_per_gib))
    if size > high:
        return None
    iops, throughput = (
        max(figure, math.ceil(ratio.min_per_gib * size))
        if figure is not None and ratio and ratio.min_per_gib is not None
        else figure
        for ratio, figure in bought
    )
    sold = _sold(cloud, name, size, iops, throughput)
    return sold if _carries(sold, demand) else None


def _bought(quantity: Quantity, need: float) -> int:
    return max(math.ceil(quantity.min or 0), math.ceil(need / ROUNDING))
