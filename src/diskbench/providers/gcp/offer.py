"""The rental as a priced offer for the user: resolved by Google Cloud, or expected by the catalogue
alone, where Google may answer otherwise. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diskbench.catalog.books import Books
from diskbench.catalog.machine_book import machine_book
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.gcp.disk_request import GcpDiskRequest, GcpResolved, reach_of
from diskbench.providers.gcp.machines import boot_type, candidates, shares_limit, too_small
from diskbench.providers.skeleton.offer import (
    OF_FILL,
    disk_words,
    offered,
    open_warnings,
    place_words,
)
from diskbench.units import GIB


def rental(books: Books, spec: RentSpec, details: GcpResolved, endpoint: str | None) -> Rental:
    """The rental for the lookup's result; `endpoint` is one given by the user."""
    requested, machine = details.requested, details.machine
    return offered(
        books, spec, Scope(provider="gcp", account=details.project, endpoint=endpoint),
        requested, details.size_gib, machine.type,
        region=details.region,
        root=DiskSpec(type=details.boot_type, size_gib=details.image.root_gib)
        if details.boot_type
        else PricePart(name="root disk of a type that Google chooses", hourly_usd=None),
        own=requested.kind == "local-ssd" and bool(machine.bundled_ssds),
        public=details.reach == "public",
        offer=_words(spec, details),
        zones=details.zones,
        image=details.image.link,
        cores=machine.vcpus,
        memory_bytes=machine.memory_bytes,
        warnings=tuple(_warnings(spec, details)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _words(spec: RentSpec, details: GcpResolved) -> str:
    requested = details.requested
    size = f"{details.size_gib:,} GiB"
    what = {
        "disk": f"{requested.type} of {size}",
        "root": f"its root disk, {requested.type} of {size}",
        "local-ssd": f"its own {(requested.interface or '').upper()} disk of {size}",
    }[requested.kind]
    disk = disk_words(
        what, requested.count, spec.stripe, requested.iops, requested.throughput_mib_per_s
    )
    if spec.snapshot is not None:
        disk += f", made from the snapshot {spec.snapshot.rpartition('/')[2]}"
    if spec.snapshot_of_fill:
        disk += OF_FILL
    spot, where = "spot " if spec.spot else "", place_words(details.zones)
    return f"{spot}{details.machine.type} in {where} with {disk}; {details.image.name}"


def _warnings(spec: RentSpec, details: GcpResolved) -> Iterator[str]:
    machine, requested = details.machine, details.requested
    small = too_small(machine.type, machine.vcpus, requested, details.size_gib)
    if small:
        yield small
    series = machine_book("gcp").series_of(machine.type)
    if series is None:
        yield f"which disks {machine.type} takes is not in the catalogue: Google may refuse it"
    elif requested.kind == "disk" and requested.type in series.open:
        yield (
            f"whether {machine.type} takes {requested.type} is not in the catalogue: "
            "Google may refuse it"
        )
    if machine.shared_core:
        yield f"{machine.type} shares its cores: fio may wait for them, and not for the disk"
    shares = requested.type == details.boot_type and requested.type.startswith("pd-")
    if requested.kind == "disk" and shares:
        yield f"the root disk is {requested.type}, too, and its size adds to the limit of both"
    if shares_limit(requested):
        yield (
            f"{requested.count} × {requested.type} on one machine promise what one of "
            f"{requested.count * details.size_gib:,} GiB does, not {requested.count} times as much"
        )
    if spec.kms_key is not None and requested.kind == "local-ssd":
        yield "--kms-key encrypts the root disk; local SSDs are encrypted by Google alone"
    yield from open_warnings(spec, spot="")


IMAGE_GIB = 10
"""The root disk of Ubuntu's and Debian's images for Google Cloud; another image may have more."""
_GIB_PER_VCPU = {"highcpu": 1.0, "standard": 4.0, "highmem": 8.0}
"""Roughly, for planning: the exact figure is Google's and differs a little between series. N1 has
0.9, 3.75 and 6.5."""
_OF_N1 = {"highcpu": 0.9, "standard": 3.75, "highmem": 6.5}


def foresee(books: Books, spec: RentSpec, requested: GcpDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    size_gib = requested.size_gib or IMAGE_GIB
    fit = candidates(requested, size_gib)
    machine = spec.instance_type or (fit[0] if fit else None)
    vcpus = machine_book("gcp").vcpus_of(machine) if machine else None
    region = spec.region or (spec.zone.rpartition("-")[0] if spec.zone else None)
    small = too_small(machine, vcpus, requested, size_gib) if machine and vcpus else None
    shape = re.match(r"([a-z0-9]+)-(highcpu|standard|highmem)-", machine or "")
    gib_per_vcpu = _OF_N1 if shape and shape[1] == "n1" else _GIB_PER_VCPU
    return offered(
        books, spec, Scope(provider="gcp", account=spec.account, region=region),
        requested, size_gib, machine,
        region=region,
        root=DiskSpec(type=boot_type(machine or "", requested), size_gib=IMAGE_GIB),
        own=False,
        public=reach_of(spec) == "public",
        offer=f"{machine or 'a machine'} with {requested.type} of {size_gib:,} GiB",
        zones=(spec.zone,) if spec.zone else (),
        cores=vcpus,
        memory_bytes=int(gib_per_vcpu[shape[2]] * vcpus * GIB) if shape and vcpus else None,
        warnings=(small,) if small else (),
    )  # fmt: skip
