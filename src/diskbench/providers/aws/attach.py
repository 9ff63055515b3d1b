"""Attach the disks to a running machine: connect, attach, find them in the guest, verify them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.providers.aws import requests
from diskbench.providers.aws.errors import error_code
from diskbench.providers.aws.guest import Volume, find_stores, find_volume
from diskbench.providers.aws.inventory import ENDING
from diskbench.providers.aws.provision import describe_instance, describe_volume, ended
from diskbench.providers.guest import await_prepared, disks
from diskbench.providers.skeleton.handover import (
    Machine,
    disks_before_ours,
    disks_now,
)
from diskbench.providers.waits import Still
from diskbench.units import GIB

if TYPE_CHECKING:
    from diskbench.providers.aws.inventory import Item
    from diskbench.providers.aws.provision import AwsOrder, AwsProvisioned
    from diskbench.providers.guest import Guest, GuestDisk


NOT_YET = frozenset(
    {
        "VolumeInUse", "InvalidVolume.NotFound", "InvalidInstanceID.NotFound",
        "InvalidInstanceAttributeValue",
    }
)  # fmt: skip
"""EC2's codes where volume, machine or attachment are not listed everywhere yet, or where an
earlier attempt is in progress."""


def address_of(order: AwsOrder, made: AwsProvisioned) -> str:
    """The address to connect to: the machine's public address, else its private one."""
    instance_id = str(made.instance["InstanceId"])
    return order.until(
        lambda: _address(order, instance_id, public=bool(made.place.public)),
        f"address of {instance_id}",
        order.timing.instance_s,
    )


def _address(order: AwsOrder, instance_id: str, *, public: bool) -> str | Still:
    instance = _alive(order, instance_id)
    if instance is None:
        return Still("not listed")
    address = instance.get("PublicIpAddress") or (
        None if public else instance.get("PrivateIpAddress")
    )
    return str(address) if address else Still("none yet")


def machine_of(order: AwsOrder, made: AwsProvisioned) -> Machine:
    """The machine, and how to connect to it."""
    instance_id = str(made.instance["InstanceId"])
    address = address_of(order, made)

    def alive() -> Still | None:
        is_listed = _alive(order, instance_id) is not None
        return None if is_listed else Still("EC2 does not list its machine")

    access = order.access(address, order.details.image.user)
    return Machine(f"instance {instance_id}", address, access, alive)


def attach(order: AwsOrder, made: AwsProvisioned, guest: Guest) -> tuple[GuestDisk, ...]:
    """Attach the volumes and return them as the guest sees them, in order. Raises RentalFailed."""
    instance_id = str(made.instance["InstanceId"])
    attached = any(_attachment(v, instance_id) for v in made.volumes)
    before = disks_before_ours(order, guest, attached=attached)
    names = [requests.attach_name(index) for index in range(len(made.volumes))]
    for item, name in zip(made.volumes, names, strict=True):
        _attach_one(order, str(item["VolumeId"]), instance_id, name)
    if names:
        request = requests.end_with_machine(instance_id, names)
        what = f"deletion with {instance_id}"
        order.until(lambda: _goes_along(order, request), what, order.timing.attach_s)
    return tuple(
        _appeared(order, guest, item, name, before)
        for item, name in zip(made.volumes, names, strict=True)
    )


def stores(order: AwsOrder, guest: Guest) -> tuple[GuestDisk, ...]:
    """The requested local disks of the machine."""
    local = order.details.machine.local
    assert local is not None, "resolve refuses a machine without disks of its own"
    guest_disks = disks_now(order, guest)
    return find_stores(guest_disks, order.details.requested.count, local.size_gb)


