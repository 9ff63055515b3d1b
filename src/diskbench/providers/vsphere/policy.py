"""Storage policies, from their own service beside vCenter (SPBM)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from diskbench.errors import UnknownName
from diskbench.providers.vsphere.record import record
from diskbench.providers.vsphere.resolved import Policy
from diskbench.providers.vsphere.sdk import sdk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from diskbench.providers.vsphere.client import Vsphere


def find_policy(vsphere: Vsphere, name: str) -> Policy:
    """The policy of that name. Raises UnknownName."""
    with _service(vsphere) as content:
        manager = content.profileManager

        def ask() -> list[Any]:
            kind = sdk("pbm").profile.ResourceType(resourceType="STORAGE")
            ids = manager.PbmQueryProfile(resourceType=kind, profileCategory="REQUIREMENT")
            return list(manager.PbmRetrieveContent(profileIds=ids)) if ids else []

        profiles = vsphere.call("Pbm.QueryProfile", ask)
    for profile in profiles:
        if profile.name == name:
            return Policy(id=str(profile.profileId.uniqueId), name=name)
    raise UnknownName(
        "storage policy", name, [str(profile.name) for profile in profiles], field="storage_policy"
    )


def matching(vsphere: Vsphere, policy: Policy, datastores: Iterable[str]) -> frozenset[str]:
    """The ids of those datastores that match the policy."""
    placement = sdk("pbm").placement
    profile = sdk("pbm").profile.ProfileId(uniqueId=policy.id)
    hubs = [
        placement.PlacementHub(hubType="Datastore", hubId=datastore) for datastore in datastores
    ]
    with _service(vsphere) as content:
        solver = content.placementSolver
        results = vsphere.call(
            "Pbm.CheckCompatibility",
            lambda: solver.PbmCheckCompatibility(hubsToSearch=hubs, profile=profile) or (),
        )
    return frozenset(str(result.hub.hubId) for result in results if not result.error)


@contextlib.contextmanager
def _service(vsphere: Vsphere) -> Iterator[Any]:
    """The content of the policy service, using vCenter's session."""
    ours = vsphere.stub
    context = sdk("VmomiSupport").GetRequestContext()
    context["vcSessionCookie"] = ours.cookie.partition(";")[0].partition("=")[2].strip('"')
    host, _, port = ours.host.rpartition(":")
    stub = sdk("SoapStubAdapter")(
        host=host, port=int(port), path="/pbm", version="pbm.version.version1",
        sslContext=ours.schemeArgs.get("context"),
    )  # fmt: skip
    record(stub)
    instance = sdk("pbm").ServiceInstance("ServiceInstance", stub)
    try:
        yield vsphere.call("Pbm.RetrieveServiceContent", instance.RetrieveContent)
    finally:
        stub.DropConnections()
