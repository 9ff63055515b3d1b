"""The resource providers that a subscription must be registered for, checked before renting.

Resource Manager, "Resolve errors for resource provider registration" (2024): a call to a provider
that is not registered is answered with MissingSubscriptionRegistration; registering takes minutes
and is the subscription owner's decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import AccessDenied

if TYPE_CHECKING:
    from diskbench.providers.azure.client import AzureClient

NEEDED = ("Microsoft.Compute", "Microsoft.Network")
SWITCH = "Microsoft.DevTestLab"
"""Only the machine's shutdown schedule needs it (deadman.py)."""
READ = "Microsoft.Resources/subscriptions/providers/read"
REGISTERED = "Registered"


def state_of_provider(edge: AzureClient, namespace: str) -> str:
    """`Registered`, `NotRegistered`, `Registering`, `Unregistering`. Raises diskbench's errors."""
    provider = edge.call(READ, "resources", "providers.get", namespace)
    return str(provider.get("registrationState") or "NotRegistered")


def how_to_register(namespace: str) -> str:
    """The command that registers a provider."""
    return f"az provider register --namespace {namespace} --wait"


def without_switch(state: str) -> str:
    """The warning for a subscription whose machines cannot be deallocated by a schedule."""
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
        state = state_of_provider(edge, namespace)
        if state != REGISTERED:
            raise AccessDenied(
                f"the subscription is not registered for {namespace} ({state})",
                advice=how_to_register(namespace),
            )
    state = state_of_provider(edge, SWITCH)
    return None if state == REGISTERED else without_switch(state)
