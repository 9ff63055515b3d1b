"""What Azure refuses of a virtual machine: its size and place, its image, user and disks.

Codes and wordings: virtual-machines/troubleshooting of azure-docs and public reports of each.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from emulators.azure import disk_rules, images, sizes
from emulators.azure.call import Refusal, wrong
from emulators.azure.cloud import Cloud
from emulators.azure.sizes import Size
from emulators.azure.subscriptions import ZONAL

TRUSTED_SINCE = "2024-11-01"
CUSTOM_DATA_BYTES = 65535


def check_zones(location: str, zones: Sequence[str] | None) -> None:
    """Raise Refusal for a zone that is not there."""
    if zones and (location not in ZONAL or len(zones) != 1 or zones[0] not in {"1", "2", "3"}):
        raise Refusal(
            "InvalidAvailabilityZone" if location in ZONAL else "AvailabilityZoneNotSupported",
            f"The zone(s) '{','.join(zones)}' for resource 'virtualMachines' is not supported in "
            f"location '{location}'.",
        )


def check_plan(cloud: Cloud, given: Mapping[str, Any] | None, image: Mapping[str, Any]) -> None:
    """Raise Refusal for a marketplace image whose plan is not named, or not accepted."""
    wanted = images.plan_of(image)
    if wanted is None:
        return
    if given is None or {key: given.get(key) for key in wanted} != wanted:
        raise Refusal(
            "VMMarketplaceInvalidInput",
            "Creating a virtual machine from Marketplace image or a custom image sourced from a "
            "Marketplace image requires Plan information in the request. VM: 'machine'.",
        )
    if wanted["name"] in cloud.faults.refused_terms:
        raise Refusal(
            "MarketplacePurchaseEligibilityFailed",
            "Marketplace purchase eligibility check returned errors. See inner errors for details.",
        )


def controller(
    asked: str | None, size: Size, generation: str, image: Mapping[str, Any]
) -> str | None:
    """The disk controller of a machine; without one asked for, Azure takes NVMe where size and
    image have it. Raises Refusal."""
    of_size = size.controllers.split(", ")
    both = [one for one in of_size if one in images.controllers_of(image).split(", ")]
    if generation != "V2":
        if asked is not None:
            raise wrong("diskControllerType needs a Generation 2 image.", "diskControllerType")
        both = [one for one in both if one == "SCSI"]
    if asked is not None and asked.lower() not in {one.lower() for one in both}:
        both = []
    if not both:
        raise wrong(
            f"The VM size '{size.name}' cannot boot with OS image or disk. Please check that disk "
            "controller types supported by the OS image or disk is one of the supported disk "
            "controller types for the VM size. Please query sku api to determine supported disk "
            "controller types for the VM size.",
            "diskControllerType",
        )
    return next((one for one in both if asked and one.lower() == asked.lower()), both[-1])


def default_security(api_version: str, generation: str) -> dict[str, Any]:
    """What Azure makes of a Generation 2 machine that asks for no security type: Trusted Launch
    ("Trusted Launch for Azure virtual machines", Trusted Launch as default, 2024-11-01)."""
    if generation != "V2" or api_version < TRUSTED_SINCE:
        return {}
    settings = {"secureBootEnabled": True, "vTpmEnabled": True}
    return {"securityProfile": {"securityType": "TrustedLaunch", "uefiSettings": settings}}


def check_quota(cloud: Cloud, subscription: str, location: str, size: Size) -> None:
    """Raise Refusal when no cores are left."""
    for name, used, most in (
        ("Total Regional", sizes.cores_in_use(cloud, subscription, location),
         cloud.faults.quota_cores),
        (size.family, sizes.cores_in_use(cloud, subscription, location, size.family),
         sizes.family_quota(cloud, size.family)),
    ):  # fmt: skip
        if used + size.cores <= most:
            continue
        raise Refusal(
            "OperationNotAllowed",
            "Operation could not be completed as it results in exceeding approved "
            f"{name} Cores quota. Additional details - Deployment Model: Resource Manager, "
            f"Location: {location}, Current Limit: {most}, Current Usage: "
            f"{used}, Additional Required: {size.cores}, (Minimum) New Limit Required: "
            f"{used + size.cores}. Submit a request for Quota increase at "
            "https://aka.ms/ProdportalCRP.",
            status=409,
        )


def check_user(profile: Mapping[str, Any], system: str) -> None:
    """Raise Refusal for an osProfile that makes no user or no sense."""
    for name in ("computerName", "adminUsername"):
        if not profile.get(name):
            raise wrong(f"Required parameter 'osProfile.{name}' is missing (null).", name)
    if profile["adminUsername"].lower() in {"root", "admin", "administrator", "user", "guest"}:
        raise wrong("The Admin Username specified is not allowed.", "adminUsername")
    if len(profile["computerName"]) > (15 if system == "Windows" else 64):
        raise wrong("The computer name is too long.", "computerName")
    linux = profile.get("linuxConfiguration") or {}
    keys = (linux.get("ssh") or {}).get("publicKeys") or []
    if not keys and not profile.get("adminPassword"):
        raise wrong("Authentication using either SSH or by user name and password must be enabled.")
    home = f"/home/{profile['adminUsername']}/.ssh/authorized_keys"
    for key in keys:
        if key.get("path") != home:
            raise wrong(f"Destination path for SSH public keys is limited to '{home}'.", "path")
        if not str(key.get("keyData", "")).startswith(("ssh-rsa ", "ssh-ed25519 ")):
            raise wrong("The value of parameter linuxConfiguration.ssh.publicKeys.keyData is "
                        "invalid.", "keyData")  # fmt: skip
    if (data := profile.get("customData")) is not None:
        try:
            size = len(base64.b64decode(data, validate=True))
        except binascii.Error:
            raise wrong("Custom data in OSProfile must be in Base64 encoding and with a maximum "
                        "length of 87380 characters.", "customData") from None  # fmt: skip
        if size > CUSTOM_DATA_BYTES:
            raise wrong("Custom data in OSProfile is too long.", "customData")


def check_data_disks(size: Size, wanted: Sequence[Mapping[str, Any]]) -> None:
    """Raise Refusal for more disks than the size takes, or for a LUN that two have."""
    if len(wanted) > size.disks:
        raise Refusal(
            "OperationNotAllowed",
            f"The maximum number of data disks allowed to be attached to a VM of this size is "
            f"{size.disks}.",
            status=409,
            target="dataDisks",
        )
    seen: set[int] = set()
    for one in wanted:
        lun = one.get("lun")
        if lun is None:
            raise wrong("Required parameter 'dataDisk.lun' is missing (null).", "dataDisk.lun")
        if not 0 <= lun < 64:
            raise wrong(f"The value '{lun}' of parameter 'dataDisk.lun' is out of range. The value "
                        "must be between 0 and 63, inclusive.", "dataDisk.lun")  # fmt: skip
        if lun in seen:
            raise wrong(f"Cannot attach data disk: a disk with LUN '{lun}' is specified more than "
                        "once. LUN must be unique.", "dataDisk.lun")  # fmt: skip
        seen.add(lun)


def check_attach(
    machine: Mapping[str, Any], size: Size, disk: Mapping[str, Any], caching: str
) -> None:
    """Raise Refusal for a disk that this machine cannot have so."""
    sku, name = disk["sku"]["name"], disk["name"]
    disk_rules.check_cache(sku, disk["properties"]["diskSizeGB"], caching)
    owner = disk.get("managedBy", "")
    if owner and owner.lower() != machine["id"].lower():
        raise Refusal(
            "ConflictingUserInput",
            f"Disk '{name}' cannot be attached as the disk is already owned by VM '{owner}'.",
            status=409,
        )
    if disk["location"] != machine["location"]:
        raise wrong(f"Disk '{name}' and the VM are not in the same location.")
    check_sku(machine, size, sku, name)
    here, there = machine.get("zones") or [], disk.get("zones") or []
    if there and here != there:
        raise Refusal(
            "BadRequest",
            f"Disk '{name}' cannot be attached to the VM because it is not in zone "
            f"'{','.join(here) or 'none'}'. Disk is in zone '{there[0]}'.",
        )
    if here and not there and sku not in disk_rules.ZRS:
        raise Refusal(
            "BadRequest",
            f"Disk '{name}' cannot be attached to the VM because the disk is a regional disk "
            f"and the VM is in zone '{here[0]}'.",
        )


def check_sku(machine: Mapping[str, Any], size: Size, sku: str, name: str) -> None:
    """Raise Refusal for a type of disk that the machine does not take."""
    if sku not in {"Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS"} and not size.premium:
        raise Refusal(
            "InvalidParameter",
            "Requested operation cannot be performed because the VM size "
            f"{size.name} does not support the storage account type {sku} of disk '{name}'. "
            "Consider updating the VM to a size that supports Premium storage.",
            target="storageAccountType",
        )
    able = (machine["properties"].get("additionalCapabilities") or {}).get("ultraSSDEnabled")
    if sku == "UltraSSD_LRS" and not able:
        raise Refusal(
            "InvalidParameter",
            "StorageAccountType UltraSSD_LRS can be used only when additionalCapabilities."
            "ultraSSDEnabled is set.",
            target="managedDisk.storageAccountType",
        )


def check_ultra(machine: Mapping[str, Any], size: Size) -> None:
    """Raise Refusal where Ultra disks are wanted of a size or place that has none."""
    able = (machine["properties"].get("additionalCapabilities") or {}).get("ultraSSDEnabled")
    if able and not (size.ultra and machine.get("zones")):
        raise Refusal(
            "InvalidParameter",
            f"The VM size '{size.name}' cannot have ultraSSDEnabled here. See "
            "https://aka.ms/ultrassd for details.",
            target="additionalCapabilities.ultraSSDEnabled",
        )
