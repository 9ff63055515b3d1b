"""Instances: from pending to running when their lab host is up, to terminated when it is gone.

EC2 User Guide, "Amazon EC2 instance state changes"; reasons as in StateReason of the API Reference.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from emulators import guests
from emulators.aws import instance_types, launch_rules, mappings
from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud, Machine
from emulators.aws.images import default_user
from emulators.aws.instance_types import LocalDisk
from emulators.aws.rights import opens_volumes
from emulators.aws.transitions import Transition
from emulators.guests import Reach, behaving
from emulators.user_data import made_host_key, read_user_data

CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}
USER = ("Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
GUEST = (
    "Client.InstanceInitiatedShutdown",
    "Client.InstanceInitiatedShutdown: Instance initiated shutdown",
)
KEY_REFUSED = ("Client.InternalError", "Client.InternalError: Client error on launch")
"""The reason where the disks' key may not be used; "Server.InternalError" was reported as code, too
(aws/karpenter-provider-aws issue 1407)."""
BROKEN = ("Server.InternalError", "Server.InternalError: Internal error on launch")


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Keep instances and lab hosts in step."""
    if call.service != "ec2":
        return proceed()
    match call.action:
        case "RunInstances":
            return _run(cloud, call, proceed)
        case "TerminateInstances" if not call.dry:
            return _end(cloud, call)
        case "StopInstances" | "StartInstances" | "RebootInstances":
            raise Refusal("UnsupportedOperation", "A lab host is only terminated.")
        case "DescribeInstances":
            cloud.transitions.look("instance")
        case "DescribeInstanceStatus":
            cloud.transitions.look("instance")
            cloud.transitions.look("checks")
    return proceed()


def end(cloud: Cloud, machine: Machine, reason: tuple[str, str], *, stop: bool = False) -> None:
    """Begin to take a machine away; its instance says so at once."""
    if machine.going:
        return
    machine.going = True
    instance = machine.instance
    for kind in ("instance", "checks"):
        cloud.transitions.drop(kind, instance.id)
    for volume in machine.indices:
        cloud.transitions.drop("attachment", volume)
    _set_state(instance, "stopping" if stop else "shutting-down", reason)

    def failed(error: BaseException) -> None:
        cloud.failed(error)
        machine.going = False  # so that it can be tried again

    finish = partial(_ended, cloud, machine, reason, stop=stop)
    begin = partial(machine.queue.submit, guests.destroy, instance.id)
    cloud.transitions.add("instance", instance.id, Transition(cloud.pace, begin, finish, failed))


