"""Release a lease: delete the machine with its disks, wait, and verify."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, RentalFailed
from diskbench.providers.skeleton import release as skeleton
from diskbench.providers.skeleton.release import noting
from diskbench.providers.vsphere.client import moid, reference
from diskbench.providers.vsphere.errors import fault_name, is_missing
from diskbench.providers.vsphere.inventory import PATHS, VsphereMachine, machines
from diskbench.providers.vsphere.marks import mark
from diskbench.providers.waits import Still, nap, until

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.ours import Which
    from diskbench.providers.skeleton.release import Failures
    from diskbench.providers.vsphere.client import Vsphere
    from diskbench.providers.vsphere.timing import VsphereTiming


LOOKS = 5
"""Looks at an empty listing before it is trusted, a moment between two; our choice."""


@dataclass(frozen=True)
class _Listing:
    """The lease's machines, and machines that only carry its notes."""

    meant: tuple[VsphereMachine, ...]
    others: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(machine.told for machine in self.meant)


def release(vsphere: Vsphere, which: Which, timing: VsphereTiming) -> None:
    """Release the resources of a lease; see skeleton.release."""
    gone: set[str] = set()

    def listed() -> _Listing:
        carrying = [
            machine for machine in machines(vsphere) if machine.mark.lease_id == which.lease_id
        ]
        unlisted = set(which.made) - gone - {machine.told for machine in carrying}
        carrying += _by_id(vsphere, which.lease_id, unlisted)
        meant = tuple(
            machine for machine in carrying if which.takes(machine.item.name, machine.told)
        )
        return _Listing(meant, tuple(machine.told for machine in carrying if machine not in meant))

    def listed_now() -> _Listing:
        """The listing; looked at again where it is empty, as a clone that was just made may not be
        in it yet."""
        found = listed()
        for _ in range(0 if which.copied or gone else LOOKS - 1):
            if found.meant:
                break
            nap(timing.first_poll_s, timing, vsphere.watch)
            found = listed()
        return found

    def give_back(found: _Listing, failures: Failures) -> None:
        for machine in found.meant:
            with noting(failures, machine.told, is_missing):
                _remove(vsphere, machine, timing)
        gone.update(name for name in found.names() if name not in failures)
        with contextlib.suppress(RentalFailed):
            until(left, f"end of {which.lease_id}", timing.appear_s, timing, vsphere.watch)

    def left() -> bool | Still:
        there = [name for name in listed().names() if name in gone]
        return Still(f"{', '.join(there)} is still listed") if there else True

    skeleton.release(which, "vSphere", listed_now, give_back)


def _by_id(vsphere: Vsphere, lease_id: str, told: Iterable[str]) -> list[VsphereMachine]:
    """Those of the machines that are told as `machine vm-53` which are there and carry the lease's
    notes: what a listing does not show, its id may."""
    found = []
    for kind, _, moref in (one.partition(" ") for one in sorted(told)):
        item = None
        if kind == "machine":
            item = vsphere.properties(reference(vsphere, "VirtualMachine", moref), PATHS)
        marked = mark(item.values.get("config.annotation")) if item else None
        if item is not None and marked is not None and marked.lease_id == lease_id:
            found.append(VsphereMachine(item, marked))
    return found


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
