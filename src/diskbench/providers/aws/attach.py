"""Disks at a running machine: attach them, find and verify them in the guest, swap them. A swap
deletes the earlier volumes first, verified by EC2 and in the guest: the next have their names.

The guest shows disks by volume id on Nitro and by attach name on Xen: awsdocs/amazon-ec2-user-guide
nvme-ebs-volumes.md (2023-01-19: the serial of an EBS NVMe disk is its volume id without the dash,
the model says EBS or instance store) and device_naming.md (2023-03-07: /dev/sdf is /dev/xvdf).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from diskbench.model.rental import Which
from diskbench.ports import Host
from diskbench.providers.aws import leases, requests
from diskbench.providers.aws.disk_request import API, AwsZone
from diskbench.providers.aws.errors import refused
from diskbench.providers.aws.leases import Item
from diskbench.providers.aws.plugin import AwsOptions
from diskbench.providers.aws.provision import ended, next_volumes
from diskbench.providers.aws.requests import AwsOrder
from diskbench.providers.guest import GuestDisk, await_prepared, disks
from diskbench.providers.skeleton import handover
from diskbench.providers.skeleton.leases import Listed
from diskbench.providers.skeleton.provision import Provisioned
from diskbench.providers.waits import Still
from diskbench.units import GIB

NOT_YET = frozenset(API["codes"]["until listed"])
"""EC2's codes where volume, machine or attachment are not listed everywhere yet, or where an
earlier attempt is in progress."""


def machine_of(order: AwsOrder, made: Provisioned) -> handover.Machine:
    """The machine, and how to connect to it: at its public address, else its private one."""
    instance_id = str(made.machine["InstanceId"])

    def ask() -> str | Still:
        instance = _alive(order, instance_id)
        if instance is None:
            return Still("not listed")
        private = None if made.place.public else instance.get("PrivateIpAddress")
        address = instance.get("PublicIpAddress") or private
        return str(address) if address else Still("none yet")

    def alive() -> Still | None:
        is_listed = _alive(order, instance_id) is not None
        return None if is_listed else Still("EC2 does not list its machine")

    address = order.until(ask, f"address of {instance_id}", order.timing.instance_s)
    access = order.access(address, order.details.image.user)
    return handover.Machine(f"instance {instance_id}", address, access, alive)


def attach(order: AwsOrder, made: Provisioned, guest: Host) -> tuple[GuestDisk, ...]:
    """Attach the volumes and return them as the guest sees them, in order. Raises RentalFailed."""
    instance_id = str(made.machine["InstanceId"])
    attached = any(_attachment(v, instance_id) for v in made.disks)
    before = handover.disks_before_ours(order, guest, attached=attached)
    names = [requests.attach_name(index) for index in range(len(made.disks))]
    for item, name in zip(made.disks, names, strict=True):
        _attach_one(order, str(item["VolumeId"]), instance_id, name)
    request = requests.end_with_machine(instance_id, names)

    def go_along() -> bool | Still:
        # EC2 may not know of the attachments yet.
        answer = order.ec2.tried("modify_instance_attribute", request, NOT_YET)
        if isinstance(answer, Still):
            _alive(order, instance_id)
            return answer
        return True

    if names:
        order.until(go_along, f"deletion with {instance_id}", order.timing.attach_s)

    def appeared(volume: handover.AttachedDisk) -> GuestDisk | Still:
        found = find_volume(disks(guest), volume, before, nvme=order.details.machine.ebs_nvme)
        return found or Still("not seen in the guest yet")

    volumes = [_as_attached(item, name) for item, name in zip(made.disks, names, strict=True)]
    return tuple(order.ask_guest(f"volume {one.id}", partial(appeared, one)) for one in volumes)


def stores(order: AwsOrder, guest: Host) -> tuple[GuestDisk, ...]:
    """The requested local disks of the machine."""
    local = order.details.machine.local
    assert local is not None, "resolve refuses a machine without disks of its own"
    shown = order.ask_guest("its disks", lambda: disks(guest))
    return find_stores(shown, order.details.requested.count, local.size_gb)


def await_ready(order: AwsOrder, made: Provisioned, guest: Host) -> None:
    """Wait until the guest's first boot is complete and EC2's status checks have passed, so that
    neither disturbs a measurement. Raises RentalFailed with the reported reason."""
    instance_id = str(made.machine["InstanceId"])
    await_prepared(guest, instance_id, order.timing, order.watch)
    request = {"InstanceIds": [instance_id]}

    def checked() -> bool | Still:
        if _alive(order, instance_id) is None:
            return Still("not listed")
        statuses = order.ec2.listed("describe_instance_status", "InstanceStatuses", request)
        if not statuses:
            return Still("not reported yet")
        system, own = (statuses[0][kind]["Status"] for kind in ("SystemStatus", "InstanceStatus"))
        if {system, own} <= {"ok", "not-applicable"}:
            return True
        return Still(f"EC2 says system {system}, instance {own}")

    order.until(checked, f"status checks of {instance_id}", order.timing.checks_s)


def _alive(order: AwsOrder, instance_id: str) -> Item | None:
    """The instance if it is still usable. Raises with EC2's reason when it has ended."""
    instance = leases.describe_instance(order.ec2, instance_id)
    gone = leases.ENDING | {"stopping", "stopped"}
    if instance is not None and instance["State"]["Name"] in gone:
        raise ended(instance)
    return instance