def await_ready(order: AwsOrder, made: AwsProvisioned, guest: Guest) -> None:
    """Wait until the guest's first boot is complete and EC2's status checks have passed, so that
    neither disturbs a measurement. Raises RentalFailed with the reported reason."""
    instance_id = str(made.instance["InstanceId"])
    await_prepared(guest, instance_id, order.timing, order.watch)
    order.until(
        lambda: _checked(order, instance_id),
        f"status checks of {instance_id}",
        order.timing.checks_s,
    )


def _checked(order: AwsOrder, instance_id: str) -> bool | Still:
    if _alive(order, instance_id) is None:
        return Still("not listed")
    statuses = order.ec2.listed(
        "describe_instance_status", "InstanceStatuses", {"InstanceIds": [instance_id]}
    )
    if not statuses:
        return Still("not reported yet")
    states = {kind: statuses[0][kind]["Status"] for kind in ("SystemStatus", "InstanceStatus")}
    if set(states.values()) <= {"ok", "not-applicable"}:
        return True
    return Still(f"EC2 says system {states['SystemStatus']}, instance {states['InstanceStatus']}")


def _alive(order: AwsOrder, instance_id: str) -> Item | None:
    """The instance if it is still usable. Raises with EC2's reason when it has ended."""
    instance = describe_instance(order.ec2, instance_id)
    if instance is not None and instance["State"]["Name"] in {*ENDING, "stopping", "stopped"}:
        raise ended(instance)
    return instance


def _attach_one(order: AwsOrder, volume_id: str, instance_id: str, name: str) -> None:
    def ask() -> bool | Still:
        volume = describe_volume(order.ec2, volume_id)
        if volume is None:
            _alive(order, instance_id)
            return Still("not listed yet")
        attachment = _attachment(volume, instance_id)
        if attachment is None:
            return _start_attaching(order, volume_id, instance_id, name)
        if attachment["State"] == "attached":
            return True
        _alive(order, instance_id)
        return Still(str(attachment["State"]))

    order.until(ask, f"volume {volume_id}", order.timing.attach_s)
    order.watch.note(f"volume {volume_id} is attached as {name}")


def _start_attaching(order: AwsOrder, volume_id: str, instance_id: str, name: str) -> Still:
    try:
        order.ec2.call("attach_volume", requests.attach_volume(volume_id, instance_id, name))
    except DiskbenchError as error:
        _alive(order, instance_id)
        # An earlier attempt, or a call whose answer was lost, may be in progress already.
        if error_code(error) not in NOT_YET:
            raise
    return Still("attaching")


def _goes_along(order: AwsOrder, request: requests.Request) -> bool | Still:
    """Have EC2 delete the volumes with their machine; Still while it does not know of their
    attachment yet."""
    try:
        order.ec2.call("modify_instance_attribute", request)
    except DiskbenchError as error:
        if error_code(error) not in NOT_YET:
            raise
        _alive(order, str(request["InstanceId"]))
        return Still(error.message)
    return True


def _attachment(volume: Item, instance_id: str) -> Item | None:
    """The volume's attachment to this machine. Raises RentalFailed when another machine holds the
    volume."""
    attachments: list[Item] = [a for a in volume.get("Attachments", []) if a["State"] != "detached"]
    others = [a["InstanceId"] for a in attachments if a["InstanceId"] != instance_id]
    if others:
        raise RentalFailed(
            f"volume {volume['VolumeId']} is attached to {others[0]}, not to {instance_id}",
            advice="give the lease back and start a new run",
        )
    return attachments[0] if attachments else None


def _appeared(
    order: AwsOrder, guest: Guest, item: Item, name: str, before: tuple[GuestDisk, ...] | None
) -> GuestDisk:
    volume = Volume(str(item["VolumeId"]), name, int(item["Size"]) * GIB)
    nvme = order.details.machine.ebs_nvme

    def ask() -> GuestDisk | Still:
        guest_disk = find_volume(disks(guest.host), volume, before, nvme=nvme)
        return guest_disk or Still("not seen in the guest yet")

    return order.ask_guest(f"volume {volume.id}", ask)
