"""The expected rental without a call to vSphere: pure. vSphere has no prices and no promised
limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.rental import Rental, Scope
from diskbench.providers.vsphere.options import VsphereOptions

if TYPE_CHECKING:
    from diskbench.model.expectation import Promise
    from diskbench.model.options import RentSpec
    from diskbench.providers.vsphere.disk_request import VsphereDiskRequest


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
