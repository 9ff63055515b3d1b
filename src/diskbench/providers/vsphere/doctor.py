"""What `diskbench doctor` asks vSphere: the privileges of our session on the existing objects
(AuthorizationManager.HasPrivilegeOnEntities, vSphere API 5.5 and newer), and whether the template's
disks could be placed on the datastore (VirtualMachineProvisioningChecker.CheckRelocate_Task, API
4.0 and newer, which tests and moves nothing)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from diskbench.errors import AccessDenied, DiskbenchError, RentalFailed
from diskbench.model.finding import Finding, FindingState, finding, refusal
from diskbench.model.rental import Rental, Scope
from diskbench.providers.skeleton.doctor import DryRun, rehearsed, skew
from diskbench.providers.vsphere import client
from diskbench.providers.vsphere.client import Ref, Vsphere, VsphereSessions, VsphereTiming
from diskbench.providers.vsphere.disk_request import Template, VspherePlace, VsphereResolved
from diskbench.providers.vsphere.errors import vim
from diskbench.yaml_lines import packaged

WHERE = "vsphere"
_VAPP = "VApp.ApplicationConfig"
_MOST = 200
"""The largest number of objects of a kind to query; our choice."""
_ADVICE = "give the user a role with it there: diskbench doctor --print-policy vsphere"


def examine(sessions: VsphereSessions, scope: Scope, timing: VsphereTiming) -> list[Finding]:
    """Findings on credentials, clock and privileges. vSphere has no quotas of an account."""
    findings: list[Finding] = []
    rights: list[Finding] = []
    try:
        vsphere = sessions.of_scope(scope, timing)
        manager = vsphere.content.sessionManager
        session = vsphere.call("SessionManager", lambda: manager.currentSession)
        before = datetime.now(UTC)
        cloud_time = vsphere.call("CurrentTime", vsphere.instance.CurrentTime)
        about = vsphere.content.about
        findings += [
            finding("credentials", WHERE, "ok", f"{session.userName} at {about.fullName}"),
            skew(WHERE, cloud_time.astimezone(UTC), before, datetime.now(UTC)),
        ]
        for kind, names in privileges().items():
            objects = _objects(vsphere, kind)
            granted = _granted(vsphere, objects, str(session.key), names) if objects else []
            rights += judged(kind, names, granted)
    except DiskbenchError as error:
        refused = refusal("permissions" if findings else "credentials", WHERE, error)
        return [*findings, refused]
    return [*findings, *rights]


def judged(
    kind: str, privileges: Sequence[str], granted: Sequence[Mapping[str, bool]]
) -> list[Finding]:
    """The finding for the objects of a kind and their granted privileges: one object that grants
    all is enough, since the object to be used is not known here."""
    if not granted:
        unseen = f"no {kind} is seen by this user"
        return [finding("permissions", WHERE, "problem", unseen, _ADVICE)]
    fullest = max(granted, key=lambda grants: sum(grants.get(name, False) for name in privileges))
    missing = [name for name in privileges if not fullest.get(name, False)]
    if not missing:
        enough = sum(all(grants.get(name, False) for name in privileges) for grants in granted)
        summary = f"{kind}: all {len(privileges)} privileges on {enough} of {len(granted)}"
        return [finding("permissions", WHERE, "ok", summary)]
    findings = []
    for name in missing:
        state: FindingState = "warning" if name in OPTIONAL else "problem"
        needed = f", which {OPTIONAL[name]} needs" if name in OPTIONAL else ""
        told = f"{kind}: {name} is missing{needed}"
        findings.append(finding("permissions", WHERE, state, told, _ADVICE))
    return findings


def _objects(vsphere: Vsphere, kind: str) -> list[Any]:
    if kind == "vCenter":
        return [vsphere.content.rootFolder]
    if kind == "template":
        listed = vsphere.listed("VirtualMachine", ("config.template",))
        return [item.ref for item in listed if item.values.get("config.template")][:_MOST]
    vsphere_kind = kind.title().replace(" ", "")  # `resource pool` is a ResourcePool
    return [item.ref for item in vsphere.listed(vsphere_kind, ("name",))][:_MOST]


def _granted(
    vsphere: Vsphere, objects: list[Any], session: str, privileges: Sequence[str]
) -> list[dict[str, bool]]:
    manager = vsphere.content.authorizationManager
    ask = partial(manager.HasPrivilegeOnEntities, objects, session, list(privileges))
    answer = vsphere.call("AuthorizationManager.HasPrivilegeOnEntities", ask)
    listed = (entity.privAvailability for entity in answer)
    return [{grant.privId: bool(grant.isGranted) for grant in grants} for grants in listed]


_CHECK_S = 120.0
"""How long vCenter may take to check a placement; our choice."""
_UNTRIED = (
    "cloning, reconfiguring, switching on and removing, which vCenter cannot check without doing it"
)


def rehearse(sessions: VsphereSessions, rental: Rental, timing: VsphereTiming) -> list[Finding]:
    """One finding for each part of the rental that can be checked."""
    details = VsphereResolved.model_validate(rental.details)
    vsphere = sessions.of_scope(rental.scope, timing)
    session = vsphere.call("SessionManager", lambda: vsphere.content.sessionManager.currentSession)
    needless = set() if rental.spec.tags else {"Global.SetCustomField"}
    needed = privileges(needless if details.template.vapp else {*needless, _VAPP})
    runs = [
        _permitted(vsphere, str(session.key), kind, name, ref, needed[kind])
        for kind, (name, ref) in _used(vsphere, details).items()
    ]
    if vsphere.content.vmProvisioningChecker is not None:  # an ESXi host has none
        runs.append(_placed(vsphere, details))
    return rehearsed(WHERE, runs, advice=_ADVICE, untried=_UNTRIED)


def _used(vsphere: Vsphere, details: VsphereResolved) -> dict[str, tuple[str, Ref]]:
    """The objects that the rental would use, by the kinds of `NEEDS`."""
    places: dict[str, tuple[str, Template | VspherePlace]] = {
        "template": ("VirtualMachine", details.template),
        "folder": ("Folder", details.folder),
        "datastore": ("Datastore", details.datastore),
        "resource pool": ("ResourcePool", details.pool),
    }
    used: dict[str, tuple[str, Ref]] = {
        kind: (place.name, client.reference(vsphere, type_, place.id))
        for kind, (type_, place) in places.items()
    }
    if details.network is not None:
        ref = client.reference(vsphere, details.network.kind, details.network.id)
        used["network"] = (details.network.name, ref)
    return used


def _permitted(
    vsphere: Vsphere, session: str, kind: str, name: str, ref: Ref, privileges: Sequence[str]
) -> DryRun:
    def send() -> None:
        (granted,) = _granted(vsphere, [ref], session, privileges)
        if missing := [name for name in privileges if not granted.get(name, False)]:
            raise AccessDenied(f"{', '.join(missing)} is missing")

    return f"privileges on the {kind} {name}", send


def _placed(vsphere: Vsphere, details: VsphereResolved) -> DryRun:
    def send() -> None:
        place: dict[str, Any] = {
            "datastore": client.reference(vsphere, "Datastore", details.datastore.id),
            "pool": client.reference(vsphere, "ResourcePool", details.pool.id),
        }
        if details.host is not None:
            place["host"] = client.reference(vsphere, "HostSystem", details.host.id)
        template = client.reference(vsphere, "VirtualMachine", details.template.id)
        checker = vsphere.content.vmProvisioningChecker
        results = vsphere.run(
            "VirtualMachineProvisioningChecker.CheckRelocate",
            f"check of {details.template.name} on {details.datastore.name}",
            lambda: checker.CheckRelocate_Task(vm=template, spec=vim.vm.RelocateSpec(**place)),
            _CHECK_S,
        )
        faults = [fault for result in results or () for fault in result.error or ()]
        if reasons := [str(one.localizedMessage or type(one.fault).__name__) for one in faults]:
            why = "; ".join(reasons)
            raise RentalFailed(f"vCenter says: {why}", advice="name another place or template")

    template, datastore = details.template.name, details.datastore.name
    return f"the template {template} on the datastore {datastore}", send


_PERMITTED = packaged("diskbench.providers.vsphere", "permissions.yaml")
NEEDS: dict[str, dict[str, list[str]]] = _PERMITTED["calls"]
"""Method → kind of object → privileges on it."""
OPTIONAL: dict[str, str] = _PERMITTED["optional"]
"""Privileges that not every rental needs, and what needs them."""


def privileges(without: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The needed privileges by kind of object, sorted, except those in `without`."""
    by_kind: dict[str, set[str]] = {}
    for kinds in NEEDS.values():
        for kind, names in kinds.items():
            by_kind.setdefault(kind, set()).update(set(names) - set(without))
    return {kind: tuple(sorted(names)) for kind, names in by_kind.items()}


def policy() -> str:
    """The privileges, one per line, below the kind of object that needs them."""
    lines = []
    for kind, names in privileges().items():
        always = [name for name in names if name not in OPTIONAL]
        lines += [f"# on the {kind}", *always] if always else []
        for name in names:
            if name in OPTIONAL:
                lines += [f"# on the {kind}, for {OPTIONAL[name]}", name]
    return "\n".join(lines)
