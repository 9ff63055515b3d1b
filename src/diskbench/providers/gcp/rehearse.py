"""What Compute Engine can check before a rental: permissions on image and subnetwork.

It has no dry run: `validateOnly` exists for security policies, interconnects and the like, and
for neither instances nor disks (API v1, compute_v1 1.57.0). What can be asked is
`testIamPermissions` on the image and the subnetwork that the rental would use, which may be of
other projects; permissions of the project itself are tested by `examine`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from diskbench.errors import AccessDenied
from diskbench.providers.gcp.resolved import GcpResolved
from diskbench.providers.skeleton.doctor import DryRun, rehearsed

if TYPE_CHECKING:
    from diskbench.model.finding import Finding
    from diskbench.model.rental import Rental
    from diskbench.providers.gcp.client import Compute, GcpSessions
    from diskbench.providers.gcp.timing import GceTiming

_ADVICE = "give the account this role: diskbench doctor --print-policy gcp"
_UNTRIED = (
    "making, attaching and deleting machines, disks and firewall rules, which Compute Engine "
    "cannot check without doing it; and the constraints of the organisation's policy"
)
_IMAGE = re.compile(r"projects/(?P<project>[^/]+)/global/images/(?P<resource>[^/]+)$")
_SUBNETWORK = re.compile(
    r"projects/(?P<project>[^/]+)/regions/(?P<region>[^/]+)/subnetworks/(?P<resource>[^/]+)$"
)


def rehearse(sessions: GcpSessions, rental: Rental, timing: GceTiming) -> list[Finding]:
    """See ports.Rehearses."""
    details = GcpResolved.model_validate(rental.details)
    compute = sessions.of_scope(rental.scope, timing)
    runs = [_tested(compute, "images", _IMAGE, details.image.link, ("images.useReadOnly",))]
    subnetwork = details.network.subnetwork
    if subnetwork is not None:
        permissions = ("subnetworks.use", "subnetworks.useExternalIp")
        runs.append(_tested(compute, "subnetworks", _SUBNETWORK, subnetwork, permissions))
    return rehearsed(f"gcp {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _tested(
    compute: Compute, collection: str, form: re.Pattern[str], path: str, names: tuple[str, ...]
) -> DryRun:
    """A question for permissions on one resource; it is refused where one is missing."""
    permissions = [f"compute.{name}" for name in names]

    def send() -> None:
        match = form.search(path)
        assert match is not None, f"{path} is a path that was looked up"
        request = {
            **match.groupdict(), "testPermissionsRequestResource": {"permissions": permissions},
        }  # fmt: skip
        granted = compute.call(collection, "testIamPermissions", request).get("permissions", [])
        if missing := [name for name in permissions if name not in granted]:
            raise AccessDenied(f"{', '.join(missing)} is missing on {path}")

    return DryRun(f"use of {path.rpartition('projects/')[2]}", send)
