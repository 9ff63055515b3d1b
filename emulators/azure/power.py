"""Power states and instance views: what runs, what is stopped and still billed, what is not.

Azure, "States and billing status of Azure Virtual Machines": a guest that switches itself off is
stopped, and billed until it is deallocated.
"""

from typing import Any

from emulators.azure import bridge
from emulators.azure.call import Answer, Call, now
from emulators.azure.cloud import Cloud, Route
from emulators.azure.generic import SCHEDULE
from emulators.azure.machines import AT, KIND, found

_SHOWN = {
    "starting": "VM starting",
    "running": "VM running",
    "stopping": "VM stopping",
    "stopped": "VM stopped",
    "deallocating": "VM deallocating",
    "deallocated": "VM deallocated",
}


def instance_view(cloud: Cloud, vm: dict[str, Any]) -> dict[str, Any]:
    """How the machine is now."""
    state, power = vm["properties"]["provisioningState"], cloud.powers[vm["id"].lower()]
    storage, profile = (vm["properties"][key] for key in ("storageProfile", "osProfile"))
    done = _status("ProvisioningState/succeeded", "Provisioning succeeded")
    named = [one["name"] for one in (storage["osDisk"], *storage["dataDisks"]) if "name" in one]
    view: dict[str, Any] = {}
    if power == "running":
        windows = storage["osDisk"]["osType"] == "Windows"
        view = {
            "computerName": profile["computerName"],
            "osName": "Windows Server 2016 Datacenter" if windows else "ubuntu",
            "osVersion": "10.0.14393.5648" if windows else "24.04",
            "vmAgent": {
                "vmAgentVersion": "2.7.41491.1057",
                "statuses": [
                    _status("ProvisioningState/succeeded", "Ready")
                    | {"message": "GuestAgent is running and processing the extensions."}
                ],
                "extensionHandlers": [],
            },
        }
    statuses = [_status(f"ProvisioningState/{state.lower()}", f"Provisioning {state.lower()}")]
    powered = {"code": f"PowerState/{power}", "level": "Info", "displayStatus": _SHOWN[power]}
    return view | {
        "disks": [{"name": name, "statuses": [done]} for name in named],
        "hyperVGeneration": "V1" if storage["osDisk"]["osType"] == "Windows" else "V2",
        "statuses": [*statuses, powered],
    }


def fire_schedules(cloud: Cloud) -> None:
    """Every shutdown schedule's hour has come: their machines are deallocated, as the platform
    does by itself."""
    with cloud.lock:
        for schedule in cloud.of(SCHEDULE):
            if schedule["properties"].get("status", "Enabled") != "Enabled":
                continue
            vm = cloud.find(schedule["properties"]["targetResourceId"])
            if vm is not None:
                cloud.powers[vm["id"].lower()] = "deallocated"
                bridge.destroy_all(cloud, vm["id"])


def _status(code: str, shown: str) -> dict[str, Any]:
    return {"code": code, "level": "Info", "displayStatus": shown, "time": now()}


def _get(cloud: Cloud, call: Call) -> Answer:
    vm = found(cloud, call)
    if "instanceview" in call.query.get("$expand", "").lower():
        shown = {**vm["properties"], "instanceView": instance_view(cloud, vm)}
        return Answer(200, {**vm, "properties": shown})
    return Answer(200, vm)


ROUTES = (Route("GET", AT + "/{name}", f"{KIND}/read", _get),)
