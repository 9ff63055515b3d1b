"""The privileges that diskbench needs in vSphere: one table, the source of the printed list.

"vSphere Web Services API" reference 8.0, "Required Privileges" of each method, and "vSphere
Security", "Required Privileges for Common Tasks". A test compares the methods with the adapter's
calls.
"""

from __future__ import annotations

from collections.abc import Collection

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
            "VirtualMachine.Config.RemoveDisk", "VApp.ApplicationConfig",
        ),
        "datastore": ("Datastore.AllocateSpace", "Datastore.Browse"),
    },
    "SetField": {"folder": ("Global.SetCustomField",)},
    "PowerOnVM_Task": {"folder": ("VirtualMachine.Interact.PowerOn",)},
    "PowerOffVM_Task": {"folder": ("VirtualMachine.Interact.PowerOff",)},
    "Destroy_Task": {"folder": ("VirtualMachine.Inventory.Delete",)},
    "PbmQueryProfile": {"vCenter": ("StorageProfile.View",)},
}  # fmt: skip
"""Method → kind of object → privileges on it. Read-only methods need the role "Read-only"."""
OPTIONAL = {
    "Global.SetCustomField": "--tag",
    "StorageProfile.View": "--storage-policy",
    "VApp.ApplicationConfig": "a template with vApp properties",
}
"""Privileges that not every rental needs, and what needs them."""


def privileges(without: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The needed privileges by kind of object, sorted, except those in `without`."""
    by_kind: dict[str, set[str]] = {}
    for kinds in NEEDS.values():
        for kind, names in kinds.items():
            by_kind.setdefault(kind, set()).update(set(names) - set(without))
    return {kind: tuple(sorted(names)) for kind, names in by_kind.items()}


def policy() -> str:
    """The privileges, one per line, below the kind of object that needs them."""
    lines = []
    for kind, names in privileges().items():
        always = [name for name in names if name not in OPTIONAL]
        lines += [f"# on the {kind}", *always] if always else []
        for name in names:
            if name in OPTIONAL:
                lines += [f"# on the {kind}, for {OPTIONAL[name]}", name]
    return "\n".join(lines)
