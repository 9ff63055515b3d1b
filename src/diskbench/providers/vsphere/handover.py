"""From a machine that is on to what is handed over: reached, its disk found, all read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.model.disk import Acquired
from diskbench.providers.guest import Guest, await_prepared, reach
from diskbench.providers.vsphere import attach, readback
from diskbench.providers.vsphere.edge import moid, reference
from diskbench.providers.vsphere.facts import DATASTORE, datastore_facts, host_facts
from diskbench.providers.vsphere.provision import alive, gone_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.model.disk import SshAccess
    from diskbench.providers.guest_disks import GuestDisk
    from diskbench.providers.vsphere.edge import Ref
    from diskbench.providers.vsphere.guest import VirtualDisk
    from diskbench.providers.vsphere.provision import Order


def hand_over(order: Order, vm: Ref, access_at: Callable[[str], SshAccess]) -> Acquired:
    """The machine with its disk, proved. Raises RentalFailed for anything not as asked."""
    address = attach.address_of(order, vm)
    access = access_at(address)
    host = order.watch.host(access, address)
    try:
        guest = Guest(host, address)
        reach(guest, lambda: alive(order, vm), order.timing, order.watch)
        order.watch.note(f"machine {moid(vm)} answers at {address}")
        ours, found = attach.attach(order, vm, guest)
        await_prepared(guest, moid(vm), order.timing, order.watch)
    finally:
        host.close()
    return _acquired(order, vm, access, (address, ours, found))


def _acquired(
    order: Order,
    vm: Ref,
    access: SshAccess,
    seen: tuple[str, Sequence[VirtualDisk], Sequence[GuestDisk]],
) -> Acquired:
    address, ours, found = seen
    details, vsphere = order.details, order.vsphere
    alive(order, vm)
    machine = vsphere.properties(vm, readback.PATHS)
    if machine is None:
        raise gone_missing(vm)
    keys = [one.key for one in ours]
    devices = {one.key: one for one in machine.values.get("config.hardware.device") or ()}
    disks = [devices[key] for key in keys if key in devices]
    readback.check(details, machine, disks)
    datastore = vsphere.properties(reference(vsphere, "Datastore", details.datastore.id), DATASTORE)
    store = datastore_facts(vsphere, datastore, moid(vm)) if datastore else details.facts
    more = {
        "datastore": store,
        **host_facts(vsphere, machine.values["runtime.host"]),
        "disks": [disk.model_dump(mode="json") for disk in found],
    }
    return Acquired(
        address=address,
        device=found[0].path,
        devices=tuple(disk.path for disk in found),
        identities=tuple(disk.identity for disk in found),
        identity=found[0].identity,
        made=(f"machine {moid(vm)}",),
        size_bytes=found[0].size_bytes,
        facts=readback.facts(details, machine, disks, more),
        emulated=details.emulated,
        ssh=access,
    )
