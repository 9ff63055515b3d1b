"""A rental on vSphere as it was resolved, for tests that need one."""

from typing import Any

from diskbench.providers.vsphere.disk_request import (
    Template,
    VsphereDiskRequest,
    VspherePlace,
    VsphereResolved,
)

REQUESTED = VsphereDiskRequest(
    size_gib=20, count=1, provisioning="eager-zeroed", controller="pvscsi", iops_limit=None,
    vcpus=4, memory_gib=8,
)  # fmt: skip


def resolved(**more: Any) -> VsphereResolved:
    """What `diskbench run --datastore nvme --size 20` comes to; `more` is other than that."""
    told: dict[str, Any] = {
        "server": "https://vcenter.example:443",
        "api": "VMware vCenter Server 8.0.3 (API 8.0.3.0)",
        "datacenter": VspherePlace(id="datacenter-2", name="DC0"),
        "folder": VspherePlace(id="group-v3", name="vm"),
        "compute": VspherePlace(id="domain-c8", name="C0"),
        "pool": VspherePlace(id="resgroup-9", name="Resources"),
        "host": VspherePlace(id="host-22", name="esx-1"),
        "datastore": VspherePlace(id="datastore-15", name="nvme"),
        "template": Template(id="vm-70", name="debian-12", buses=(0,), network_card=4000),
        "requested": REQUESTED,
        "free_bytes": 2**40,
        "facts": {"kind": "VMFS"},
        "emulated": False,
    }
    return VsphereResolved(**(told | more))


def requested(**more: Any) -> VsphereDiskRequest:
    """As REQUESTED, but for `more`."""
    return REQUESTED.model_copy(update=more)