def _run(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    kind = launch_rules.instance_type(call)
    wanted = mappings.take(call)
    before = {instance.id for instance in call.ec2.all_instances()}
    answer = proceed()
    for instance in call.ec2.all_instances():
        if instance.id not in before:
            volumes = mappings.apply(call, instance, wanted)
            _launch(cloud, call, instance, kind, wanted, volumes)
    return answer


def _launch(
    cloud: Cloud,
    call: Call,
    instance: Any,
    kind: Any,
    wanted: Sequence[Any],
    volumes: Sequence[Any],
) -> None:
    first = read_user_data(call.params.get("UserData", ""))
    pairs = [call.ec2.key_pairs[name].public_key] if (name := instance.key_name) else []
    iops, size = instance_types.caps(kind)
    local = instance_types.local_disks(kind, instance.id, wanted)
    guest = guests.Guest(
        name=instance.id,
        style=instance_types.style(kind),
        user=first.user or default_user(call.ec2, instance.image_id),
        host_key=first.host_key or made_host_key(),
        authorized_keys="\n".join([*first.authorized_keys, *pairs]),
        time_scale=cloud.time_scale,
        vm_iops=iops,
        vm_bytes_per_s=size,
        expires_at=cloud.started_at + cloud.limit_s,
        switch=first.switch,
    )
    guest = behaving(guest, {tag["key"]: tag["value"] for tag in instance.get_tags()})
    queue = ThreadPoolExecutor(1, thread_name_prefix=instance.id)
    machine = Machine(instance, guest, queue)
    machine.indices |= {f"local-{i}": i for i in range(instance_types.ebs_offset(kind, local))}
    cloud.machines[instance.id] = machine
    _set_state(instance, "pending", None)
    instance.emulated_checks = "initializing"
    keys = [one["Ebs"].get("KmsKeyId") for one in wanted if "Ebs" in one] or [None]
    if not all(opens_volumes(cloud, call, key) for key in keys):
        begin, finish = None, partial(end, cloud, machine, KEY_REFUSED)
    else:
        begin = partial(queue.submit, _boot, cloud, machine, local, volumes)
        finish = partial(_came_up, cloud, machine)
    failed = partial(_broke, cloud, machine)
    cloud.transitions.add("instance", instance.id, Transition(cloud.pace, begin, finish, failed))


def _boot(
    cloud: Cloud, machine: Machine, local: Sequence[LocalDisk], volumes: Sequence[Any]
) -> None:
    name = machine.instance.id
    address, port = guests.boot(machine.guest)
    for disk in local:
        guests.plug_local(name, disk.serial, disk.size_bytes, disk.node, disk.links)
    for volume in volumes:
        mappings.plug(cloud, machine, volume)
    with cloud.lock:
        told = [address]
        if private := machine.instance.private_ip:
            told.append(private)
        cloud.reachable(name, Reach(tuple(told), address, port))
    threading.Thread(target=_watch, args=(cloud, machine), daemon=True).start()


def _watch(cloud: Cloud, machine: Machine) -> None:
    """A guest that switches itself off: what becomes of it was said when it was launched."""
    guests.wait_until_off(machine.instance.id)
    with cloud.lock:
        stop = machine.instance.instance_initiated_shutdown_behavior != "terminate"
        end(cloud, machine, GUEST, stop=stop)


def _came_up(cloud: Cloud, machine: Machine) -> None:
    name = machine.instance.id
    _set_state(machine.instance, "running", None)
    if machine.instance.nics[0].public_ip_auto_assign:
        machine.instance.nics[0].public_ip = cloud.reach[name].address

    def passed() -> None:
        machine.instance.emulated_checks = "ok"

    cloud.transitions.add("checks", name, Transition(cloud.pace, None, passed, cloud.failed))


def _broke(cloud: Cloud, machine: Machine, error: BaseException) -> None:
    cloud.failed(error)
    end(cloud, machine, BROKEN)


def _ended(cloud: Cloud, machine: Machine, reason: tuple[str, str], *, stop: bool) -> None:
    instance = machine.instance
    cloud.reachable(instance.id, None)
    if stop:
        machine.going = False
        _set_state(instance, "stopped", reason)
        return
    mine = [block.volume_id for _, block in instance.get_block_device_mapping]
    instance.terminate()
    _set_state(instance, "terminated", reason)
    for volume in mine:
        if volume not in instance.ec2_backend.volumes:
            cloud.image(volume).unlink(missing_ok=True)
    machine.queue.shutdown(wait=False)
    del cloud.machines[instance.id]


def _end(cloud: Cloud, call: Call) -> Answer:
    rows = []
    for instance in call.ec2.get_multi_instances_by_id(call.params["InstanceIds"]):
        previous = {"Name": instance.state, "Code": instance.state_code}
        if (machine := cloud.machines.get(instance.id)) is not None:
            end(cloud, machine, USER)
        current = {"Name": instance.state, "Code": instance.state_code}
        rows.append({"InstanceId": instance.id, "PreviousState": previous, "CurrentState": current})
    return call.answer({"TerminatingInstances": rows})


def _set_state(instance: Any, name: str, reason: tuple[str, str] | None) -> None:
    from moto.ec2.models.instances import InstanceState, StateReason

    instance._state = InstanceState(name, CODES[name])
    code, message = reason or ("", "")
    instance.state_reason = StateReason(message, code)
