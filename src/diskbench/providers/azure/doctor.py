"""What `diskbench doctor` asks Azure: whether it permits the rental, whether it would accept the
rental's resources, and the quotas of the subscription with the amount in use.

Resource Manager, "Permissions - List" (Microsoft.Authorization, 2022-04-01): what every role
assignment of the caller at the subscription allows; the union of them counts.

Resource Manager, "Deployments - Validate At Subscription Scope" (2025-04-01): 200 for a valid
deployment, 202 for one whose validation continues, 400 with InvalidTemplateDeployment and the
reason for one that would be refused. Resources in a group that does not exist yet stand in a nested
template; preflight checks those of Microsoft.Compute and Microsoft.Network.

Quotas: "Usage - List" of Microsoft.Compute, "Usages - List" of Microsoft.Network.
"""

from __future__ import annotations

import base64
import fnmatch
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from diskbench.errors import AccessDenied, DiskbenchError, InvalidValue
from diskbench.model.finding import Finding, Quota, refusal
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.providers.azure import policy, requests
from diskbench.providers.azure.client import (
    PUBLIC,
    Azure,
    AzureClient,
    AzureSessions,
    AzureTiming,
    region_of,
    token_scope,
)
from diskbench.providers.azure.disk_request import AzureResolved
from diskbench.providers.azure.errors import NO_ROLE_HELPS, error_code, translate
from diskbench.providers.azure.inventory import DISKS, MACHINES
from diskbench.providers.azure.policy import (
    NEEDED,
    REGISTERED,
    SWITCH,
    VALIDATE,
    how_to_register,
    state_of_provider,
    without_switch,
)
from diskbench.providers.azure.provision import AzureOrder, launch, new_disk
from diskbench.providers.azure.requests import Request, disk_kind, name_of
from diskbench.providers.skeleton.doctor import (
    Bystander,
    DryRun,
    http_date,
    nobody,
    rehearsed,
    reported_time,
    skew,
    unused_keys,
)

API_VERSION = "2022-04-01"
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
    before, answers = datetime.now(UTC), list[Any]()
    try:
        _ask(azure, timing, answers)
    except DiskbenchError as error:
        return [refusal("permissions", where, error), *_clock(where, answers, before)]
    listed = json.loads(answers[-1].body())["value"]
    return [
        Finding(check="credentials", where=where, state="ok", told=account),
        *_clock(where, answers, before),
        *_permissions(where, listed),
        *_registrations(azure.edge(timing), where),
    ]


