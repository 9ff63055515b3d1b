"""What a trial costs, and what a disk costs a month (docs/METHOD.md, "Prices and costs").

I/O of the operating system on a root disk and network traffic are not counted. Prices hold for one
region: those of a provider's own files, or one that was refreshed; for others none is assumed. A
month of a disk is priced by the rate after all credit is used up, without a machine that limits it.
"""

from collections.abc import Iterable, Sequence

from diskbench.catalog.books import Books
from diskbench.catalog.expect import expect_on, path_of
from diskbench.catalog.lookup import DiskLimits
from diskbench.catalog.path import Path
from diskbench.catalog.prices import Charges, Work, charge_of, disk_limits, price_book
from diskbench.catalog.shipped import shipped_book
from diskbench.catalog.sourced_figures import SourcedNumber
from diskbench.model.base import Frozen
from diskbench.model.expectation import DiskPrice, Load
from diskbench.model.rental import DiskSpec, PricePart, Rental
from diskbench.model.spec import EMULATED_PROVIDERS
from diskbench.units import KIB, MIB

HOUR_S = 3600
MONTH_HOURS = 730.0
"""A month of 365 days / 12: the month that infracost's golden files price (2024-07-01)."""
_SMALL = Load(block_bytes=4 * KIB)
_LARGE = Load(block_bytes=MIB, random=False)


class CellCost(Frozen):
    """What one trial costs, in US dollars.

    `hourly_usd` and `total_usd` are None unless every price is known; `unknown` names the parts
    whose price is not, and `known_usd` is the sum of what is. `fixed_usd` is what the least billed
    time adds, `transactions_usd` what so many `transactions` cost. `source` is where prices stand.
    `unpriced_region` is where prices are lacking that can be asked for.
    """

    seconds: float
    hourly_usd: float | None
    fixed_usd: float = 0.0
    transactions: float = 0.0
    transactions_usd: float = 0.0
    known_usd: float = 0.0
    total_usd: float | None
    unknown: tuple[str, ...] = ()
    source: str = ""
    unpriced_region: str | None = None

    def unknown_words(self) -> str:
        """The parts without a price, and what to do; empty where all are known."""
        if not self.unknown:
            return ""
        where = self.unpriced_region
        return no_price_words(self.unknown, () if where is None else (where,))

    def total_or(self, assume_price_usd_per_hour: float | None) -> float | None:
        """The total; with an unknown price what so many dollars an hour make, but never less than
        what is known. None where nothing is assumed either."""
        if not self.unknown or assume_price_usd_per_hour is None:
            return self.total_usd
        return max(self.known_usd, assume_price_usd_per_hour * self.seconds / HOUR_S)


def no_price_words(parts: Iterable[str], regions: Sequence[str]) -> str:
    """What has no price, and how to ask for the prices of `regions`."""
    told = f"no price for {', '.join(parts)}"
    if not regions:
        return told
    return f"{told}, in {', '.join(regions)}: {'; '.join(map(refresh_command, regions))}"


def refresh_command(region: str) -> str:
    """The command that asks a cloud for the prices of a region."""
    return f"diskbench catalog prices --refresh --region {region}"


class TrialCost(CellCost):
    """The cost of a trial so far, or in total once it `ended`; an `emulated` trial cost nothing,
    and this is the cost of a real one."""

    trial_id: str
    emulated: bool
    ended: bool


