"""Detection of two addresses that reach the same machine or the same disk.

The kernel makes a boot id when it starts, so equal boot ids mean the same kernel, whatever the
address, the container or the machine id (which copies of an image share). Within a kernel each disk
has one device number; a disk that two machines reach has one WWN (or model, size and serial
number), and a network filesystem one export. Only existing machines are compared: rented ones are
new, and machines of the lab share this machine's kernel by design.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import TargetRefused

_HALVED = "measured at once, each gets about half of its rate"
_OWN = ("localhost", "127.", "[::1]")
"""How the export of a machine's own file server begins."""
_LEAST_SERIAL = 8
"""Shorter serial numbers are those of emulated disks (`1`, `sda`); our choice."""

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.spec import Plan


def queued_behind(plan: Plan, others: Iterable[Plan]) -> Plan:
    """`plan` with a note on each of `others` that takes a part of what it measures: the same disk,
    reached through one machine or through two, or another disk of the same machine.

    Raises TargetRefused instead where both measure one disk of one machine and the plan is not to
    wait (`--if-busy fail`).
    """
    notes = [note for other in others if (note := _shared(plan, other))]
    return plan.model_copy(update={"notes": (*plan.notes, *notes)}) if notes else plan


def _shared(plan: Plan, other: Plan) -> str:
    """What two plans share, and what that means for their figures; empty for nothing."""
    if plan.trial_id == other.trial_id or plan.rental is not None or other.rental is not None:
        return ""
    names = " and ".join(sorted(each.address or "this machine" for each in (plan, other)))
    if not _same_kernel(plan, other):
        disk = _same_identity(plan, other)
        return f"{names} reach one disk ({disk}): {_HALVED}" * bool(disk)
    disks = ", ".join(sorted(set(_disks(plan)) & set(_disks(other))))
    if not disks:
        return (
            f"{names} reach the same {_machine(plan, other)}: what limits it for all of its disks "
            "is divided between them" * bool(_disks(plan) and _disks(other))
        )
    same = f"{names} reach the same {_machine(plan, other)} and the same disk ({disks})"
    if plan.cell.if_busy == "fail":
        raise TargetRefused(
            f"{same}, which would be measured twice at the same time",
            advice="name it once and repeat with --runs, or measure one after the other: "
            "--if-busy wait",
        )
    if plan.cell.if_busy == "share":
        return f"{same}: {_HALVED}"
    return f"{same}: they are measured one after the other"


def _same_kernel(plan: Plan, other: Plan) -> bool:
    boot = plan.facts.extra.get("boot_id")
    return bool(boot) and boot == other.facts.extra.get("boot_id")


def _same_identity(plan: Plan, other: Plan) -> str:
    """The name by which two machines reach one disk: the export of a file server, or a disk's WWN
    or serial number; empty where none says so. Names that every machine may have do not count."""
    if plan.facts.network_filesystem and other.facts.network_filesystem:
        exports = {each.facts.mount.source for each in (plan, other) if each.facts.mount}
        export = next(iter(exports)) if len(exports) == 1 else ""
        return "" if export.startswith(_OWN) else export
    own, theirs = plan.facts.disk, other.facts.disk
    if own is None or theirs is None or "QEMU" in f"{own.vendor} {own.model}":
        return ""  # QEMU numbers the disks of every guest alike
    if own.wwn and own.wwn == theirs.wwn:
        return own.wwn
    is_same = (own.model, own.size_bytes, own.serial) == (
        theirs.model,
        theirs.size_bytes,
        theirs.serial,
    )
    return own.serial if own.serial and len(own.serial) >= _LEAST_SERIAL and is_same else ""


def _disks(plan: Plan) -> list[str]:
    disks = plan.facts.extra.get("disks")
    return [str(disk) for disk in disks] if isinstance(disks, list) else []


def _machine(plan: Plan, other: Plan) -> str:
    ids = [each.facts.extra.get("machine_id") for each in (plan, other)]
    if ids[0] and ids[0] == ids[1]:
        return "machine (machine id and boot id agree)"
    return "kernel (boot id agrees)"
