"""The rental as an offer for the user: resolved, or expected without a call to vSphere. Pure.
vSphere has no prices and no promised limits."""

from __future__ import annotations

from collections.abc import Iterator

from diskbench.model.expectation import Promise
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.providers.vsphere.disk_request import VsphereDiskRequest, VsphereResolved
from diskbench.providers.vsphere.inventory import hardware_version
from diskbench.providers.vsphere.login import VsphereServer
from diskbench.providers.vsphere.plugin import VsphereOptions
from diskbench.units import GIB

_NVME_HARDWARE = 13
"""The virtual hardware that first had an NVMe controller (ESXi 6.5)."""


def rental(
    spec: RentSpec,
    details: VsphereResolved,
    server: VsphereServer,
    installation: str,
    promise: Promise | None,
) -> Rental:
    """The rental for the lookup's result, in the installation with that UUID."""
    requested = details.requested
    return Rental(
        scope=Scope(
            provider="vsphere",
            account=installation,
            region=details.datacenter.name,
            endpoint=server.url,
            ca_file=server.ca_file,
            insecure=server.insecure,
        ),
        spec=spec,
        offer=_words(spec, details),
        promise=promise.words() if promise else "none (vSphere promises nothing; see --promise)",
        image=details.template.name,
        disk=requested.spec(details.datastore.name),
        cores=requested.vcpus,
        memory_bytes=requested.memory_mib * 2**20,
        warnings=tuple(_warnings(details, server)),
        details=details.model_dump(mode="json"),
    )


def _words(spec: RentSpec, details: VsphereResolved) -> str:
    requested, store = details.requested, details.facts
    count = f"{requested.count} × " if requested.count > 1 else ""
    striped = ", striped" if spec.stripe else ""
    provisioning = (
        requested.provisioning or f"policy {details.policy.name if details.policy else ''}"
    )
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
        yield f"{others} other machines on {details.datastore.name} are on: they share its speed"
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
    return Rental(
        scope=Scope(provider="vsphere", region=typed.datacenter, endpoint=spec.endpoint_url),
        spec=spec,
        offer=f"{requested.vcpus} vCPUs, {requested.memory_gib:g} GiB, with "
        f"{requested.size_gib:,} GiB on {place}",
        promise=promise.words() if promise else "none (vSphere promises nothing; see --promise)",
        disk=requested.spec(place),
        cores=requested.vcpus,
        memory_bytes=requested.memory_mib * 2**20,
    )
