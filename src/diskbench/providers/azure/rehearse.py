"""The resources of a rental as a deployment that Azure validates and does not make.

Resource Manager, "Deployments - Validate At Subscription Scope" (2025-04-01): 200 for a valid
deployment, 202 for one whose validation continues, 400 with InvalidTemplateDeployment and the
reason for one that would be refused. Resources in a group that does not exist yet stand in a nested
template; preflight checks those of Microsoft.Compute and Microsoft.Network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.providers.azure import requests
from diskbench.providers.azure.inventory import DISKS, MACHINES
from diskbench.providers.azure.policy import VALIDATE
from diskbench.providers.azure.provision import AzureOrder, launch, new_disk
from diskbench.providers.azure.requests import disk_kind, name_of
from diskbench.providers.azure.resolved import AzureResolved
from diskbench.providers.skeleton.doctor import Bystander, DryRun, nobody, rehearsed, unused_keys

if TYPE_CHECKING:
    from diskbench.model.finding import Finding
    from diskbench.model.rental import Rental
    from diskbench.providers.azure.client import AzureSessions
    from diskbench.providers.azure.requests import Request
    from diskbench.providers.azure.timing import AzureTiming

_DEPLOYMENTS = "2025-04-01"
_GROUPS = "2025-04-01"
_COMPUTE = "2024-11-01"
_DISKS = "2024-03-02"
_NETWORK = "2024-05-01"
_SCHEMA = "https://schema.management.azure.com/schemas"
_ADVICE = "give it this role: diskbench doctor --print-policy azure"
_UNTRIED = (
    "the shutdown schedule, attaching disks and deleting, which need a machine that exists; and "
    "whether there is capacity, which validation does not check"
)


def rehearse(sessions: AzureSessions, rental: Rental, timing: AzureTiming) -> list[Finding]:
    """See ports.Rehearses."""
    details = AzureResolved.model_validate(rental.details)
    azure = sessions.of_scope(rental.scope)
    order = AzureOrder(
        edge=azure.edge(timing),
        claim=nobody(),
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
            lambda: _accept(order.edge.posted(VALIDATE, path, template)),
        )

    runs = [run(zone) for zone in details.zones or (None,)]
    return rehearsed(f"azure {details.region}", runs, advice=_ADVICE, untried=_UNTRIED)


def _accept(_: tuple[int, Any]) -> None:
    """An answer that is no error: valid, or not refused by the first checks (202)."""


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
