"""Storage policies, which a service of their own beside vCenter's knows (SPBM)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import UnknownName
from diskbench.providers.vsphere.resolved import Policy
from diskbench.providers.vsphere.sdk import sdk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.providers.vsphere.edge import Vsphere


def find_policy(vsphere: Vsphere, name: str) -> Policy:
    """The policy of that name. Raises UnknownName."""
    manager = _manager(vsphere)

    def ask() -> list[Any]:
        pbm = sdk("pbm")

        kind = pbm.profile.ResourceType(resourceType="STORAGE")
        ids = manager.PbmQueryProfile(resourceType=kind, profileCategory="REQUIREMENT")
        return list(manager.PbmRetrieveContent(profileIds=ids)) if ids else []

    found = vsphere.call("Pbm.QueryProfile", ask)
    for one in found:
        if one.name == name:
            return Policy(id=str(one.profileId.uniqueId), name=name)
    raise UnknownName("storage policy", name, [str(one.name) for one in found])


def matching(vsphere: Vsphere, policy: Policy, datastores: Iterable[str]) -> frozenset[str]:
    """Those of the datastores, by id, that the policy fits."""
    content = _content(vsphere)

    def ask() -> list[Any]:
        placement = sdk("pbm").placement
        profile = sdk("pbm").profile.ProfileId(uniqueId=policy.id)
        hubs = [placement.PlacementHub(hubType="Datastore", hubId=one) for one in datastores]
        solver = content.placementSolver
        return list(solver.PbmCheckCompatibility(hubsToSearch=hubs, profile=profile) or ())

    found = vsphere.call("Pbm.CheckCompatibility", ask)
    return frozenset(str(one.hub.hubId) for one in found if not one.error)


def _manager(vsphere: Vsphere) -> Any:  # noqa: ANN401 - pyVmomi's
    return _content(vsphere).profileManager


def _content(vsphere: Vsphere) -> Any:  # noqa: ANN401 - pyVmomi's
    """The content of the policy service, by the session of vCenter's."""
    pbm = sdk("pbm")

    ours = vsphere.instance._stub  # noqa: SLF001 - a session has no other handle in pyVmomi
    context = sdk("VmomiSupport").GetRequestContext()
    context["vcSessionCookie"] = ours.cookie.partition(";")[0].partition("=")[2].strip('"')
    host, _, port = ours.host.rpartition(":")
    stub = sdk("SoapStubAdapter")(
        host=host, port=int(port), path="/pbm", version="pbm.version.version1",
        sslContext=ours.schemeArgs.get("context"),
    )  # fmt: skip
    instance = pbm.ServiceInstance("ServiceInstance", stub)
    return vsphere.call("Pbm.RetrieveServiceContent", instance.RetrieveContent)
