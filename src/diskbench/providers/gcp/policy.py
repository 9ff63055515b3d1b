"""The permissions that diskbench needs on Google Cloud: one table, the source of the role.

Which permissions a call needs: Compute Engine API reference, "IAM permissions" of each method
(2026). A test compares the table with the adapter's calls.
"""

from __future__ import annotations

NEEDS: dict[str, tuple[str, ...]] = {
    "projects.get": ("projects.get",),
    "regions.get": ("regions.get",),
    "regions.list": ("regions.list",),
    "machineTypes.list": ("machineTypes.list",),
    "diskTypes.list": ("diskTypes.list",),
    "images.get": ("images.get",),
    "images.getFromFamily": ("images.getFromFamily",),
    "snapshots.get": ("snapshots.get",),
    "snapshots.list": ("snapshots.list",),
    "snapshots.insert": ("snapshots.create", "snapshots.setLabels", "disks.createSnapshot"),
    "snapshots.delete": ("snapshots.delete",),
    "networks.get": ("networks.get",),
    "subnetworks.get": ("subnetworks.get",),
    "zoneOperations.get": ("zoneOperations.get",),
    "regionOperations.get": ("regionOperations.get",),
    "globalOperations.get": ("globalOperations.get",),
    "globalOperations.list": ("globalOperations.list",),
    "firewalls.list": ("firewalls.list",),
    "firewalls.insert": ("firewalls.create", "networks.updatePolicy"),
    "firewalls.delete": ("firewalls.delete", "networks.updatePolicy"),
    "instances.list": ("instances.list",),
    "instances.get": ("instances.get",),
    "instances.insert": (
        "instances.create", "instances.setLabels", "instances.setMetadata", "instances.setTags",
        "disks.create", "disks.setLabels", "images.useReadOnly", "subnetworks.use",
        "subnetworks.useExternalIp", "resourcePolicies.use",
    ),
    "instances.delete": ("instances.delete",),
    "instances.attachDisk": ("instances.attachDisk", "instances.use", "disks.use"),
    "instances.detachDisk": ("instances.detachDisk", "disks.use"),
    "instances.setDiskAutoDelete": ("instances.setDiskAutoDelete",),
    "disks.list": ("disks.list",),
    "disks.get": ("disks.get",),
    "disks.insert": ("disks.create", "disks.setLabels", "snapshots.useReadOnly"),
    "disks.delete": ("disks.delete",),
    "regionDisks.get": ("disks.get",),
    "regionDisks.insert": ("disks.create", "disks.setLabels", "snapshots.useReadOnly"),
    "regionDisks.delete": ("disks.delete",),
}  # fmt: skip
"""Call → the permissions that it needs, without the prefix `compute.`; lists are aggregated
ones."""


OPTIONAL = {
    "iap.tunnelInstances.accessViaIAP": "only for --iap",
    "orgpolicy.policy.get": "for doctor, which reads the organisation's constraints",
}
"""Permissions of other services → what they are for; renting works without."""


def permissions() -> tuple[str, ...]:
    """All permissions, sorted."""
    needed = {f"compute.{name}" for names in NEEDS.values() for name in names}
    return tuple(sorted(needed | OPTIONAL.keys()))


def policy() -> str:
    """The role in the form of `gcloud iam roles create --file`."""
    lines = ["title: diskbench", "stage: GA", "includedPermissions:"]
    for name in permissions():
        why = f" # {OPTIONAL[name]}" if name in OPTIONAL else ""
        lines.append(f"  - {name}{why}")
    return "\n".join(lines)
