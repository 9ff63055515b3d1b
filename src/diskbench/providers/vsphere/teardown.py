"""Release a lease: delete the machine with its disks, wait, and verify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.providers.skeleton import release as skeleton
from diskbench.providers.skeleton.release import noting
from diskbench.providers.vsphere.client import moid
from diskbench.providers.vsphere.errors import fault_name, is_missing
from diskbench.providers.vsphere.inventory import machines

if TYPE_CHECKING:
    from diskbench.model.ours import Which
    from diskbench.providers.skeleton.release import Failures
    from diskbench.providers.vsphere.client import Vsphere
    from diskbench.providers.vsphere.inventory import VsphereMachine
    from diskbench.providers.vsphere.timing import VsphereTiming


@dataclass(frozen=True)
class _Listing:
    """The lease's machines, and machines that only carry its notes."""

    meant: tuple[VsphereMachine, ...]
    others: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(machine.told for machine in self.meant)


def release(vsphere: Vsphere, which: Which, timing: VsphereTiming) -> None:
    """Release the resources of a lease; see skeleton.release."""

    def look() -> _Listing:
        carrying = [
            machine for machine in machines(vsphere) if machine.mark.lease_id == which.lease_id
        ]
        meant = tuple(
            machine for machine in carrying if which.takes(machine.item.name, machine.told)
        )
        return _Listing(meant, tuple(machine.told for machine in carrying if machine not in meant))

    def give_back(found: _Listing, failures: Failures) -> None:
        for machine in found.meant:
            with noting(failures, machine.told, is_missing):
                _remove(vsphere, machine, timing)

    skeleton.release(which, "vSphere", look, give_back)


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
