"""Azure's machine sizes and disk types in a region, the choice of the size to measure from, and its
disk controller. Pure. Capabilities: Resource SKUs API, "List", and the dump that the catalogue was
made from (2025-06-03), with bytes per second of 10^6 as in the sizes' documents.

The default is the smallest size whose *baseline* on the path of the disk is MARGIN times the disk's
ceiling: quotas are counted in vCPUs, 10 a region on a new subscription. A disk with a host cache
reads on the cached path and writes on both paths, so both limits count. The controller is set
explicitly: for a size with both its default would depend on the image (azure-mgmt-compute 39.0.0,
StorageProfile.disk_controller_type), and with it whether there is a host cache."""

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from diskbench.catalog.books import ProviderBook
from diskbench.errors import InvalidValue, check_known
from diskbench.providers.azure.disk_request import (
    AzureDiskRequest,
    AzureImage,
    AzureMachine,
    DiskPath,
    Interface,
)
from diskbench.providers.azure.errors import refused
from diskbench.providers.skeleton.offer import BOTTLENECK, MIN_VCPUS, Needs
from diskbench.units import GIB

Sku = dict[str, Any]


@dataclass(frozen=True)
class Offer:
    """A region's machine sizes and disk types by name; restricted ones are kept separately with
    their reasons."""

    region: str
    machines: dict[str, Sku]
    disks: dict[str, Sku]
    restricted: dict[str, str]
    tiers: dict[tuple[str, str], Sku] = field(default_factory=dict)
    """The steps of disk types that are sold so, by type and name: `("Premium_LRS", "P10")`."""

    def promised(self, disk_type: str, tier: str) -> DiskPath:
        """The limits that Azure publishes today for one disk of a tier, without bursts; None where
        it publishes none."""
        told = _capabilities(self.tiers.get((disk_type, tier), {}))
        return DiskPath(iops=_number(told, "MaxIOps"), mb_per_s=_number(told, "MaxBandwidthMBps"))

    def machine(self, name: str, book: ProviderBook) -> AzureMachine:
        """Look up a size by name. Raises UnknownName, or InvalidValue for a restricted size."""
        if name in self.restricted:
            why = self.restricted[name]
            raise refused("machine restricted", name=name, region=self.region, why=why)
        what = f"machine size of {self.region}"
        check_known(what, name, self.machines, field="instance_type")
        return machine(self.machines[name], book)

    def all_zones(self) -> tuple[str, ...]:
        """Every zone in which anything is sold, in order."""
        return tuple(sorted({zone for sku in self.machines.values() for zone in _zones(sku)}))

    def zones(self, size: str, disk_type: str | None) -> tuple[str, ...]:
        """The zones that offer both, in order; empty where the region has no zones or reports
        none."""
        shared = set(_zones(self.machines[size]))
        if disk_type == "UltraSSD_LRS":
            shared &= set(_ultra_zones(self.machines[size]))
        elif disk_type in self.disks and _zones(self.disks[disk_type]):
            shared &= set(_zones(self.disks[disk_type]))
        return tuple(sorted(shared))


def offer(region: str, skus: Iterable[Sku]) -> Offer:
    """The offer in the answer of Resource SKUs for one region."""
    kinds: dict[str, dict[str, Sku]] = {"virtualMachines": {}, "disks": {}}
    restricted: dict[str, str] = {}
    tiers: dict[tuple[str, str], Sku] = {}
    for sku in skus:
        kind = kinds.get(str(sku.get("resourceType")))
        if kind is None or region not in {str(x).lower() for x in sku.get("locations", [])}:
            continue
        name, limits = str(sku["name"]), sku.get("restrictions") or []
        if kind is kinds["disks"] and sku.get("size"):
            tiers.setdefault((name, str(sku["size"])), sku)
        if barred := [limit for limit in limits if limit.get("type") == "Location"]:
            restricted.setdefault(name, str(barred[0].get("reasonCode") or "restricted"))
        # A disk type has one entry for each of its sizes, all with the same zones.
        elif name not in kind:
            kind[name] = sku
    return Offer(region, kinds["virtualMachines"], kinds["disks"], restricted, tiers)


