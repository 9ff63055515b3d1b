"""The hourly prices of the parts of a rental: machines, disks, a public address.

Prices are in each provider's own files and hold for one region; for other regions none is assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.limits.lookup import limits
from diskbench.catalog.prices.charges import charges_of
from diskbench.catalog.prices.price_book import price_book
from diskbench.errors import UserError
from diskbench.model.rental import PricePart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.catalog.books import Books
    from diskbench.catalog.prices.charges import Minimum
    from diskbench.model.rental import DiskSpec


def priced_region(cloud: str) -> str | None:
    """Return the region that a cloud's prices hold for; None without prices."""
    return price_book(cloud).region or None


def machine_part(books: Books, cloud: str, machine_type: str, region: str) -> PricePart:
    """Return the on-demand price of a machine; a spot machine costs at most that."""
    charges = charges_of(cloud)
    return PricePart(
        name=f"machine {machine_type}",
        hourly_usd=books.of(cloud).prices.machine_hourly_usd(machine_type, region),
        minimum_s=_seconds(charges.machine_minimum if charges else None),
        source=_machine_source(books, cloud, machine_type),
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
    charges = charges_of(cloud)
    hourly_usd = disk_hourly_usd(books, cloud, disk, region, tier=tier)
    count = f"{disk.count} × " if disk.count > 1 else ""
    return PricePart(
        name=f"{what} {count}{disk.type or 'of any type'} of {disk.size_gib} GiB",
        hourly_usd=None if hourly_usd is None else hourly_usd * disk.count,
        minimum_s=_seconds(charges.disk_minimum if charges else None),
        source=_disk_source(books, cloud, disk.type),
    )


def address_part(cloud: str, region: str) -> PricePart:
    """Return the price of a public address that a running machine uses."""
    charges = charges_of(cloud)
    known = charges is not None and charges.address is not None and charges.region == region
    address = charges.address if charges and known else None
    return PricePart(
        name="public address",
        hourly_usd=address.usd_per_hour if address else None,
        source=charges.sources[address.source].words() if charges and address else "",
    )


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
    return books.of(cloud).prices.disk_hourly_usd(
        disk.type,
        disk.size_gib,
        region,
        iops=disk.iops,
        throughput=disk.throughput_mib_per_s,
        tier=tier or _tier(cloud, disk),
    )


def _tier(cloud: str, disk: DiskSpec) -> str | None:
    try:
        return limits(cloud, disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s).tier
    except UserError:
        return None


def _machine_source(books: Books, cloud: str, machine_type: str) -> str:
    """Return the source of the machine's price, else that of the machine:
    `infracost …/x.golden (2024-07-01)`."""
    book = books.of(cloud)
    if priced := book.prices.machine_price(machine_type):
        return book.prices.sources[priced[1]].words()
    entry = book.machines.types.get(machine_type)
    return book.machines.sources[entry.source].words() if entry else ""


def _disk_source(books: Books, cloud: str, disk_type: str) -> str:
    prices = books.of(cloud).prices
    price = prices.disks.get(disk_type)
    return prices.sources[price.source].words() if price else ""


def _seconds(minimum: Minimum | None) -> float:
    return minimum.value if minimum else 0.0
