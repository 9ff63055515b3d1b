"""Extend a lease: first the guest's timer, which alone ends a machine by itself, then the
machine's notes. Its disks have no notes: they are deleted with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.providers.guest import move_timer
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.client import moid
from diskbench.providers.vsphere.inventory import machines

if TYPE_CHECKING:
    from diskbench.model.rental import LeaseEnd, Which
    from diskbench.ports import Host
    from diskbench.providers.vsphere.client import Ref, Vsphere
    from diskbench.providers.vsphere.timing import VsphereTiming


def extend(
    vsphere: Vsphere, which: Which, timing: VsphereTiming, end: LeaseEnd, guest: Host
) -> None:
    """See ports.ExtendsLeases. Other text in the notes stays."""
    move_timer(guest, end)
    for machine in machines(vsphere, which):
        written = str(machine.item.values.get("config.annotation") or "")
        _note(vsphere, machine.item.ref, requests.new_expiry(written, end.expires_at), timing)


def _note(vsphere: Vsphere, vm: Ref, spec: requests.Spec, timing: VsphereTiming) -> None:
    vsphere.run(
        "VirtualMachine.Config.Annotation",
        f"new notes of {moid(vm)}",
        lambda: vm.ReconfigVM_Task(spec=spec),
        timing.disk_s,
    )