def cost_of(rental: Rental | None, seconds: float, work: Sequence[Work] = ()) -> CellCost:
    """Return the cost of a rental for `seconds` and the `work` on its disks; 0 without a rental, in
    the lab, and in the fake cloud."""
    if rental is None or rental.scope.provider in EMULATED_PROVIDERS:
        return CellCost(seconds=seconds, hourly_usd=0.0, total_usd=0.0)
    parts = rental.prices or (PricePart(name="machine and disks", hourly_usd=rental.hourly_usd),)
    known = [(part.hourly_usd, part.minimum_s) for part in parts if part.hourly_usd is not None]
    by_the_hour = sum(usd for usd, _ in known) * seconds / HOUR_S
    fixed = sum(usd * max(0.0, least - seconds) for usd, least in known) / HOUR_S
    unknown = [part.name for part in parts if part.hourly_usd is None]
    can_refresh = bool(unknown) and priced_region(rental.catalogue) is not None
    sources = [part.source for part in parts]
    transactions, usd = 0.0, 0.0
    disk, scope = rental.disk, rental.scope
    charge = charge_of(rental.catalogue, disk, scope.region) if disk else None
    if disk is not None and charge is not None:
        counting, price, source = charge
        transactions = counting.count(work, disks=disk.count)
        sources.append(source)
        if price is None:
            unknown.append(f"transactions of {disk.type}")
        else:
            usd = price.cost_usd(transactions)
    total = by_the_hour + fixed + usd
    return CellCost(
        seconds=seconds,
        hourly_usd=sum_usd(parts),
        fixed_usd=fixed,
        transactions=transactions,
        transactions_usd=usd,
        known_usd=total,
        total_usd=None if unknown else total,
        unknown=tuple(unknown),
        source="; ".join(dict.fromkeys(source for source in sources if source)),
        unpriced_region=scope.region if can_refresh else None,
    )


def monthly(
    books: Books,
    cloud: str,
    disk: DiskSpec,
    region: str,
    work: Sequence[Work],
    *,
    hours: float = MONTH_HOURS,
    tier: str | None = None,
) -> tuple[float | None, float | None]:
    """Return what one disk costs in a month of `hours`, and what the `work` done in it costs, in
    USD; None where a price is not known. `tier` is a performance tier that is paid for instead of
    the size's own tier.

    At full load: `monthly(books, …, [expected_work(cloud, disk, [4096], hours * 3600)])`.
    """
    hourly = disk_hourly_usd(books, cloud, disk, region, tier=tier)
    charge = charge_of(cloud, disk, region)
    usd: float | None = 0.0
    if charge is not None:
        counting, price, _ = charge
        usd = price.cost_usd(counting.count(work)) if price else None
    return None if hourly is None else hourly * hours, usd


def priced_region(cloud: str) -> str | None:
    """Return the region that a cloud's shipped prices hold for; None without prices."""
    return price_book(cloud).region or None


def machine_part(books: Books, cloud: str, machine_type: str, region: str) -> PricePart:
    """Return the on-demand price of a machine; a spot machine costs at most that."""
    charges, book = shipped_book(Charges, cloud), books.of(cloud)
    prices, entry = book.prices_in(region), book.machines.types.get(machine_type)
    # The source of its price, else that of the machine: `infracost …/x.golden (2024-07-01)`.
    source = book.machines.sources[entry.source].words() if entry else ""
    if priced := prices.machine_price(machine_type):
        source = prices.sources[priced[1]].words()
    return PricePart(
        name=f"machine {machine_type}",
        hourly_usd=prices.machine_hourly_usd(machine_type, region),
        minimum_s=_seconds(charges.machine_minimum if charges else None),
        source=source,
    )


def disk_part(
    books: Books,
    cloud: str,
    disk: DiskSpec,
    region: str,
    *,
    what: str = "disk",
    tier: str | None = None,
) -> PricePart:
    """Return the price of `count` equal disks with provisioned IOPS and throughput, without
    transactions.

    `tier` is a performance tier that is paid for instead of the size's own.
    """
    charges, prices = shipped_book(Charges, cloud), books.of(cloud).prices_in(region)
    price = prices.disks.get(disk.type)
    hourly_usd = disk_hourly_usd(books, cloud, disk, region, tier=tier)
    count = f"{disk.count} × " if disk.count > 1 else ""
    return PricePart(
        name=f"{what} {count}{disk.type or 'of any type'} of {disk.size_gib} GiB",
        hourly_usd=None if hourly_usd is None else hourly_usd * disk.count,
        minimum_s=_seconds(charges.disk_minimum if charges else None),
        source=prices.sources[price.source].words() if price else "",
    )


