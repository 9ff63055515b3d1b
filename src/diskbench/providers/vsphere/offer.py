"""The rental as an offer for the user: resolved, or expected without a call to vSphere. Pure.
vSphere has no prices and no promised limits."""

from collections.abc import Iterator
from typing import Any

from diskbench.model.expectation import Promise
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.providers.vsphere.disk_request import VsphereDiskRequest, VsphereResolved
from diskbench.providers.vsphere.inventory import hardware_version
from diskbench.providers.vsphere.login import VsphereServer
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.units import GIB, counted

_NVME_HARDWARE = 13
"""The virtual hardware that first had an NVMe controller (ESXi 6.5)."""


def rental(
    spec: RentSpec, details: VsphereResolved, server: VsphereServer, installation: str,
    promise: Promise | None,
) -> Rental:  # fmt: skip
    """The rental for the lookup's result, in the installation with that UUID."""
    scope = Scope(
        provider="vsphere", account=installation, region=details.datacenter.name,
        endpoint=server.url, ca_file=server.ca_file, insecure=server.insecure,
    )  # fmt: skip
    return _rental(
        spec, details.requested, promise, scope, details.datastore.name, _offer_line(spec, details),
        image=details.template.name,
        warnings=tuple(_warnings(details, server)),
        details=details.model_dump(mode="json"),
    )  # fmt: skip


def _rental(
    spec: RentSpec, requested: VsphereDiskRequest, promise: Promise | None, scope: Scope,
    place: str, offer: str, **known: Any,  # noqa: ANN401 - fields of Rental
) -> Rental:  # fmt: skip
    return Rental(
        scope=scope,
        spec=spec,
        offer=offer,
        promise=promise.words() if promise else "none (vSphere documents no limits; see --promise)",
        disk=requested.spec(place),
        cores=requested.vcpus,
        memory_bytes=requested.memory_mib * 2**20,
        **known,
    )


def _offer_line(spec: RentSpec, details: VsphereResolved) -> str:
    requested, store = details.requested, details.facts
    count = f"{requested.count} × " if requested.count > 1 else ""
    striped = ", striped" if spec.stripe else ""
    policy = details.policy.name if details.policy else ""
    provisioning = requested.provisioning or f"policy {policy}"
    limit = f", limited to {requested.iops_limit:,} IOPS of 32 KiB" if requested.iops_limit else ""
    where = details.host.name if details.host else details.compute.name
    return (
        f"{requested.vcpus} vCPUs, {requested.memory_gib:g} GiB on {where} with {count}"
        f"{requested.size_gib:,} GiB {provisioning} on {details.datastore.name} "
        f"({store.get('kind')}) by {requested.controller}{limit}{striped}; {details.template.name}"
    )


def _warnings(details: VsphereResolved, server: VsphereServer) -> Iterator[str]:
    requested = details.requested
    if server.insecure:
        yield "the server's certificate is not verified: anybody on the way can read the password"
    others = details.facts.get("other_machines_on") or 0
    if others:
        running = f"{counted(int(others), 'other machine')} running on {details.datastore.name}"
        yield f"{running}: its speed is shared"
    if requested.provisioning in {"thin", "lazy-zeroed"}:
        yield f"a {requested.provisioning} disk is slower at the first write of each block"
    version = hardware_version(details.template)
    if requested.controller == "nvme" and version is not None and version < _NVME_HARDWARE:
        yield f"virtual hardware {version} of {details.template.name} has no NVMe controller"
    if requested.size_gib * GIB > details.free_bytes // 2:
        yield f"the disk needs more than half of the free space on {details.datastore.name}"


def foresee(spec: RentSpec, requested: VsphereDiskRequest, promise: Promise | None) -> Rental:
    """The expected rental; its place may not exist in vSphere."""
    typed = VsphereOptions.of(spec)
    place = typed.datastore or f"policy {typed.storage_policy}"
    scope = Scope(provider="vsphere", region=typed.datacenter, endpoint=spec.endpoint_url)
    machine = f"{requested.vcpus} vCPUs, {requested.memory_gib:g} GiB"
    offer = f"{machine}, with {requested.size_gib:,} GiB on {place}"
    return _rental(spec, requested, promise, scope, place, offer)
