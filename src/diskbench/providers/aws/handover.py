"""From what was made to what is handed over: reached, found in the guest, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.disk import Acquired
from diskbench.model.ours import Which
from diskbench.providers.aws import attach, readback
from diskbench.providers.aws.inventory import inventory, told
from diskbench.providers.aws.machine_type import find_machine
from diskbench.providers.aws.provision import describe_instance, describe_volume, ended
from diskbench.providers.guest import ROOT_DIRECTORY, Guest
from diskbench.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.model.disk import SshAccess
    from diskbench.providers.aws.inventory import Item
    from diskbench.providers.aws.provision import Made, Order
    from diskbench.providers.guest_disks import GuestDisk


def hand_over(order: Order, made: Made, access_at: Callable[[str], SshAccess]) -> Acquired:
    """The machine with its disk, proved. Raises RentalFailed for anything not as asked."""
    address = attach.address_of(order, made)
    access = access_at(address)
    host = order.watch.host(access, address)
    try:
        guest = Guest(host, address)
        attach.reach(order, made, guest)
        kind = order.details.wanted.kind
        disks: tuple[GuestDisk, ...] = ()
        if kind == "volume":
            disks = attach.attach(order, made, guest)
        elif kind == "instance-store":
            disks = attach.stores(order, guest)
        attach.await_ready(order, made, guest)
    finally:
        host.close()
    return _acquired(order, made, address, access, disks)


def _acquired(
    order: Order, made: Made, address: str, access: SshAccess, disks: tuple[GuestDisk, ...]
) -> Acquired:
    details = order.details
    instance = describe_instance(order.ec2, str(made.instance["InstanceId"]))
    if instance is None or instance["State"]["Name"] != "running":
        raise ended(instance or made.instance)
    machine = find_machine(order.ec2, details.machine.type, ())
    root = [_root_volume(order, instance)] if details.wanted.kind == "root" else []
    volumes = [_volume(order, str(item["VolumeId"])) for item in made.volumes] + root
    readback.check(details, made.place, instance, machine, volumes)
    sizes = [disk.size_bytes for disk in disks] or [int(v["Size"]) * GIB for v in volumes]
    return Acquired(
        address=address,
        device=disks[0].path if disks else None,
        directory=None if disks else ROOT_DIRECTORY,
        devices=tuple(disk.path for disk in disks),
        identities=tuple(disk.identity for disk in disks),
        identity=disks[0].identity if disks else None,
        made=_all_made(order, made, instance),
        size_bytes=sizes[0],
        facts=readback.facts(details, made.place, instance, machine, volumes, disks),
        emulated=details.emulated,
        ssh=access,
    )


def _all_made(order: Order, made: Made, instance: Item) -> tuple[str, ...]:
    """Kinds and ids of everything of the lease. A listing by tag may lag behind what was made, so
    what is known to be there is added."""
    listed = inventory(order.ec2, Which(order.claim.lease_id)).names()
    attached = [one["Ebs"]["VolumeId"] for one in instance.get("BlockDeviceMappings", [])]
    volumes = [f"volume {one}" for one in (*attached, *(v["VolumeId"] for v in made.volumes))]
    return tuple(sorted({*listed, told("instances", instance), *volumes}))


def _volume(order: Order, volume_id: str) -> Item:
    found = describe_volume(order.ec2, volume_id)
    if found is None:
        raise RentalFailed(
            f"volume {volume_id} is not listed any more", advice="somebody deleted it"
        )
    return found


def _root_volume(order: Order, instance: Item) -> Item:
    root = instance.get("RootDeviceName")
    for mapping in instance.get("BlockDeviceMappings", []):
        if mapping.get("DeviceName") == root:
            return _volume(order, str(mapping["Ebs"]["VolumeId"]))
    raise RentalFailed(f"instance {instance['InstanceId']} has no root volume at {root}")