def snapshot_part(cloud: str, size_gib: int, region: str) -> PricePart:
    """Return the price of a snapshot of a full disk, while it is kept."""
    part, charges = f"snapshot of {size_gib} GiB", shipped_book(Charges, cloud)
    price = charges.snapshot_usd_per_gib_month if charges else None
    if charges is None or price is None or charges.region != region:
        return PricePart(name=part, hourly_usd=None)
    usd, source = price.value * size_gib / MONTH_HOURS, charges.sources[price.source].words()
    return PricePart(name=part, hourly_usd=usd, source=source)


def restore_part(cloud: str, region: str) -> PricePart:
    """Return the price of the fast restore of one snapshot in one zone."""
    part, charges = "fast restore of the snapshot", shipped_book(Charges, cloud)
    if charges is None or (price := charges.fast_restore) is None or charges.region != region:
        return PricePart(name=part, hourly_usd=None)
    source, least_s = charges.sources[price.source].words(), price.minimum_s
    return PricePart(name=part, hourly_usd=price.usd_per_hour, minimum_s=least_s, source=source)


def address_part(books: Books, cloud: str, region: str) -> PricePart:
    """Return the price of a public address that a running machine uses."""
    for book in (books.of(cloud).prices_in(region), shipped_book(Charges, cloud)):
        if book and (price := book.address) and (price.everywhere or book.region == region):
            source = book.sources[price.source].words()
            return PricePart(name="public address", hourly_usd=price.usd_per_hour, source=source)
    return PricePart(name="public address", hourly_usd=None)


def sum_usd(parts: Iterable[PricePart]) -> float | None:
    """Return the hourly price of all parts in USD; None unless each price is known."""
    prices = [part.hourly_usd for part in parts]
    known = [usd for usd in prices if usd is not None]
    return sum(known) if prices and len(known) == len(prices) else None


def disk_hourly_usd(
    books: Books, cloud: str, disk: DiskSpec, region: str, *, tier: str | None = None
) -> float | None:
    """Return the hourly price of one disk of a spec without transactions; None if unknown.

    Throughput is in the unit in which the type is sold, as in all of the catalogue.
    """
    limits = disk_limits(cloud, disk)
    return (
        books.of(cloud)
        .prices_in(region)
        .disk_hourly_usd(
            disk.type,
            disk.size_gib,
            region,
            iops=disk.iops,
            throughput=disk.throughput_mib_per_s,
            tier=tier or (limits.tier if limits else None),
        )
    )


def _seconds(minimum: SourcedNumber | None) -> float:
    return minimum.value if minimum else 0.0


def disk_price(
    books: Books,
    cloud: str,
    disk: DiskSpec,
    region: str,
    limits: DiskLimits | None,
    *,
    tier: str | None = None,
) -> DiskPrice:
    """Return the price of one disk of a spec; None for figures that are not known."""
    path = path_of(limits) if limits else Path(())
    small, large = expect_on(path, _SMALL), expect_on(path, _LARGE)
    seconds = MONTH_HOURS * HOUR_S
    requests = small.lasting.iops * seconds if small else 0.0
    work = [Work(requests=requests, request_bytes=_SMALL.block_bytes, seconds=seconds)]
    one = disk.model_copy(update={"count": 1})
    storage, transactions = monthly(books, cloud, one, region, work, tier=tier)
    total = None if storage is None or transactions is None else storage + transactions

    def per(rate: float | None, unit: float) -> float | None:
        return None if total is None or not rate else total / (rate / unit)

    return DiskPrice(
        storage_usd=storage,
        transactions_usd=transactions,
        total_usd=total,
        per_1000_iops_usd=per(small.lasting.iops if small else None, 1000),
        per_1000_burst_iops_usd=per(small.begin.iops, 1000) if small and small.bursts else None,
        per_100_mb_per_s_usd=per(large.lasting.bytes_per_s if large else None, 1e8),
        per_100_burst_mb_per_s_usd=per(large.begin.bytes_per_s, 1e8)
        if large and large.bursts
        else None,
    )
