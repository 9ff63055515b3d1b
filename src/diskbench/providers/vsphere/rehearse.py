"""What vCenter can check before a rental: the privileges on the objects that the rental
would use (AuthorizationManager.HasPrivilegeOnEntities), and whether the template's disks could
be placed there (VirtualMachineProvisioningChecker.CheckRelocate_Task, vSphere API 4.0 and newer,
which tests and moves nothing)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import AccessDenied, RentalFailed
from diskbench.providers.skeleton.doctor import DryRun, rehearsed
from diskbench.providers.vsphere import rights
from diskbench.providers.vsphere.client import reference
from diskbench.providers.vsphere.resolved import VsphereResolved
from diskbench.providers.vsphere.sdk import sdk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.model.finding import Finding
    from diskbench.model.rental import Rental
    from diskbench.providers.vsphere.client import Ref, Vsphere, VsphereSessions
    from diskbench.providers.vsphere.resolved import Template, VspherePlace
    from diskbench.providers.vsphere.timing import VsphereTiming

_WHERE = "vsphere"
_CHECK_S = 120.0
"""How long vCenter may take to check a placement; our choice."""
_ADVICE = "give the user a role with it there: diskbench doctor --print-policy vsphere"
_UNTRIED = (
    "cloning, reconfiguring, switching on and removing, which vCenter cannot check without doing it"
)


def rehearse(sessions: VsphereSessions, rental: Rental, timing: VsphereTiming) -> list[Finding]:
    """See ports.Rehearses."""
    details = VsphereResolved.model_validate(rental.details)
    vsphere = sessions.of_scope(rental.scope, timing)
    session = str(
        vsphere.call("SessionManager", lambda: vsphere.content.sessionManager.currentSession).key
    )
    used = _used(vsphere, details)
    runs = [
        _permitted(vsphere, session, kind, name, ref, rights.privileges()[kind])
        for kind, (name, ref) in used.items()
    ]
    if vsphere.content.vmProvisioningChecker is not None:  # an ESXi host has none
        runs.append(_placed(vsphere, details))
    return rehearsed(_WHERE, runs, advice=_ADVICE, untried=_UNTRIED)


def _used(vsphere: Vsphere, details: VsphereResolved) -> dict[str, tuple[str, Ref]]:
    """The objects that the rental would use, by the kinds of `rights.NEEDS`."""
    places: dict[str, tuple[str, Template | VspherePlace]] = {
        "template": ("VirtualMachine", details.template),
        "folder": ("Folder", details.folder),
        "datastore": ("Datastore", details.datastore),
        "resource pool": ("ResourcePool", details.pool),
    }
    used: dict[str, tuple[str, Ref]] = {
        kind: (place.name, reference(vsphere, type_, place.id))
        for kind, (type_, place) in places.items()
    }
    if details.network is not None:
        ref = reference(vsphere, details.network.kind, details.network.id)
        used["network"] = (details.network.name, ref)
    return used


def _permitted(
    vsphere: Vsphere, session: str, kind: str, name: str, ref: Ref, privileges: Sequence[str]
) -> DryRun:
    def send() -> None:
        manager = vsphere.content.authorizationManager
        answer = vsphere.call(
            "AuthorizationManager.HasPrivilegeOnEntities",
            lambda: manager.HasPrivilegeOnEntities([ref], session, list(privileges)),
        )
        granted = {
            grant.privId
            for entity in answer
            for grant in entity.privAvailability
            if grant.isGranted
        }
        if missing := [privilege for privilege in privileges if privilege not in granted]:
            raise AccessDenied(f"{', '.join(missing)} is missing")

    return DryRun(f"privileges on the {kind} {name}", send)


def _placed(vsphere: Vsphere, details: VsphereResolved) -> DryRun:
    def send() -> None:
        vim = sdk("vim")
        place: dict[str, Any] = {
            "datastore": reference(vsphere, "Datastore", details.datastore.id),
            "pool": reference(vsphere, "ResourcePool", details.pool.id),
        }
        if details.host is not None:
            place["host"] = reference(vsphere, "HostSystem", details.host.id)
        template = reference(vsphere, "VirtualMachine", details.template.id)
        checker = vsphere.content.vmProvisioningChecker
        results = vsphere.run(
            "VirtualMachineProvisioningChecker.CheckRelocate",
            f"check of {details.template.name} on {details.datastore.name}",
            lambda: checker.CheckRelocate_Task(vm=template, spec=vim.vm.RelocateSpec(**place)),
            _CHECK_S,
        )
        faults = [fault for result in results or () for fault in result.error or ()]
        if faults:
            reasons = "; ".join(
                str(fault.localizedMessage or type(fault.fault).__name__) for fault in faults
            )
            raise RentalFailed(f"vCenter says: {reasons}", advice="name another place or template")

    return DryRun(
        f"the template {details.template.name} on the datastore {details.datastore.name}", send
    )
