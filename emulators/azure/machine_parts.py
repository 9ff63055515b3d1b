"""The parts of a virtual machine, checked and as Azure shows them: disks, interfaces, user."""

import uuid
from typing import Any

from emulators.azure import disk_rules, machine_rules
from emulators.azure.call import Refusal, wrong
from emulators.azure.cloud import Cloud
from emulators.azure.network_forms import INTERFACE
from emulators.azure.sizes import Size


def os_disk(vm: dict[str, Any], size: Size, asked: dict[str, Any], system: str) -> dict[str, Any]:
    """The OS disk as it is shown; it is made with the machine. Raises Refusal."""
    if asked.get("createOption", "").lower() != "fromimage":
        raise wrong("osDisk.createOption must be FromImage.", "osDisk.createOption")
    managed = asked.get("managedDisk") or {}
    default = "Premium_LRS" if size.premium else "Standard_LRS"
    sku = disk_rules.sku_name(managed.get("storageAccountType") or default)
    if sku in disk_rules.UNCACHED:
        raise wrong(f"{sku} is not supported for the OS disk.", "osDisk.managedDisk")
    machine_rules.check_sku(vm, size, sku, "osDisk")
    smallest = 127 if system == "Windows" else 30
    gib = asked.get("diskSizeGB") or smallest
    if gib < smallest:
        raise wrong(
            f"The specified disk size {gib} GB is smaller than the size of the corresponding disk "
            f"in the VM image: {smallest} GB.",
            "osDisk.diskSizeGB",
        )
    caching = _caching(asked.get("caching"), "ReadWrite")
    disk_rules.check_cache(sku, gib, caching)
    return {
        "osType": system,
        "name": asked.get("name") or f"{vm['name']}_OsDisk_1_{uuid.uuid4().hex}",
        "createOption": "FromImage",
        "caching": caching,
        "managedDisk": {
            "storageAccountType": sku,
            **{name: one for name, one in managed.items() if name == "diskEncryptionSet"},
        },
        "deleteOption": asked.get("deleteOption", "Detach"),
        "diskSizeGB": gib,
    }


def data_disks(
    cloud: Cloud, vm: dict[str, Any], size: Size, asked: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The data disks as they are shown, all that the machine is to have. Raises Refusal."""
    wanted = [one for one in asked if not one.get("toBeDetached")]
    machine_rules.check_data_disks(size, wanted)
    return [_data_disk(cloud, vm, size, one) for one in wanted]


def _data_disk(
    cloud: Cloud, vm: dict[str, Any], size: Size, asked: dict[str, Any]
) -> dict[str, Any]:
    option, managed = asked.get("createOption", "").lower(), asked.get("managedDisk") or {}
    shown: dict[str, Any] = {"lun": asked["lun"]}
    common = {"deleteOption": asked.get("deleteOption", "Detach")}
    # Azure's own default: none for standard disks, read-only for Premium SSD (DataDisk.caching).
    if managed.get("id"):
        disk = cloud.get(managed["id"])
        default = "ReadOnly" if disk["sku"]["name"].startswith("Premium_") else "None"
        caching = _caching(asked.get("caching"), default)
        machine_rules.check_attach(vm, size, disk, caching)
        return shown | {
            "name": disk["name"],
            "createOption": {"empty": "Empty"}.get(option, "Attach"),
            "caching": caching,
            "managedDisk": {"storageAccountType": disk["sku"]["name"], "id": disk["id"]},
            **common,
            "diskSizeGB": disk["properties"]["diskSizeGB"],
            "toBeDetached": False,
        }
    if option != "empty" or not asked.get("diskSizeGB"):
        raise wrong("Required parameter 'dataDisk.managedDisk.id' is missing (null).", "dataDisk")
    storage = vm["properties"].get("storageProfile")
    like = storage["osDisk"]["managedDisk"]["storageAccountType"] if storage else "Standard_LRS"
    sku = disk_rules.sku_name(managed.get("storageAccountType") or like)
    caching = _caching(asked.get("caching"), "None")
    disk_rules.check_cache(sku, asked["diskSizeGB"], caching)
    disk_rules.figures(sku, asked["diskSizeGB"], asked)
    machine_rules.check_sku(vm, size, sku, str(asked.get("name")))
    return shown | {
        **({"name": asked["name"]} if asked.get("name") else {}),
        "createOption": "Empty",
        "caching": caching,
        "managedDisk": {"storageAccountType": sku},
        **common,
        "diskSizeGB": asked["diskSizeGB"],
        "toBeDetached": False,
    }


def _caching(asked: str | None, default: str) -> str:
    names = {"none": "None", "readonly": "ReadOnly", "readwrite": "ReadWrite"}
    return names[asked.lower()] if asked else default


def interfaces(cloud: Cloud, vm: dict[str, Any], profile: dict[str, Any]) -> list[dict[str, Any]]:
    """Its interfaces, each there and nobody else's. Raises Refusal."""
    asked = profile.get("networkInterfaces") or []
    if not asked:
        raise wrong("Required parameter 'networkProfile' is missing (null).", "networkProfile")
    for one in asked:
        card = cloud.get(one["id"], "InvalidResourceReference")
        if card["location"] != vm["location"] or card["type"] != INTERFACE:
            raise Refusal("InvalidResourceReference", f"{one['id']} is not in {vm['location']}.")
        user = card["properties"].get("virtualMachine", {}).get("id")
        if user and user.lower() != vm["id"].lower():
            raise Refusal("NicInUse", f"Network Interface {card['id']} is used by {user}.")
    return asked


def shown_profile(profile: dict[str, Any], system: str) -> dict[str, Any]:
    """The osProfile without what is secret, and with what Azure fills in."""
    made = {key: profile[key] for key in ("computerName", "adminUsername")}
    if system == "Windows":
        made["windowsConfiguration"] = {
            "provisionVMAgent": True,
            **(profile.get("windowsConfiguration") or {}),
            "patchSettings": {"patchMode": "AutomaticByOS", "assessmentMode": "ImageDefault"},
            "enableVMAgentPlatformUpdates": False,
        }
    else:
        made["linuxConfiguration"] = {
            "disablePasswordAuthentication": False,
            "provisionVMAgent": True,
            **(profile.get("linuxConfiguration") or {}),
            "patchSettings": {"patchMode": "ImageDefault", "assessmentMode": "ImageDefault"},
            "enableVMAgentPlatformUpdates": False,
        }
    return made | {
        "secrets": [],
        "allowExtensionOperations": True,
        "requireGuestProvisionSignal": True,
    }
