"""Constraints of an organisation that decide whether a machine may be made as diskbench makes it.

Organization Policy API v2, projects.policies.getEffectivePolicy. Compute Engine answers a request
that a constraint forbids with 412, reason conditionNotMet; errors.py names the constraint then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, FindingState, finding
from diskbench.providers.gcp.service import asked, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from diskbench.providers.gcp.credentials import Login
    from diskbench.providers.gcp.timing import GceTiming

_SERVICE = "orgpolicy"
OS_LOGIN = "compute.requireOsLogin"
MEANS: dict[str, tuple[FindingState, str, str]] = {
    "compute.vmExternalIpAccess": (
        "warning", "machines get no external address",
        "add --iap, or --no-public-ip where the machine's private address is reached",
    ),
    OS_LOGIN: (
        "problem", "machines admit Google accounts only, and not the lease's key",
        "rent in a project that is exempt from it: diskbench does not use OS Login",
    ),
    "compute.requireShieldedVm": (
        "ok", "machines are Shielded VMs: diskbench asks for that where the image can be one", "",
    ),
}  # fmt: skip
"""Constraint → how serious it is for a rental, what it means, and what to do."""


def constraints(login: Login, timing: GceTiming, where: str) -> Iterator[Finding]:
    """A finding for each constraint that is enforced in the project, and one warning where they
    cannot be read."""
    for name, (state, means, advice) in MEANS.items():
        path = f"/v2/projects/{login.project}/policies/{name}:getEffectivePolicy"
        try:
            answer = asked(login, _SERVICE, path, timing)
            said = "" if answer.status_code == 200 else message_of(answer)
        except DiskbenchError as error:
            said = error.message
        if said:
            told = f"the organisation's constraints cannot be read: {said}"
            enable = "gcloud services enable orgpolicy.googleapis.com"
            yield finding(
                "constraints", where, "warning", told, f"{enable}; it takes orgpolicy.policy.get"
            )
            return
        if is_enforced(answer.json()):
            yield finding(
                "constraints", where, state, f"constraints/{name} is enforced: {means}", advice
            )


def is_enforced(policy: Mapping[str, Any]) -> bool:
    """Whether a policy restricts: pure. A list constraint does so where it denies or lists
    values; a rule with a condition counts, as it may hold here."""
    rules = policy.get("spec", {}).get("rules", [])
    return any(rule.get("enforce") or rule.get("denyAll") or rule.get("values") for rule in rules)
