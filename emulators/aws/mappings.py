"""Volumes that a launch asks for in its BlockDeviceMappings. moto ignores Iops and Throughput there
and knows no instance store, so it is not shown them."""

from collections.abc import Sequence
from typing import Any

from emulators.aws import volume_rules
from emulators.aws.attachments import described, index_of, plug_volume
from emulators.aws.call import Call
from emulators.aws.cloud import Cloud, Machine

ROOT_GIB = 8


def take(call: Call) -> tuple[dict[str, Any], ...]:
    """The mappings of a launch, taken out of it. Raises Refusal for volumes that are not sold."""
    wanted = tuple(call.params.pop("BlockDeviceMappings", ()))
    root = call.ec2.amis[call.params["ImageId"]].root_device_name
    for one in wanted:
        if ebs := one.get("Ebs"):
            volume_rules.check_volume(_sized(ebs, is_root=one.get("DeviceName") == root))
    return wanted


def apply(call: Call, instance: Any, wanted: Sequence[dict[str, Any]]) -> list[Any]:
    """Give the instance the volumes it was launched with; returns those beside the root volume."""
    root = instance.root_device_name
    made = []
    first = instance.block_device_mapping.pop("/dev/sda1")  # moto's own, whatever the image says
    by_name = {one["DeviceName"]: one["Ebs"] for one in wanted if one.get("Ebs")}
    default = {"VolumeSize": ROOT_GIB, "VolumeType": "gp3" if root == "/dev/sda1" else "gp2"}
    volume_tags = call.ec2.volumes[first.volume_id].get_tags()
    call.ec2.volumes.pop(first.volume_id)
    for name, ebs in {root: {**default, **by_name.pop(root, {})}, **by_name}.items():
        given = _sized(ebs, is_root=name == root)
        volume = call.ec2.create_volume(
            size=given["Size"],
            zone_name=instance.placement.zone,
            volume_type=given["VolumeType"],
            iops=given.get("Iops"),
            throughput=given.get("Throughput"),
            encrypted=ebs.get("Encrypted", False),
            kms_key_id=ebs.get("KmsKeyId"),
        )
        volume.add_tags({tag["key"]: tag["value"] for tag in volume_tags})
        described(volume)
        # EC2 API Reference, EbsBlockDevice: true for the root volume, false for others.
        keep_not = ebs.get("DeleteOnTermination", name == root)
        call.ec2.attach_volume(volume.id, instance.id, name, keep_not)
        if name != root:
            made.append(volume)
    return made


def plug(cloud: Cloud, machine: Machine, volume: Any) -> None:
    """Let a volume appear in its machine, under a free number."""
    with cloud.lock:
        index = index_of(machine, volume.attachment.device)
        machine.indices[volume.id] = index
    plug_volume(cloud, machine, volume, index)


def _sized(ebs: dict[str, Any], *, is_root: bool) -> dict[str, Any]:
    size = ebs.get("VolumeSize", ROOT_GIB if is_root else None)
    given = {"Size": size, "VolumeType": ebs.get("VolumeType", "gp2")}
    return given | {key: ebs[key] for key in ("Iops", "Throughput", "SnapshotId") if key in ebs}
