"""The machine to measure from, chosen among the types that Compute Engine offers, and the rental as
a priced offer for the user: resolved by Google Cloud, or expected by the catalogue alone, where
Google may answer otherwise.

A machine has one cap for all its disks of a type. The default is the first type of the catalogue's
list that supports the disk and whose cap is MARGIN times the disks' limits, or equals them where no
type has more.
"""

import re
from collections.abc import Iterator, Sequence

from diskbench.catalog.books import Books
from diskbench.catalog.machine_book import Cap, machine_book
from diskbench.errors import UnknownName, did_you_mean
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec, PricePart, Rental, Scope
from diskbench.providers.gcp.client import Compute, Item, last
from diskbench.providers.gcp.disk_request import (
    BOOT_TYPES,
    GcpDiskRequest,
    GcpMachine,
    GcpResolved,
    check_series,
    local_ssd_gib,
    reach_of,
)
from diskbench.providers.gcp.errors import refused
from diskbench.providers.gcp.requests import google_type, is_regional
from diskbench.providers.skeleton import offer as skeleton
from diskbench.units import GIB, MIB

_TERMINATE = "TERMINATE"
_RATES = ("read_iops", "write_iops", "read_mib_per_s", "write_mib_per_s")
_HOLDS = 16
"""Disks of a type that does not report its number; the lowest of all (CSI driver's node.go,
2026)."""


def offered(compute: Compute, collection: str, name: str) -> dict[str, Item]:
    """The machine type or disk type in each zone that offers it, and the disk type of disks in two
    zones in each region that does."""
    request = {"filter": f"name={name}"}
    return {
        last(str(item.get("zone") or item.get("region", ""))): item
        for item in compute.listed_everywhere(collection, request)
        if item.get("name") == name
    }


def typed_machine(
    compute: Compute, name: str, zones: Sequence[str], where: str
) -> tuple[GcpMachine, tuple[str, ...]]:
    """Look up a machine type by name; returns it with those of the zones that offer it. Raises
    UnknownName for an unknown type, InvalidValue naming the zones that offer it when none of
    these does."""
    everywhere = offered(compute, "machineTypes", name)
    here = tuple(zone for zone in zones if zone in everywhere)
    if here:
        return machine(everywhere[here[0]]), here
    if not everywhere:
        known = machine_book("gcp").tried
        hint = did_you_mean(name, known)
        advice = f"{hint}gcloud compute machine-types list shows those of a zone"
        raise UnknownName("machine type", name, known, advice=advice, field="instance_type")
    elsewhere = ", ".join(sorted(everywhere))
    raise refused("machine type elsewhere", name=name, where=where, elsewhere=elsewhere)


def disk_zones(
    compute: Compute, disk_type: str, zones: Sequence[str], where: str
) -> tuple[str, ...]:
    """Those of the zones that offer a disk type. Raises InvalidValue naming the zones that offer
    it."""
    everywhere = offered(compute, "diskTypes", google_type(disk_type))
    regional = is_regional(disk_type)
    if regional:
        everywhere = {name: item for name, item in everywhere.items() if "region" in item}
    here = tuple(z for z in zones if (z.rpartition("-")[0] if regional else z) in everywhere)
    if not here:
        elsewhere = ", ".join(sorted(everywhere)) or "no zone"
        raise refused("disk type elsewhere", disk_type=disk_type, where=where, elsewhere=elsewhere)
    return here


def machine(described: Item) -> GcpMachine:
    """The machine type in one item of the API."""
    bundled = described.get("bundledLocalSsds", {})
    return GcpMachine(
        type=str(described["name"]),
        arch=arch_of(described),
        vcpus=int(described["guestCpus"]),
        memory_bytes=int(described["memoryMb"]) * MIB,
        max_disks=int(described.get("maximumPersistentDisks", _HOLDS)),
        shared_core=bool(described.get("isSharedCpu", False)),
        bundled_ssds=int(bundled.get("partitionCount", 0)),
        local_ssd_gib=local_ssd_gib(str(described["name"])),
        gpus=bool(described.get("accelerators")),
    )


def maintenance(machine: GcpMachine, *, spot: bool, placed: bool) -> str | None:
    """What `onHostMaintenance` must be for a machine; None where Google may choose. Spot machines
    are never migrated, and others under a placement policy where their series leaves a choice."""
    if spot or machine.bare_metal or machine.gpus:
        return _TERMINATE
    series = machine_book("gcp").series_of(machine.type)
    if series is not None and series.maintenance is not None:
        most = series.maintenance.terminates_above_gib
        local_gib = machine.bundled_ssds * machine.local_ssd_gib
        return _TERMINATE if most is not None and local_gib > most else series.maintenance.only
    return _TERMINATE if placed else None


