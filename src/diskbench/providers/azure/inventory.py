"""The resources of one lease or of all leases, listed by the tags of their groups and never
remembered."""

from __future__ import annotations

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Which
from diskbench.providers.azure.client import AzureClient, Item
from diskbench.providers.azure.errors import is_missing
from diskbench.providers.azure.requests import (
    EXPIRES_TAG,
    LEASE_TAG,
    OWNER_TAG,
    group_name,
    name_of,
    of_any_lease,
    of_lease,
)

GROUPS = "Microsoft.Resources/subscriptions/resourceGroups"
MACHINES = "Microsoft.Compute/virtualMachines"
DISKS = "Microsoft.Compute/disks"
SNAPSHOTS = "Microsoft.Compute/snapshots"
SHUTDOWN = "shutdown-computevm-"
"""The portal's name for a machine's schedule, which diskbench uses too (teardown.py)."""
STOPPED = frozenset({"stopping", "stopped", "deallocating", "deallocated"})


def is_meant(group: Item, which: Which) -> bool:
    """Whether a release deletes a group that carries the lease's tag: by its name, which is
    unique in the subscription."""
    if which.copied:
        return group_kind_and_name(group) in which.copied
    return is_ours(group)


def is_ours(group: Item) -> bool:
    """Whether a group was made for the lease in its tag, by its name."""
    return str(group["name"]).lower() == group_name(str(lease_of(group))).lower()


def group_kind_and_name(group: Item) -> str:
    """`resource-group NAME`."""
    return f"resource-group {group['name']}"


def tagged_groups(edge: AzureClient, lease_id: str | None = None) -> list[Item]:
    """The groups that carry the tag of a lease, or of any. Raises diskbench's errors."""
    tag_filter = of_lease(lease_id) if lease_id else of_any_lease()
    groups = edge.listed(f"{GROUPS}/read", "resources", "resource_groups.list", filter=tag_filter)
    # The filter is applied by Azure; the tags themselves decide.
    return [group for group in groups if lease_of(group) and lease_id in {None, lease_of(group)}]


def inside(edge: AzureClient, group: Item) -> list[Item]:
    """The resources in a group; none for a group that is gone. Raises diskbench's errors."""
    try:
        return edge.listed(
            f"{GROUPS}/resources/read",
            "resources",
            "resources.list_by_resource_group",
            str(group["name"]),
        )
    except DiskbenchError as error:
        if not is_missing(error):
            raise
        return []


def kind_and_name(item: Item) -> str:
    """`virtualMachines NAME`."""
    return f"{_kind(item)} {item['name']}"


def is_strange(lease_id: str, item: Item) -> bool:
    """Whether somebody else put a resource into a lease's group: by its name. Azure names a
    machine's own resources (shutdown schedule, extensions) after the machine."""
    ours = name_of(lease_id, "").lower()
    return not str(item["name"]).lower().startswith((ours, f"{SHUTDOWN}{ours}"))


def lease_of(item: Item) -> str | None:
    """The lease in the resource's tags."""
    lease_id = (item.get("tags") or {}).get(LEASE_TAG)
    return str(lease_id) if lease_id else None


def owner_of(item: Item) -> str | None:
    """The owner in the resource's tags."""
    owner = (item.get("tags") or {}).get(OWNER_TAG)
    return str(owner) if owner else None


def expiry_of(item: Item) -> float | None:
    """When the resource's lease expires, in Unix seconds; None where its tags do not say."""
    text = str((item.get("tags") or {}).get(EXPIRES_TAG) or "")
    return float(text) if text.isdecimal() else None


def read_machine(edge: AzureClient, lease_id: str) -> Item | None:
    """The lease's machine with its present state; None where there is none."""
    return read(
        edge, f"{MACHINES}/read", "compute", "virtual_machines.get",
        group_name(lease_id), name_of(lease_id, "machine"), expand="instanceView",
    )  # fmt: skip


def read_disk(edge: AzureClient, lease_id: str, name: str) -> Item | None:
    """One disk of the lease; None where there is none."""
    return read(edge, f"{DISKS}/read", "compute", "disks.get", group_name(lease_id), name)


def read(
    edge: AzureClient, action: str, service: str, method: str, *args: str, **more: str
) -> Item | None:
    """One resource; None where Azure reports that it does not exist."""
    try:
        return edge.call(action, service, method, *args, **more)
    except DiskbenchError as error:
        if is_missing(error):
            return None
        raise


def state_of(item: Item) -> str:
    """A resource's provisioning state: Succeeded, Creating, Updating, Failed, Deleting …"""
    return str((item.get("properties") or {}).get("provisioningState") or "")


def power_of(machine: Item) -> str | None:
    """The power state: running, starting, stopped, deallocated …; None where Azure does not
    report it."""
    for status in _statuses(machine):
        kind, _, state = str(status.get("code", "")).partition("/")
        if kind == "PowerState":
            return state
    return None


def why(machine: Item) -> str:
    """Azure's message about a machine's state."""
    messages = [
        f"{status.get('displayStatus') or status.get('code')}: {status['message']}"
        for status in _statuses(machine)
        if status.get("message")
    ]
    return "; ".join(messages) or "Azure gives no reason"


def _statuses(machine: Item) -> list[Item]:
    view = (machine.get("properties") or {}).get("instanceView") or {}
    return list(view.get("statuses") or [])


def _kind(item: Item) -> str:
    """The last part of a resource type: `virtualMachines` of
    `Microsoft.Compute/virtualMachines`."""
    return str(item.get("type", "resource")).partition("/")[2] or "resource"
