"""The end of a lease: release it, or extend it.

A release deletes the machine with its disks, waits, and verifies. An extension moves first the
guest's timer, which alone ends a machine by itself, then the machine's notes. Its disks have no
notes: they are deleted with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from diskbench.errors import DiskbenchError
from diskbench.model.rental import LeaseEnd, Which
from diskbench.ports import Host
from diskbench.providers.guest import move_timer
from diskbench.providers.skeleton import leases as skeleton
from diskbench.providers.skeleton.leases import Failures, Lag, Listed, noting, parted
from diskbench.providers.vsphere import requests
from diskbench.providers.vsphere.client import Ref, Vsphere, VsphereTiming, moid, reference
from diskbench.providers.vsphere.errors import fault_name, is_missing
from diskbench.providers.vsphere.inventory import PATHS, VsphereMachine, machines
from diskbench.providers.vsphere.requests import mark

REPEATS = 4
"""How many times an empty listing is repeated, a moment between two; our choice."""


def release(vsphere: Vsphere, which: Which, timing: VsphereTiming) -> None:
    """Release the resources of a lease; see skeleton.leases.release."""

    def list_lease(deleted: Collection[str]) -> Listed[VsphereMachine]:
        carrying = {
            machine.kind_and_id: machine
            for machine in machines(vsphere)
            if machine.mark.lease_id == which.lease_id
        }
        unlisted = set(which.made) - set(deleted) - set(carrying)
        for machine in _by_id(vsphere, which.lease_id, unlisted):
            carrying[machine.kind_and_id] = machine
        return parted(carrying, lambda name, machine: which.takes(machine.item.name, name))

    def unlisted_s(first: Listed[VsphereMachine]) -> float | None:
        """A clone that was just made may not be listed yet."""
        return None if which.copied or first.meant else REPEATS * timing.first_poll_s

    def give_back(listing: Listed[VsphereMachine], failures: Failures) -> None:
        for name, machine in listing.meant.items():
            with noting(failures, name, is_missing):
                _remove(vsphere, machine, timing)

    lag = Lag(timing, unlisted_s, timing.appear_s, REPEATS, vsphere.watch)
    skeleton.release(which, "vSphere", list_lease, give_back, lag=lag)


def _by_id(vsphere: Vsphere, lease_id: str, resources: Iterable[str]) -> list[VsphereMachine]:
    """The machines among `resources` (`machine vm-53`) that exist and carry the lease's notes, read
    by their ids: a listing may not show them yet."""
    existing = []
    for kind, _, moref in (resource.partition(" ") for resource in sorted(resources)):
        item = None
        if kind == "machine":
            item = vsphere.properties(reference(vsphere, "VirtualMachine", moref), PATHS)
        marked = mark(item.values.get("config.annotation")) if item else None
        if item is not None and marked is not None and marked.lease_id == lease_id:
            existing.append(VsphereMachine(item, marked))
    return existing


def _remove(vsphere: Vsphere, machine: VsphereMachine, timing: VsphereTiming) -> None:
    """Switch the machine off and destroy it with all its disks."""
    vm = machine.item.ref
    name = moid(vm)
    if machine.is_on:
        try:
            vsphere.run(
                "VirtualMachine.PowerOff", f"end of {name}", vm.PowerOffVM_Task, timing.power_s
            )
        except DiskbenchError as error:
            if fault_name(error) != "InvalidPowerState":  # it is off already
                raise
    vsphere.run("VirtualMachine.Destroy", f"removal of {name}", vm.Destroy_Task, timing.delete_s)


def extend(
    vsphere: Vsphere, which: Which, timing: VsphereTiming, end: LeaseEnd, guest: Host
) -> None:
    """Move the end of a lease to `end`. Other text in the notes stays."""
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
