"""The expected rental by the catalogue alone: pure. Google may answer otherwise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.catalog.cost import address_part, disk_part, machine_part, sum_usd
from diskbench.catalog.lookup import promise
from diskbench.catalog.machine_book import machine_book
from diskbench.model.rental import DiskSpec, Rental, Scope
from diskbench.providers.gcp.choice import boot_type, candidates, too_small
from diskbench.providers.gcp.disk_request import BOOT_TYPES
from diskbench.providers.gcp.reach import reach_of
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.catalog.books import Books
    from diskbench.model.options import RentSpec
    from diskbench.model.rental import PricePart
    from diskbench.providers.gcp.disk_request import GcpDiskRequest

IMAGE_GIB = 10
"""The root disk of Ubuntu's and Debian's images for Google Cloud; another image may have more."""
_GIB_PER_VCPU = {"highcpu": 1.0, "standard": 4.0, "highmem": 8.0}
"""Roughly, for planning: the exact figure is Google's and differs a little between series. N1 has
0.9, 3.75 and 6.5."""
_OF_N1 = {"highcpu": 0.9, "standard": 3.75, "highmem": 6.5}


def foresee(books: Books, spec: RentSpec, requested: GcpDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    size_gib = requested.size_gib or IMAGE_GIB
    limits = requested.limits(size_gib) if requested.type else None
    fit = candidates(requested, size_gib)
    machine = spec.instance_type or (fit[0] if fit else None)
    vcpus = machine_book("gcp").vcpus_of(machine) if machine else None
    region = spec.region or (spec.zone.rpartition("-")[0] if spec.zone else None)
    prices = tuple(_prices(books, spec, requested, size_gib, machine or "", region or ""))
    small = too_small(machine, vcpus, requested, size_gib) if machine and vcpus else None
    return Rental(
        scope=Scope(provider="gcp", account=spec.account, region=region),
        spec=spec,
        offer=f"{machine or 'a machine'} with {requested.type} of {size_gib:,} GiB",
        promise=promise(limits, spec.time_scale) if limits else "",
        zones=(spec.zone,) if spec.zone else (),
        instance_type=machine,
        disk=requested.spec(size_gib),
        cores=vcpus,
        memory_bytes=_memory_bytes(machine, vcpus),
        hourly_usd=sum_usd(prices),
        prices=prices,
        warnings=(small,) if small else (),
    )


def _prices(
    books: Books,
    spec: RentSpec,
    requested: GcpDiskRequest,
    size_gib: int,
    machine: str,
    region: str,
) -> Iterator[PricePart]:
    yield machine_part(books, "gcp", machine, region)
    if requested.kind != "root":
        boot = DiskSpec(type=boot_type(machine, requested, BOOT_TYPES), size_gib=IMAGE_GIB)
        yield disk_part(books, "gcp", boot, region, what="root disk")
    what = "root disk" if requested.kind == "root" else "disk"
    yield disk_part(books, "gcp", requested.spec(size_gib), region, what=what)
    if reach_of(spec) == "public":
        yield address_part("gcp", region)


def _memory_bytes(machine: str | None, vcpus: int | None) -> int | None:
    match = re.match(r"([a-z0-9]+)-(highcpu|standard|highmem)-", machine or "")
    if not match or vcpus is None:
        return None
    gib_per_vcpu = _OF_N1 if match[1] == "n1" else _GIB_PER_VCPU
    return int(gib_per_vcpu[match[2]] * vcpus * GIB)
