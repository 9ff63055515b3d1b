"""The disk that a cell requests from Azure, refused before any call where Azure does not sell it
or a name has not Azure's form; and the lookup's result before renting, all that `acquire` needs,
as JSON. Pure."""

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from diskbench.catalog.lookup import DiskLimits, disk_types, limits
from diskbench.catalog.terms import with_terms
from diskbench.errors import UnknownName, check_known
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.providers import asked
from diskbench.providers.azure.errors import refused
from diskbench.providers.azure.plugin import PLUGIN, AzureOptions
from diskbench.providers.networks import is_loopback
from diskbench.providers.options import NetworkOptions
from diskbench.providers.skeleton.offer import RentalDetails, SizedDisk
from diskbench.providers.skeleton.shipped import read_forms

TEMPORARY = "temp-disk"
LOCAL = "instance-store"
"""diskbench's name of a local disk in every cloud; on Azure it is the temporary disk."""
ROOT = "root"
MAX_COUNT = 64
"""LUN 0 to 63 (Resource SKUs dump, 2025-06-03: no size takes more)."""
MAX_CACHED_GIB = 4095
"""Disks of 4 TiB and more have no host cache (MicrosoftDocs, "Premium storage performance")."""
ZONE_REDUNDANT = frozenset({"Premium_ZRS", "StandardSSD_ZRS"})
"""Types whose disks are in three zones, and named in none (disks-redundancy.md 2026-09-10)."""
DATA_ONLY = frozenset({"PremiumV2_LRS", "UltraSSD_LRS"})
"""Types that cannot be OS disks, are sold in zones where a region has them, and have no host cache
(disks-types.md 2026-08-11, disks-prem-v2-limitations.md 2026-06-05)."""

_FORMS = read_forms("diskbench.providers.azure")
Kind = Literal["disk", "root", "local"]
Caching = Literal["None", "ReadOnly", "ReadWrite"]
CACHES: dict[str, Caching] = {"none": "None", "readonly": "ReadOnly", "readwrite": "ReadWrite"}


