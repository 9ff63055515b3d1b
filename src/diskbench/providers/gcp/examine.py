"""Whether Google Cloud permits the rental: query which of the permissions the caller has.

Resource Manager v3, "projects.testIamPermissions": needs no permission itself and accepts at
most 100 to test. Compute Engine has no such method for a project.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diskbench.errors import DiskbenchError
from diskbench.model.finding import Finding, finding, refusal
from diskbench.providers.gcp import policy
from diskbench.providers.gcp.constraints import constraints
from diskbench.providers.gcp.policy import OPTIONAL
from diskbench.providers.gcp.service import asked, message_of
from diskbench.providers.skew import http_date, said, skew

if TYPE_CHECKING:
    from diskbench.model.rental import Scope
    from diskbench.providers.gcp.client import GcpSessions
    from diskbench.providers.gcp.credentials import Login
    from diskbench.providers.gcp.timing import GceTiming

_SERVICE = "cloudresourcemanager"
_ADVICE = "give the account this role: diskbench doctor --print-policy gcp"


def examine(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> list[Finding]:
    """See ports.Examinable."""
    where = f"gcp {scope.region}" if scope.region else "gcp"
    before = datetime.now(UTC)
    try:
        login = sessions.of_scope(scope, timing).login
        answer = _tested(login, timing)
    except DiskbenchError as error:
        return [refusal("credentials", where, error)]
    clock = skew(where, http_date(answer.headers.get("Date")), before, datetime.now(UTC))
    if answer.status_code == 401:
        message = f"Google does not accept the credentials: {message_of(answer)}"
        advice = "log in: gcloud auth application-default login"
        return [finding("credentials", where, "problem", message, advice), clock]
    identity = finding("credentials", where, "ok", f"{_who(login)} in project {login.project}")
    if answer.status_code != 200:
        message = f"which permissions there are cannot be asked: {message_of(answer)}"
        advice = f"gcloud services enable {_SERVICE}.googleapis.com, or look at the console"
        return [identity, clock, finding("permissions", where, "warning", message, advice)]
    held = set(answer.json().get("permissions", []))
    return [identity, clock, *_permissions(where, held), *constraints(login, timing, where)]


def present(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> datetime:
    """See ports.TellsTime."""
    answer = _tested(sessions.of_scope(scope, timing).login, timing)
    return said("gcp", http_date(answer.headers.get("Date")))


def _permissions(where: str, held: set[str]) -> list[Finding]:
    wanted = policy.permissions()
    missing = [permission for permission in wanted if permission not in held]
    denied = [
        finding("permissions", where, "warning", f"{name} is missing: it is {OPTIONAL[name]}")
        if name in OPTIONAL
        else finding("permissions", where, "problem", f"{name} is missing", _ADVICE)
        for name in missing
    ]
    told = f"{len(wanted) - len(missing)} of {len(wanted)} permissions are there"
    return [*denied, finding("permissions", where, "ok", told)]


def _tested(login: Login, timing: GceTiming) -> Any:  # noqa: ANN401 - a response of requests'
    path = f"/v3/projects/{login.project}:testIamPermissions"
    body = {"permissions": list(policy.permissions())}
    return asked(login, _SERVICE, path, timing, body)


def _who(login: Login) -> str:
    for name in ("service_account_email", "signer_email", "account"):
        if told := getattr(login.credentials, name, None):
            return str(told)
    return "no particular user" if login.emulated else "logged in"