def _attach_one(order: AwsOrder, volume_id: str, instance_id: str, name: str) -> None:
    def ask() -> bool | Still:
        volume = leases.describe_volume(order.ec2, volume_id)
        if volume is None:
            _alive(order, instance_id)
            return Still("not listed yet")
        attachment = _attachment(volume, instance_id)
        if attachment is None:
            # An earlier attempt, or a call whose answer was lost, may be in progress already.
            request = requests.attach_volume(volume_id, instance_id, name)
            if isinstance(order.ec2.tried("attach_volume", request, NOT_YET), Still):
                _alive(order, instance_id)
            return Still("attaching")
        if attachment["State"] == "attached":
            return True
        _alive(order, instance_id)
        return Still(str(attachment["State"]))

    order.until(ask, f"volume {volume_id}", order.timing.attach_s)
    order.watch.note(f"volume {volume_id} is attached as {name}")


def _attachment(volume: Item, instance_id: str) -> Item | None:
    """The volume's attachment to this machine. Raises RentalFailed when another machine holds the
    volume."""
    attachments: list[Item] = [a for a in volume.get("Attachments", []) if a["State"] != "detached"]
    others = [a["InstanceId"] for a in attachments if a["InstanceId"] != instance_id]
    if others:
        raise refused(
            "volume of another machine", volume=volume, others=others, instance_id=instance_id
        )
    return attachments[0] if attachments else None


GOING = frozenset(API["codes"]["until detached"])
"""EC2's codes for a volume that is still being detached, or was detached just now."""


def swapped(order: AwsOrder) -> Provisioned:
    """The lease's machine and the volumes of this turn; idempotent. Raises RentalFailed."""
    listing = leases.inventory(order.ec2, Which(order.lease))
    machine, place = _machine(order, listing)
    count = order.volume.count if order.volume else 0
    earlier = [
        one
        for one in listing.of("volume")
        if order.is_earlier(leases.tags(one).get("Name", ""), count)
    ]
    if earlier:
        with handover.reached(order, machine_of(order, Provisioned(machine, (), place))) as guest:
            for volume in earlier:
                _take_away(order, volume, str(machine["InstanceId"]))
            nvme = order.details.machine.ebs_nvme
            attached = [
                _as_attached(one, str(attachment["Device"]))
                for one in earlier
                for attachment in one.get("Attachments", [])
            ]
            handover.await_gone(
                order, guest, "the volumes before",
                lambda shown: [
                    volume.id for volume in attached
                    if any(is_volume(disk, volume, nvme=nvme) for disk in shown)
                ],
            )  # fmt: skip
    return Provisioned(machine, next_volumes(order, listing, place), place)


def snapshot(order: AwsOrder, fill: Callable[[], None]) -> str:
    """The lease's snapshot of its first volume, made or found, complete; with Fast Snapshot Restore
    where it was asked for. Raises RentalFailed."""
    listing = leases.inventory(order.ec2, Which(order.lease), copies=True)
    found = next(iter(listing.of("snapshot")), None)
    if found is None:
        fill()
        listing = leases.inventory(order.ec2, Which(order.lease))
        volumes = {leases.tags(item).get("Name"): item for item in listing.of("volume")}
        first = str(volumes[order.disk_name(0)]["VolumeId"])
        request = requests.create_snapshot(order.claim, first, order.lab)
        leases.note_create(order.lease)
        found = order.ec2.call("create_snapshot", request)
    name = str(found["SnapshotId"])
    order.until(lambda: _complete(order, name), f"snapshot {name}", order.timing.snapshot_s)
    if AwsOptions.of(order.spec).fast_snapshot_restore:
        _, place = _machine(order, leases.inventory(order.ec2, Which(order.lease)))
        if not leases.restored_in(order.ec2, name):
            request = requests.restore_fast(name, place.zone)
            order.ec2.call("enable_fast_snapshot_restores", request)

        def restores() -> bool | Still:
            state = (leases.restored_in(order.ec2, name) or {}).get(place.zone, "not listed yet")
            return True if state == "enabled" else Still(state)

        order.until(restores, f"Fast Snapshot Restore of {name}", order.timing.snapshot_s)
    return name