class AzureDiskRequest(SizedDisk):
    """The requested disk. `size_gib` is None where the user chooses no size: a local disk, or an OS
    disk as large as its image. Its throughput is in MB/s, stored as `mb_per_s`: 10^6 bytes per
    second ("MBps means millions of bytes per second": azure-mgmt-compute 39.0.0, Disk). `caching`
    is the host cache of the measured disk; a local disk has none to choose. `encryption_set` and
    `snapshot` are ids: of the key that encrypts all disks, and of what the measured ones are copies
    of; `plus` asks for Azure's performance plus."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    kind: Kind
    throughput_mib_per_s: int | None = Field(default=None, alias="mb_per_s")
    caching: Caching | None = "None"
    tier: str | None = None
    bursting: bool = False
    plus: bool = False
    encryption_set: str | None = None
    snapshot: str | None = None

    @property
    def is_cached(self) -> bool:
        return self.caching not in {None, "None"}

    @property
    def needs_premium(self) -> bool:
        """Whether only machines with premium storage take it."""
        return self.type.startswith(("Premium", "Ultra"))

    def limits(self, size_gib: int) -> DiskLimits | None:
        if self.kind == "local":
            return None
        sold = limits("azure", self.type, size_gib, self.iops, self.throughput_mib_per_s)
        return with_terms("azure", sold, tier=self.tier, plus=self.plus, bursting=self.bursting)


def disk_request(spec: RentSpec | None) -> AzureDiskRequest:
    """The disk requested by a spec. Raises InvalidValue or UnknownName with the allowed values."""
    spec, disk = asked.with_disk(spec, PLUGIN, example="--disk Premium_LRS --size 256")
    check_form(spec)
    asked.check_count(spec, MAX_COUNT)
    if disk in {TEMPORARY, LOCAL}:
        _FORMS.refuse(spec, "local")
        local: dict[str, Any] = {"kind": "local", "type": TEMPORARY, "caching": None}
        return AzureDiskRequest(count=spec.count, encryption_set=spec.kms_key, **local)
    root, _, root_type = disk.partition(":")
    if root == ROOT:
        return _root(spec, root_type)
    if disk not in _sold():
        raise UnknownName("Azure disk type", disk, [*_sold(), ROOT, TEMPORARY], field="disk")
    if disk == "UltraSSD_LRS" and (typed := asked.snapshot_option(spec)):
        # "can only be created as empty disks" (disks-types.md 2026-08-11)
        raise refused("Ultra disks of a snapshot", typed=typed, disk=disk)
    azure = AzureOptions.of(spec)
    if azure.performance_plus and azure.performance_tier:
        raise refused("performance plus with a tier")
    size_gib = asked.size_asked(spec)
    return checked(_of(spec, "disk", disk), size_gib)


def checked(requested: AzureDiskRequest, size_gib: int) -> AzureDiskRequest:
    """The request, once limits and a host cache are known to be sold at that size. Raises
    InvalidValue."""
    requested.limits(size_gib)
    if not requested.is_cached:
        return requested
    flag = f"--cache {requested.caching}".lower()
    if requested.type in DATA_ONLY:
        raise refused("no host cache", flag=flag, requested=requested)
    if size_gib > MAX_CACHED_GIB:
        most = MAX_CACHED_GIB
        raise refused("disk too large for the cache", flag=flag, size_gib=size_gib, most=most)
    return requested


def _root(spec: RentSpec, root_type: str) -> AzureDiskRequest:
    asked.check_one_root(spec)
    startable = [name for name in _sold() if name not in DATA_ONLY]
    if root_type in DATA_ONLY:
        raise refused("no disk to start from", root_type=root_type, startable=", ".join(startable))
    check_known("type of an OS disk", root_type or None, startable, field="disk")
    _FORMS.refuse(spec, "root")
    requested = _of(spec, "root", root_type or "Premium_LRS")
    return requested if spec.size_gib is None else checked(requested, spec.size_gib)


def _of(spec: RentSpec, kind: Kind, disk_type: str) -> AzureDiskRequest:
    azure = AzureOptions.of(spec)
    if azure.cache is not None and azure.cache.lower() not in CACHES:
        raise UnknownName("host cache", azure.cache, CACHES, field="cache")
    tier = azure.performance_tier
    return AzureDiskRequest(
        kind=kind,
        type=disk_type,
        size_gib=spec.size_gib,
        iops=spec.iops,
        throughput_mib_per_s=asked.whole_throughput(spec, "MB/s"),
        count=spec.count,
        caching=CACHES[(azure.cache or "none").lower()],
        tier=tier.upper() if tier else None,
        bursting=azure.bursting,
        plus=azure.performance_plus,
        encryption_set=spec.kms_key,
        snapshot=spec.snapshot,
    )


def _sold() -> list[str]:
    return [name for name in disk_types("azure") if name != TEMPORARY]


Interface = Literal["scsi", "nvme"]
DEFAULT_OS_GIB = 30
"""The size of Ubuntu's and Debian's images, for an image that does not report one."""


class DiskPath(Frozen):
    """A machine's sustained limits on one path to its disks; MB/s are 10^6 bytes per second.
    None where Azure publishes no figure."""

    iops: float | None = None
    mb_per_s: float | None = None


class AzureMachine(Frozen):
    """A machine size as Azure describes it. `local_gib` is the size of the temporary disk or,
    with `local_nvme`, of all local NVMe disks together. `controllers` are the disk controllers that
    the size offers, `interface` the one to use, and `controller` its name in the request; None
    where the image cannot choose (Hyper-V generation 1). `family` is what its quota is counted in,
    `retires` the day on which Azure ends it (2028-11-15)."""

    size: str
    arch: Literal["x86_64", "arm64"]
    vcpus: int
    memory_bytes: int
    premium: bool
    interface: Interface
    uncached: DiskPath
    cached: DiskPath
    cacheable: bool
    max_disks: int
    local_gib: float = 0
    local_nvme: bool = False
    burstable: bool = False
    controllers: tuple[Interface, ...] = ("scsi",)
    controller: str | None = None
    family: str = ""
    retires: str | None = None


class AzureImage(Frozen):
    """The machine's image: a reference with a version, or the id of an image. `plan` is the
    purchase plan of a marketplace image; `generation` (V1, V2) and `controllers` are None and empty
    where the image does not report them."""

    name: str
    reference: dict[str, str]
    os_gib: int | None = None
    plan: dict[str, str] | None = None
    generation: str | None = None
    controllers: tuple[Interface, ...] = ()


class AzureResolved(RentalDetails):
    """A rental's details. `zones` are tried in order; empty: no zone in particular. `subnet` is
    the user's own; its machines get no public address."""

    region: str
    requested: AzureDiskRequest = Field(alias="wanted")
    size_gib: int
    machine: AzureMachine
    image: AzureImage
    os_type: str
    zones: tuple[str, ...]
    subnet: str | None
    ssh_cidr: str | None
    warnings: tuple[str, ...] = ()
    """Warnings for the user before renting."""


_CLOUDS = ("management.azure.com", "management.chinacloudapi.cn", "management.usgovcloudapi.net")
"""Azure's own resource managers (azure-mgmt-core 1.6, get_arm_endpoints)."""


def check_form(spec: RentSpec) -> None:
    """Refuse values that cannot be Azure names. Raises InvalidValue."""
    _FORMS.check(spec, "Azure")
    asked.check_ssh(spec, "your group is")
    if NetworkOptions.of(spec).no_public_ip and spec.subnet is None:
        raise refused("no public address without a subnet")
    url = spec.endpoint_url
    # A bearer token is as good as a password: the SDK sends none in clear text, not even here.
    if url is not None and (urlsplit(url).scheme != "https" or not urlsplit(url).hostname):
        raise refused("endpoint without https", url=url)
    emulated = url is not None and is_loopback(url)
    asked.check_lab(spec, emulated=emulated, endpoint="https://127.0.0.1:PORT")


def is_azure(url: str) -> bool:
    """Whether an endpoint belongs to Azure, sovereign clouds and regional endpoints included."""
    host = urlsplit(url).hostname or ""
    return any(host == own or host.endswith(f".{own}") for own in _CLOUDS)
