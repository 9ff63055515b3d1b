"""What the parts of a rental cost by the hour: one way to ask for all clouds' machines and disks.

Prices stand in the clouds' own files; each holds for one region, and elsewhere none is made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.charges import charge_book
from diskbench.catalog.lookup import limits
from diskbench.errors import UserError
from diskbench.model.rental import PricePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from diskbench.catalog.books import Books
    from diskbench.catalog.charges import Minimum
    from diskbench.catalog.entry import Source
    from diskbench.model.disk import DiskSpec


def priced_region(cloud: str) -> str | None:
    """The region that a cloud's prices are of; None for what has none."""
    charges = charge_book().clouds.get(cloud)
    return charges.region if charges else None


def machine_part(books: Books, cloud: str, machine_type: str, region: str) -> PricePart:
    """The price of a machine on demand; a spot machine costs at most that."""
    charges = charge_book().clouds.get(cloud)
    return PricePart(
        name=f"machine {machine_type}",
        hourly_usd=_machine_usd(books, cloud, machine_type, region),
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
    """The price of `count` equal disks, IOPS and throughput as provisioned, without transactions.

    `tier` is a performance tier that is paid for in place of the size's own (Azure).
    """
    charges = charge_book().clouds.get(cloud)
    one = disk_hourly_usd(books, cloud, disk, region, tier=tier)
    count = f"{disk.count} × " if disk.count > 1 else ""
    return PricePart(
        name=f"{what} {count}{disk.type or 'of any type'} of {disk.size_gib} GiB",
        hourly_usd=None if one is None else one * disk.count,
        minimum_s=_seconds(charges.disk_minimum if charges else None),
        source=_disk_source(books, cloud, disk.type),
    )


def address_part(cloud: str, region: str) -> PricePart:
    """The price of a public address that a running machine uses."""
    charges = charge_book().clouds.get(cloud)
    known = charges is not None and charges.address is not None and charges.region == region
    address = charges.address if charges and known else None
    return PricePart(
        name="public address",
        hourly_usd=address.usd_per_hour if address else None,
        source=_told(charge_book().sources, address.source) if address else "",
    )


def sum_usd(parts: Iterable[PricePart]) -> float | None:
    """What an hour of all parts costs; None unless each price is known."""
    found = [part.hourly_usd for part in parts]
    known = [usd for usd in found if usd is not None]
    return sum(known) if found and len(known) == len(found) else None


def disk_hourly_usd(
    books: Books, cloud: str, disk: DiskSpec, region: str, *, tier: str | None = None
) -> float | None:
    """The price of one disk of a spec without transactions; None where it is not known.

    Throughput is in the cloud's own unit (Azure MB/s, others MiB/s), as in all of the catalogue.
    """
    iops, rate = disk.iops, disk.throughput_mib_per_s
    if cloud == "aws":
        return books.aws.volume_hourly_usd(
            disk.type, disk.size_gib, region, iops=iops, mib_per_s=rate
        )
    if cloud == "gcp":
        return books.gcp.disk_hourly_usd(
            disk.type, disk.size_gib, region, iops=iops, mib_per_s=rate
        )
    if cloud == "azure":
        row = tier or _tier(disk)
        return books.azure.disk_hourly_usd(
            disk.type, row, disk.size_gib, region, iops=iops, mb_per_s=rate
        )
    return None


def _tier(disk: DiskSpec) -> str | None:
    try:
        return limits("azure", disk.type, disk.size_gib, disk.iops, disk.throughput_mib_per_s).tier
    except UserError:
        return None


def _machine_usd(books: Books, cloud: str, machine_type: str, region: str) -> float | None:
    if cloud == "aws":
        return books.aws.instance_hourly_usd(machine_type, region)
    if cloud == "azure":
        return books.azure.size_hourly_usd(machine_type, region)
    return books.gcp.machine_hourly_usd(machine_type, region) if cloud == "gcp" else None


def _machine_source(books: Books, cloud: str, machine_type: str) -> str:
    if cloud == "aws" and (instance := books.aws.instances.get(machine_type)):
        return _told(books.aws.sources, instance.price_source)
    if cloud == "azure" and (size := books.azure.sizes.get(machine_type)):
        return _told(books.azure.sources, size.price_source or size.source)
    if cloud == "gcp" and (priced := books.gcp.priced(machine_type)):
        return _told(books.gcp.sources, priced[1])
    return ""


def _disk_source(books: Books, cloud: str, disk_type: str) -> str:
    if cloud == "aws" and (volume := books.aws.volumes.get(disk_type)):
        return _told(books.aws.sources, volume.source)
    if cloud == "azure" and (price := books.azure.disks.get(disk_type)):
        return _told(books.azure.sources, price.source)
    if cloud == "gcp" and (sold := books.gcp.disks.get(disk_type)):
        return _told(books.gcp.sources, sold.source)
    return ""


def _told(sources: Mapping[str, Source], key: str) -> str:
    """`infracost …/x.golden (2024-07-01)`."""
    return sources[key].words()


def _seconds(minimum: Minimum | None) -> float:
    return minimum.value if minimum else 0.0
