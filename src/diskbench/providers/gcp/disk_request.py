"""The disk that a cell requests from Google Cloud, refused before any call where it is not sold
or a name has not its form; how its machine is reached; and the lookup's result before renting,
all that `acquire` needs, as JSON. Pure."""

import shlex
import shutil
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from diskbench.catalog.lookup import DiskLimits, disk_types, limits
from diskbench.catalog.machine_book import machine_book
from diskbench.catalog.shipped import catalogue
from diskbench.errors import UnknownName, check_known
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.providers import asked
from diskbench.providers.gcp.errors import refused
from diskbench.providers.gcp.plugin import PLUGIN, GcpOptions
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import RentalDetails, SizedDisk
from diskbench.providers.skeleton.shipped import read_forms

LOCAL_SSD = "local-ssd"
LOCAL_SSD_GIB = 375
"""GiB of one local SSD of a series for which the catalogue has no other size (catalogue)."""
MAX_LOCAL_SSDS = 24
"""The most local SSDs that can be chosen for a machine (Google Cloud, Add Local SSD, as stored)."""
ROOT = "root"
BOOT_TYPES = ("pd-balanced", "pd-ssd", "pd-standard", "hyperdisk-balanced")
"""Root disk types, in the order in which they are tried where the user gives none."""
MAX_COUNT = 127
"""Disks beside the root disk (kubernetes-sigs/gcp-compute-persistent-disk-csi-driver, 2026)."""

_FORMS = read_forms("diskbench.providers.gcp")
Kind = Literal["disk", "root", "local-ssd"]
Interface = Literal["scsi", "nvme"]


class GcpDiskRequest(SizedDisk):
    """The requested disk. `size_gib` is None for a root disk as large as its image. `type` is the
    disk type, of a root disk too; "" lets the machine decide the root disk's. `iops` and
    `throughput_mib_per_s` are the provisioned figures: as requested, or the type's default, so that
    a request never depends on a default of Google's. `interface` is that of a local SSD."""

    kind: Kind
    interface: Interface | None = None

    def limits(self, size_gib: int) -> DiskLimits | None:
        local = self.kind == "local-ssd" and (self.interface, size_gib) != ("nvme", LOCAL_SSD_GIB)
        if local or not self.type:
            return None
        return limits("gcp", self.type, size_gib, self.iops, self.throughput_mib_per_s)


def disk_request(spec: RentSpec | None) -> GcpDiskRequest:
    """The disk requested by a spec. Raises InvalidValue or UnknownName with the allowed values."""
    spec, disk = asked.with_disk(spec, PLUGIN, example="--disk pd-ssd --size 100")
    check_form(spec)
    asked.check_count(spec, MAX_COUNT)
    name, _, variant = disk.partition(":")
    if name == LOCAL_SSD:
        requested = _local_ssd(spec, variant)
    elif name == ROOT:
        requested = _root(spec, variant)
    else:
        known = [one for one in disk_types("gcp") if one != LOCAL_SSD]
        if disk not in known:
            known += [ROOT, LOCAL_SSD]
            raise UnknownName("Google Cloud disk type", disk, known, field="disk")
        size_gib = asked.size_asked(spec)
        limits("gcp", disk, size_gib, spec.iops, spec.throughput_mib_per_s)
        requested = _provisioned(spec, "disk", disk, size_gib)
    if spec.instance_type is not None:  # as far as its name shows
        vcpus = machine_book("gcp").vcpus_of(spec.instance_type)
        check_series(spec.instance_type, vcpus, requested)
    return requested


