"""Swap the disks of a machine that stays: the removal of the previous turn's disks is verified
in the guest before new ones are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import RentalFailed
from diskbench.providers.guest import disks
from diskbench.providers.skeleton.handover import disks_before_ours, reached
from diskbench.providers.vsphere import attach, requests
from diskbench.providers.vsphere.client import moid
from diskbench.providers.vsphere.guest import still_shown
from diskbench.providers.vsphere.provision import alive, existing, gone_missing
from diskbench.providers.vsphere.readback import option
from diskbench.providers.waits import Still

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.providers.guest import Guest
    from diskbench.providers.vsphere.client import Ref
    from diskbench.providers.vsphere.guest import VirtualDisk
    from diskbench.providers.vsphere.provision import VsphereOrder


def swapped(order: VsphereOrder) -> Ref:
    """The lease's machine without disks of earlier turns; idempotent. Raises RentalFailed."""
    vm = existing(order)
    if vm is None:
        raise RentalFailed(
            f"vSphere lists no machine of lease {order.lease}",
            advice="another program removed it: start a new run",
        )
    alive(order, vm)
    machine = order.vsphere.properties(vm, ("config.extraConfig",))
    if machine is None:
        raise gone_missing(vm)
    earlier = attach.virtual_disks(order, vm)
    if not earlier or option(machine, requests.TURN_OPTION) == str(order.claim.turn):
        return vm
    with reached(order, attach.machine_of(order, vm)) as guest:
        _remove(order, vm)
        _await_gone(order, guest, earlier)
    return vm


def _remove(order: VsphereOrder, vm: Ref) -> None:
    spec = requests.remove_disks(attach.our_devices(order, vm))
    order.vsphere.run(
        "VirtualMachine.Config.RemoveDisk",
        f"removal of the disk before from {moid(vm)}",
        lambda: vm.ReconfigVM_Task(spec=spec),
        order.timing.disk_s,
    )
    order.watch.note(f"the disk before is gone from {moid(vm)}")


def _await_gone(order: VsphereOrder, guest: Guest, earlier: Sequence[VirtualDisk]) -> None:
    """Wait until the guest shows none of them: the next may have the same name there."""
    before = disks_before_ours(order, guest, attached=True)
    controller = order.details.requested.controller

    def ask() -> bool | Still:
        nodes = still_shown(disks(guest.host), earlier, before, controller)
        return Still(f"{', '.join(nodes)} is still seen in the guest") if nodes else True

    order.ask_guest("the disk before", ask)
