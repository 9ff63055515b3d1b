"""The disks of a virtual machine: which it is to have, those that come with it, whose they are."""

import uuid
from typing import Any

from emulators.azure import origins, sizes
from emulators.azure.cloud import Cloud
from emulators.azure.disks import KIND as DISK
from emulators.azure.disks import made_disk


def size_of(vm: dict[str, Any]) -> sizes.Size:
    """A machine's size."""
    return sizes.size_of(vm["properties"]["hardwareProfile"]["vmSize"])


def wanted_disks(vm: dict[str, Any]) -> dict[str, tuple[int, str]]:
    """The data disks it is to have: id in lower case → LUN and caching."""
    return {
        one["managedDisk"]["id"].lower(): (one["lun"], one["caching"])
        for one in vm["properties"]["storageProfile"]["dataDisks"]
    }


def make_disks(cloud: Cloud, vm: dict[str, Any]) -> None:
    """The disks that come with the machine: its OS disk, and empty ones."""
    storage = vm["properties"]["storageProfile"]
    below = vm["id"].rsplit("/providers/", 1)[0] + f"/providers/{DISK}/"
    more = {"tags": vm.get("tags"), "zones": vm.get("zones"), "managedBy": vm["id"]}
    for one in (storage["osDisk"], *storage["dataDisks"]):
        if "id" in one["managedDisk"]:
            continue
        one.setdefault("name", f"{vm['name']}_disk{one.get('lun', 0) + 2}_{uuid.uuid4().hex}")
        reference = {"createOption": "FromImage" if one is storage["osDisk"] else "Empty"}
        sku = one["managedDisk"]["storageAccountType"]
        made = made_disk(
            below + one["name"], vm["location"], sku, one["diskSizeGB"],
            {"creationData": reference}, more,
        )  # fmt: skip
        if one is storage["osDisk"]:
            made["properties"]["osType"] = one["osType"]
        key = (one["managedDisk"].get("diskEncryptionSet") or {}).get("id")
        made["properties"]["encryption"] = origins.encryption(cloud, vm["location"], key)
        made["properties"]["diskState"] = "Attached"
        cloud.save(made)
        one["managedDisk"]["id"] = made["id"]


def own(cloud: Cloud, vm: dict[str, Any]) -> None:
    """Disks know whose they are."""
    wanted = wanted_disks(vm)
    for disk in cloud.of(DISK):
        if disk["id"].lower() in wanted:
            disk["managedBy"] = vm["id"]
            disk["properties"]["diskState"] = "Attached"
        elif disk.get("managedBy", "").lower() == vm["id"].lower() and (
            "osType" not in disk["properties"]
        ):
            disk.pop("managedBy")
            disk["properties"]["diskState"] = "Unattached"