def _provisioned(spec: RentSpec, kind: Kind, disk_type: str, size_gib: int) -> GcpDiskRequest:
    """The disk with its IOPS and MiB/s; the type's default where none is given."""
    entry = catalogue("gcp").disks[disk_type]
    iops, throughput = spec.iops, asked.whole_throughput(spec, "MiB/s")
    if iops is None and entry.iops is not None and entry.iops.provisioned:
        iops = _whole(entry.iops.default_value(size_gib))
        ratio = entry.iops_ratio
        if iops is not None and ratio is not None and ratio.max_per_gib is not None:
            iops = min(iops, int(ratio.max_per_gib * size_gib))
    if throughput is None and entry.throughput is not None and entry.throughput.provisioned:
        throughput = _whole(entry.throughput.default_value(size_gib))
        ratio = entry.throughput_ratio
        if throughput is not None and iops and ratio is not None and ratio.max_per_iops is not None:
            throughput = int(min(throughput, max(ratio.free, ratio.max_per_iops * iops)))
    made = GcpDiskRequest(
        kind=kind, type=disk_type, size_gib=size_gib, iops=iops, throughput_mib_per_s=throughput,
        count=spec.count,
    )  # fmt: skip
    made.limits(size_gib)
    return made


def _whole(value: float | None) -> int | None:
    """Refuse fractions: the API takes whole IOPS and whole MiB/s."""
    return None if value is None else int(value)


def _root(spec: RentSpec, root_type: str) -> GcpDiskRequest:
    asked.check_one_root(spec)
    _FORMS.refuse(spec, "root")
    check_known("type of a root disk", root_type or None, BOOT_TYPES, field="disk")
    if root_type and spec.size_gib is not None:
        return _provisioned(spec, "root", root_type, spec.size_gib)
    _FORMS.refuse(spec, "root as its image")
    return GcpDiskRequest(kind="root", type=root_type, size_gib=spec.size_gib)


def _local_ssd(spec: RentSpec, interface_name: str) -> GcpDiskRequest:
    _FORMS.refuse(spec, "local-ssd")
    ssd_gib = local_ssd_gib(spec.instance_type)
    if spec.size_gib not in {None, ssd_gib}:
        raise refused("local SSD of another size", spec=spec, disk=LOCAL_SSD, ssd_gib=ssd_gib)
    if spec.count > MAX_LOCAL_SSDS:
        raise refused("too many local SSDs", spec=spec, most=MAX_LOCAL_SSDS)
    known = ["nvme", "scsi"]
    if interface_name not in {"", *known}:
        raise UnknownName("interface of a local SSD", interface_name, known, field="disk")
    interface: Interface = "scsi" if interface_name == "scsi" else "nvme"
    return GcpDiskRequest(
        kind="local-ssd", type=LOCAL_SSD, size_gib=ssd_gib, count=spec.count, interface=interface
    )


def local_ssd_gib(machine_type: str | None) -> int:
    """The size of one local SSD of a machine type, by the catalogue."""
    series = machine_book("gcp").series_of(machine_type) if machine_type else None
    return (series.local_ssd_gib if series else None) or LOCAL_SSD_GIB


def check_series(machine_type: str, vcpus: int | None, requested: GcpDiskRequest) -> None:
    """Raise InvalidValue when the series of a machine type does not support the disk; `vcpus` is
    None while unknown. A series missing from the catalogue is left to Google's own check."""
    book = machine_book("gcp")
    series = book.series_of(machine_type)
    if series is None or (requested.kind == "root" and not requested.type):
        return
    name = machine_type.partition("-")[0].upper()
    if requested.kind == "local-ssd":
        _check_local(machine_type, name, series.local_ssd, requested)
        return
    if requested.type in series.open:
        return
    fit = series.disks.get(requested.type)
    if fit is None:
        takers = ", ".join(series.upper() for series in book.takers(requested.type))
        raise refused(
            "disk of another series",
            machine_type=machine_type,
            requested=requested,
            name=name,
            has=", ".join(series.disks),
            takers=takers,
        )
    if vcpus is not None and vcpus < fit.min_vcpus:
        raise refused(
            "too few vCPUs", machine_type=machine_type, requested=requested, name=name, fit=fit
        )


def _check_local(machine_type: str, name: str, offered: str, requested: GcpDiskRequest) -> None:
    series = machine_book("gcp").series.items()
    others = ", ".join(one.upper() for one, known in series if known.local_ssd == "optional")
    if offered == "none":
        raise refused(
            "series without local SSDs", machine_type=machine_type, name=name, others=others
        )
    if offered == "bundled" and not machine_type.endswith("-lssd"):
        raise refused(
            "machine without local SSDs", machine_type=machine_type, name=name, others=others
        )
    if offered in {"always", "bundled"} and requested.interface == "scsi":
        raise refused("local SSDs with NVMe only", machine_type=machine_type)


