"""Virtual machines: put, changed and deleted; their disks and interfaces follow them."""

import copy
import uuid
from concurrent.futures import Future
from typing import Any

from emulators.azure import agent, bridge, images, machine_rules, schema, sizes
from emulators.azure.call import GROUP, Answer, Call, Refusal, filtered, not_found, now
from emulators.azure.cloud import Cloud, Route
from emulators.azure.disks import KIND as DISK
from emulators.azure.groups import check_tags, group_of
from emulators.azure.machine_disks import make_disks, own, size_of, wanted_disks
from emulators.azure.machine_parts import (
    data_disks,
    interfaces,
    os_disk,
    shown_profile,
)
from emulators.azure.network import forget
from emulators.azure.network_forms import public_address
from emulators.azure.polling import accepted, start
from emulators.azure.subscriptions import check_location

KIND = "Microsoft.Compute/virtualMachines"
AT = f"{GROUP}/providers/{KIND}"
_KEPT = ("tags", "zones", "identity", "plan", "extendedLocation")
_PROPERTIES = (
    "priority", "evictionPolicy", "billingProfile", "proximityPlacementGroup", "securityProfile",
    "diagnosticsProfile", "additionalCapabilities",
)  # fmt: skip


def found(cloud: Cloud, call: Call) -> dict[str, Any]:
    """The machine that a path names. Raises Refusal where there is none."""
    group_of(cloud, call)
    one = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    if one is None:
        raise not_found(KIND, call.names["name"], call.names["group"])
    return one


def check_idle(cloud: Cloud, vm: dict[str, Any]) -> None:
    """Raise Refusal while something else is done with the machine."""
    if cloud.operations.under_way(vm["id"]):
        raise Refusal(
            "Conflict",
            "The request failed due to conflict with a concurrent request. To resolve it, please "
            "refer to https://aka.ms/activitylog to get more details on the conflicting requests.",
            status=409,
        )


def _put(cloud: Cloud, call: Call) -> Answer:
    schema.check("compute", "VirtualMachine", call.body)
    group = group_of(cloud, call)
    before = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    body = copy.deepcopy(call.body) or {}
    if before is not None:
        return change(cloud, call, before, body)
    location = check_location(body.get("location"), KIND)
    check_tags(body.get("tags"))
    given = body.get("properties") or {}
    size = sizes.size_of((given.get("hardwareProfile") or {}).get("vmSize"))
    machine_rules.check_zones(location, body.get("zones"))
    machine_rules.check_quota(cloud, call.names["sub"], location, size)
    storage = given.get("storageProfile") or {}
    version, generation, system = images.image_of(storage.get("imageReference"))
    if generation not in size.generations:
        raise Refusal(
            "BadRequest",
            f"The selected VM size '{size.name}' cannot boot Hypervisor Generation "
            f"'{generation[1]}'.",
        )
    profile = given.get("osProfile") or {}
    machine_rules.check_user(profile, system)
    vm: dict[str, Any] = {
        "name": call.names["name"],
        "id": f"{group['id']}/providers/{KIND}/{call.names['name']}",
        "type": KIND,
        "location": location,
        **{key: body[key] for key in _KEPT if body.get(key)},
        "properties": {
            "vmId": str(uuid.uuid4()),
            "hardwareProfile": {"vmSize": size.name},
            **{key: given[key] for key in _PROPERTIES if given.get(key)},
        },
    }
    machine_rules.check_ultra(vm, size)
    machine_rules.check_plan(cloud, body.get("plan"), storage["imageReference"])
    controller = machine_rules.controller(
        storage.get("diskControllerType"), size, generation, storage["imageReference"]
    )
    reference = {**storage["imageReference"], "exactVersion": version}
    if not given.get("securityProfile"):
        vm["properties"] |= machine_rules.default_security(call.query["api-version"], generation)
    vm["properties"]["storageProfile"] = {
        "imageReference": reference,
        **({"diskControllerType": controller} if generation == "V2" else {}),
        "osDisk": os_disk(vm, size, storage.get("osDisk") or {}, system),
        "dataDisks": data_disks(cloud, vm, size, storage.get("dataDisks") or []),
    }
    vm["properties"]["osProfile"] = shown_profile(profile, system)
    cards = interfaces(cloud, vm, given.get("networkProfile") or {})
    vm["properties"]["networkProfile"] = {"networkInterfaces": cards}
    vm["properties"] |= {"provisioningState": "Creating", "timeCreated": now()}
    return _create(cloud, call, vm, profile)


