"""Swap the volumes of a machine that stays: those of earlier turns are deleted before new ones are
attached.

They have the same attach names, so the removal of each is verified, by EC2 and in the guest,
before the next is attached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.model.ours import Which
from diskbench.providers.aws import attach, requests
from diskbench.providers.aws.errors import error_code, is_missing
from diskbench.providers.aws.guest import Volume, is_volume
from diskbench.providers.aws.inventory import inventory, tag
from diskbench.providers.aws.provision import (
    AwsProvisioned,
    describe_volume,
    disk_name,
    ended,
    next_volumes,
)
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import reached
from diskbench.providers.waits import Still
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.providers.aws.inventory import AwsInventory, Item
    from diskbench.providers.aws.provision import AwsOrder
    from diskbench.providers.aws.resolved import AwsZone
    from diskbench.providers.guest import Guest

GOING = frozenset({"VolumeInUse", "IncorrectState"})
"""EC2's codes for a volume that is still being detached, or was detached just now."""


def swapped(order: AwsOrder) -> AwsProvisioned:
    """The lease's machine and the volumes of this turn; idempotent. Raises RentalFailed."""
    listing = inventory(order.ec2, Which(order.lease))
    machine, place = _machine(order, listing)
    made = AwsProvisioned(machine, (), place)
    earlier = _earlier(order, listing)
    if earlier:
        with reached(order, attach.machine_of(order, made)) as guest:
            for volume in earlier:
                _take_away(order, volume, str(machine["InstanceId"]))
            _await_gone(order, guest, earlier)
    return AwsProvisioned(machine, next_volumes(order, listing, place), place)


def _machine(order: AwsOrder, listing: AwsInventory) -> tuple[Item, AwsZone]:
    if not listing.live:
        if listing.ended:
            raise ended(listing.ended[-1])
        raise RentalFailed(
            f"EC2 lists no instance of lease {order.lease}",
            advice="start a new run",
        )
    machine = listing.live[0]
    place = order.details.place_of(machine)
    if place is None:
        zone = machine["Placement"]["AvailabilityZone"]
        raise RentalFailed(
            f"instance {machine['InstanceId']} is a {machine.get('InstanceType')} in {zone}, where "
            "this disk cannot be rented for it",
            advice="start a new run",
        )
    return machine, place


def _earlier(order: AwsOrder, listing: AwsInventory) -> list[Item]:
    """The measured volumes of other turns, without the machine's root."""
    disk = order.volume
    mine = {disk_name(order, index) for index in range(disk.count if disk else 0)}
    measured = requests.name_of(order.lease, "disk-")
    return [
        volume
        for volume in listing.volumes
        if (name := tag(volume, "Name") or "").startswith(measured) and name not in mine
    ]


def _take_away(order: AwsOrder, volume: Item, instance_id: str) -> None:
    """Detach a volume and delete it."""
    volume_id = str(volume["VolumeId"])

    def detached() -> bool | Still:
        current = describe_volume(order.ec2, volume_id)
        if current is None or current["State"] not in {"in-use", "creating"}:
            return True
        states = [str(attachment["State"]) for attachment in current.get("Attachments", [])]
        if "detaching" not in states:
            _call(order, "detach_volume", requests.detach_volume(volume_id, instance_id))
        return Still(next(iter(states), str(current["State"])))

    def deleted() -> bool | Still:
        gone = _call(order, "delete_volume", {"VolumeId": volume_id})
        return True if gone else Still("still in use")

    what = f"volume {volume_id}"
    order.until(detached, what, order.timing.attach_s)
    order.until(deleted, what, order.timing.delete_s)
    order.watch.note(f"volume {volume_id} is deleted")


def _call(order: AwsOrder, operation: str, request: requests.Request) -> bool:
    """Whether the call succeeded or had nothing left to do."""
    try:
        order.ec2.call(operation, request)
    except DiskbenchError as error:
        if error_code(error) in GOING:
            return False
        if not is_missing(error):
            raise
    return True


def _await_gone(order: AwsOrder, guest: Guest, earlier: list[Item]) -> None:
    """Wait until the guest shows none of them: the next volume has the same name there."""
    nvme = order.details.machine.ebs_nvme
    attached = [
        Volume(str(volume["VolumeId"]), str(attachment["Device"]), int(volume["Size"]) * GIB)
        for volume in earlier
        for attachment in volume.get("Attachments", [])
    ]

    def ask() -> bool | Still:
        shown = disks(guest.host)
        still_shown = [
            volume.id for volume in attached if any(is_volume(d, volume, nvme=nvme) for d in shown)
        ]
        return (
            Still(f"{', '.join(still_shown)} is still seen in the guest") if still_shown else True
        )

    order.ask_guest("the volumes before", ask)