def _complete(order: AwsOrder, name: str) -> bool | Still:
    listed = order.ec2.found("describe_snapshots", "Snapshots", {"SnapshotIds": [name]})
    if not listed:
        return Still("not listed yet")
    state = str(listed[0]["State"])
    if state == "error":
        why = listed[0].get("StateMessage") or "AWS gives no reason"
        raise refused("snapshot failed", name=name, why=why)
    progress = str(listed[0].get("Progress") or "")
    return True if state == "completed" else Still(f"{state} {progress}".strip())


def _machine(order: AwsOrder, listing: Listed) -> tuple[Item, AwsZone]:
    live = leases.live_in(listing)
    if not live:
        if over := leases.ended_in(listing):
            raise ended(over[-1])
        raise refused("machine not listed", order=order)
    machine = live[0]
    place = order.details.place_of(machine)
    if place is None:
        type_ = machine.get("InstanceType")
        raise refused("machine in a zone without the disk", machine=machine, type=type_)
    return machine, place


def _take_away(order: AwsOrder, volume: Item, instance_id: str) -> None:
    volume_id = str(volume["VolumeId"])

    def detached() -> bool | Still:
        current = leases.describe_volume(order.ec2, volume_id)
        if current is None or current["State"] not in {"in-use", "creating"}:
            return True
        states = [str(attachment["State"]) for attachment in current.get("Attachments", [])]
        if "detaching" not in states:
            request = requests.detach_volume(volume_id, instance_id)
            order.ec2.tried("detach_volume", request, GOING, gone=True)
        return Still(next(iter(states), str(current["State"])))

    def deleted() -> bool | Still:
        answer = order.ec2.tried("delete_volume", {"VolumeId": volume_id}, GOING, gone=True)
        return Still("still in use") if isinstance(answer, Still) else True

    what = f"volume {volume_id}"
    order.until(detached, what, order.timing.attach_s)
    order.until(deleted, what, order.timing.delete_s)
    order.watch.note(f"volume {volume_id} is deleted")


STORE_MODEL = "Amazon EC2 NVMe Instance Storage"
_EBS_LINK = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
_STORE_LINK = "/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_"
_GB = 10**9
_TOLERANCE = 0.05
"""The tolerance of an instance store's size, which EC2 rounds to GB; our choice."""


def _as_attached(volume: Item, name: str) -> handover.AttachedDisk:
    return handover.AttachedDisk(str(volume["VolumeId"]), name, int(volume["Size"]) * GIB)


def find_volume(
    guest_disks: Iterable[GuestDisk],
    volume: handover.AttachedDisk,
    before: Sequence[GuestDisk] | None,
    *,
    nvme: bool,
) -> GuestDisk | None:
    """The guest's disk of a volume, verified by name, novelty and exact size in bytes: pure.

    None while it has not appeared yet. Raises RentalFailed when another disk appeared instead.
    """
    matches = [disk for disk in guest_disks if is_volume(disk, volume, nvme=nvme)]
    if len(matches) == 1 and not nvme and before is None:
        raise refused("disk not seen to appear", matches=matches)
    return handover.verified(matches, volume.id, volume.size_bytes, handover.keys_of(before))


def find_stores(
    guest_disks: Iterable[GuestDisk], count: int, size_gb: int
) -> tuple[GuestDisk, ...]:
    """The first `count` local disks of the machine, ordered by node: pure. Raises RentalFailed."""
    stores = sorted(
        (d for d in guest_disks if d.model == STORE_MODEL or d.path.startswith(_STORE_LINK)),
        key=lambda disk: (len(disk.node), disk.node),
    )
    if len(stores) < count:
        raise refused("fewer instance store disks", seen=len(stores), count=count)
    for disk in stores[:count]:
        if abs(disk.size_bytes / _GB - size_gb) > _TOLERANCE * size_gb:
            raise refused("local disk of another size", disk=disk, size_gb=size_gb)
    return tuple(stores[:count])


def is_volume(disk: GuestDisk, volume: handover.AttachedDisk, *, nvme: bool) -> bool:
    """Whether a disk of the guest has the volume's name: pure."""
    serial = volume.id.replace("-", "")
    if nvme:
        linked = [re.split("[_-]", link.removeprefix(_EBS_LINK))[0] for link in disk.links]
        return serial in {disk.serial, *linked}
    return disk.node == volume.place.replace("/dev/sd", "/dev/xvd")