def check_form(spec: RentSpec) -> None:
    """Raise InvalidValue for a value that Google Cloud cannot have, or that excludes another
    value."""
    _FORMS.check(spec, "Google Cloud")
    if spec.zone is not None and spec.region and spec.zone.rpartition("-")[0] != spec.region:
        raise refused("zone of another region", spec=spec)
    asked.check_ssh(spec, "your rules are")
    if spec.ssh_cidr is not None and GcpOptions.of(spec).iap:
        raise refused("network with a tunnel", spec=spec)
    asked.check_endpoint(spec, "keys")
    parts = urlsplit(spec.endpoint_url or "")
    if parts.path.strip("/") or parts.query:
        raise refused("endpoint with a path", spec=spec, parts=parts)


Reach = Literal["public", "private", "iap"]

IAP_RANGE = "35.235.240.0/20"
"""The network from which IAP reaches machines (Google Cloud, "Using IAP for TCP forwarding")."""


def reach_of(spec: RentSpec) -> Reach:
    """How the machine of a spec is reached; a tunnel needs no public address."""
    if GcpOptions.of(spec).iap:
        return "iap"
    return "private" if NetworkOptions.of(spec).no_public_ip else "public"


def find_gcloud() -> str:
    """The path of gcloud, which opens the tunnel. Raises HostUnavailable without it."""
    path = shutil.which("gcloud")
    if path is None:
        raise refused("tunnel without gcloud")
    return path


def tunnel(project: str, zone: str, machine: str) -> str:
    """The ProxyCommand of a machine: what `gcloud compute ssh --tunnel-through-iap` runs."""
    words = [
        find_gcloud(), "compute", "start-iap-tunnel", machine, "%p", "--listen-on-stdin",
        f"--project={project}", f"--zone={zone}", "--verbosity=warning",
    ]  # fmt: skip
    return " ".join(word if word == "%p" else shlex.quote(word) for word in words)


class GcpMachine(Frozen):
    """A machine type as Compute Engine describes it. `bundled_ssds` come with the type, of
    `local_ssd_gib` each by the catalogue: the API reports the size of an existing machine only."""

    type: str
    arch: str
    vcpus: int
    memory_bytes: int
    max_disks: int
    shared_core: bool = False
    bundled_ssds: int = 0
    local_ssd_gib: int = LOCAL_SSD_GIB
    gpus: bool = False

    @property
    def bare_metal(self) -> bool:
        """Whether it has no hypervisor; Google's names of such types end so:
        `c3-standard-192-metal`."""
        return self.type.endswith("-metal")


class GcpImage(Frozen):
    """The machine's image and its login user; `link` is its path in the API. `uefi`: it can be the
    boot disk of a Shielded VM."""

    link: str
    name: str
    arch: str
    root_gib: int
    user: str
    uefi: bool = False


class GcpNetwork(Frozen):
    """The machine's network; a firewall rule belongs to `network`."""

    network: str
    subnetwork: str | None = None


class GcpResolved(RentalDetails):
    """A rental's details. `boot_type` is "" where Google chooses. `tag` is a network tag of the
    user, whose firewall rules admit SSH; without one, a rule for `ssh_cidr` is made. `snapshot`
    is the path of the one that the measured disks are made from. `region_zones` are all zones of
    the region, where such disks are in two of them."""

    project: str
    region: str
    requested: GcpDiskRequest = Field(alias="wanted")
    size_gib: int
    boot_type: str
    machine: GcpMachine
    image: GcpImage
    network: GcpNetwork
    zones: tuple[str, ...]
    reach: Reach = "public"
    tag: str | None = None
    ssh_cidr: str | None = None
    snapshot: str | None = None
    region_zones: tuple[str, ...] = ()
