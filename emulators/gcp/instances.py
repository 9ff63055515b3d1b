"""Instances: provisioned, running when their lab host is up, and gone when it is.

States: Compute Engine, "VM instance lifecycle". An instance whose creation fails is not there any
more afterwards (googleapis/nodejs-compute issue 377).
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from emulators import guests
from emulators.gcp import (
    attachments,
    disks,
    firewalls,
    labels,
    launch_rules,
    lists,
    metadata,
    places,
    quotas,
)
from emulators.gcp.call import Call, Refusal
from emulators.gcp.cloud import Cloud, Machine, Work
from emulators.gcp.launch_rules import Launch
from emulators.gcp.operations import force, look_at, start
from emulators.gcp.regions import ZONES, last, link, path_of, rfc3339
from emulators.guests import TAG, behaving

SERVICE = "system@google.com"


def insert(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Make an instance, and the disks that come with it."""
    path = f"{call.scope}/instances/{call.body['name']}"
    launch = launch_rules.read(cloud, call, path)
    failure = cloud.faults.failure(call) or quotas.exceeded(
        cloud, ZONES[call.path["zone"]], _uses(launch)
    )
    row = _row(cloud, call, path, launch)
    cloud.resources[path] = row
    cloud.resources |= launch.made
    for one in row["disks"]:
        if "source" in one:
            attachments.use(cloud, one, path)

    def undo() -> None:
        cloud.resources.pop(path, None)
        cloud.machines.pop(path, None)
        for one in row["disks"]:
            attachments.unuse(cloud, one, path)
        for disk in launch.made:
            cloud.resources.pop(disk, None)

    if failure is not None:
        return start(cloud, call, path, Work(undo=undo, failure=failure))
    machine = _machine(cloud, path, row, launch)
    cloud.machines[path] = machine
    begin = None
    if not cloud.faults.never_up:
        begin = partial(machine.queue.submit, _boot, cloud, machine, row)
    finish = partial(_came_up, cloud, machine, row, launch)
    return start(cloud, call, path, Work(begin=begin, finish=finish, undo=undo))


def get(cloud: Cloud, call: Call) -> dict[str, Any]:
    """One instance."""
    path = call.names("instance", "instances")
    look_at(cloud, path)
    return cloud.resource(path)


def aggregated_list(cloud: Cloud, call: Call) -> dict[str, Any]:
    """All instances by zone."""
    for path in list(cloud.of_kind("instances")):
        look_at(cloud, path)
    rows = cloud.shown("instances")
    return lists.aggregated(call, "compute#instanceAggregatedList", "instances", rows)


def delete(cloud: Cloud, call: Call) -> dict[str, Any]:
    """Delete an instance, and the disks that go with it."""
    path = call.names("instance", "instances")
    row = cloud.resource(path)
    if row["deletionProtection"]:
        message = f"Resource cannot be deleted if it's protected against deletion. '{path}'"
        raise Refusal(400, "resourceInUseByAnotherResource", message)
    return end(cloud, call, path, remove=True)


def end(cloud: Cloud, call: Call, path: str, *, remove: bool) -> dict[str, Any]:
    """Begin to take the machine away; its instance says so at once."""
    row = cloud.resources[path]
    ending = ("delete", call.method.rpartition(".")[2])
    if any(one.row["operationType"] in ending for one in cloud.operations.under_way(path)):
        raise Refusal(400, "resourceNotReady", f"The resource '{path}' is not ready")
    failure = cloud.faults.failure(call)
    if failure is not None:
        return start(cloud, call, path, Work(failure=failure))
    force(cloud, path)
    row["status"] = "STOPPING"
    machine = cloud.machines.get(path)
    begin = None
    if machine is not None:
        machine.going = True
        begin = partial(machine.queue.submit, guests.destroy, machine.guest.name)
    finish = partial(_removed if remove else _stopped, cloud, path)
    return start(cloud, call, path, Work(begin=begin, finish=finish))


def end_those_due(cloud: Cloud) -> None:
    """Take machines away whose time is up, as `instanceTerminationAction` says."""
    for path, machine in list(cloud.machines.items()):
        if machine.ends_at is None or machine.going or cloud.now() < machine.ends_at:
            continue
        action = cloud.resources[path]["scheduling"]["instanceTerminationAction"]
        _end_by_itself(cloud, path, remove=action == "DELETE")


def _uses(launch: Launch) -> Any:
    more = quotas.of_machine(launch.kind.name)
    for row in launch.made.values():
        more += quotas.of_disk(last(row["type"]), int(row["sizeGb"]))
    return more


def _row(cloud: Cloud, call: Call, path: str, launch: Launch) -> dict[str, Any]:
    now = rfc3339(cloud.now())
    return {
        **launch.row,
        "kind": "compute#instance",
        "id": cloud.new_id(),
        "creationTimestamp": now,
        "status": "PROVISIONING",
        "cpuPlatform": "Unknown CPU Platform",
        "selfLink": link(path),
        "fingerprint": labels.fingerprint(call.body),
        "disks": list(launch.disks),
    }


