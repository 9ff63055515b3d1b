"""Handover of a machine that is on: connect to it, find its disk, read everything back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.model.ours import Which
from diskbench.providers.guest import await_prepared
from diskbench.providers.skeleton.handover import Seen, acquired, reached
from diskbench.providers.vsphere import attach, readback
from diskbench.providers.vsphere.client import moid, reference
from diskbench.providers.vsphere.facts import DATASTORE, datastore_facts, host_facts
from diskbench.providers.vsphere.inventory import machines
from diskbench.providers.vsphere.provision import alive, gone_missing
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from diskbench.model.disk import Acquired
    from diskbench.providers.vsphere.client import Ref
    from diskbench.providers.vsphere.provision import VsphereOrder


def _await_listed(order: VsphereOrder, vm: Ref) -> None:
    """Wait until a listing of the lease shows its machine, so that later listings by other
    processes do. A listing without it after that time is noted."""

    def ask() -> bool | Still:
        listed = {machine.item.id for machine in machines(order.vsphere, Which(order.lease))}
        return moid(vm) in listed or Still("not listed (yet)")

    try:
        order.until(ask, f"listing of {order.lease}", order.timing.appear_s)
    except RentalFailed as late:
        order.watch.note(late.message)


def hand_over(order: VsphereOrder, vm: Ref) -> Acquired:
    """The machine with its verified disk. Raises RentalFailed where it differs from the request."""
    reach = attach.machine_of(order, vm)
    with reached(order, reach) as guest:
        ours, guest_disks = attach.attach(order, vm, guest)
        await_prepared(guest, moid(vm), order.timing, order.watch)
    details, vsphere = order.details, order.vsphere
    alive(order, vm)
    machine = vsphere.properties(vm, readback.PATHS)
    if machine is None:
        raise gone_missing(vm)
    keys = [disk.key for disk in ours]
    devices = {device.key: device for device in machine.values.get("config.hardware.device") or ()}
    disks = [devices[key] for key in keys if key in devices]
    readback.check(details, machine, disks)
    datastore = vsphere.properties(reference(vsphere, "Datastore", details.datastore.id), DATASTORE)
    store = datastore_facts(vsphere, datastore, moid(vm)) if datastore else details.facts
    more = {
        "datastore": store,
        **host_facts(vsphere, machine.values["runtime.host"]),
        "disks": [disk.model_dump(mode="json") for disk in guest_disks],
    }
    _await_listed(order, vm)
    return acquired(
        order,
        reach,
        Seen(guest_disks),
        size_bytes=guest_disks[0].size_bytes,
        facts=readback.facts(details, machine, disks, more),
        made=(f"machine {moid(vm)}",),
    )
