"""The expected rental by the catalogue alone: pure. AWS may answer otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.limits.promise import promise
from diskbench.catalog.prices.hourly import address_part, disk_part, machine_part, sum_usd
from diskbench.model.disk import DiskSpec
from diskbench.model.rental import Rental, Scope
from diskbench.providers.aws.choice import candidates, figures, too_small
from diskbench.providers.aws.disk_request import ROOT_TYPE
from diskbench.providers.aws.partitions import region_of
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import needs
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.catalog.books import Books
    from diskbench.catalog.machines.machine_book import MachineEntry
    from diskbench.model.rental import PricePart, RentSpec
    from diskbench.providers.aws.disk_request import AwsDiskRequest

IMAGE_GIB = 8
"""The root disk of Ubuntu's and Debian's images for AWS; another image may have more."""
_ARCH = "x86_64"


def foresee(books: Books, spec: RentSpec, requested: AwsDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    book = books.of("aws")
    size_gib = requested.size_gib or IMAGE_GIB
    limits = requested.limits(size_gib)
    need = needs(limits, requested.count)
    local = requested.count if requested.kind == "instance-store" else 0
    fit = candidates(book, need, arch=_ARCH, disks=requested.count, local_disks=local)
    machine = spec.instance_type or (fit[0] if fit else None)
    entry = book.machines.types.get(machine or "")
    if requested.kind == "instance-store" and entry is not None and entry.local is not None:
        size_gib = int(entry.local.size_gb * 1e9 / GIB)
    region = spec.region or (region_of(spec.zone) if spec.zone else None)
    public = not NetworkOptions.of(spec).no_public_ip
    prices = tuple(_prices(books, requested, size_gib, machine or "", region or "", public=public))
    small = (
        too_small(machine or "", figures(entry), need, fit[0] if fit else None) if entry else None
    )
    return Rental(
        scope=Scope(provider="aws", account=spec.account, region=region),
        spec=spec,
        offer=_words(requested, size_gib, machine),
        promise=promise(limits, spec.time_scale) if limits else "",
        zones=(spec.zone,) if spec.zone else (),
        instance_type=machine,
        disk=requested.spec(size_gib),
        cores=entry.vcpus if entry else None,
        memory_bytes=int(entry.memory_gib * GIB) if entry else None,
        hourly_usd=sum_usd(prices),
        prices=prices,
        warnings=tuple(warning for warning in (small, _retired(machine, entry)) if warning),
    )


def _prices(
    books: Books,
    requested: AwsDiskRequest,
    size_gib: int,
    machine: str,
    region: str,
    *,
    public: bool,
) -> Iterator[PricePart]:
    yield machine_part(books, "aws", machine, region)
    if requested.kind != "root":
        root = DiskSpec(type=ROOT_TYPE, size_gib=IMAGE_GIB)
        yield disk_part(books, "aws", root, region, what="root disk")
    if requested.kind != "instance-store":
        what = "root disk" if requested.kind == "root" else "disk"
        yield disk_part(books, "aws", requested.spec(size_gib), region, what=what)
    if public:
        yield address_part("aws", region)


def _words(requested: AwsDiskRequest, size_gib: int, machine: str | None) -> str:
    what = (
        "its own disk"
        if requested.kind == "instance-store"
        else f"{requested.type} of {size_gib:,} GiB"
    )
    return f"{machine or 'a machine'} with {what}"


def _retired(machine: str | None, entry: MachineEntry | None) -> str | None:
    if entry is None or entry.current:
        return None
    return f"{machine} is of a previous generation: not every zone has it"