def machine(sku: Sku, book: ProviderBook) -> AzureMachine:
    """One machine size; cache figures missing from the answer come from `book`."""
    told, name = _capabilities(sku), str(sku["name"])
    number = partial(_number, told)

    def path(iops: str, bytes_per_s: str) -> DiskPath:
        found = number(bytes_per_s)
        return DiskPath(iops=number(iops), mb_per_s=None if found is None else found / 1e6)

    shown = controllers(told.get("DiskControllerTypes", ""))
    nvme = shown == ("nvme",)
    combined = "CombinedTempDiskAndCached"
    cached = path(f"{combined}IOPS", f"{combined}ReadBytesPerSecond")
    known = book.machines.types.get(name)
    traits = known.traits if known else {"cacheable": cached.iops is not None}
    local_nvme_mib = number("NvmeDiskSizeInMiB") or 0
    return AzureMachine(
        size=name,
        arch="arm64" if told.get("CpuArchitectureType", "").lower() == "arm64" else "x86_64",
        vcpus=int(number("vCPUsAvailable") or number("vCPUs") or 1),
        memory_bytes=int((number("MemoryGB") or 0) * GIB),
        premium=told.get("PremiumIO", "").lower() == "true",
        interface="nvme" if nvme else "scsi",
        uncached=path("UncachedDiskIOPS", "UncachedDiskBytesPerSecond"),
        cached=cached,
        # NVMe-only sizes report figures of a cache that they lack; some sizes with a cache report
        # none.
        cacheable=not nvme and bool(traits.get("cacheable", True)),
        max_disks=int(number("MaxDataDiskCount") or 0),
        local_gib=(local_nvme_mib or number("MaxResourceVolumeMB") or 0) / 1024,
        local_nvme=bool(local_nvme_mib),
        burstable=name.startswith("Standard_B"),
        controllers=shown,
        family=str(sku.get("family") or ""),
        retires=_retires(told.get("RetirementDateUtc", traits.get("retires"))),
    )


def _retires(date: object) -> str | None:
    """The day of a retirement; Resource SKUs write it as 11/15/2028."""
    month, *rest = str(date or "").split("/")
    return f"{rest[1][:4]}-{month:0>2}-{rest[0]:0>2}" if len(rest) == 2 else month or None


def controllers(listed: str) -> tuple[Interface, ...]:
    """The controllers that a size or an image lists (`SCSI,NVMe`); SCSI where it lists none."""
    words = {word.strip().lower() for word in listed.split(",")}
    known: tuple[Interface, ...] = ("scsi", "nvme")
    return tuple(interface for interface in known if interface in words) or ("scsi",)


def check_support(machine: AzureMachine, requested: AzureDiskRequest, sold: Sequence[str]) -> None:
    """Refuse a disk that the machine or the region does not support. Raises InvalidValue."""
    size, is_local = machine.size, requested.kind == "local"
    for is_refused, why, advice in (
        (is_local and not machine.local_gib, f"{size} has no disk of its own",
         "choose one with a d in its name, such as Standard_D4ds_v5"),
        (sold and not is_local and requested.type not in sold,
         f"{requested.type} is not sold in this region", f"this region sells {', '.join(sold)}"),
        (requested.needs_premium and not machine.premium,
         f"{size} does not support {requested.type}",
         "choose a size with an s in its name, such as Standard_D4s_v5"),
        (requested.is_cached and not machine.cacheable, f"{size} has no host cache",
         "leave --cache out, or choose a size with SCSI disks, such as Standard_D4s_v5"),
    ):  # fmt: skip
        if is_refused:
            raise InvalidValue(why, advice=advice)
    if requested.kind == "disk" and requested.count > machine.max_disks:
        raise refused("more disks than the machine takes", requested=requested, machine=machine)


def _zones(sku: Sku) -> tuple[str, ...]:
    barred = {
        str(zone)
        for restriction in sku.get("restrictions") or []
        if restriction.get("type") == "Zone"
        for zone in (restriction.get("restrictionInfo") or {}).get("zones") or []
    }
    return tuple(
        str(zone)
        for info in sku.get("locationInfo") or []
        for zone in info.get("zones") or []
        if str(zone) not in barred
    )


def _ultra_zones(sku: Sku) -> tuple[str, ...]:
    return tuple(
        str(zone)
        for info in sku.get("locationInfo") or []
        for detail in info.get("zoneDetails") or []
        if _capabilities(detail).get("UltraSSDAvailable", "").lower() == "true"
        for zone in detail.get("name") or detail.get("Name") or []
    )


def _capabilities(sku: Sku) -> dict[str, str]:
    return {str(item["name"]): str(item["value"]) for item in sku.get("capabilities") or []}


def _number(capabilities: dict[str, str], name: str) -> float | None:
    with contextlib.suppress(KeyError, ValueError):
        return float(capabilities[name])
    return None


_USUAL = re.compile(r"Standard_[DEFL]\d+[a-hj-z]*(_v\d+)?")
"""The families that are chosen from by default: general, memory and storage. Others are dear or
need another image (GPU, HPC, confidential, memory of terabytes), and isolated sizes (`i`) and those
with fewer cores than they cost (`E8-2s`) are whole machines in price."""


def candidates(
    book: ProviderBook,
    machines: Iterable[AzureMachine],
    need: Needs,
    requested: AzureDiskRequest,
    left: Mapping[str, float] | None = None,
) -> list[AzureMachine]:
    """The machines that sustain the disk, the best first: those whose quota in `left` (vCPUs by
    family and `cores`, in lower case) suffices, current before retiring ones, those with a known
    price, for a cached disk those with a known limit, then the smallest and the cheapest."""

    def rank(machine: AzureMachine) -> tuple[Any, ...]:
        usd = book.prices.machine_hourly_usd(machine.size)
        known = book.machines.types.get(machine.size)
        going = machine.retires is not None or (known is not None and not known.current)
        is_nvme = machine.controllers == ("nvme",)
        return (
            machine.vcpus > quota_left(machine, left), going, usd is None,
            requested.is_cached and machine.cached.iops is None,
            machine.vcpus, usd or 0, is_nvme, machine.memory_bytes, machine.size,
        )  # fmt: skip

    return sorted((one for one in machines if _is_fit(one, need, requested)), key=rank)