def _create(cloud: Cloud, call: Call, vm: dict[str, Any], profile: dict[str, Any]) -> Answer:
    cloud.save(vm)
    cloud.secrets[vm["id"].lower()] = profile
    cloud.powers[vm["id"].lower()] = "starting"
    for one in vm["properties"]["networkProfile"]["networkInterfaces"]:
        cloud.get(one["id"])["properties"]["virtualMachine"] = {"id": vm["id"]}
    told = copy.deepcopy(vm)

    def begin() -> Future[Any]:
        make_disks(cloud, vm)
        own(cloud, vm)
        return power_on(cloud, vm)

    def finish() -> None:
        agent.check_ready(profile)
        vm["properties"]["provisioningState"] = "Succeeded"
        cloud.powers[vm["id"].lower()] = "running"

    def failed(_: BaseException) -> None:
        vm["properties"]["provisioningState"] = "Failed"
        cloud.powers[vm["id"].lower()] = "stopped"

    operation = start(cloud, call, "compute", vm, finish, begin=begin, failed=failed)
    return accepted(cloud, call, operation, 201, told)


def power_on(cloud: Cloud, vm: dict[str, Any]) -> Future[Any]:
    """Begin to boot what stands behind the machine, with its disks. Takes the lock's holder."""
    machine = bridge.prepared(cloud, vm, cloud.secrets[vm["id"].lower()])
    told = _addresses(cloud, vm)
    wanted, temp = wanted_disks(vm), size_of(vm).temp_gib
    deaf = cloud.faults.machines_are_deaf

    def up() -> None:
        bridge.boot(cloud, machine, told, temp, deaf=deaf)
        if not deaf:
            bridge.arrange(cloud, machine, wanted)

    return machine.queue.submit(up)


def _addresses(cloud: Cloud, vm: dict[str, Any]) -> tuple[str, ...]:
    told = []
    for one in vm["properties"]["networkProfile"]["networkInterfaces"]:
        for part in cloud.get(one["id"])["properties"]["ipConfigurations"]:
            told.append(part["properties"]["privateIPAddress"])
            if public := part["properties"].get("publicIPAddress"):
                told.append(public_address(cloud, public["id"]))
    return tuple(told)


def _patch(cloud: Cloud, call: Call) -> Answer:
    schema.check("compute", "VirtualMachineUpdate", call.body)
    return change(cloud, call, found(cloud, call), call.body or {})


def change(cloud: Cloud, call: Call, vm: dict[str, Any], body: dict[str, Any]) -> Answer:
    """Change tags or data disks of a machine that is there."""
    check_idle(cloud, vm)
    given = body.get("properties") or {}
    asked = (given.get("hardwareProfile") or {}).get("vmSize")
    if asked and asked.lower() != size_of(vm).name.lower():
        raise Refusal("OperationNotAllowed", "The emulator does not resize machines.", status=409)
    if (given.get("osProfile") or {}).get("customData"):
        message = "Changing property 'osProfile.customData' is not allowed."
        raise Refusal("PropertyChangeNotAllowed", message, status=409)
    if "tags" in body:
        check_tags(body["tags"])
        vm["tags"] = body["tags"]
    storage = vm["properties"]["storageProfile"]
    disks = (given.get("storageProfile") or {}).get("dataDisks")
    if disks is not None:
        storage["dataDisks"] = data_disks(cloud, vm, size_of(vm), disks)
        make_disks(cloud, vm)
    told = copy.deepcopy(vm)
    told["properties"]["provisioningState"] = "Updating"
    if disks is None and "tags" not in body:  # nothing changes: as recorded since 2021-07-01
        return Answer(200, told)
    vm["properties"]["provisioningState"] = "Updating"
    return accepted(cloud, call, rearranged(cloud, call, vm), 200, told)


