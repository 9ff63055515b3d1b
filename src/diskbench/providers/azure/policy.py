"""What must be permitted on Azure: the actions of the role, and the resource providers that the
subscription must be registered for.

Actions: learn.microsoft.com, "Azure permissions" (2026). A test compares the list with the
adapter's calls.

Resource Manager, "Resolve errors for resource provider registration" (2024): a call to a provider
that is not registered is answered with MissingSubscriptionRegistration; registering takes minutes
and is the subscription owner's decision.
"""

from __future__ import annotations

import json

from diskbench.errors import AccessDenied
from diskbench.providers.azure.client import AzureClient

CALLED = (
    "Microsoft.Compute/disks/delete",
    "Microsoft.Compute/disks/read",
    "Microsoft.Compute/disks/write",
    "Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read",
    "Microsoft.Compute/skus/read",
    "Microsoft.Compute/virtualMachines/delete",
    "Microsoft.Compute/virtualMachines/read",
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.DevTestLab/schedules/write",
    "Microsoft.Network/networkInterfaces/read",
    "Microsoft.Network/networkInterfaces/write",
    "Microsoft.Network/networkSecurityGroups/read",
    "Microsoft.Network/networkSecurityGroups/write",
    "Microsoft.Network/publicIPAddresses/read",
    "Microsoft.Network/publicIPAddresses/write",
    "Microsoft.Network/virtualNetworks/read",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Resources/subscriptions/providers/read",
    "Microsoft.Resources/subscriptions/resourceGroups/delete",
    "Microsoft.Resources/subscriptions/resourceGroups/read",
    "Microsoft.Resources/subscriptions/resourceGroups/resources/read",
    "Microsoft.Resources/subscriptions/resourceGroups/write",
    "Microsoft.Resources/tags/write",
)
"""Actions of a rental. Deleting a resource group requires no permission to delete its content."""
POLLED = (
    "Microsoft.Compute/locations/DiskOperations/read",
    "Microsoft.Compute/locations/operations/read",
    "Microsoft.Network/locations/operationResults/read",
    "Microsoft.Network/locations/operations/read",
    "Microsoft.Resources/subscriptions/operationresults/read",
)
"""Actions for the status of an accepted operation, at the address that Azure answers with."""
JOINED = (
    "Microsoft.Network/networkInterfaces/join/action",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/publicIPAddresses/join/action",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
)
"""Actions that Azure requires to connect one resource to another."""
DELETED_ALONG = (
    "Microsoft.Network/networkInterfaces/delete",
    "Microsoft.Network/publicIPAddresses/delete",
)
"""Actions for what a machine deletes by its `deleteOption`, beside its disks. No document found
says whether deleting the machine requires them."""
IMAGES = (
    "Microsoft.Compute/galleries/images/read",
    "Microsoft.Compute/galleries/images/versions/read",
    "Microsoft.Compute/images/read",
    "Microsoft.MarketplaceOrdering/offerTypes/publishers/offers/plans/agreements/read",
)
"""Actions for `--image` with an image of the user's own, or with one that has a plan."""
GIVEN = (
    "Microsoft.Compute/diskEncryptionSets/read",
    "Microsoft.Compute/snapshots/read",
    "Microsoft.Compute/snapshots/write",
)
"""Actions for `--kms-key`, `--from-snapshot` and `--snapshot-of-fill`."""
EXAMINED = (
    "Microsoft.Authorization/permissions/read",
    "Microsoft.Compute/locations/usages/read",
    "Microsoft.Network/locations/usages/read",
)
"""Actions of `diskbench doctor`; a rental reads Compute's usages, too, and goes on without."""
MONITORED = "Microsoft.Insights/metrics/read"
"""The action for what Azure counted of a run; without it the run goes on."""
VALIDATE = "Microsoft.Resources/deployments/validate/action"
"""The action of `diskbench doctor --live` alone: it validates a deployment and deploys nothing."""
DOCTORS = (*EXAMINED, MONITORED, VALIDATE)
"""The actions without which everything can be rented."""


def actions() -> tuple[str, ...]:
    """All actions, sorted."""
    return tuple(sorted((*CALLED, *POLLED, *JOINED, *DELETED_ALONG, *IMAGES, *GIVEN, *DOCTORS)))


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