def quota_left(machine: AzureMachine, left: Mapping[str, float] | None) -> float:
    """The vCPUs that the quotas of the machine's family and region still give; infinite where they
    are not known."""
    names = (machine.family.lower(), "cores")
    return min((left or {}).get(name, math.inf) for name in names)


def of_book(book: ProviderBook) -> Iterator[AzureMachine]:
    """The machines of the catalogue, for plans without a call."""
    for name, entry in book.machines.types.items():
        traits = entry.traits
        interface: Interface = "nvme" if traits.get("interface") == "nvme" else "scsi"
        yield AzureMachine(
            size=name,
            arch=entry.arch,
            vcpus=entry.vcpus,
            memory_bytes=int(entry.memory_gib * GIB),
            premium=bool(traits.get("premium", True)),
            interface=interface,
            uncached=DiskPath(iops=entry.iops, mb_per_s=entry.mb_per_s),
            cached=DiskPath(iops=entry.cached_iops, mb_per_s=entry.cached_mb_per_s),
            cacheable=bool(traits.get("cacheable", True)) and interface == "scsi",
            max_disks=entry.max_disks,
            local_gib=float(traits.get("temp_gib", 0)),
            burstable=entry.burstable,
            controllers=(interface,),
            retires=_retires(traits.get("retires")),
        )


def too_small(
    machine: AzureMachine, need: Needs, requested: AzureDiskRequest, better: str | None
) -> str | None:
    """Why a machine chosen by the user would limit the measurement; None when it does not."""
    if not any(need):
        return None
    iops, mb_per_s = need
    instead = f"; {better} is large enough" if better and better != machine.size else ""
    cached = {"cached": machine.cached} if requested.is_cached else {}
    for name, path in {"uncached": machine.uncached, **cached}.items():
        if path.iops is None or path.mb_per_s is None:
            return (
                f"Azure names no {name} limit for {machine.size}: the VM, not the disk, may be "
                f"the bottleneck{instead}"
            )
        if path.iops < iops or path.mb_per_s < mb_per_s:
            return (
                f"{machine.size} sustains {path.iops:,.0f} IOPS and {path.mb_per_s:,.0f} MB/s "
                f"({name}), but the disk needs {iops:,.0f} and {mb_per_s:,.0f}: "
                f"{BOTTLENECK}{instead}"
            )
    return None


def _is_fit(machine: AzureMachine, need: Needs, requested: AzureDiskRequest) -> bool:
    return (
        _USUAL.fullmatch(machine.size) is not None
        and machine.arch == "x86_64"
        and machine.vcpus >= MIN_VCPUS
        and machine.max_disks >= requested.count
        and (machine.premium or not requested.needs_premium)
        and (requested.kind != "local" or bool(machine.local_gib))
        and (machine.cacheable or not requested.is_cached)
        and _sustains(machine, need, requested)
    )


def _sustains(machine: AzureMachine, need: Needs, requested: AzureDiskRequest) -> bool:
    """Whether the machine's paths sustain the disk; a cached path without a figure is taken."""
    path, cached, (iops, mb_per_s) = machine.uncached, machine.cached, need
    good = (path.iops or 0) >= iops and (path.mb_per_s or 0) >= mb_per_s
    if not requested.is_cached or cached.iops is None or cached.mb_per_s is None:
        return good
    return good and cached.iops >= iops and cached.mb_per_s >= mb_per_s


NAMES: dict[Interface, str] = {"scsi": "SCSI", "nvme": "NVMe"}
"""As Azure writes them."""


def shared(machine: AzureMachine, image: AzureImage) -> list[Interface]:
    """The controllers that size and image both have; an image that names none has any."""
    known = image.controllers or machine.controllers
    return [controller for controller in machine.controllers if controller in known]


def with_controller(machine: AzureMachine, image: AzureImage) -> AzureMachine:
    """The machine with the controller that size and image share; SCSI where both have both,
    because it has a host cache. Raises InvalidValue where they share none."""
    both = shared(machine, image)
    if not both:
        shown, driven = _buses(machine.controllers), _buses(image.controllers)
        raise refused("no driver", machine=machine, image=image, shown=shown, driven=driven)
    interface: Interface = "scsi" if "scsi" in both else "nvme"
    settable = image.generation == "V2" or machine.controllers == ("nvme",)
    return machine.model_copy(
        update={"interface": interface, "controller": NAMES[interface] if settable else None}
    )


def _buses(interfaces: Sequence[Interface]) -> str:
    return " and ".join(NAMES[interface] for interface in interfaces) or "nothing known"
