"""Giving back everything of a lease: the machine goes with its disks, to the end, and verified."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, ReleaseFailed
from diskbench.providers.places import lease_directory
from diskbench.providers.vsphere.edge import moid
from diskbench.providers.vsphere.errors import fault_name, is_missing
from diskbench.providers.vsphere.inventory import machines

if TYPE_CHECKING:
    from diskbench.model.ours import Which
    from diskbench.providers.vsphere.edge import Vsphere
    from diskbench.providers.vsphere.inventory import Machine
    from diskbench.providers.vsphere.timing import VsphereTiming

_ROUNDS = 3
"""How often the listing is worked off: an `acquire` under way may add to it meanwhile."""


def release(vsphere: Vsphere, which: Which, timing: VsphereTiming) -> None:
    """Give back all that is meant of a lease; nothing there is as well.

    Everything is tried; raises ReleaseFailed once, naming what the last listing still shows.
    """
    lease_id = which.lease_id
    directory = lease_directory(lease_id)
    reasons: dict[str, str] = {}
    left: tuple[Machine, ...] = ()
    for _ in range(_ROUNDS):
        left = machines(vsphere, which)
        if not left:
            break
        reasons = {}
        for one in left:
            try:
                _remove(vsphere, one, timing)
            except DiskbenchError as error:
                reasons[one.told] = error.message
        if reasons:
            break
    else:
        left = machines(vsphere, which)
    which.warn([m.told for m in machines(vsphere) if m.mark.lease_id == lease_id and m not in left])
    if left:
        told = (f"{one.told} ({reasons.get(one.told, 'still listed')})" for one in left)
        raise ReleaseFailed(
            f"not given back: {'; '.join(told)}",
            advice=f"diskbench gc {lease_id}; it takes room on the datastore until then",
        )
    if not which.copied:
        shutil.rmtree(directory, ignore_errors=True)


def _remove(vsphere: Vsphere, machine: Machine, timing: VsphereTiming) -> None:
    """Switch the machine off and destroy it with all its disks; one that is gone is as well."""
    vm = machine.item.ref
    name = moid(vm)
    try:
        if machine.is_on:
            try:
                vsphere.run(
                    "VirtualMachine.PowerOff", f"end of {name}", vm.PowerOffVM_Task, timing.power_s
                )
            except DiskbenchError as error:
                if fault_name(error) != "InvalidPowerState":  # it is off already
                    raise
        vsphere.run(
            "VirtualMachine.Destroy", f"removal of {name}", vm.Destroy_Task, timing.delete_s
        )
    except DiskbenchError as error:
        if not is_missing(error):
            raise
