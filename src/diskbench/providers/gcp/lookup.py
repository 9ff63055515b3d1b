"""Resolve a rental by read-only calls: project, image, machine, zones and network access.

The default image is the newest Ubuntu. An image must contain cloud-init, which installs the lease's
host key; Google's images of Debian, RHEL and Rocky Linux do not.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from diskbench.errors import DiskbenchError, UnknownName, check_known
from diskbench.model.options import RentSpec
from diskbench.providers.gcp import offer
from diskbench.providers.gcp.client import API, Compute, Item, last
from diskbench.providers.gcp.disk_request import (
    IAP_RANGE,
    GcpDiskRequest,
    GcpImage,
    GcpMachine,
    GcpNetwork,
    GcpResolved,
    Reach,
    find_gcloud,
    reach_of,
)
from diskbench.providers.gcp.errors import is_missing, refused
from diskbench.providers.gcp.requests import is_regional
from diskbench.providers.networks import caller_cidr, ssh_cidr
from diskbench.providers.skeleton.offer import checked_size

REGION = "us-central1"
"""The default region: that of the catalogue's prices; our choice."""
_DEFAULT_REGION, _DEFAULT_ZONE = "google-compute-default-region", "google-compute-default-zone"
"""Metadata of a project (Google Cloud, "Set a default region or zone for your project")."""


@dataclass(frozen=True)
class GcpLookup:
    """The request, and where to resolve it: `zones` are the given one, or all of the region, and
    `where` is that zone or the region."""

    compute: Compute
    spec: RentSpec
    requested: GcpDiskRequest
    region: str
    zones: tuple[str, ...]
    where: str


def resolve_details(
    compute: Compute,
    spec: RentSpec,
    requested: GcpDiskRequest,
    ask_caller: Callable[[], str] = caller_cidr,
) -> GcpResolved:
    """Everything that must be known before renting. Raises UserError."""
    region = region_of(spec, _project(compute))
    region_zones = _zones(compute, region)
    check_known(f"zone of {region}", spec.zone, region_zones, field="zone")
    here_zones = (spec.zone,) if spec.zone else region_zones
    here = GcpLookup(compute, spec, requested, region, here_zones, spec.zone or region)
    typed = None
    if spec.instance_type is not None:
        typed = offer.typed_machine(compute, spec.instance_type, here.zones, here.where)
        offer.check_support(typed[0], requested)
    image = find_image(compute, spec.image, typed[0].arch if typed else "x86_64")
    size_gib = checked_size(requested, image.name, image.root_gib)
    machine, zones = typed or _chosen(here, size_gib)
    offer.check_support(machine, requested)
    if image.arch != machine.arch:
        raise refused("image of another architecture", image=image, machine=machine)
    boot = requested.type if requested.kind == "root" else ""
    boot = boot or offer.boot_type(machine.type, requested)
    for disk_type in sorted({requested.type, boot} - {""}):
        zones = offer.disk_zones(compute, disk_type, zones, here.where)
    snapshot = _snapshot(here)
    network, login, reach = _network(here), compute.login, reach_of(spec)
    if reach == "iap":
        find_gcloud()
    private = login.endpoint if login.emulated else None
    if requested.kind == "root" and not boot:
        raise refused("root disk unknown")
    named = requested.model_copy(update={"type": boot}) if requested.kind == "root" else requested
    return GcpResolved(
        project=compute.project,
        region=region,
        requested=named,
        size_gib=size_gib,
        boot_type=boot,
        machine=machine,
        image=image,
        network=network,
        zones=zones,
        reach=reach,
        tag=spec.security_group,
        ssh_cidr=None if spec.security_group else _ssh_cidr(spec, reach, private, ask_caller),
        snapshot=snapshot,
        region_zones=region_zones if is_regional(requested.type) else (),
        emulated=login.emulated,
    )


