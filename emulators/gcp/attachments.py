"""Disks that come to a running instance and go again, and their disks in the lab."""

from functools import partial
from typing import Any

from diskbench.model.rental import DiskSpec
from diskbench.units import GIB
from emulators import guests
from emulators.gcp import disk_types, disks, launch_rules, machine_types
from emulators.gcp.call import Call, Refusal, invalid, not_found
from emulators.gcp.cloud import Cloud, Machine, Work
from emulators.gcp.operations import start
from emulators.gcp.regions import ZONES, last, link, path_of, rfc3339

LOCAL_LINKS = {"NVME": "local-nvme-ssd", "SCSI": "local-ssd"}
"""Their names below /dev/disk/by-id/google-: Compute Engine, "Format and mount local SSD"."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def attach(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Attach a disk that is there already."""
    path = call.names("instance", "instances")
    row, body = cloud.resource(path), call.body
    if "source" not in body:
        raise Refusal(501, "notImplemented", "Only existing disks are attached here.")
    source = path_of(body["source"], call.project)
    regional = f"projects/{call.project}/regions/{ZONES[call.path['zone']]}/disks/"
    if source is None or not source.startswith((f"{call.scope}/disks/", regional)):
        raise invalid("resource.source", body["source"], "The disk must be in the instance's zone.")
    disk = cloud.resources.get(source)
    if disk is None:
        raise not_found(source)
    if "replicaZones" in disk and link(call.scope) not in disk["replicaZones"]:
        why = "The disk has no replica in the instance's zone."
        raise invalid("resource.source", body["source"], why)
    disks.check_unused(disk, source)
    disks.check_ready(disk, source)
    machine = _running(cloud, path, row)
    kind = machine_types.SOLD[last(row["machineType"])]
    launch_rules.check_takes(kind, type_of(disk))
    taken = [one["deviceName"] for one in row["disks"]]
    index = max(one["index"] for one in row["disks"]) + 1
    name = launch_rules.device_name(body.get("deviceName"), taken, index, "resource")
    failure = cloud.faults.failure(call)
    if failure is not None:
        return start(cloud, call, path, Work(failure=failure))
    machine.indices[name] = machine.free_index()
    one = launch_rules.attached_row(body, index, name, int(disk["sizeGb"]))
    one["source"] = link(source)
    use(cloud, one, path)

    def finish() -> None:
        row["disks"].append(one)
        disk["lastAttachTimestamp"] = rfc3339(cloud.now())

    def undo() -> None:
        machine.indices.pop(name, None)
        unuse(cloud, one, path)

    begin = partial(machine.queue.submit, plug, cloud, machine, disk, name)
    late = cloud.faults.looks_more(call.method) > 0
    return start(cloud, call, path, Work(begin=begin, finish=finish, undo=undo, late=late))


def detach(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Detach a disk by its device name."""
    path = call.names("instance", "instances")
    row, name = cloud.resource(path), call.query["deviceName"]
    one = _attached(row, name)
    if one["boot"] and row["status"] != "TERMINATED":
        raise Refusal(400, "invalid", "Cannot detach the boot disk of a running instance.")
    if "source" not in one:
        raise Refusal(400, "invalid", "Cannot detach a local SSD.")
    machine = cloud.machines.get(path)

    def finish() -> None:
        row["disks"].remove(one)
        unuse(cloud, one, path)
        if machine is not None:
            machine.indices.pop(name, None)

    begin = None
    if machine is not None and not machine.going:
        begin = partial(machine.queue.submit, guests.pull, machine.guest.name, name)
    failure = cloud.faults.failure(call)
    return start(cloud, call, path, Work(begin=begin, finish=finish, failure=failure))


def set_auto_delete(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Say whether a disk goes with its instance."""
    path = call.names("instance", "instances")
    one = _attached(cloud.resource(path), call.query["deviceName"])
    wanted = call.query["autoDelete"] == "true"

    def finish() -> None:
        one["autoDelete"] = wanted

    failure = cloud.faults.failure(call)
    return start(cloud, call, path, Work(finish=finish, failure=failure))


def use(cloud: Cloud, one: dict[str, Any], instance: str) -> None:
    """The disk of an attachment is an instance's."""
    disk = cloud.resources[path_of(one["source"], cloud.project) or ""]
    disk.setdefault("users", []).append(link(instance))


def unuse(cloud: Cloud, one: dict[str, Any], instance: str) -> None:
    """It is nobody's any more."""
    disk = cloud.resources.get(path_of(one.get("source", ""), cloud.project) or "")
    if disk is not None and link(instance) in disk.get("users", ()):
        disk["users"].remove(link(instance))
        disk["lastDetachTimestamp"] = rfc3339(cloud.now())
        if not disk["users"]:
            del disk["users"]


def plug(cloud: Cloud, machine: Machine, disk: dict[str, Any], name: str) -> None:
    """Let a disk appear in its machine, limited as the catalogue says of its type, size, IOPS and
    throughput."""
    image = cloud.image(disk["id"])
    image.parent.mkdir(exist_ok=True)
    size = int(disk["sizeGb"])
    with image.open("ab") as file:
        file.truncate(size * GIB)
    sold = disk_types.SOLD[last(disk["type"])]
    spec = DiskSpec(
        type=type_of(disk),
        size_gib=size,
        iops=int(disk["provisionedIops"]) if sold.iops else None,
        throughput_mib_per_s=int(disk["provisionedThroughput"]) if sold.throughput else None,
    )
    guests.plug(machine.guest.name, name, spec, image, index=machine.indices[name])


def type_of(disk: dict[str, Any]) -> str:
    """The disk's type; one in two zones is a persistent disk of its own kind."""
    name = last(disk["type"])
    twice = "region" in disk and disk_types.SOLD[name].zonal
    return f"{name}-regional" if twice else name


def local_disks(row: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The local SSDs of an instance, numbered from 0 for each interface."""
    found = []
    for interface in LOCAL_LINKS:
        of_it = [
            one
            for one in row["disks"]
            if one["type"] == "SCRATCH" and one["interface"] == interface
        ]
        found += list(enumerate(of_it))
    return found


def plug_local(machine: Machine, one: dict[str, Any], number: int) -> None:
    """Let a local SSD appear: as fast as this machine's disk."""
    name = one["deviceName"]
    link_to = f"/dev/disk/by-id/google-{LOCAL_LINKS[one['interface']]}-{number}"
    if one["interface"] == "NVME":
        node = f"/dev/nvme0n{number + 1}"
    else:
        node = f"/dev/sd{_LETTERS[machine.indices[name] + 1]}"
    size = int(one["diskSizeGb"]) * GIB
    guests.plug_local(machine.guest.name, name, size, node, (link_to,))


def _attached(row: dict[str, Any], name: str) -> dict[str, Any]:
    for one in row["disks"]:
        if one["deviceName"] == name:
            found: dict[str, Any] = one
            return found
    raise invalid("deviceName", name, f"No attached disk found with device name '{name}'")


def _running(cloud: Cloud, path: str, row: dict[str, Any]) -> Machine:
    machine = cloud.machines.get(path)
    if row["status"] != "RUNNING" or machine is None or machine.going:
        raise Refusal(400, "resourceNotReady", f"The resource '{path}' is not ready")
    return machine
