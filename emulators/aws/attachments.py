"""Volumes: created, attached, detached and deleted as EBS does, with a disk in the lab to each.

Codes: EC2 API Reference, "Error codes for the Amazon EC2 API"; names of devices: EC2 User Guide,
device_naming.md (2023-03-07).
"""

import re
import subprocess
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from diskbench.model.rental import DiskSpec
from diskbench.units import GIB, MIB
from emulators import guests
from emulators.aws import volume_rules
from emulators.aws.call import Answer, Call, Proceed, Refusal
from emulators.aws.cloud import Cloud, Machine
from emulators.aws.rights import OWNER_KEY, opens_volumes
from emulators.aws.transitions import Transition

_DEVICE = re.compile(r"/dev/(?:sd|xvd)([b-z]|[b-c][a-z])")
GP3_MIB_PER_S = 125


def hook(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Keep volumes and the lab's disks in step."""
    if call.service != "ec2":
        return proceed()
    match call.action:
        case "CreateVolume":
            return _create(cloud, call, proceed)
        case "CreateSnapshot":
            return _snapshot(cloud, call, proceed)
        case "DescribeFastSnapshotRestores" if not call.dry:
            return _fast_restores(cloud, call)
        case "EnableFastSnapshotRestores" | "DisableFastSnapshotRestores" if not call.dry:
            return _restore(cloud, call, "enabling" if call.action[0] == "E" else "disabled")
        case "DescribeSnapshots":
            cloud.transitions.look("snapshot")
        case "AttachVolume":
            return _attach(cloud, call, proceed)
        case "DetachVolume" if not call.dry:
            return _detach(cloud, call)
        case "DeleteVolume":
            return _delete(cloud, call, proceed)
        case "DescribeVolumes" | "DescribeInstances":
            cloud.transitions.look("volume")
            cloud.transitions.look("attachment")
    return proceed()


def described(volume: Any) -> None:
    """Set what AWS tells of a volume and moto does not."""
    volume.iops = volume_rules.described_iops(volume.volume_type, volume.size, volume.iops)
    if volume.volume_type == "gp3":
        volume.throughput = volume.throughput or GP3_MIB_PER_S


def index_of(machine: Machine, device: str) -> int:
    """The number of a disk in its guest: by its name's letter on Xen, the next one on Nitro."""
    if machine.guest.style == "aws-xen":
        return ord(device[-1]) - ord("f")
    return machine.free_index()


def plug_volume(cloud: Cloud, machine: Machine, volume: Any, index: int) -> None:
    """Let a volume appear in its machine, limited as the catalogue says."""
    image = cloud.image(volume.id)
    image.parent.mkdir(exist_ok=True)
    with image.open("ab") as file:
        file.truncate(volume.size * GIB)
    sold = volume_rules.SOLD[volume.volume_type]
    disk = DiskSpec(
        type=volume.volume_type,
        size_gib=volume.size,
        iops=volume.iops if sold.iops else None,
        throughput_mib_per_s=volume.throughput if sold.throughput else None,
    )
    loads = getattr(volume, "loads_per_s", 0.0)
    guests.plug(machine.instance.id, volume.id, disk, image, index=index, load_per_s=loads)


def _create(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    zone = call.params.get("AvailabilityZone")
    if call.ec2.get_zone_by_name(zone) is None:
        raise Refusal("InvalidZone.NotFound", f"The zone '{zone}' does not exist.")
    volume_rules.check_volume(call.params)
    source = call.params.get("SnapshotId")
    least = call.ec2.get_snapshot(source).volume.size if source else 0
    if call.params.get("Size", least) < least:
        raise Refusal(
            "InvalidParameterValue",
            f"Volume of {call.params['Size']}GiB is smaller than snapshot '{source}', expect size "
            f">= {least}GiB",
        )
    before = set(call.ec2.volumes)
    proceed()
    (name,) = set(call.ec2.volumes) - before
    volume = call.ec2.volumes[name]
    described(volume)
    volume.loads_per_s = _loads_per_s(cloud, call)
    if source and cloud.image(source).exists():
        _copy(cloud.image(source), cloud.image(name))
    volume.emulated_status = "creating"

    state = None if opens_volumes(cloud, call, call.params.get("KmsKeyId")) else "error"

    def made() -> None:
        volume.emulated_status = state

    cloud.transitions.add("volume", name, Transition(cloud.pace, None, made, cloud.failed))
    return call.answer(volume)


def _loads_per_s(cloud: Cloud, call: Call) -> float:
    """Bytes a second at which the volume is loaded from its snapshot; 0 where all is there."""
    source, zone = call.params.get("SnapshotId"), call.params["AvailabilityZone"]
    states = {**cloud.fast_restores, **cloud.restores.get(source, {})}
    if not source or states.get(zone) == "enabled":
        return 0.0
    rate = call.params.get("VolumeInitializationRate")
    return float(rate * MIB) if rate else float(guests.LAZY_PER_S)


def _snapshot(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    """Keep the volume's content as it is now; it is complete some looks later."""
    before = set(call.ec2.snapshots)
    answer = proceed()
    image = cloud.image(call.params["VolumeId"])
    for name in set(call.ec2.snapshots) - before:
        if image.exists():
            _copy(image, cloud.image(name))
        snapshot = call.ec2.snapshots[name]
        if call.access_key == OWNER_KEY:
            continue
        snapshot.status = "pending"
        done = partial(setattr, snapshot, "status", "completed")
        cloud.transitions.add("snapshot", name, Transition(cloud.pace, None, done, cloud.failed))
    return answer


def _copy(source: Path, copy: Path) -> None:
    subprocess.run(["cp", "--sparse=always", source, copy], check=True)


def _fast_restores(cloud: Cloud, call: Call) -> Answer:
    names = [
        name
        for one in call.params.get("Filters", [])
        if one["Name"] == "snapshot-id"
        for name in one["Values"]
    ]
    cloud.transitions.look("restore")
    return call.answer({
        "FastSnapshotRestores": [
            {"SnapshotId": name, "AvailabilityZone": zone, "State": state}
            for name in names
            for zone, state in {**cloud.fast_restores, **cloud.restores.get(name, {})}.items()
        ]
    })  # fmt: skip


def _restore(cloud: Cloud, call: Call, state: str) -> Answer:
    """Switch Fast Snapshot Restore on, which takes some looks, or off."""
    pairs = [
        (name, zone)
        for name in call.params["SourceSnapshotIds"]
        for zone in call.params["AvailabilityZones"]
    ]
    for name, zone in pairs:
        call.ec2.get_snapshot(name)
        states = cloud.restores.setdefault(name, {})
        states[zone] = state
        if state == "enabling":
            done = partial(states.__setitem__, zone, "enabled")
            looks = Transition(cloud.pace, None, done, cloud.failed)
            cloud.transitions.add("restore", f"{name} {zone}", looks)
    made = [{"SnapshotId": n, "AvailabilityZone": z, "State": state} for n, z in pairs]
    return call.answer({"Successful": made, "Unsuccessful": []})


def _attach(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    volume = call.ec2.get_volume(call.params["VolumeId"])
    instance = call.ec2.get_instance(call.params["InstanceId"])
    device = call.params["Device"]
    _check_attach(volume, instance, device)
    machine = cloud.machines.get(instance.id)
    if machine is None or machine.going or instance.state != "running":
        raise Refusal("IncorrectState", f"Instance '{instance.id}' is not 'running'.")
    if machine.guest.style == "aws-xen" and not "f" <= device[-1] <= "p":
        raise _bad_device(device, "a lab host has names for /dev/sd[f-p] only")
    answer = proceed()
    if answer[0] >= 300:
        return answer
    machine.indices[volume.id] = index_of(machine, device)
    _set_attachment(volume, "attaching")
    begin = partial(
        machine.queue.submit, plug_volume, cloud, machine, volume, machine.indices[volume.id]
    )
    finish = partial(_set_attachment, volume, "attached")
    cloud.transitions.add(
        "attachment", volume.id, Transition(cloud.pace, begin, finish, cloud.failed)
    )
    return answer


def _check_attach(volume: Any, instance: Any, device: str) -> None:
    if volume.attachment is not None:
        raise Refusal("VolumeInUse", f"{volume.id} is already attached to an instance")
    if volume.status != "available":
        raise Refusal("IncorrectState", f"{volume.id} is not 'available'.")
    if volume.availability_zone != instance.placement.zone:
        raise Refusal(
            "InvalidVolume.ZoneMismatch",
            f"The volume '{volume.id}' is not in the same availability zone as instance "
            f"'{instance.id}'",
        )
    if not _DEVICE.fullmatch(device):
        raise _bad_device(device, "not a valid EBS device name.")
    if device in instance.block_device_mapping:
        raise _bad_device(device, f"Attachment point {device} is already in use")


def _bad_device(device: str, why: str) -> Refusal:
    return Refusal("InvalidParameterValue", f"Invalid value '{device}' for unixDevice. {why}")


def _detach(cloud: Cloud, call: Call) -> Answer:
    volume = call.ec2.get_volume(call.params["VolumeId"])
    attachment = volume.attachment
    if attachment is None:
        raise Refusal("IncorrectState", f"Volume '{volume.id}' is in the 'available' state.")
    instance = call.ec2.get_instance(call.params.get("InstanceId") or attachment.instance.id)
    if attachment.instance is not instance:
        raise Refusal(
            "InvalidAttachment.NotFound",
            f"The volume '{volume.id}' is not attached to instance '{instance.id}'",
        )
    machine = cloud.machines.get(instance.id)
    if machine is not None and volume.id in machine.indices and not machine.going:
        if attachment.status != "detaching":
            _set_attachment(volume, "detaching")
            _begin_detach(cloud, machine, volume)
    elif machine is None or not machine.going:
        raise Refusal("OperationNotPermitted", "Unable to detach root volume")
    return call.answer(
        {
            "VolumeId": volume.id,
            "InstanceId": instance.id,
            "Device": attachment.device,
            "State": "detaching",
            "AttachTime": attachment.attach_time,
        }
    )


def _begin_detach(cloud: Cloud, machine: Machine, volume: Any) -> None:
    def pull() -> Future[Any]:
        return machine.queue.submit(guests.pull, machine.instance.id, volume.id)

    def gone() -> None:
        machine.indices.pop(volume.id, None)
        backend = machine.instance.ec2_backend
        backend.detach_volume(volume.id, machine.instance.id, volume.attachment.device)

    def held(_: BaseException) -> None:
        # Something in the guest has it open: EBS goes on trying, and calls it busy.
        _set_attachment(volume, "busy")
        _begin_detach(cloud, machine, volume)

    cloud.transitions.add("attachment", volume.id, Transition(cloud.pace, pull, gone, held))


def _delete(cloud: Cloud, call: Call, proceed: Proceed) -> Answer:
    volume = call.ec2.get_volume(call.params["VolumeId"])
    if volume.status == "creating":
        # A volume that never comes up can be deleted only so (EBS User Guide, "deleting").
        cloud.transitions.drop("volume", volume.id)
        volume.emulated_status = None
    answer = proceed()
    if answer[0] < 300:
        cloud.image(volume.id).unlink(missing_ok=True)
    return answer


def _set_attachment(volume: Any, status: str) -> None:
    attachment = volume.attachment
    attachment.status = status
    attachment.instance.block_device_mapping[attachment.device].status = status
