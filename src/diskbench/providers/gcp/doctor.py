"""What `diskbench doctor` asks Google Cloud: whether it permits the rental, and the quotas of the
project with the amount in use. Google's services beside Compute Engine are asked over plain HTTP:
Resource Manager v3, projects.testIamPermissions (needs no permission, takes 100 to test), and
Organization Policy v2, projects.policies.getEffectivePolicy.

Compute Engine has no dry run: `validateOnly` exists for neither instances nor disks (API v1,
compute_v1 1.57.0). What can be asked is `testIamPermissions` on the image and the subnetwork, which
may be of other projects.

A region tells the quotas of families that were there when the metrics were named (compute_v1
1.57.0, Quota.Metric); CPUS counts the others of that time. Later families count against
CPUS_PER_VM_FAMILY, which Cloud Quotas alone tells. The project tells CPUS_ALL_REGIONS, of all.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from diskbench.catalog.machine_book import machine_book
from diskbench.errors import AccessDenied, DiskbenchError
from diskbench.model.finding import Finding, Quota, finding, refusal
from diskbench.model.rental import Rental, Scope
from diskbench.providers.gcp.client import API, Compute, GceTiming, GcpSessions, Login, record
from diskbench.providers.gcp.disk_request import GcpResolved
from diskbench.providers.gcp.errors import translate
from diskbench.providers.skeleton.doctor import DryRun, http_date, rehearsed, skew
from diskbench.yaml_lines import packaged

_SERVICE = "cloudresourcemanager"
_ADVICE = "give the account this role: diskbench doctor --print-policy gcp"


def examine(sessions: GcpSessions, scope: Scope, timing: GceTiming) -> list[Finding]:
    """Findings on credentials, clock and permissions."""
    where = f"gcp {scope.region}" if scope.region else "gcp"
    before = datetime.now(UTC)
    try:
        login = sessions.of_scope(scope, timing).login
        answer = tested(login, timing)
    except DiskbenchError as error:
        return [refusal("credentials", where, error)]
    clock = skew(where, http_date(answer.headers.get("Date")), before, datetime.now(UTC))
    if answer.status_code == 401:
        message = f"Google does not accept the credentials: {message_of(answer)}"
        advice = "log in: gcloud auth application-default login"
        return [finding("credentials", where, "problem", message, advice), clock]
    names = ("service_account_email", "signer_email", "account")
    known = (str(who) for name in names if (who := getattr(login.credentials, name, None)))
    who = next(known, "no particular user" if login.emulated else "logged in")
    identity = finding("credentials", where, "ok", f"{who} in project {login.project}")
    if answer.status_code != 200:
        message = f"the permissions cannot be queried: {message_of(answer)}"
        advice = f"gcloud services enable {_SERVICE}.googleapis.com, or look at the console"
        return [identity, clock, finding("permissions", where, "warning", message, advice)]
    granted = set(answer.json().get("permissions", []))
    return [identity, clock, *_permissions(where, granted), *constraints(login, timing, where)]


def _permissions(where: str, granted: set[str]) -> list[Finding]:
    needed = permissions()
    missing = [permission for permission in needed if permission not in granted]
    spared = {**OPTIONAL, "compute.subnetworks.useExternalIp": "only for public addresses"}
    denied = [
        finding("permissions", where, "warning", f"{name} is missing: it is {spared[name]}")
        if name in spared
        else finding("permissions", where, "problem", f"{name} is missing", _ADVICE)
        for name in missing
    ]
    summary = f"{len(needed) - len(missing)} of {len(needed)} permissions are granted"
    return [*denied, finding("permissions", where, "ok", summary)]


def tested(login: Login, timing: GceTiming) -> Any:  # noqa: ANN401 - a response of requests'
    """Which of the needed permissions the caller has in the project."""
    path = f"/v3/projects/{login.project}:testIamPermissions"
    body = {"permissions": list(permissions())}
    return ask_service(login, _SERVICE, path, timing, body)


_ORG_POLICY = "orgpolicy"


def constraints(login: Login, timing: GceTiming, where: str) -> Iterator[Finding]:
    """A finding for each constraint that is enforced in the project, and one warning where they
    cannot be read."""
    for name, known in API["constraints"].items():
        path = f"/v2/projects/{login.project}/policies/{name}:getEffectivePolicy"
        try:
            answer = ask_service(login, _ORG_POLICY, path, timing)
            failure = "" if answer.status_code == 200 else message_of(answer)
        except DiskbenchError as error:
            failure = error.message
        if failure:
            problem = f"the organisation's constraints cannot be read: {failure}"
            enable = "gcloud services enable orgpolicy.googleapis.com"
            advice = f"{enable}; this needs the permission orgpolicy.policy.get"
            yield finding("constraints", where, "warning", problem, advice)
            return
        # A list constraint restricts where it denies or lists values; a rule with a condition
        # counts, as it may hold here.
        rules = answer.json().get("spec", {}).get("rules", [])
        if any(rule.get("enforce") or rule.get("denyAll") or rule.get("values") for rule in rules):
            enforced = f"constraints/{name} is enforced: {known['means']}"
            yield finding("constraints", where, known["state"], enforced, known["advice"])


SCOPE = "https://www.googleapis.com/auth/cloud-platform.read-only"
"""The OAuth scope of these questions; the scope for renting, Compute Engine, does not suffice."""


def ask_service(
    login: Login, service: str, path: str, timing: GceTiming, body: Mapping[str, Any] | None = None
) -> Any:  # noqa: ANN401 - a response of requests'
    """The answer of a service (`cloudresourcemanager`): to a POST with a body, else to a GET. An
    emulator answers for all of them at its one endpoint. Raises diskbench's errors where there is
    no answer."""
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession
    from requests.exceptions import RequestException

    credentials = login.credentials
    if hasattr(credentials, "with_scopes"):
        credentials = credentials.with_scopes([SCOPE])
    root = login.endpoint if login.emulated else f"https://{service}.{login.universe}"
    session: Any = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    record(session)
    verb = "GET" if body is None else "POST"
    try:
        return session.request(
            verb, f"{str(root).rstrip('/')}{path}", json=body, timeout=timing.call_s
        )
    except (GoogleAuthError, RequestException, OSError) as error:
        raise translate(error, path.rpartition("/")[2].replace(":", ".")) from error


def message_of(answer: Any) -> str:  # noqa: ANN401 - a response of requests'
    """The message of an error answer."""
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}"


_UNTRIED = (
    "making, attaching and deleting machines, disks and firewall rules, which Compute Engine "
    "cannot check without doing it; and the constraints of the organisation's policy"
)
_IMAGE = re.compile(r"projects/(?P<project>[^/]+)/global/images/(?P<resource>[^/]+)$")
_SUBNETWORK = re.compile(
    r"projects/(?P<project>[^/]+)/regions/(?P<region>[^/]+)/subnetworks/(?P<resource>[^/]+)$"
)


def rehearse(sessions: GcpSessions, rental: Rental, timing: GceTiming) -> list[Finding]:
    """One finding for each part of the rental that can be checked."""
    details = GcpResolved.model_validate(rental.details)
    compute = sessions.of_scope(rental.scope, timing)
    runs = [_resourcetested(compute, "images", _IMAGE, details.image.link, ("images.useReadOnly",))]
    subnetwork = details.network.subnetwork
    if subnetwork is not None:
        public = ("subnetworks.useExternalIp",) if details.reach == "public" else ()
        permissions = ("subnetworks.use", *public)
        runs.append(_resourcetested(compute, "subnetworks", _SUBNETWORK, subnetwork, permissions))
    return rehearsed(f"gcp {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _resourcetested(
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

    return f"use of {path.rpartition('projects/')[2]}", send


_FAMILY, _ALL_REGIONS, _PER_FAMILY = "_CPUS", "CPUS_ALL_REGIONS", "CPUS_PER_VM_FAMILY"
_METERED = frozenset(
    {"a2", "c2", "c2d", "c3", "e2", "m1", "m2", "m3", "n1", "n2", "n2d", "t2a", "t2d"}
)
"""Families that a region's quotas count: by a metric of their own, or else in CPUS."""