def present(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> datetime:
    """The time by the cloud's clock."""
    answers = list[Any]()
    try:
        _ask(sessions.of_scope(scope), timing, answers)
    except DiskbenchError:
        if not answers:
            raise
    return reported_time("azure", http_date(answers[-1].headers.get("Date")))


def _ask(azure: Azure, timing: AzureTiming, answers: list[Any]) -> None:
    """Query our permissions; every answer, a refusal too, is added to `answers`."""

    def keep(response: Any) -> None:  # noqa: ANN401 - azure.core's
        answers.append(response.http_response)

    path = f"/subscriptions/{azure.subscription}/providers/Microsoft.Authorization/permissions"
    azure.edge(timing).call(
        "Microsoft.Authorization/permissions/read", "resources", "resources.get_by_id",
        path, api_version=API_VERSION, raw_response_hook=keep,
    )  # fmt: skip


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
    needed = policy.actions()
    missing = [action for action in needed if not allowed(listed, action)]
    findings = [
        Finding(
            check="permissions",
            where=where,
            # Without these nothing can be checked in advance, but everything can be rented.
            state="warning" if action in policy.DOCTORS else "problem",
            told=f"{action} is not allowed"
            + (" (only doctor --live needs it)" if action == policy.VALIDATE else ""),
            advice=_ADVICE,
        )
        for action in missing
    ]
    summary = f"{len(needed) - len(missing)} of {len(needed)} actions are allowed"
    return [*findings, Finding(check="permissions", where=where, state="ok", told=summary)]


def _registrations(edge: AzureClient, where: str) -> list[Finding]:
    """Whether the subscription is registered for the resource providers that a rental uses."""
    check, findings = "registrations", list[Finding]()
    for namespace in (*NEEDED, SWITCH):
        try:
            state = state_of_provider(edge, namespace)
        except DiskbenchError as error:
            findings.append(refusal(check, where, error))
            continue
        if state == REGISTERED:
            findings.append(Finding(check=check, where=where, state="ok", told=f"{namespace}"))
        elif namespace == SWITCH:
            findings.append(
                Finding(
                    check=check, where=where, state="warning", told=without_switch(state),
                    advice=how_to_register(namespace),
                )
            )  # fmt: skip
        else:
            problem = f"the subscription is not registered for {namespace} ({state})"
            findings.append(
                Finding(
                    check=check, where=where, state="problem", told=problem,
                    advice=how_to_register(namespace),
                )
            )  # fmt: skip
    return findings


def _clock(where: str, answers: list[Any], before: datetime) -> list[Finding]:
    if not answers:
        return []
    return [skew(where, http_date(answers[-1].headers.get("Date")), before, datetime.now(UTC))]


def _who(azure: Azure) -> str:
    """The identity in our token. Raises diskbench's errors."""
    from azure.core.exceptions import AzureError

    audience = token_scope(azure.endpoint or PUBLIC)
    try:
        token = azure.credential().get_token(audience).token
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


_DEPLOYMENTS = "2025-04-01"
_GROUPS = "2025-04-01"
_COMPUTE = "2024-11-01"
_DISKS = "2024-03-02"
_NETWORK = "2024-05-01"
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
        edge=azure.edge(timing),
        claim=nobody(rental.spec.tags),
        spec=rental.spec,
        details=details,
        keys=unused_keys(),
        watch=Bystander(),
        timing=timing,
    )
    path = (
        f"/subscriptions/{azure.subscription}/providers/Microsoft.Resources/deployments/"
        f"{order.group}/validate?api-version={_DEPLOYMENTS}"
    )

    def run(zone: str | None) -> DryRun:
        size, disk = details.machine.size, f"{details.requested.type} of {details.size_gib} GiB"
        place = f"zone {zone} of {details.region}" if zone else details.region
        template = deployment(order, azure.subscription, zone)
        return DryRun(
            f"a deployment of {size} with {disk} in {place}",
            lambda: _validate(order.edge, path, template),
        )

    runs = [run(zone) for zone in details.zones or (None,)]
    return rehearsed(f"azure {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _validate(edge: AzureClient, path: str, template: Request) -> None:
    """Any answer that is no error is a yes: valid, or not refused by the first checks (202). What
    a policy or a disabled subscription refuses no role permits: it has advice of its own."""
    try:
        edge.sent(VALIDATE, "POST", path, template)
    except AccessDenied as error:
        if error_code(error) in NO_ROLE_HELPS:
            raise InvalidValue(error.message, advice=error.advice) from error
        raise


def deployment(order: AzureOrder, subscription: str, zone: str | None) -> Request:
    """The deployment of everything that a rental makes in one zone."""
    claim, details, group = order.claim, order.details, order.group
    made = {"type": "Microsoft.Resources/resourceGroups", "apiVersion": _GROUPS, "name": group}
    nested = {
        "type": "Microsoft.Resources/deployments",
        "apiVersion": _DEPLOYMENTS,
        "name": f"{group}-content",
        "resourceGroup": group,
        "dependsOn": [f"/subscriptions/{subscription}/resourceGroups/{group}"],
        "properties": {
            "mode": "Incremental",
            "expressionEvaluationOptions": {"scope": "inner"},
            "template": _template(
                "2019-04-01/deploymentTemplate", _content(order, subscription, zone)
            ),
        },
    }
    outer = [{**made, **requests.resource_group(claim, details.region)}, nested]
    return {
        "location": details.region,
        "properties": {
            "mode": "Incremental",
            "template": _template("2018-05-01/subscriptionDeploymentTemplate", outer),
        },
    }


def _template(schema: str, resources: list[Request]) -> Request:
    return {
        "$schema": f"{_SCHEMA}/{schema}.json#",
        "contentVersion": "1.0.0.0",
        "resources": resources,
    }


def _content(order: AzureOrder, subscription: str, zone: str | None) -> list[Request]:
    """The resources in the lease's group, each after those that it names."""
    claim, details = order.claim, order.details
    within = f"/subscriptions/{subscription}/resourceGroups/{order.group}/providers"
    resources: list[Request] = []

    def add(kind: str, role: str, version: str, body: Request, *after: str) -> str:
        name = name_of(order.lease, role)
        head = {"type": kind, "apiVersion": version, "name": name}
        resources.append(
            {
                **head,
                **body,
                "dependsOn": [resource_id for resource_id in after if resource_id in known],
            }
        )
        known.append(f"{within}/{kind}/{name}")
        return known[-1]

    known: list[str] = []
    region = details.region
    group = order.spec.security_group
    if group is None:
        assert details.ssh_cidr is not None, "resolve refuses a rental without a network"
        body = requests.security_group(claim, region, details.ssh_cidr)
        group = add("Microsoft.Network/networkSecurityGroups", "group", _NETWORK, body)
    subnet, address = details.subnet, None
    if subnet is None:
        body = requests.virtual_network(claim, region)
        network = add("Microsoft.Network/virtualNetworks", "network", _NETWORK, body)
        subnet = f"{network}/subnets/default"
        body = requests.public_address(claim, region)
        address = add("Microsoft.Network/publicIPAddresses", "address", _NETWORK, body)
    body = requests.interface(claim, region, subnet=subnet, group=group, address=address)
    card = add("Microsoft.Network/networkInterfaces", "interface", _NETWORK, body, *known)
    machine = requests.virtual_machine(claim, launch(order, card, zone))
    add(MACHINES, "machine", _COMPUTE, machine, card)
    if details.requested.kind == "disk":
        for index in range(details.requested.count):
            add(DISKS, disk_kind(index), _DISKS, requests.disk(claim, new_disk(order, zone)))
    return resources


_KINDS = {
    "cores": "vcpus",
    "lowPriorityCores": "spot-vcpus",
    "PublicIPAddresses": "addresses",
    "StandardSkuPublicIpAddresses": "addresses",
}
_FAMILY = "Family"
"""The end of the names of counters of a size family (`standardDSv5Family`)."""


def quotas(sessions: AzureSessions, scope: Scope, timing: AzureTiming) -> Sequence[Quota]:
    """The quotas at `scope`, with the amount in use."""
    edge = sessions.of_scope(scope).edge(timing)
    region = region_of(RentSpec(region=scope.region))
    listed = [
        *edge.listed("Microsoft.Compute/locations/usages/read", "compute", "usage.list", region),
        *edge.listed("Microsoft.Network/locations/usages/read", "network", "usages.list", region),
    ]
    return list(_quotas(listed, region))


def _quotas(listed: Sequence[dict[str, Any]], region: str) -> Iterator[Quota]:
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