def _machine(cloud: Cloud, path: str, row: dict[str, Any], launch: Launch) -> Machine:
    given = metadata.items(row["metadata"])
    project = places.project_row(cloud)["commonInstanceMetadata"]
    first = metadata.first_boot(given, metadata.items(project), launch.image)
    limit = row["scheduling"].get("maxRunDuration")
    ends_at = cloud.now() + int(limit["seconds"]) if limit else None
    expires_at = cloud.started_at + cloud.limit_s
    guest = guests.Guest(
        name=f"gce-{row['id']}",
        style="google",
        user=first.user,
        host_key=first.host_key,
        authorized_keys="\n".join(first.authorized_keys),
        time_scale=cloud.time_scale,
        switch=first.switch,
        # By this machine's clock, in case that nobody asks the cloud any more.
        expires_at=min(expires_at, ends_at - cloud.later_s + 1) if ends_at else expires_at,
    )
    guest = behaving(guest, {TAG: given[TAG]} if TAG in given else {})
    queue = ThreadPoolExecutor(1, thread_name_prefix=guest.name)
    machine = Machine(path, guest, queue, ends_at=ends_at)
    for one in row["disks"]:
        if one["type"] == "SCRATCH" and one["interface"] == "NVME":
            continue  # those have names of their own
        if not one["boot"]:
            machine.indices[one["deviceName"]] = machine.free_index()
    return machine


def _boot(cloud: Cloud, machine: Machine, row: dict[str, Any]) -> None:
    machine.reach = guests.boot(machine.guest)
    for number, one in attachments.local_disks(row):
        attachments.plug_local(machine, one, number)
    for one in row["disks"]:
        if one["type"] == "PERSISTENT" and not one["boot"]:
            disk = cloud.resources[path_of(one["source"], cloud.project) or ""]
            attachments.plug(cloud, machine, disk, one["deviceName"])
    threading.Thread(target=_watch, args=(cloud, machine), daemon=True).start()


def _came_up(cloud: Cloud, machine: Machine, row: dict[str, Any], launch: Launch) -> None:
    for path in launch.made:
        cloud.resources[path]["status"] = "READY"
    row["status"] = "RUNNING"
    row["cpuPlatform"] = "Intel Ice Lake" if launch.kind.series.arch == "X86_64" else "Ampere Altra"
    row["lastStartTimestamp"] = rfc3339(cloud.now())
    if machine.ends_at is not None:
        scheduling = {"terminationTimestamp": rfc3339(machine.ends_at)}
        row["resourceStatus"] = {"scheduling": scheduling}
    (nic,) = row["networkInterfaces"]
    nic["networkIP"] = f"10.128.{int(row['id']) // 250 % 16}.{int(row['id']) % 250 + 2}"
    address = machine.reach[0] if machine.reach else guests.silent_address()
    for one in nic.get("accessConfigs", ()):
        one["natIP"] = address
    firewalls.open_ways(cloud)


def _watch(cloud: Cloud, machine: Machine) -> None:
    """A guest that switches itself off is stopped, not deleted: its disks stay, and are billed."""
    guests.wait_until_off(machine.guest.name)
    with cloud.lock:
        if not machine.going and cloud.machines.get(machine.path) is machine:
            due = machine.ends_at is not None and cloud.now() >= machine.ends_at
            row = cloud.resources[machine.path]
            action = row["scheduling"].get("instanceTerminationAction")
            _end_by_itself(cloud, machine.path, remove=due and action == "DELETE")


def _end_by_itself(cloud: Cloud, path: str, *, remove: bool) -> None:
    _, project, _, zone, _, name = path.split("/")
    verb = "delete" if remove else "stop"
    where = {"project": project, "zone": zone, "instance": name}
    end(cloud, Call(f"instances.{verb}", where, {}, {}, SERVICE), path, remove=remove)


def _removed(cloud: Cloud, path: str) -> None:
    row = cloud.resources.pop(path)
    for one in row["disks"]:
        if "source" not in one:
            continue
        attachments.unuse(cloud, one, path)
        if one["autoDelete"]:
            disks.drop(cloud, path_of(one["source"], cloud.project) or "")
    _forget(cloud, path)


def _stopped(cloud: Cloud, path: str) -> None:
    row = cloud.resources[path]
    row |= {"status": "TERMINATED", "lastStopTimestamp": rfc3339(cloud.now())}
    for one in row["networkInterfaces"][0].get("accessConfigs", ()):
        one.pop("natIP", None)
    _forget(cloud, path)


def _forget(cloud: Cloud, path: str) -> None:
    machine = cloud.machines.pop(path, None)
    if machine is not None:
        machine.queue.shutdown(wait=False)
    firewalls.open_ways(cloud)
