"""What `instances.insert` refuses, and an instance as its request describes it.

Wordings as users report them: "[pd-standard] features are not compatible for creating instance"
(terraform-provider-google issue 8148), names and references as everywhere in Compute.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from emulators.gcp import (
    constraints,
    disk_types,
    disks,
    images,
    labels,
    machine_types,
    metadata,
    places,
)
from emulators.gcp.call import Call, Refusal, invalid, not_found
from emulators.gcp.cloud import Cloud
from emulators.gcp.images import Image
from emulators.gcp.machine_types import MachineType
from emulators.gcp.regions import DEFAULT_NETWORK, ZONES, last, link, path_of

DEVICE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?")
_TAG = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")
RUN_S = (30, 120 * 86_400)
"""Seconds a machine's run may be limited to: Compute Engine, "Limit the run time of a VM"."""


@dataclass(frozen=True)
class Launch:
    """A machine as it was asked for, and the disks that are made with it."""

    kind: MachineType
    image: Image
    row: dict[str, Any]
    disks: tuple[dict[str, Any], ...]
    """Its `disks` as they will be told."""
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Path → disk that is created with the instance."""


def read(cloud: Cloud, call: Call, path: str) -> Launch:
    """The instance of a request. Raises Refusal."""
    body = call.body
    disks.check_free(cloud, path)
    for name in ("sourceInstanceTemplate", "sourceMachineImage"):
        if name in call.query:
            raise Refusal(501, "notImplemented", f"{name} is not emulated.")
    for policy in body.get("resourcePolicies", ()):  # none can be made here
        raise not_found(path_of(policy, call.project) or policy)
    if "machineType" not in body:
        raise invalid("resource.machineType", "", "The machine type must be specified.")
    kind = machine_types.named(call, body["machineType"])
    metadata.items(body.get("metadata", {}))
    given = labels.checked(body.get("labels", {}), "resource.labels")
    for tag in body.get("tags", {}).get("items", ()):
        if not _TAG.fullmatch(tag):
            raise invalid("resource.tags", tag, f"Must be a match of regex '{_TAG.pattern}'")
    image, attached, made = _disks(cloud, call, kind, path)
    if kind.series.arch != image.arch:
        raise invalid(
            "resource.disks[0]", image.name, f"Its architecture {image.arch} is not the machine's."
        )
    constraints.check_instance(cloud, call, path, image)
    if body.get("shieldedInstanceConfig") and not image.uefi:
        why = "Shielded VM Config can only be set when using a UEFI-compatible disk."
        raise Refusal(400, "invalid", why)
    row = {
        **body,
        "zone": link(call.scope),
        "scheduling": _scheduling(body.get("scheduling", {}), kind),
        "networkInterfaces": _interfaces(cloud, call),
        "labelFingerprint": labels.fingerprint(given),
        "tags": {**body.get("tags", {}), "fingerprint": labels.fingerprint(body.get("tags"))},
        "metadata": {
            "kind": "compute#metadata",
            **body.get("metadata", {}),
            "fingerprint": labels.fingerprint(body.get("metadata")),
        },
        "machineType": link(f"{call.scope}/machineTypes/{kind.name}"),
        "deletionProtection": body.get("deletionProtection", False),
        "startRestricted": False,
    }
    return Launch(kind, image, row, tuple(attached), made)


def check_takes(kind: MachineType, disk: str) -> None:
    """Raise Refusal for a disk that such a machine does not take."""
    if not kind.takes(disk):
        message = f"[{kind.name}, {disk}] features are not compatible for creating instance."
        raise Refusal(400, "badRequest", message)


def device_name(given: str | None, taken: list[str], index: int, where: str) -> str:
    """The device name of a disk, chosen or not. Raises Refusal."""
    name = given or f"persistent-disk-{index}"
    if not DEVICE_NAME.fullmatch(name):
        raise invalid(f"{where}.deviceName", name, "Not a valid device name.")
    if name in taken:
        message = f"The device name '{name}' is already used by another disk of the instance."
        raise invalid(f"{where}.deviceName", name, message)
    return name


def attached_row(one: dict[str, Any], index: int, name: str, size_gb: int) -> dict[str, Any]:
    """An attached disk as it is told."""
    return {
        "kind": "compute#attachedDisk",
        "index": index,
        "deviceName": name,
        "boot": one.get("boot", False),
        "autoDelete": one.get("autoDelete", False),
        "mode": one.get("mode", "READ_WRITE"),
        "type": one.get("type", "PERSISTENT"),
        "interface": one.get("interface", "SCSI"),
        "diskSizeGb": str(size_gb),
    }


def _disks(
    cloud: Cloud, call: Call, kind: MachineType, path: str
) -> tuple[Image, list[dict[str, Any]], dict[str, dict[str, Any]]]:
    asked = call.body.get("disks", [])
    if not asked or not asked[0].get("boot") or sum(bool(one.get("boot")) for one in asked) != 1:
        why = "Boot disk must be specified, as the first one."
        raise invalid("resource.disks[0]", "", why)
    if kind.bundled:
        own = {"type": "SCRATCH", "interface": "NVME", "autoDelete": True}
        asked = [*asked, *([own] * kind.bundled)]
    image: Image | None = None
    rows: list[dict[str, Any]] = []
    made: dict[str, dict[str, Any]] = {}
    for index, one in enumerate(asked):
        where = f"resource.disks[{index}]"
        taken = [row["deviceName"] for row in rows]
        if one.get("type") == "SCRATCH":
            rows.append(_local(call, kind, one, rows, where))
            continue
        name = device_name(one.get("deviceName"), taken, index, where)
        if ("source" in one) == ("initializeParams" in one):
            raise invalid(where, "", "Exactly one of source and initializeParams is needed.")
        if "source" in one:
            source, disk = _existing(cloud, call, one["source"], f"{where}.source")
        else:
            source, disk, from_image = _new(cloud, call, one, path, index)
            image = from_image or image
            if source in made:
                raise Refusal(409, "alreadyExists", f"The resource '{source}' already exists")
            made[source] = disk
        check_takes(kind, last(disk["type"]))
        rows.append(attached_row(one, index, name, int(disk["sizeGb"])) | {"source": link(source)})
    if image is None:
        message = "Only boot disks made of an image are emulated."
        raise Refusal(501, "notImplemented", message)
    return image, rows, made


def _local(
    call: Call, kind: MachineType, one: dict[str, Any], rows: list[dict[str, Any]], where: str
) -> dict[str, Any]:
    params = one.get("initializeParams", {})
    default = f"zones/{call.path['zone']}/diskTypes/{machine_types.LOCAL}"
    field_name = f"{where}.initializeParams.diskType"
    named = disk_types.named(call, params.get("diskType", default), field_name)
    if named != machine_types.LOCAL:
        raise invalid(field_name, params["diskType"], "A scratch disk is a local SSD.")
    if not one.get("autoDelete"):
        raise invalid(f"{where}.autoDelete", "false", "A scratch disk must be auto-deleted.")
    check_takes(kind, named)
    if not kind.bundled and len([row for row in rows if row["type"] == "SCRATCH"]) >= 24:
        raise invalid(where, "", "At most 24 local SSDs.")
    interface = one.get("interface", "SCSI")
    number = sum(row["type"] == "SCRATCH" for row in rows)
    taken = [row["deviceName"] for row in rows]
    name = device_name(one.get("deviceName", f"local-ssd-{number}"), taken, len(rows), where)
    return attached_row({**one, "interface": interface}, len(rows), name, kind.series.local_gb)


def _existing(cloud: Cloud, call: Call, given: str, where: str) -> tuple[str, dict[str, Any]]:
    path = path_of(given, call.project)
    if path is None or not path.startswith(f"{call.scope}/disks/"):
        raise invalid(where, given, "The disk must be in the zone of the instance.")
    if path not in cloud.resources:
        raise not_found(path)
    row = cloud.resources[path]
    disks.check_ready(row, path)
    disks.check_unused(row, path)
    return path, row


def _new(
    cloud: Cloud, call: Call, one: dict[str, Any], instance: str, index: int
) -> tuple[str, dict[str, Any], Image | None]:
    where = f"resource.disks[{index}].initializeParams."
    params = one["initializeParams"]
    name = params.get("diskName") or (last(instance) if index == 0 else f"{last(instance)}-{index}")
    path = f"{call.scope}/disks/{name}"
    disks.check_free(cloud, path)
    default = f"zones/{call.path['zone']}/diskTypes/pd-standard"
    given_type = params.get("diskType", default)
    kind = disk_types.named(call, given_type, f"{where}diskType")
    if kind == machine_types.LOCAL:
        raise invalid(f"{where}diskType", given_type, "A local SSD is a scratch disk.")
    image = images.named(params["sourceImage"], call.project) if "sourceImage" in params else None
    size = int(params["diskSizeGb"]) if "diskSizeGb" in params else None
    if image is not None:
        size = image.size_gb if size is None else size
        if size < image.size_gb:
            why = f"Requested disk size cannot be smaller than the image size ({image.size_gb} GB)"
            raise invalid(f"{where}diskSizeGb", size, why)
    elif one.get("boot"):
        raise invalid(f"{where}sourceImage", "", "A boot disk needs a source image.")
    iops, throughput = (
        int(params[key]) if key in params else None
        for key in ("provisionedIops", "provisionedThroughput")
    )
    sized = disk_types.checked(kind, size, iops, throughput, where)
    given = labels.checked(params.get("labels", {}), f"{where}labels")
    row = disks.new_row(cloud, call, path, sized, given, one.get("diskEncryptionKey"))
    if image is not None:
        row["sourceImage"] = link(image.path)
    return path, row, image


def _scheduling(given: dict[str, Any], kind: MachineType) -> dict[str, Any]:
    spot = given.get("provisioningModel") == "SPOT" or given.get("preemptible", False)
    if spot and given.get("automaticRestart"):
        why = "Scheduling must have preemptible be false when AutomaticRestart is true."
        raise Refusal(400, "badRequest", why)
    limit = given.get("maxRunDuration")
    if limit is not None:
        low, high = RUN_S
        if not low <= int(limit.get("seconds", 0)) <= high:
            why = f"The duration must be between {low} seconds and {high} seconds."
            raise invalid("resource.scheduling.maxRunDuration", limit.get("seconds", 0), why)
        if "instanceTerminationAction" not in given:
            why = "You must specify an instance termination action with a run duration."
            raise invalid("resource.scheduling.instanceTerminationAction", "", why)
    elif "instanceTerminationAction" in given and not spot:
        why = "Only for spot VMs and VMs with a limited run time."
        action = given["instanceTerminationAction"]
        raise invalid("resource.scheduling.instanceTerminationAction", action, why)
    at_maintenance = given.get("onHostMaintenance", "TERMINATE" if spot else "MIGRATE")
    _check_maintenance(at_maintenance, kind, spot=spot)
    return {
        "onHostMaintenance": at_maintenance,
        "automaticRestart": not spot,
        "preemptible": spot,
        "provisioningModel": "SPOT" if spot else "STANDARD",
        **given,
    }


def _check_maintenance(asked: str, kind: MachineType, *, spot: bool) -> None:
    """Raise Refusal, in the words that GoogleCloudPlatform/cloud-image-tests issue 346 reports."""
    if spot and asked != "TERMINATE":
        why = "Scheduling must have onHostMaintenance be TERMINATE for a preemptible instance."
        raise Refusal(400, "badRequest", why)
    needed = "" if spot else kind.maintenance
    if needed == "TERMINATE" and asked != needed:
        why = "This machine type only supports on_host_maintenance = OnHostMaintenance.TERMINATE."
        raise invalid("resource.scheduling.onHostMaintenance", asked, why)
    if needed and asked != needed:
        why = f"OnHostMaintenance must be set to {needed} for machine type - {kind.name}."
        raise Refusal(400, "badRequest", why)


def _interfaces(cloud: Cloud, call: Call) -> list[dict[str, Any]]:
    asked = call.body.get("networkInterfaces", [])
    if len(asked) != 1:
        why = "Exactly one network interface is emulated; at least one is required."
        raise invalid("resource.networkInterfaces", len(asked), why)
    (one,) = asked
    region = ZONES[call.path["zone"]]
    if "subnetwork" not in one and cloud.custom_mode:
        why = "Subnetwork should be specified for custom subnetmode network"
        raise invalid("resource.networkInterfaces[0]", one, why)
    if "subnetwork" in one:
        of = places.subnetwork_region(cloud, one["subnetwork"], call.project)
        if of != region:
            why = f"The subnetwork is not in the region '{region}' of the instance."
            raise invalid("resource.networkInterfaces[0].subnetwork", one["subnetwork"], why)
    default = f"global/networks/{DEFAULT_NETWORK}"
    network = places.network(cloud, one.get("network", default), call.project)
    if len(one.get("accessConfigs", ())) > 1:
        raise invalid("resource.networkInterfaces[0].accessConfigs", "", "At most one is allowed.")
    subnetwork = places.subnetwork_path(cloud, region)
    row = {
        "kind": "compute#networkInterface",
        "name": "nic0",
        "stackType": "IPV4_ONLY",
        "fingerprint": labels.fingerprint(one),
        **one,
        "network": link(network),
        "subnetwork": link(subnetwork),
    }
    if "accessConfigs" in one:
        row["accessConfigs"] = [
            {
                "kind": "compute#accessConfig",
                "type": "ONE_TO_ONE_NAT",
                "name": "external-nat",
                "networkTier": "PREMIUM",
                **one["accessConfigs"][0],
            }
        ]
    return [row]