def _ssh_cidr(
    spec: RentSpec, reach: Reach, private: str | None, ask_caller: Callable[[], str]
) -> str | None:
    """The network from which SSH is admitted. Raises InvalidValue where the user must name it."""
    if reach == "iap":
        return IAP_RANGE
    if reach == "private" and spec.ssh_cidr is None and private is None:
        # Our public address does not show from which network a private one is reached.
        raise refused("network of SSH unknown")
    return ssh_cidr(spec, private, ask_caller)


def _project(compute: Compute) -> Item:
    """The project; the first call that needs the credentials to be valid."""
    try:
        return compute.call("projects", "get")
    except DiskbenchError as error:
        if not is_missing(error):
            raise
        raise refused("no such project", compute=compute, error=error) from error


def region_of(spec: RentSpec, project: Item) -> str:
    """The region: given, or configured by gcloud's variables or the project."""
    items = project.get("commonInstanceMetadata", {}).get("items", [])
    metadata = {str(item.get("key")): str(item.get("value", "")) for item in items}
    zones = (spec.zone, os.environ.get("CLOUDSDK_COMPUTE_ZONE"), metadata.get(_DEFAULT_ZONE))
    of_zone = [zone.rpartition("-")[0] if zone else None for zone in zones]
    regions = (
        spec.region, of_zone[0],
        os.environ.get("CLOUDSDK_COMPUTE_REGION"), of_zone[1],
        metadata.get(_DEFAULT_REGION), of_zone[2],
    )  # fmt: skip
    return next((name for name in regions if name), REGION)


def _zones(compute: Compute, region: str) -> tuple[str, ...]:
    region_info = compute.found("regions", {"region": region})
    if region_info is None:
        known = [str(item["name"]) for item in compute.listed("regions")]
        raise UnknownName("Google Cloud region", region, known, field="region")
    return tuple(sorted(last(str(url)) for url in region_info.get("zones", [])))


def _chosen(here: GcpLookup, size_gib: int) -> tuple[GcpMachine, tuple[str, ...]]:
    """The first machine that sustains the disk and is offered, with its zones."""
    names = offer.candidates(here.requested, size_gib)
    for name in names:
        everywhere = offer.offered(here.compute, "machineTypes", name)
        zones = tuple(zone for zone in here.zones if zone in everywhere)
        if zones:
            return offer.machine(everywhere[zones[0]]), zones
    if names:
        raise refused("machines not offered", here=here, names=", ".join(names[:5]))
    raise refused("no machine for the full rate", here=here, size_gib=size_gib)


def _snapshot(here: GcpLookup) -> str | None:
    """The path of the snapshot that the disks are made from. Raises InvalidValue for one that is
    not there or does not fit on them."""
    typed = here.spec.snapshot
    if typed is None:
        return None
    owner = typed.split("/")[1] if typed.startswith("projects/") else here.compute.project
    found = here.compute.found("snapshots", {"project": owner, "snapshot": last(typed)})
    if found is None:
        raise refused("no such snapshot", owner=owner, typed=last(typed))
    held = int(found.get("diskSizeGb", 0))
    if held > (here.requested.size_gib or 0):
        raise refused("snapshot larger than the disk", typed=typed, held=held)
    return f"projects/{owner}/global/snapshots/{last(typed)}"


def _network(here: GcpLookup) -> GcpNetwork:
    """The network and, where one is given, the subnet. Raises InvalidValue."""
    compute, typed = here.compute, here.spec.subnet
    if typed is None:
        default_network = compute.found("networks", {"network": "default"})
        if default_network is None:
            raise refused("no default network", compute=compute)
        return _default_subnet(here, default_network)
    parts = typed.split("/")
    owner = parts[1] if parts[0] == "projects" else compute.project
    if "regions" in parts and parts[parts.index("regions") + 1] != here.region:
        raise refused("subnet of another region", typed=typed, here=here)
    request = {"project": owner, "region": here.region, "subnetwork": parts[-1]}
    subnet = compute.found("subnetworks", request)
    if subnet is None:
        raise refused("no such subnet", owner=owner, parts=parts[-1], here=here)
    _check_stack(subnet)
    network = _path(subnet["network"])
    if here.spec.security_group is None and not network.startswith(f"projects/{compute.project}/"):
        raise refused("network of another project", typed=typed)
    return GcpNetwork(network=network, subnetwork=_path(subnet["selfLink"]))