def check_support(machine: GcpMachine, requested: GcpDiskRequest) -> None:
    """Raise InvalidValue for disks that the machine does not support."""
    check_series(machine.type, machine.vcpus, requested)
    if requested.kind == "disk" and requested.count >= machine.max_disks:
        room = machine.max_disks - 1
        raise refused(
            "more disks than the machine takes", requested=requested, machine=machine, room=room
        )
    if requested.kind == "local-ssd" and 0 < machine.bundled_ssds < requested.count:
        raise refused("more local SSDs than come with it", requested=requested, machine=machine)


MARGIN = 1.05
"""Headroom above the disks' limits, so that the disks and not the machine limit the measurement.
A cap of Google's applies to one disk type only, unlike a total bandwidth elsewhere; our choice."""
MIN_VCPUS = 2
"""One CPU for fio and one for everything else; our choice."""
MAX_PD_GIB = 65_536
"""The largest disk size in the catalogue's formulas; larger totals have its limits."""
UNKNOWN_VCPUS = 8
"""The fewest vCPUs of a machine whose cap is not published; our choice."""


def is_met(need: Cap, cap: Cap) -> bool:
    """Whether a cap is no lower than the needs, of each direction."""
    return all(getattr(cap, name) >= getattr(need, name) for name in _RATES)


def needs(requested: GcpDiskRequest, size_gib: int, margin: float = 1.0) -> Cap:
    """The IOPS and MiB/s that the machine must sustain: `margin` times the limits of all disks
    together; zero for disks without limits and for local disks, which have no cap."""
    rates = dict.fromkeys(_RATES, 0.0)
    if not _is_capped(requested):
        return Cap(vcpus=0, **rates)
    # Google limits persistent disks of one type together: the part independent of size counts once.
    shared = shares_limit(requested)
    size = min(size_gib * requested.count, MAX_PD_GIB) if shared else size_gib
    limits, count = requested.limits(size), 1 if shared else requested.count
    for pool in limits.pools if limits else ():
        for direction in ("read", "write") if pool.covers == "both" else (pool.covers,):
            if pool.iops:
                rates[f"{direction}_iops"] = margin * count * pool.iops.ceiling
            if pool.bytes_per_s:
                rate = pool.bytes_per_s.ceiling / MIB
                rates[f"{direction}_mib_per_s"] = margin * count * rate
    return Cap(vcpus=0, **rates)


def shares_limit(requested: GcpDiskRequest) -> bool:
    """Whether several of these disks on one machine share one limit, by their total size (Google
    Cloud, "About Persistent Disk performance")."""
    return requested.count > 1 and requested.type.startswith("pd-") and requested.iops is None


def candidates(requested: GcpDiskRequest, size_gib: int) -> tuple[str, ...]:
    """The types that support the disk and do not limit it, in order: those with a margin, those
    without, those of unknown cap."""
    spare, need = needs(requested, size_gib, MARGIN), needs(requested, size_gib)
    ranked: dict[str, int] = {}
    for name in machine_book("gcp").tried:
        vcpus = machine_book("gcp").vcpus_of(name) or 0
        if vcpus < MIN_VCPUS or not _takes(name, vcpus, requested):
            continue
        cap = cap_of(name, vcpus, requested)
        if not _is_capped(requested) or (cap is not None and is_met(spare, cap)):
            ranked[name] = 0
        elif cap is not None and is_met(need, cap):
            ranked[name] = 1
        elif cap is None and vcpus >= UNKNOWN_VCPUS:
            ranked[name] = 2
    return tuple(sorted(ranked, key=ranked.__getitem__))


def cap_of(machine_type: str, vcpus: int, requested: GcpDiskRequest) -> Cap | None:
    """The machine's cap in the catalogue; None where it has none."""
    series = machine_book("gcp").series_of(machine_type)
    fit = series.disks.get(requested.type) if series else None
    return fit.cap(vcpus) if fit else None


def boot_type(machine_type: str, requested: GcpDiskRequest) -> str:
    """The root disk's type: the first of BOOT_TYPES that the machine supports; "" without one.

    It differs from the measured type where possible: persistent disks of one type share a limit,
    to which the root disk's size would add.
    """
    series = machine_book("gcp").series_of(machine_type)
    fits = [name for name in BOOT_TYPES if series and name in series.disks]
    return next((name for name in fits if name != google_type(requested.type)), "".join(fits[:1]))