def quotas(
    of_region: Sequence[dict[str, Any]], of_project: Sequence[dict[str, Any]], region: str
) -> Iterator[Quota]:
    """The quotas of a region and of its project, with the amount in use."""
    own = {str(quota.get("metric", "")).removesuffix(_FAMILY).lower() for quota in of_region}
    total = [quota for quota in of_project if quota.get("metric") == _ALL_REGIONS]
    for quota in [*of_region, *total]:
        metric = str(quota.get("metric", ""))
        kind, *disks = API["quotas"].get(metric, [""])
        families = tuple(disks)
        if metric == _ALL_REGIONS:
            kind = "vcpus"
        elif metric == "CPUS":
            kind, families = "vcpus", tuple(sorted(_METERED - own))
        elif metric.endswith(_FAMILY) and not kind and not metric.startswith("COMMITTED"):
            kind, families = "vcpus", (metric.removesuffix(_FAMILY).lower(),)
        if kind:
            yield Quota(
                kind=kind, of=families, name=metric, region=region,
                limit=float(quota.get("limit", 0)), used=float(quota.get("usage", 0)),
                common=metric == "CPUS",
            )  # fmt: skip
    later = tuple(sorted(set(machine_book("gcp").series) - _METERED - own))
    yield Quota(kind="vcpus", of=later, name=_PER_FAMILY, region=region, limit=None)


_PERMITTED = packaged("diskbench.providers.gcp", "permissions.yaml")
NEEDS: dict[str, list[str]] = _PERMITTED["calls"]
"""Call → the permissions that it needs, without the prefix `compute.`"""
OPTIONAL: dict[str, str] = _PERMITTED["optional"]
"""Permissions of other services → what they are for."""


def permissions() -> tuple[str, ...]:
    """All permissions, sorted."""
    needed = {f"compute.{name}" for names in NEEDS.values() for name in names}
    return tuple(sorted(needed | OPTIONAL.keys()))


def policy() -> str:
    """The role in the form of `gcloud iam roles create --file`."""
    why = {name: f" # {what}" for name, what in OPTIONAL.items()}
    names = [f"  - {name}{why.get(name, '')}" for name in permissions()]
    return "\n".join(["title: diskbench", "stage: GA", "includedPermissions:", *names])
