"""What `diskbench doctor` asks Azure, by Resource Manager: "Permissions - List" (2022-04-01), whose
union counts; "Deployments - Validate At Subscription Scope" (2025-04-01): 200 for a valid one, 202
for one whose validation continues, 400 with InvalidTemplateDeployment and the reason for a refused
one, where resources of a group that does not exist yet stand in a nested template; and the quotas,
"Usage - List" of Microsoft.Compute and "Usages - List" of Microsoft.Network."""

import base64
import fnmatch
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue
from diskbench.model.finding import Finding, FindingState, Quota, finding, refusal
from diskbench.model.rental import Rental, Scope
from diskbench.providers.azure import client, requests
from diskbench.providers.azure.client import Azure, AzureClient, AzureSessions, AzureTiming
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.azure.errors import NO_ROLE_HELPS, error_code, translate
from diskbench.providers.azure.requests import AzureOrder, Request
from diskbench.providers.skeleton import doctor
from diskbench.providers.skeleton.doctor import DryRun
from diskbench.yaml_lines import packaged

_NAMES = ("upn", "unique_name", "appid", "oid")
"""Claims of a token that identify its owner, the most specific first."""
_ADVICE = "give it this role: diskbench doctor --print-policy azure"


def examine(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> list[Finding]:
    """Findings on credentials, clock and permissions."""
    where = f"azure {scope.region}" if scope.region else "azure"
    try:
        azure = sessions.of_scope(scope)
        identity = _who(azure)
    except DiskbenchError as error:
        return [refusal("credentials", where, error)]
    account = f"{identity} in subscription {azure.subscription}"
    edge, before = azure.edge(timing), datetime.now(UTC)
    listed, told = permissions_of(edge)
    clock = [] if told is None else [doctor.skew(where, told, before, datetime.now(UTC))]
    if isinstance(listed, DiskbenchError):
        return [refusal("permissions", where, listed), *clock]
    return [
        finding("credentials", where, "ok", account),
        *clock,
        *_permissions(where, listed),
        *_registrations(edge, where),
    ]


def permissions_of(
    edge: AzureClient,
) -> tuple[list[dict[str, Any]] | DiskbenchError, datetime | None]:
    """What the caller may do, or why Azure does not say it; and the time of its answer, which a
    refusal has, too."""
    try:
        answer = edge.sent("GET", edge.path(kind="Microsoft.Authorization/permissions"))
    except DiskbenchError as error:
        refused = getattr(error.__cause__, "response", None)
        return error, None if refused is None else doctor.http_date(refused.headers.get("Date"))
    return answer.json()["value"], doctor.http_date(answer.headers.get("Date"))


def allowed(permissions: list[dict[str, Any]], action: str) -> bool:
    """Whether one of the listed permissions allows the action: one of its `actions` matches and
    none of its `notActions`; `*` matches anything."""

    def among(patterns: list[str]) -> bool:
        return any(fnmatch.fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)

    return any(
        among(permission.get("actions") or []) and not among(permission.get("notActions") or [])
        for permission in permissions
    )


def _permissions(where: str, listed: list[dict[str, Any]]) -> list[Finding]:
    needed = actions()
    missing = [action for action in needed if not allowed(listed, action)]
    findings = []
    for action in missing:
        # Without these nothing can be checked in advance, but everything can be rented.
        state: FindingState = "warning" if action in DOCTORS else "problem"
        only = " (only doctor --live needs it)" if action == VALIDATE else ""
        told = f"{action} is not allowed{only}"
        findings.append(finding("permissions", where, state, told, _ADVICE))
    summary = f"{len(needed) - len(missing)} of {len(needed)} actions are allowed"
    return [*findings, finding("permissions", where, "ok", summary)]


def _registrations(edge: AzureClient, where: str) -> list[Finding]:
    check, findings = "registrations", list[Finding]()
    for namespace in (*NEEDED, SWITCH):
        state: FindingState = "warning" if namespace == SWITCH else "problem"
        try:
            problem = unregistered(edge, namespace)
        except DiskbenchError as error:
            findings.append(refusal(check, where, error))
            continue
        findings.append(
            finding(check, where, state, problem, how_to_register(namespace))
            if problem
            else finding(check, where, "ok", namespace)
        )
    return findings


def _who(azure: Azure) -> str:
    """The identity in our token. Raises diskbench's errors."""
    from azure.core.exceptions import AzureError

    audience = client.token_scope(azure.endpoint or client.PUBLIC)
    try:
        token = azure.credential.get_token(audience).token
    except AzureError as error:
        raise translate(error, "login") from error
    claims = _claims(token)
    return next((str(claims[name]) for name in _NAMES if claims.get(name)), "logged in")


def _claims(token: str) -> dict[str, Any]:
    """The claims of a token, unverified; empty where it cannot be parsed."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}


_SCHEMA = "https://schema.management.azure.com/schemas"
_UNTRIED = (
    "the shutdown schedule, attaching disks and deleting, which need a machine that exists; and "
    "whether there is capacity, which validation does not check"
)


def rehearse(sessions: AzureSessions, rental: Rental, timing: AzureTiming) -> list[Finding]:
    """One finding for each part of the rental that can be checked."""
    details = AzureResolved.model_validate(rental.details)
    azure = sessions.of_scope(rental.scope)
    order = AzureOrder(
        edge=azure.edge(timing), claim=doctor.nobody(rental.spec.tags), spec=rental.spec,
        details=details, keys=doctor.unused_keys(), watch=doctor.Bystander(), timing=timing,
    )  # fmt: skip
    path = order.edge.path(kind=f"Microsoft.Resources/deployments/{order.group}/validate")

    def run(zone: str | None) -> DryRun:
        size, disk = details.machine.size, f"{details.requested.type} of {details.size_gib} GiB"
        place = f"zone {zone} of {details.region}" if zone else details.region
        what, template = f"a deployment of {size} with {disk} in {place}", deployment(order, zone)

        def send() -> None:
            # Any answer that is no error is a yes: valid, or not refused by the first checks (202).
            try:
                order.edge.sent("POST", path, template)
            except AccessDenied as error:
                # What a policy or a disabled subscription refuses no role permits.
                if error_code(error) in NO_ROLE_HELPS:
                    raise InvalidValue(error.message, advice=error.advice) from error
                raise

        return what, send

    runs = [run(zone) for zone in details.zones or (None,)]
    return doctor.rehearsed(f"azure {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def deployment(order: AzureOrder, zone: str | None) -> Request:
    """The deployment of everything that a rental makes in one zone."""
    group, parts = order.group, requests.parts(order, zone)
    content = [
        {
            "type": part.kind,
            "apiVersion": client.version_of(part.kind),
            "name": part.path.rpartition("/")[2],
            **part.request,
            "dependsOn": [one.path for one in parts[:at] if one.path in json.dumps(part.request)],
        }
        for at, part in enumerate(parts)
    ]
    made = {
        "type": "Microsoft.Resources/resourceGroups",
        "apiVersion": client.version_of("Microsoft.Resources"),
        "name": group,
        **requests.resource_group(order),
    }
    nested = {
        "type": "Microsoft.Resources/deployments",
        "apiVersion": client.version_of("Microsoft.Resources"),
        "name": f"{group}-content",
        "resourceGroup": group,
        "dependsOn": [order.edge.path(group)],
        "properties": {
            "mode": "Incremental",
            "expressionEvaluationOptions": {"scope": "inner"},
            "template": _template("2019-04-01/deploymentTemplate", content),
        },
    }
    outer = _template("2018-05-01/subscriptionDeploymentTemplate", [made, nested])
    deployed = {"mode": "Incremental", "template": outer}
    return {"location": order.details.region, "properties": deployed}


def _template(schema: str, resources: list[Request]) -> Request:
    named = {"$schema": f"{_SCHEMA}/{schema}.json#", "contentVersion": "1.0.0.0"}
    return {**named, "resources": resources}


_KINDS: dict[str, str] = client.API["quotas"]
_FAMILY = "Family"
"""The end of the names of counters of a size family (`standardDSv5Family`)."""


def quotas(listed: Sequence[dict[str, Any]], region: str) -> Iterator[Quota]:
    """The quotas among the listed usages, with the amount in use."""
    for usage in listed:
        name = str(usage["name"]["value"])
        family = name if name.endswith(_FAMILY) else ""
        kind = "vcpus" if family else _KINDS.get(name)
        if kind is not None:
            yield Quota(
                kind=kind,
                of=(family,) if family else (),
                name=str(usage["name"].get("localizedValue") or name),
                region=region,
                limit=usage["limit"],
                used=usage["currentValue"],
            )


_ACTIONS: dict[str, list[str]] = packaged("diskbench.providers.azure", "permissions.yaml")
(VALIDATE,) = _ACTIONS["validated"]
"""The action of `diskbench doctor --live` alone."""
DOCTORS = (*_ACTIONS["examined"], *_ACTIONS["monitored"], VALIDATE)
"""The actions without which everything can be rented."""


def actions() -> tuple[str, ...]:
    """All actions, sorted."""
    return tuple(sorted(action for of_reason in _ACTIONS.values() for action in of_reason))


def policy() -> str:
    """The role in the form of `az role definition create`; the user inserts the subscription."""
    role = {
        "Name": "diskbench",
        "IsCustom": True,
        "Description": "Rent a machine and a disk in a resource group of their own, and give them "
        f"back. {VALIDATE} is only for diskbench doctor --live.",
        "Actions": list(actions()),
        "NotActions": [],
        "AssignableScopes": ["/subscriptions/SUBSCRIPTION"],
    }
    return json.dumps(role, indent=2)


NEEDED = ("Microsoft.Compute", "Microsoft.Network")
"""The resource providers for which the subscription must be registered; that takes minutes and is
its owner's decision (Resource Manager, "Resolve errors for resource provider registration",
2024)."""
SWITCH = "Microsoft.DevTestLab"
"""Only the machine's shutdown schedule needs it (teardown.py)."""


def how_to_register(namespace: str) -> str:
    """The command that registers a provider."""
    return f"az provider register --namespace {namespace} --wait"


def unregistered(edge: AzureClient, namespace: str) -> str | None:
    """What it means that a provider is not registered; None where it is. Raises diskbench's
    errors."""
    provider = edge.get(edge.path(kind=namespace))
    state = str(provider.get("registrationState") or "NotRegistered")
    if state == "Registered":
        return None
    if namespace != SWITCH:
        return f"the subscription is not registered for {namespace} ({state})"
    return (
        f"{SWITCH} is {state} in this subscription: Azure will not deallocate the machine after "
        "the lease. If this computer fails, the machine is billed until a diskbench command opens "
        "this database again, or diskbench gc runs; this prevents it: "
        f"{how_to_register(SWITCH)}"
    )


def check_registrations(edge: AzureClient) -> str | None:
    """Raise AccessDenied where a provider that every rental needs is not registered; returns the
    warning for a missing shutdown schedule, or None."""
    for namespace in NEEDED:
        if problem := unregistered(edge, namespace):
            raise AccessDenied(problem, advice=how_to_register(namespace))
    return unregistered(edge, SWITCH)
