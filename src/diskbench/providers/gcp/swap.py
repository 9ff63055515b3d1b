"""Swap the disks of a machine that stays: those of earlier turns are deleted before new ones are
attached.

Each turn's disks have their own device names, so none can be confused with an earlier one.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.model.ours import Which
from diskbench.providers.gcp import requests
from diskbench.providers.gcp.errors import is_busy, is_missing
from diskbench.providers.gcp.inventory import describe, inventory, place, zone_of
from diskbench.providers.gcp.operations import change, last
from diskbench.providers.gcp.provision import GcpProvisioned, ended, in_zone
from diskbench.providers.gcp.teardown import give_back, lag_of
from diskbench.providers.skeleton.leases import listed_in_time
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from diskbench.providers.gcp.client import Item
    from diskbench.providers.gcp.inventory import GcpInventory
    from diskbench.providers.gcp.provision import GcpOrder


def swapped(order: GcpOrder) -> GcpProvisioned:
    """The lease's machine and the disks of this turn; idempotent. Raises RentalFailed."""
    listing = inventory(order.compute, Which(order.lease))
    zone = _zone(order, listing)
    earlier = tuple(item for item in listing.disks if _is_earlier(order, str(item["name"])))
    for disk in earlier:
        _detach(order, zone, str(disk["name"]))
    failures: dict[str, str] = {}
    give_back(order.compute, order.lease, "disks", earlier, failures)
    if failures:
        reasons = "; ".join(f"{what}: {why}" for what, why in failures.items())
        raise RentalFailed(f"not deleted: {reasons}", advice="it goes with its machine")
    deleted = [f"disk {place(disk)}" for disk in earlier]
    listed_in_time(
        lambda _: inventory(order.compute, Which(order.lease)), deleted, lag_of(order.compute)
    )
    return in_zone(order, zone)


def _zone(order: GcpOrder, listing: GcpInventory) -> str:
    """The machine's zone. Raises RentalFailed when no machine runs, or its zone does not offer
    the disk."""
    if not listing.live:
        if listing.instances:
            raise ended(listing.instances[0])
        raise RentalFailed(
            f"instance {order.machine_name} is not listed any more",
            advice="another program deleted it: start a new run",
        )
    zone = zone_of(listing.live[0])
    if zone not in order.details.zones:
        raise RentalFailed(
            f"{order.machine_name} is in {zone}, where such a disk cannot be rented",
            advice="start a new run",
        )
    return zone


def _is_earlier(order: GcpOrder, name: str) -> bool:
    """Whether a disk was measured in another turn; false for the machine's root."""
    count = order.disk.count if order.disk else 0
    mine = {order.disk_name(index) for index in range(count)}
    return name.startswith(requests.name_of(order.lease, "disk-")) and name not in mine


def _detach(order: GcpOrder, zone: str, name: str) -> None:
    """Detach a disk from the machine; succeeds if it is not attached."""
    what = f"disk {name}"

    def ask() -> bool | Still:
        instance = describe(order.compute, "instances", zone, order.machine_name) or {}
        device = _device(instance, name)
        if device is None:
            return True
        lease_id, attempt = order.lease, uuid.uuid4().hex
        request = requests.detach_disk(lease_id, zone, device, attempt)
        try:
            change(order.compute, "instances", "detachDisk", request, what, order.timing.attach_s)
        except DiskbenchError as error:
            if not (is_busy(error) or is_missing(error)):
                raise
            return Still(error.message)
        return Still("detaching")

    order.until(ask, what, order.timing.attach_s)
    order.watch.note(f"{what} is detached")


def _device(instance: Item, name: str) -> str | None:
    """The disk's device name; None where it is not attached."""
    return next(
        (
            str(attached["deviceName"])
            for attached in instance.get("disks", [])
            if last(str(attached.get("source", ""))) == name
        ),
        None,
    )
