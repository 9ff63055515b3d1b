"""What must be permitted on Azure: the actions of the role (permissions.yaml), and the resource
providers for which the subscription must be registered; that takes minutes and is its owner's
decision (Resource Manager, "Resolve errors for resource provider registration", 2024)."""

import json

from diskbench.errors import AccessDenied
from diskbench.providers.azure.client import AzureClient
from diskbench.yaml_lines import packaged

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
