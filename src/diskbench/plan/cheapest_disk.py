"""The cheapest disk of a type that carries a load: pure.

The smallest size, or the least of what is provisioned, that carries the load is the cheapest: no
price falls with either. No host cache is counted, because nothing says whether reads would hit it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from diskbench.catalog import bucket
from diskbench.catalog.entry import Catalogue, DiskEntry
from diskbench.catalog.expect import CatalogDisk, path_of
from diskbench.catalog.lookup import DiskLimits, limits_of
from diskbench.catalog.machine import MachineLimits
from diskbench.catalog.path import Gate, Path
from diskbench.catalog.sourced_figures import Quantity, RatioLimit
from diskbench.catalog.terms import bursting_limits, expanded_limits
from diskbench.errors import InvalidValue, UserError
from diskbench.model.base import Frozen
from diskbench.model.rental import DiskSpec
from diskbench.plan.demand import MONTH_S, ROUNDING, Demand, carries

More = Literal["performance_plus", "bursting"]
"""What is asked for beside size and figures: higher limits, bursts on demand."""


class Sold(Frozen):
    """One disk as it is bought: `iops` and `throughput` (in `unit`) where they are provisioned."""

    cloud: str
    disk_type: str
    size_gib: int
    iops: int | None = None
    throughput: int | None = None
    unit: str | None = None
    tier: str | None = None
    more: More | None = None

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


MORE_WORDS: dict[More, str] = {
    "performance_plus": "performance plus",
    "bursting": "bursts on demand",
}


def limits_sold(book: Catalogue, sold: Sold) -> DiskLimits:
    """The documented limits of a disk as it is bought. Raises UserError for one that is not sold
    so."""
    limits = limits_of(book, sold.disk_type, sold.size_gib, sold.iops, sold.throughput)
    if sold.more == "performance_plus":
        return expanded_limits(book.cloud, limits)
    return bursting_limits(book.cloud, limits) if sold.more == "bursting" else limits


def disk_path(book: Catalogue, sold: Sold) -> Path:
    """The path to a disk on a machine that limits nothing. Raises UserError as `limits_sold`."""
    return path_of(CatalogDisk(limits_sold(book, sold)), MachineLimits(""))


def least_of(
    book: Catalogue,
    name: str,
    entry: DiskEntry,
    demand: Demand,
    more: More | None,
) -> Sold | None:
    """The cheapest disk of a type that carries a demand; None where none does, or nothing is known
    of it."""
    if entry.size_gib is None or demand.size_gib > entry.size_gib.max:
        return None
    low, high = max(demand.size_gib, entry.size_gib.min), entry.size_gib.max

    def fits(size: int) -> bool:
        sold = _sold(book, name, size, more=more)
        try:
            gates = disk_path(book, sold).gates
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


def base_of(book: Catalogue, name: str, entry: DiskEntry, size_gib: int) -> Sold | None:
    """The disk of the asked size with what comes with it; None where it is not sold so."""
    if entry.size_gib is None:
        return None
    size = max(size_gib, entry.size_gib.min)
    try:
        sold = _sold(book, name, size)
        limits_sold(book, sold)
    except UserError:  # figures have to be bought
        return None
    return sold


def most_of(book: Catalogue, name: str, entry: DiskEntry) -> Sold | None:
    """The disk of a type with the highest figures that are sold; None where nothing is known."""
    if entry.size_gib is None:
        return None
    iops = entry.iops.max if entry.iops and entry.iops.provisioned else None
    rate = entry.throughput.max if entry.throughput and entry.throughput.provisioned else None
    sold = _sold(book, name, entry.size_gib.max, iops, rate)
    try:
        return sold if limits_sold(book, sold).pools else None
    except InvalidValue:
        return None


def buys_throughput(book: Catalogue, sold: Sold) -> bool:
    """Whether more throughput is bought than the least that is sold."""
    quantity = book.disks[sold.disk_type].throughput
    return quantity is not None and (sold.throughput or 0) > (quantity.min or 0)


def burst_ios_of(book: Catalogue, sold: Sold, demand: Demand) -> float:
    """The transactions that a month's bursts are billed for."""
    above = _above(book, sold, demand)
    return sum(seconds * over for seconds, over in above) * MONTH_S / sum(s for s, _ in above)


def _bursting(book: Catalogue, sold: Sold, demand: Demand) -> float:
    """The share of the time in which a disk bursts on demand."""
    above = _above(book, sold, demand)
    return sum(seconds for seconds, over in above if over > 0) / sum(s for s, _ in above)


def _above(book: Catalogue, sold: Sold, demand: Demand) -> list[tuple[float, float]]:
    """The seconds of each stage, and its transactions a second above what a disk has without
    bursts: the larger of I/Os, and of bytes in 256 KiB (disks-types.md, "Premium SSD bursting")."""
    base = disk_path(book, sold.model_copy(update={"more": None})).gates
    used = [(gate, demand.used_of(gate)) for gate in base]
    above = []
    for number, stage in enumerate(demand.stages):
        over = [0.0]
        for gate, of_stages in used:
            extra = of_stages[number][1] - gate.allowance.baseline
            over.append(extra if gate.counts == "ios" else extra / 1e6 * 1024 / 256)
        above.append((min(stage.seconds, MONTH_S), max(over)))
    return above


def _sold(
    book: Catalogue,
    name: str,
    size: float,
    iops: float | None = None,
    throughput: float | None = None,
    more: More | None = None,
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
            if quantity.value(low, most) * ROUNDING < wanted:
                return None
            iops = _smallest(iops, most, lambda n: quantity.value(low, n) * ROUNDING >= wanted)
    size = max(low, _gib_for(entry.iops_ratio, iops), _gib_for(entry.throughput_ratio, throughput))
    if size > high:
        return None
    iops = _at_least(entry.iops_ratio, iops, size)
    throughput = _at_least(entry.throughput_ratio, throughput, size)
    sold = _sold(book, name, size, iops, throughput)
    try:
        gates = disk_path(book, sold).gates
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
    return max(math.ceil(quantity.min or 0), math.ceil(need / ROUNDING))


def _gib_for(ratio: RatioLimit | None, bought: int | None) -> int:
    if ratio is None or ratio.max_per_gib is None or bought is None or bought <= ratio.free:
        return 0
    return math.ceil(bought / ratio.max_per_gib)


def _at_least(ratio: RatioLimit | None, bought: int | None, size: int) -> int | None:
    if bought is None or ratio is None or ratio.min_per_gib is None:
        return bought
    return max(bought, math.ceil(ratio.min_per_gib * size))
