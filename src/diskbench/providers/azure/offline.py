"""The expected rental by the catalogue alone: pure. Azure may answer otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.limits.promise import promise
from diskbench.catalog.prices.hourly import address_part, disk_part, machine_part, sum_usd
from diskbench.model.disk import DiskSpec
from diskbench.model.rental import PricePart, Rental, Scope
from diskbench.providers.azure.choice import candidates
from diskbench.providers.azure.resolved import DEFAULT_OS_GIB
from diskbench.providers.skeleton.offer import needs
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.catalog.books import Books
    from diskbench.catalog.machines.machine_book import MachineEntry
    from diskbench.model.rental import RentSpec
    from diskbench.providers.azure.disk_request import AzureDiskRequest


def foresee(books: Books, spec: RentSpec, requested: AzureDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    book = books.of("azure")
    size_gib = requested.size_gib or DEFAULT_OS_GIB
    limits = requested.limits(size_gib)
    fit = candidates(book, needs(limits, requested.count), requested)
    size = spec.instance_type or (fit[0] if fit else None)
    entry = book.machines.types.get(size or "")
    if requested.kind == "local" and entry is not None:
        size_gib = max(1, int(entry.traits.get("temp_gib", 0)))
    public = spec.subnet is None
    prices = tuple(
        _prices(books, requested, size_gib, size or "", spec.region or "", entry, public)
    )
    cached = f", host cache {requested.caching}" if requested.caching else ""
    what = (
        "its own disk"
        if requested.kind == "local"
        else f"{requested.type} of {size_gib:,} GiB{cached}"
    )
    return Rental(
        scope=Scope(provider="azure", account=spec.account, region=spec.region),
        spec=spec,
        cloud="azure",
        offer=f"{size or 'a machine'} with {what}",
        promise=promise(limits, spec.time_scale) if limits else "",
        zones=(spec.zone,) if spec.zone else (),
        instance_type=size,
        disk=requested.spec(size_gib),
        cores=entry.vcpus if entry else None,
        memory_bytes=int(entry.memory_gib * GIB) if entry else None,
        hourly_usd=sum_usd(prices),
        prices=prices,
        warnings=tuple(_warnings(size, entry, requested)),
    )


def _prices(
    books: Books,
    requested: AzureDiskRequest,
    size_gib: int,
    size: str,
    region: str,
    entry: MachineEntry | None,
    public: bool,
) -> Iterator[PricePart]:
    yield machine_part(books, "azure", size, region)
    if requested.kind != "root":
        os_type = "Premium_LRS" if entry is None or _is_premium(entry) else "StandardSSD_LRS"
        os_disk = DiskSpec(type=os_type, size_gib=DEFAULT_OS_GIB)
        yield disk_part(books, "azure", os_disk, region, what="OS disk")
    if requested.kind != "local":
        what = "OS disk" if requested.kind == "root" else "disk"
        yield disk_part(
            books, "azure", requested.spec(size_gib), region, what=what, tier=requested.tier
        )
    if requested.bursting:
        yield PricePart(name="bursting on demand", hourly_usd=None)
    if public:
        yield address_part("azure", region)


def _warnings(
    size: str | None, entry: MachineEntry | None, requested: AzureDiskRequest
) -> Iterator[str]:
    if entry is None:
        return
    if not _is_premium(entry) and requested.type.startswith(("Premium", "Ultra")):
        yield (
            f"{size} takes no {requested.type}: choose one whose name has an s, as Standard_D2s_v3"
        )
    if not entry.current:
        yield f"{size} is of a previous generation: not every region has it"


def _is_premium(entry: MachineEntry) -> bool:
    return bool(entry.traits.get("premium", True))
