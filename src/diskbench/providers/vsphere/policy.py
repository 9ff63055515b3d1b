"""The privileges that diskbench needs in vSphere: one table, the source of the printed list.

"vSphere Web Services API" reference 8.0, "Required Privileges" of each method, and "vSphere
Security", "Required Privileges for Common Tasks". A test compares the methods with the adapter's
calls.
"""

from __future__ import annotations

NEEDS: dict[str, dict[str, tuple[str, ...]]] = {
    "CloneVM_Task": {
        "template": ("VirtualMachine.Provisioning.DeployTemplate",),
        "folder": (
            "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.AdvancedConfig",
            "VirtualMachine.Config.Annotation", "VirtualMachine.Config.CPUCount",
            "VirtualMachine.Config.EditDevice", "VirtualMachine.Config.Memory",
            "VirtualMachine.Config.Resource", "VirtualMachine.Inventory.CreateFromExisting",
        ),
        "datastore": ("Datastore.AllocateSpace",),
        "resource pool": ("Resource.AssignVMToPool",),
        "network": ("Network.Assign",),
    },
    "ReconfigVM_Task": {
        "folder": (
            "VirtualMachine.Config.AddNewDisk", "VirtualMachine.Config.AddRemoveDevice",
            "VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.Annotation",
            "VirtualMachine.Config.RemoveDisk",
        ),
        "datastore": ("Datastore.AllocateSpace", "Datastore.Browse"),
    },
    "PowerOnVM_Task": {"folder": ("VirtualMachine.Interact.PowerOn",)},
    "PowerOffVM_Task": {"folder": ("VirtualMachine.Interact.PowerOff",)},
    "Destroy_Task": {"folder": ("VirtualMachine.Inventory.Delete",)},
    "PbmQueryProfile": {"vCenter": ("StorageProfile.View",)},
}  # fmt: skip
"""Method → kind of object → privileges on it. Read-only methods need the role "Read-only";
storage policies are queried only with --storage-policy."""
OPTIONAL = frozenset({"vCenter"})
"""Kinds of objects that not every rental needs."""


def privileges() -> dict[str, tuple[str, ...]]:
    """The needed privileges by kind of object, sorted."""
    by_kind: dict[str, set[str]] = {}
    for kinds in NEEDS.values():
        for kind, names in kinds.items():
            by_kind.setdefault(kind, set()).update(names)
    return {kind: tuple(sorted(names)) for kind, names in by_kind.items()}


def policy() -> str:
    """The privileges, one per line, below the kind of object that needs them."""
    return "\n".join(
        line
        for kind, names in privileges().items()
        for line in (f"# on the {kind}{_when(kind)}", *names)
    )


def _when(kind: str) -> str:
    return ", for --storage-policy" if kind in OPTIONAL else ""
