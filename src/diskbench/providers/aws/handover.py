"""Handover of a rented machine: connect to it, find its disk in the guest, read everything back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.rental import Which
from diskbench.providers.aws import attach, readback
from diskbench.providers.aws.inventory import inventory, kind_and_id
from diskbench.providers.aws.machine_type import find_machine
from diskbench.providers.aws.provision import describe_instance, describe_volume, ended
from diskbench.providers.aws.requests import name_of
from diskbench.providers.guest import ROOT_DIRECTORY
from diskbench.providers.skeleton.handover import Seen, acquired, reached
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.model.rental import Acquired
    from diskbench.providers.aws.inventory import Item
    from diskbench.providers.aws.provision import AwsOrder, AwsProvisioned


def hand_over(order: AwsOrder, made: AwsProvisioned) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    reach = attach.machine_of(order, made)
    with reached(order, reach) as guest:
        kind = order.details.requested.kind
        seen = Seen(directory=ROOT_DIRECTORY)
        if kind == "volume":
            seen = Seen(attach.attach(order, made, guest))
        elif kind == "instance-store":
            seen = Seen(attach.stores(order, guest))
        attach.await_ready(order, made, guest)
    details = order.details
    instance = describe_instance(order.ec2, str(made.instance["InstanceId"]))
    if instance is None or instance["State"]["Name"] != "running":
        raise ended(instance or made.instance)
    machine = find_machine(order.ec2, details.machine.type, ())
    root = [_root_volume(order, instance)] if kind == "root" else []
    volumes = [_volume(order, str(item["VolumeId"])) for item in made.volumes] + root
    readback.check(details, made.place, instance, machine, volumes)
    sizes = [disk.size_bytes for disk in seen.disks] or [int(v["Size"]) * GIB for v in volumes]
    return acquired(
        order,
        reach,
        seen,
        size_bytes=sizes[0],
        facts=readback.facts(details, made.place, instance, machine, volumes, seen.disks),
        made=_all_made(order, made, instance),
    )


def _all_made(order: AwsOrder, made: AwsProvisioned, instance: Item) -> tuple[str, ...]:
    """Kinds and ids of all resources of the lease. A listing by tag may lag behind, so the
    resources known to exist are added."""
    listed = inventory(order.ec2, Which(order.lease)).names()
    attached = [mapping["Ebs"]["VolumeId"] for mapping in instance.get("BlockDeviceMappings", [])]
    volumes = [
        f"volume {volume_id}" for volume_id in (*attached, *(v["VolumeId"] for v in made.volumes))
    ]
    known = [kind_and_id("instances", instance), *volumes]
    known.append(kind_and_id("keys", {"KeyName": name_of(order.lease, "key")}))
    if made.group is not None:
        known.append(kind_and_id("groups", {"GroupId": made.group}))
    return tuple(sorted({*listed, *known}))


def _volume(order: AwsOrder, volume_id: str) -> Item:
    volume = describe_volume(order.ec2, volume_id)
    if volume is None:
        raise RentalFailed(
            f"volume {volume_id} is not listed any more", advice="another program deleted it"
        )
    return volume


def _root_volume(order: AwsOrder, instance: Item) -> Item:
    root = instance.get("RootDeviceName")
    for mapping in instance.get("BlockDeviceMappings", []):
        if mapping.get("DeviceName") == root:
            return _volume(order, str(mapping["Ebs"]["VolumeId"]))
    raise RentalFailed(f"instance {instance['InstanceId']} has no root volume at {root}")