def too_small(
    machine_type: str, vcpus: int, requested: GcpDiskRequest, size_gib: int
) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not _is_capped(requested):
        return None
    need, cap = needs(requested, size_gib), cap_of(machine_type, vcpus, requested)
    if cap is None:
        return (
            f"no limit of {machine_type} for {requested.type} is known here: the VM, not the "
            f"disk, may be the bottleneck"
        )
    if is_met(need, cap):
        return None
    better = next((n for n in candidates(requested, size_gib) if n != machine_type), None)
    instead = f"; {better} is large enough" if better else ""
    return (
        f"{machine_type} lets {cap.read_iops:,.0f} / {cap.write_iops:,.0f} IOPS and "
        f"{cap.read_mib_per_s:,.0f} / {cap.write_mib_per_s:,.0f} MiB/s (read / write) through to "
        f"{requested.type}, but the disk needs {need.read_iops:,.0f} / {need.write_iops:,.0f} and "
        f"{need.read_mib_per_s:,.0f} / {need.write_mib_per_s:,.0f}: "
        f"{skeleton.BOTTLENECK}{instead}"
    )


def _takes(machine_type: str, vcpus: int, requested: GcpDiskRequest) -> bool:
    series = machine_book("gcp").series_of(machine_type)
    if series is None or requested.kind == "local-ssd":
        return series is not None and series.local_ssd == "optional"
    if requested.kind == "root" and not requested.type:
        return True
    fit = series.disks.get(requested.type)
    return fit is not None and vcpus >= fit.min_vcpus


def _is_capped(requested: GcpDiskRequest) -> bool:
    return requested.kind != "local-ssd" and bool(requested.type)


def arch_of(described: Item) -> str:
    """x86_64 or arm64, as an image or a machine type says."""
    return "arm64" if str(described.get("architecture", "")).upper() == "ARM64" else "x86_64"


def rental(books: Books, spec: RentSpec, details: GcpResolved, endpoint: str | None) -> Rental:
    """The rental for the lookup's result; `endpoint` is one given by the user."""
    requested, machine = details.requested, details.machine
    return skeleton.offered(
        books, spec, Scope(provider="gcp", account=details.project, endpoint=endpoint),
        requested, details.size_gib, machine.type,
        region=details.region,
        root=DiskSpec(type=details.boot_type, size_gib=details.image.root_gib)
        if details.boot_type
        else PricePart(name="root disk of a type that Google chooses", hourly_usd=None),
        own=requested.kind == "local-ssd" and bool(machine.bundled_ssds),
        public=details.reach == "public",
        offer=_offer_line(spec, details),
        zones=details.zones,
        image=details.image.link,
        cores=machine.vcpus,
        memory_bytes=machine.memory_bytes,
        warnings=tuple(_warnings(spec, details)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _offer_line(spec: RentSpec, details: GcpResolved) -> str:
    requested, snapshot = details.requested, spec.snapshot
    origin = f", made from the snapshot {snapshot.rpartition('/')[2]}" if snapshot else ""
    is_own = requested.kind == "local-ssd"
    return skeleton.offer_words(
        spec, requested, details.size_gib, machine=details.machine.type,
        where=skeleton.place_words(details.zones), image=details.image.name,
        own=f"its own {(requested.interface or '').upper()} disk" if is_own else None,
        more=origin + (skeleton.OF_FILL if spec.snapshot_of_fill else ""),
    )  # fmt: skip


def _warnings(spec: RentSpec, details: GcpResolved) -> Iterator[str]:
    machine, requested = details.machine, details.requested
    small = too_small(machine.type, machine.vcpus, requested, details.size_gib)
    if small:
        yield small
    series = machine_book("gcp").series_of(machine.type)
    if series is None:
        yield f"the catalogue does not say which disks {machine.type} takes: Google may refuse it"
    elif requested.kind == "disk" and requested.type in series.open:
        yield (
            f"the catalogue does not say whether {machine.type} takes {requested.type}: Google "
            f"may refuse it"
        )
    if machine.shared_core:
        yield f"{machine.type} shares its cores: fio may wait for them instead of the disk"
    shares = requested.type == details.boot_type and requested.type.startswith("pd-")
    if requested.kind == "disk" and shares:
        yield f"the root disk is {requested.type}, too, and its size adds to the limit of both"
    if shares_limit(requested):
        yield (
            f"{requested.count} × {requested.type} on one machine promise what one disk of "
            f"{requested.count * details.size_gib:,} GiB does, not {requested.count} times as much"
        )
    if spec.kms_key is not None and requested.kind == "local-ssd":
        yield "--kms-key encrypts the root disk; local SSDs are encrypted by Google alone"
    yield from skeleton.open_warnings(spec, spot="")


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
    return skeleton.offered(
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
