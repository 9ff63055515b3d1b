"""The rental as a priced offer for the user: resolved by Azure, or expected by the catalogue alone,
where Azure may answer otherwise. Pure."""

from collections.abc import Iterator
from typing import Any

from diskbench.catalog.books import Books, ProviderBook
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.azure.client import Azure
from diskbench.providers.azure.disk_request import (
    DEFAULT_OS_GIB,
    AzureDiskRequest,
    AzureMachine,
    AzureResolved,
)
from diskbench.providers.azure.machines import candidates, of_book, too_small
from diskbench.providers.skeleton import offer


def rental(books: Books, spec: RentSpec, details: AzureResolved, azure: Azure) -> Rental:
    """The rental for the lookup's result."""
    scope = Scope(
        provider="azure", account=azure.subscription, region=details.region, endpoint=azure.endpoint
    )
    os_disk = DiskSpec(type=details.os_type, size_gib=details.image.os_gib or DEFAULT_OS_GIB)
    return _offered(
        books, spec, details.requested, scope, details.machine.size, details.machine,
        details.size_gib, os_disk,
        offer=_offer_line(spec, details),
        zones=details.zones,
        image=details.image.name,
        warnings=tuple(_warnings(books, spec, details)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _offered(
    books: Books, spec: RentSpec, requested: AzureDiskRequest, scope: Scope, size: str | None,
    machine: AzureMachine | None, size_gib: int, os_disk: DiskSpec,
    **known: Any,  # noqa: ANN401 - fields of Rental
) -> Rental:  # fmt: skip
    return offer.offered(
        books, spec, scope, requested, size_gib, size,
        region=scope.region, root=os_disk, own=requested.kind == "local",
        public=spec.subnet is None, root_words="OS disk", tier=requested.tier,
        # It costs by the hour and by burst transactions; neither price is known.
        more=[PricePart(name="bursting on demand", hourly_usd=None)] if requested.bursting else [],
        cores=machine.vcpus if machine else None,
        memory_bytes=machine.memory_bytes if machine else None,
        **known,
    )  # fmt: skip


def _offer_line(spec: RentSpec, details: AzureResolved) -> str:
    requested, zones, region = details.requested, details.zones, details.region
    more = offer.OF_FILL if spec.snapshot_of_fill else ""
    more += f", tier {requested.tier}" if requested.tier else ""
    more += ", performance plus" if requested.plus else ""
    more += ", bursting on demand" if requested.bursting else ""
    more += f", host cache {requested.caching.lower()}" if requested.caching else ""
    return offer.offer_words(
        spec, requested, details.size_gib, machine=details.machine.size,
        where=f"{region} zone {offer.place_words(zones)}" if zones else region,
        image=details.image.name, own="its own disk" if requested.kind == "local" else None,
        more=more, root="OS disk", unit="MB/s",
    )  # fmt: skip


def _warnings(books: Books, spec: RentSpec, details: AzureResolved) -> Iterator[str]:
    yield from details.warnings
    machine, requested = details.machine, details.requested
    need = offer.needs(requested.limits(details.size_gib), requested.count)
    better = candidates(books.of("azure"), of_book(books.of("azure")), need, requested)
    small = too_small(machine, need, requested, better[0].size if better else None)
    if small:
        yield small
    if machine.retires is not None:
        yield f"Azure retires {machine.size} on {machine.retires}: no later results"
    if machine.burstable:
        yield f"{machine.size} earns CPU credits: fio may run out of them before the disk does"
    if requested.is_cached:
        yield (
            f"host cache {requested.caching}: the first pass over the data is cold and slower; "
            f"later passes measure the machine's cache"
        )
    yield from offer.open_warnings(spec, spot=", and costs at most the price shown")
    if requested.kind == "root" and requested.type == "Standard_LRS":
        yield "Azure ends Standard HDD as an OS disk on 2028-09-08"  # disks-types.md 2026-08-11
    if requested.encryption_set is not None and requested.kind == "local":
        yield "--kms-key encrypts the OS disk; the machine's own disk is encrypted by Azure alone"
    if details.subnet is not None:
        yield (
            "the machine has no public address: SSH must reach its private one, and the machine "
            "its package mirror (a NAT gateway, or an image with fio)"
        )


def foresee(books: Books, spec: RentSpec, requested: AzureDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    book = books.of("azure")
    size_gib = requested.size_gib or DEFAULT_OS_GIB
    known = {machine.size: machine for machine in of_book(book)}
    need = offer.needs(requested.limits(size_gib), requested.count)
    fit = candidates(book, known.values(), need, requested)
    size = spec.instance_type or (fit[0].size if fit else None)
    machine = known.get(size or "")
    if requested.kind == "local" and machine is not None:
        size_gib = max(1, int(machine.local_gib))
    os_type = "Premium_LRS" if machine is None or machine.premium else "StandardSSD_LRS"
    cached = f", host cache {requested.caching.lower()}" if requested.caching else ""
    is_local = requested.kind == "local"
    what = "its own disk" if is_local else f"{requested.type} of {size_gib:,} GiB{cached}"
    return _offered(
        books, spec, requested, Scope(provider="azure", account=spec.account, region=spec.region),
        size, machine, size_gib, DiskSpec(type=os_type, size_gib=DEFAULT_OS_GIB),
        offer=f"{size or 'a machine'} with {what}",
        zones=(spec.zone,) if spec.zone else (),
        warnings=tuple(_expected_warnings(book, machine, requested)),
    )  # fmt: skip


def _expected_warnings(
    book: ProviderBook, machine: AzureMachine | None, requested: AzureDiskRequest
) -> Iterator[str]:
    if machine is None:
        return
    if not machine.premium and requested.needs_premium:
        yield (
            f"{machine.size} does not support {requested.type}: choose a size with an s in its "
            f"name, such as Standard_D2s_v3"
        )
    if not book.machines.types[machine.size].current:
        end = f", and Azure retires it on {machine.retires}" if machine.retires else ""
        yield f"{machine.size} is of a previous generation: not every region has it{end}"
