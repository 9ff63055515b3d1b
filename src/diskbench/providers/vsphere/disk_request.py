"""The disk that a cell requests from vSphere, refused before any call where it is impossible;
and the lookup's result before making anything, all that `acquire` needs, as JSON. Pure."""

import re
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field

from diskbench.errors import InvalidValue, check_known
from diskbench.model.base import Frozen
from diskbench.model.options import RentSpec
from diskbench.model.rental import DiskSpec
from diskbench.plan.rent_options import check_endpoint
from diskbench.providers.asked import check_count, check_lab, check_own
from diskbench.providers.networks import is_loopback
from diskbench.providers.skeleton.offer import RentalDetails
from diskbench.providers.skeleton.shipped import read_forms
from diskbench.providers.vsphere.errors import refused
from diskbench.providers.vsphere.plugin import PLUGIN, VsphereOptions
from diskbench.units import field_of

Provisioning = Literal["thin", "lazy-zeroed", "eager-zeroed"]
Controller = Literal["pvscsi", "nvme", "lsi"]

DEFAULT_PROVISIONING: Provisioning = "eager-zeroed"
"""Its first writes are as fast as later ones, while the other provisionings allocate or zero at
the first write; our choice."""
DEFAULT_CONTROLLER: Controller = "pvscsi"
DEFAULT_VCPUS = 4
DEFAULT_MEMORY_GIB = 8.0
"""Enough for fio not to be the limit of an ordinary datastore; our choice."""
MAX_SIZE_GIB = 62 * 1024
"""62 TB, the largest virtual disk (VMware, "Configuration Maximums", vSphere 5.5 and later)."""
_FORMS = read_forms("diskbench.providers.vsphere")
MAX_COUNT = 8
"""Disks on our own controller: fewer than any kind has units for (SCSI: 15 without unit 7)."""


class VsphereDiskRequest(Frozen):
    """The requested disks and machine. `provisioning` None leaves the choice to the policy."""

    size_gib: int
    count: int
    provisioning: Provisioning | None
    controller: Controller
    iops_limit: int | None
    vcpus: int
    memory_gib: float

    @property
    def memory_mib(self) -> int:
        """Memory as vSphere takes it: a multiple of 4 MiB."""
        return max(4, int(self.memory_gib * 1024) // 4 * 4)

    def spec(self, place: str) -> DiskSpec:
        """The disk as the plan has it: its type is the datastore it is on."""
        return DiskSpec(type=place, size_gib=self.size_gib, count=self.count)


def disk_request(spec: RentSpec | None) -> VsphereDiskRequest:
    """The disk requested by a spec. Raises InvalidValue or UnknownName with the allowed values."""
    here = VsphereOptions() if spec is None else VsphereOptions.of(spec)
    if spec is None or (here.datastore is None and here.storage_policy is None):
        raise refused("no datastore to measure")
    check_own(spec, PLUGIN)
    _apart("--datastore", here.datastore, "--storage-policy", here.storage_policy)
    _apart("--cluster", here.cluster, "--host", here.esxi_host)
    if here.insecure:
        _apart("--insecure", "", "--ca-file", here.ca_file)
    url = None if spec.endpoint_url is None else server_url(spec.endpoint_url)
    emulated = url is not None and is_loopback(url)
    check_lab(spec, emulated=emulated, endpoint="https://127.0.0.2:PORT")
    if spec.size_gib is None:
        raise refused("no size")
    if spec.size_gib > MAX_SIZE_GIB:
        raise refused("disk too large", spec=spec, max_size_gib=MAX_SIZE_GIB)
    check_count(spec, MAX_COUNT)
    _FORMS.check(spec, "vSphere")
    return VsphereDiskRequest(
        size_gib=spec.size_gib,
        count=spec.count,
        provisioning=_one_of(Provisioning, "provisioning", here.provisioning)
        or (None if here.storage_policy else DEFAULT_PROVISIONING),
        controller=_one_of(Controller, "controller", here.controller) or DEFAULT_CONTROLLER,
        iops_limit=here.iops_limit,
        vcpus=here.vcpus or DEFAULT_VCPUS,
        memory_gib=here.memory_gib or DEFAULT_MEMORY_GIB,
    )


def server_url(text: str) -> str:
    """`https://HOST:PORT` of a server given as a name, or as a URL with or without its path. Raises
    InvalidValue; also for http, which would send the password in clear text."""
    check_endpoint(text, "the vSphere server")
    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 443
    except ValueError:  # an unmatched bracket or an invalid port
        parts, host, port = urlsplit(""), "", 0
    if parts.scheme != "https" or not re.fullmatch(r"[A-Za-z0-9.:_-]+", host):
        raise refused("no form of a server", text=text)
    return f"https://{f'[{host}]' if ':' in host else host}:{port}"


def _one_of(kinds: Any, field: str, typed: str | None) -> Any:  # noqa: ANN401 - a Literal, and of it
    """What was typed; None where nothing was. Raises UnknownName for what is none of the kinds."""
    check_known(field, typed, get_args(kinds), field=field)
    return typed


def _apart(flag: str, first: str | None, other_flag: str, second: str | None) -> None:
    if first is not None and second is not None:
        raise InvalidValue(
            f"{flag} and {other_flag} do not go together",
            advice="leave one of them out",
            field=field_of(flag),
        )


class VspherePlace(Frozen):
    """An inventory object or a storage policy: vSphere's id and its display name."""

    id: str
    name: str


class VsphereNetwork(Frozen):
    """A network of the machine. `switch` and `portgroup` are set for a distributed one."""

    id: str
    name: str
    kind: str
    switch: str | None = None
    portgroup: str | None = None


class Template(Frozen):
    """The template to clone. `buses` are the used SCSI bus numbers, `nvme_buses` those of NVMe;
    `size_bytes` is the full size of its disks. `vapp`: it has vApp properties, as from an OVF."""

    id: str
    name: str
    guest: str | None = None
    hardware: str | None = None
    size_bytes: int = 0
    buses: tuple[int, ...] = ()
    nvme_buses: tuple[int, ...] = ()
    network_card: int | None = None
    vapp: bool = False


class VsphereResolved(RentalDetails):
    """A rental's details."""

    server: str
    api: str
    datacenter: VspherePlace
    folder: VspherePlace
    compute: VspherePlace
    pool: VspherePlace
    host: VspherePlace | None
    datastore: VspherePlace
    policy: VspherePlace | None = None
    network: VsphereNetwork | None = None
    template: Template
    requested: VsphereDiskRequest = Field(alias="wanted")
    free_bytes: int
    facts: dict[str, Any]