def rearranged(cloud: Cloud, call: Call, vm: dict[str, Any]) -> Any:
    """The operation that gives a machine the disks that its document says."""
    machine, wanted = cloud.machines.get(vm["id"].lower()), wanted_disks(vm)
    for disk in cloud.of(DISK):
        if disk["id"].lower() in wanted:  # nobody else may have it from now on
            disk["managedBy"] = vm["id"]

    def begin() -> Future[Any]:
        assert machine is not None
        return machine.queue.submit(bridge.arrange, cloud, machine, wanted)

    def finish() -> None:
        own(cloud, vm)
        vm["properties"]["provisioningState"] = "Succeeded"

    def failed(_: BaseException) -> None:
        vm["properties"]["provisioningState"] = "Failed"

    runs = cloud.powers[vm["id"].lower()] == "running"
    return start(
        cloud, call, "compute", vm, finish, begin=begin if machine and runs else None,
        failed=failed, more_looks=cloud.faults.late_looks,
    )  # fmt: skip


def _delete(cloud: Cloud, call: Call) -> Answer:
    group_of(cloud, call)
    vm = cloud.find(f"{call.group_id}/providers/{KIND}/{call.names['name']}")
    if vm is None:
        return Answer(204)
    cloud.operations.preempt(vm["id"])
    vm["properties"]["provisioningState"] = "Deleting"

    def begin() -> Future[Any]:
        return bridge.destroy_all(cloud, vm["id"])

    def failed(_: BaseException) -> None:
        vm["properties"]["provisioningState"] = "Failed"

    operation = start(
        cloud, call, "compute", vm, lambda: _gone(cloud, vm), begin=begin, failed=failed
    )
    return accepted(cloud, call, operation, 202)


def _gone(cloud: Cloud, vm: dict[str, Any]) -> None:
    """The machine is no more; what was to go with it goes."""
    cloud.drop(vm["id"])
    for kept in (cloud.secrets, cloud.powers):
        kept.pop(vm["id"].lower(), None)
    storage = vm["properties"]["storageProfile"]
    options = {
        one["managedDisk"].get("id", "").lower(): one["deleteOption"]
        for one in (storage["osDisk"], *storage["dataDisks"])
    }
    for disk in cloud.of(DISK):
        if disk.get("managedBy", "").lower() == vm["id"].lower():
            disk.pop("managedBy")
            disk["properties"]["diskState"] = "Unattached"
            if options.get(disk["id"].lower()) == "Delete":
                cloud.drop(disk["id"])
    for one in vm["properties"]["networkProfile"]["networkInterfaces"]:
        card = cloud.find(one["id"])
        if card is None:
            continue
        card["properties"].pop("virtualMachine", None)
        if (one.get("properties") or {}).get("deleteOption") == "Delete":
            forget(cloud, card, with_addresses=True)


def _list(cloud: Cloud, call: Call) -> Answer:
    below = f"/subscriptions/{call.names['sub']}/"
    if "group" in call.names:
        below = group_of(cloud, call)["id"] + "/"
    return Answer(200, {"value": filtered(call, cloud.of(KIND, below))})


_ONE = AT + "/{name}"
ROUTES = (
    Route("PUT", _ONE, f"{KIND}/write", _put),
    Route("PATCH", _ONE, f"{KIND}/write", _patch),
    Route("DELETE", _ONE, f"{KIND}/delete", _delete),
    Route("GET", AT, f"{KIND}/read", _list),
    Route("GET", f"/subscriptions/{{sub}}/providers/{KIND}", f"{KIND}/read", _list),
)  # fmt: skip
