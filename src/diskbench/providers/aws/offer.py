"""The rental as a priced offer for the user: resolved by AWS, or expected by the catalogue alone,
where AWS may answer otherwise. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diskbench.catalog.books import Books
from diskbench.catalog.cost import restore_part
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.asked import snapshot_option
from diskbench.providers.aws.client import account_name
from diskbench.providers.aws.disk_request import ROOT_TYPE, AwsDiskRequest, AwsResolved, region_of
from diskbench.providers.aws.machines import DEARER, candidates, figures, too_small
from diskbench.providers.aws.plugin import AwsOptions
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import (
    OF_FILL,
    disk_words,
    needs,
    offered,
    open_warnings,
    place_words,
)
from diskbench.units import GIB, MIB


def rental(books: Books, spec: RentSpec, details: AwsResolved, endpoint: str | None) -> Rental:
    """The rental for the lookup's result; `endpoint` is an emulator's."""
    machine = details.machine
    account = account_name(spec.account, details.account_id)
    return _offered(
        books, spec, details.requested,
        Scope(provider="aws", account=account, region=details.region, endpoint=endpoint),
        details.size_gib,
        machine.type,
        root=DiskSpec(type=details.root_type, size_gib=details.image.root_gib),
        # A subnet of the user may assign a public address or not: the price assumes that it does.
        public=details.places[0].public is not False,
        offer=_words(spec, details),
        zones=tuple(place.zone for place in details.places if place.machine is None),
        image=details.image.id,
        cores=machine.vcpus,
        memory_bytes=machine.memory_bytes,
        warnings=tuple(_warnings(books, spec, details)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _offered(
    books: Books,
    spec: RentSpec,
    requested: AwsDiskRequest,
    scope: Scope,
    size_gib: int,
    machine: str | None,
    **known: Any,  # noqa: ANN401 - as skeleton.offer.offered
) -> Rental:
    options, more = AwsOptions.of(spec), list[PricePart]()
    if options.fast_snapshot_restore:
        more.append(restore_part("aws", scope.region or ""))
    if (rate := options.initialization_rate) is not None:
        # No document that was found has the price of a rate.
        more.append(PricePart(name=f"loading at {rate} MiB/s", hourly_usd=None))
    return offered(
        books, spec, scope, requested, size_gib, machine,
        region=scope.region, own=requested.kind == "instance-store", more=more,
        loads_bytes_per_s=_loads_bytes_per_s(spec), **known,
    )  # fmt: skip


def _words(spec: RentSpec, details: AwsResolved) -> str:
    requested = details.requested
    zones = [place.zone for place in details.places if place.machine is None]
    size = f"{details.size_gib:,} GiB"
    what = {
        "volume": f"{requested.type} of {size}",
        "root": f"its root disk, {requested.type} of {size}",
        "instance-store": f"its own disk of {size}",
    }[requested.kind]
    disk = disk_words(
        what, requested.count, spec.stripe, requested.iops, requested.throughput_mib_per_s
    )
    disk += _origin_words(spec)
    spot, where = "spot " if spec.spot else "", place_words(zones)
    return f"{spot}{details.machine.type} in {where} with {disk}; {details.image.name}"


def _warnings(books: Books, spec: RentSpec, details: AwsResolved) -> Iterator[str]:
    book, machine, requested = books.of("aws"), details.machine, details.requested
    need = needs(requested.limits(details.size_gib), requested.count)
    better = candidates(book, need, arch=machine.arch, disks=requested.count)
    small = too_small(machine.type, machine.ebs, need, better[0] if better else None)
    if small:
        yield small
    if machine.burstable:
        yield f"{machine.type} earns CPU credits: fio may run out of them before the disk does"
    known, ebs = book.machines.types.get(machine.type), machine.ebs
    told = (ebs.baseline_iops, ebs.baseline_mb_per_s)
    if known is not None and told[0] is not None and told != (known.iops, known.mb_per_s):
        yield (
            f"the catalogue says {machine.type} sustains {known.iops} IOPS and {known.mb_per_s} "
            f"MB/s, EC2 says {told[0]} and {told[1]}; EC2's figures are used"
        )
    if details.others:
        names = " or ".join(other.type for other in details.others)
        yield (
            f"where no zone has capacity for {machine.type}, {names} is rented, for at most "
            f"{DEARER - 1:.0%} more; name one with --instance-type to rent no other"
        )
    if _loads_bytes_per_s(spec) is not None:
        yield (
            "until each block was read once it is loaded from the snapshot, which is slower: "
            "--profile first-touch measures that"
        )
    if machine.ebs_cards > 1:
        yield (
            f"{machine.type} has {machine.ebs_cards} EBS cards: all disks are attached to the "
            "first, whose limits count"
        )
    if len(details.places[0].zone) > len(details.region) + 1:
        yield f"{details.places[0].zone} is a Local Zone: prices are those of {details.region}"
    yield from open_warnings(spec, spot=", and costs at most the price shown")


def _origin_words(spec: RentSpec) -> str:
    """What the disks are made from, and how fast that is loaded."""
    options = AwsOptions.of(spec)
    words = f", from {spec.snapshot}" if spec.snapshot else OF_FILL if spec.snapshot_of_fill else ""
    if options.initialization_rate:
        words += f" loaded at {options.initialization_rate} MiB/s"
    return f"{words} with Fast Snapshot Restore" if options.fast_snapshot_restore else words


def _loads_bytes_per_s(spec: RentSpec) -> float | None:
    """As Rental.loads_bytes_per_s; whether a snapshot of the user's is restored fast is not known
    before the disk is made from it."""
    options = AwsOptions.of(spec)
    if snapshot_option(spec) is None or options.fast_snapshot_restore:
        return None
    return float((options.initialization_rate or 0) * MIB)


IMAGE_GIB = 8
"""The root disk of Ubuntu's and Debian's images for AWS; another image may have more."""
_ARCH = "x86_64"


def foresee(books: Books, spec: RentSpec, requested: AwsDiskRequest) -> Rental:
    """The expected rental; a price or machine that the catalogue lacks is None."""
    book = books.of("aws")
    size_gib = requested.size_gib or IMAGE_GIB
    need = needs(requested.limits(size_gib), requested.count)
    local = requested.count if requested.kind == "instance-store" else 0
    fit = candidates(book, need, arch=_ARCH, disks=requested.count, local_disks=local)
    machine = spec.instance_type or (fit[0] if fit else None)
    entry = book.machines.types.get(machine or "")
    if requested.kind == "instance-store" and entry is not None and entry.local is not None:
        size_gib = int(entry.local.size_gb * 1e9 / GIB)
    region = spec.region or (region_of(spec.zone) if spec.zone else None)
    warnings: tuple[str, ...] = ()
    if entry is not None:
        small = too_small(machine or "", figures(entry), need, fit[0] if fit else None)
        old = f"{machine} is of a previous generation: not every zone has it"
        warnings = ((small,) if small else ()) + (() if entry.current else (old,))
    disk = "its own disk" if local else f"{requested.type} of {size_gib:,} GiB"
    return _offered(
        books, spec, requested,
        Scope(provider="aws", account=spec.account, region=region),
        size_gib,
        machine,
        root=DiskSpec(type=ROOT_TYPE, size_gib=IMAGE_GIB),
        public=not NetworkOptions.of(spec).no_public_ip,
        offer=f"{machine or 'a machine'} with {disk}{_origin_words(spec)}",
        zones=(spec.zone,) if spec.zone else (),
        cores=entry.vcpus if entry else None,
        memory_bytes=int(entry.memory_gib * GIB) if entry else None,
        warnings=warnings,
    )  # fmt: skip