def _default_subnet(here: GcpLookup, network: Item) -> GcpNetwork:
    """The subnet of the region in the network `default`, which is named in every request: a network
    in custom mode takes no machine without it. Raises InvalidValue where there is none, or
    several."""
    below = f"/regions/{here.region}/subnetworks/"
    subnets = [str(url) for url in network.get("subnetworks", []) if below in str(url)]
    names = [last(url) for url in subnets]
    if not names:
        raise refused("no default subnet", here=here)
    if len(names) > 1:
        count, listed = len(names), ", ".join(names)
        raise refused("several default subnets", count=count, here=here, names=listed)
    request = {"region": here.region, "subnetwork": names[0]}
    _check_stack(here.compute.call("subnetworks", "get", request))
    return GcpNetwork(network=_path(network["selfLink"]), subnetwork=_path(subnets[0]))


def _check_stack(subnet: Item) -> None:
    """Refuse a subnet whose machines get no IPv4 address: SSH goes to one here."""
    if str(subnet.get("stackType", "")) == "IPV6_ONLY":
        raise refused("subnet with IPv6 only", name=subnet.get("name"))


def _path(url: str) -> str:
    """A resource's path below the API: `projects/…`."""
    return "projects/" + url.partition("/projects/")[2]


_UBUNTU = "ubuntu-os-cloud"
_FAMILIES: dict[str, str] = API["images"]
_ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
"""Families end in these."""
_USER = "diskbench"
"""The login user of any other image: cloud-init and Google's guest agent create it."""
_LINK = re.compile(
    r"(https://[a-z.]+/compute/v1/)?(projects/(?P<project>[a-z0-9.:-]+)/)?"
    r"(global/)?images/(?P<family>family/)?(?P<name>[a-z][a-z0-9-]*)"
)


def find_image(compute: Compute, typed: str | None, arch: str) -> GcpImage:
    """The image of `--image`: a name of `_FAMILIES` (`ubuntu` without it), or a path as
    `projects/PROJECT/global/images/NAME` or `…/images/family/FAMILY`. Raises InvalidValue."""
    family = _FAMILIES.get(typed or "ubuntu")
    if family is not None:
        return _family(compute, _UBUNTU, f"{family}-{_ARCHES[arch]}")
    link = _LINK.fullmatch(str(typed))
    if link is None:
        raise refused("no form of an image", typed=typed, families=", ".join(_FAMILIES))
    project = link["project"] or compute.project
    if link["family"]:
        return _family(compute, project, link["name"])
    request = {"project": project, "image": link["name"]}
    return _image(compute.found("images", request), project, link["name"])


def _family(compute: Compute, project: str, family: str) -> GcpImage:
    request = {"project": project, "family": family}
    return _image(compute.found("images", request, method="getFromFamily"), project, family)


def _image(described: Item | None, project: str, name: str) -> GcpImage:
    if described is None:
        raise refused("no such image", project=project, name=name)
    state = str(described.get("status", "READY"))
    if state != "READY":
        raise refused("image not ready", name=described.get("name"), state=state.lower())
    features = {str(feature.get("type")) for feature in described.get("guestOsFeatures", [])}
    return GcpImage(
        link=f"projects/{project}/global/images/{last(str(described['name']))}",
        name=str(described["name"]),
        arch=offer.arch_of(described),
        root_gib=int(described.get("diskSizeGb", 10)),
        user="ubuntu" if project == _UBUNTU else _USER,
        uefi="UEFI_COMPATIBLE" in features,
    )
