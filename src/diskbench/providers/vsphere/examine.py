"""Whether vSphere permits the rental: query the privileges of our session on the existing
objects (AuthorizationManager.HasPrivilegeOnEntities, vSphere API 5.5 and newer)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, FindingState, finding, refusal
from diskbench.providers.skeleton.doctor import reported_time, skew
from diskbench.providers.vsphere import rights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.model.rental import Scope
    from diskbench.providers.vsphere.client import Vsphere, VsphereSessions
    from diskbench.providers.vsphere.timing import VsphereTiming

WHERE = "vsphere"
_MOST = 200
"""The largest number of objects of a kind to query; our choice."""
_KINDS = {
    "folder": "Folder",
    "datastore": "Datastore",
    "resource pool": "ResourcePool",
    "network": "Network",
}
_ADVICE = "give the user a role with it there: diskbench doctor --print-policy vsphere"


def examine(sessions: VsphereSessions, scope: Scope, timing: VsphereTiming) -> list[Finding]:
    """See ports.Examinable. vSphere has no quotas of an account."""
    try:
        return _examined(sessions.of_scope(scope, timing))
    except DiskbenchError as error:
        return [refusal("credentials", WHERE, error)]


def present(sessions: VsphereSessions, scope: Scope, timing: VsphereTiming) -> datetime:
    """See ports.TellsTime."""
    vsphere = sessions.of_scope(scope, timing)
    cloud_time = vsphere.call("CurrentTime", vsphere.instance.CurrentTime)
    return reported_time(WHERE, cloud_time.astimezone(UTC))


def _examined(vsphere: Vsphere) -> list[Finding]:
    session = vsphere.call("SessionManager", lambda: vsphere.content.sessionManager.currentSession)
    before = datetime.now(UTC)
    cloud_time = vsphere.call("CurrentTime", vsphere.instance.CurrentTime)
    about = vsphere.content.about
    findings = [
        finding("credentials", WHERE, "ok", f"{session.userName} at {about.fullName}"),
        skew(WHERE, cloud_time.astimezone(UTC), before, datetime.now(UTC)),
    ]
    try:
        return [*findings, *_rights(vsphere, str(session.key))]
    except DiskbenchError as error:
        return [*findings, refusal("permissions", WHERE, error)]


def _rights(vsphere: Vsphere, session: str) -> list[Finding]:
    findings = []
    for kind, privileges in rights.privileges().items():
        objects = _objects(vsphere, kind)
        granted = _granted(vsphere, objects, session, privileges) if objects else []
        findings += judged(kind, privileges, granted)
    return findings


def judged(
    kind: str, privileges: Sequence[str], granted: Sequence[Mapping[str, bool]]
) -> list[Finding]:
    """The finding for the objects of a kind and their granted privileges: one object that grants
    all is enough, since the object to be used is not known here."""
    if not granted:
        return [
            finding("permissions", WHERE, "problem", f"no {kind} is seen by this user", _ADVICE)
        ]
    fullest = max(granted, key=lambda grants: sum(grants.get(name, False) for name in privileges))
    missing = [name for name in privileges if not fullest.get(name, False)]
    if not missing:
        enough = sum(all(grants.get(name, False) for name in privileges) for grants in granted)
        summary = f"{kind}: all {len(privileges)} privileges on {enough} of {len(granted)}"
        return [finding("permissions", WHERE, "ok", summary)]
    state: FindingState = "warning" if kind in rights.OPTIONAL else "problem"
    return [
        finding("permissions", WHERE, state, f"{kind}: {name} is missing", _ADVICE)
        for name in missing
    ]


def _objects(vsphere: Vsphere, kind: str) -> list[Any]:
    if kind == "vCenter":
        return [vsphere.content.rootFolder]
    if kind == "template":
        listed = vsphere.listed("VirtualMachine", ("config.template",))
        return [item.ref for item in listed if item.values.get("config.template")][:_MOST]
    return [item.ref for item in vsphere.listed(_KINDS[kind], ("name",))][:_MOST]


def _granted(
    vsphere: Vsphere, objects: list[Any], session: str, privileges: Sequence[str]
) -> list[dict[str, bool]]:
    manager = vsphere.content.authorizationManager
    answer = vsphere.call(
        "AuthorizationManager.HasPrivilegeOnEntities",
        lambda: manager.HasPrivilegeOnEntities(objects, session, list(privileges)),
    )
    return [
        {grant.privId: bool(grant.isGranted) for grant in entity.privAvailability}
        for entity in answer
    ]
