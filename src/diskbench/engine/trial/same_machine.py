"""Detection of two addresses that reach the same machine.

The kernel makes a boot id when it starts, so equal boot ids mean the same kernel, whatever the
address, the container or the machine id (which copies of an image share). Within a kernel each disk
has one device number. Only existing machines are compared: rented ones are new, and machines of the
lab share this machine's kernel by design.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import TargetRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from diskbench.model.spec import Plan


def queued_behind(plan: Plan, others: Iterable[Plan]) -> Plan:
    """`plan` with a note where another of `others` measures the same disk of the same machine.

    Raises TargetRefused instead of adding the note where the plan is not to wait (`--if-busy
    fail`).
    """
    twin = next((other for other in others if _same_disk(plan, other)), None)
    if twin is None or plan.cell.if_busy == "share":
        return plan
    same = _words(plan, twin)
    if plan.cell.if_busy == "fail":
        raise TargetRefused(
            f"{same}, which would be measured twice at the same time",
            advice="name it once and repeat with --runs, or measure one after the other: "
            "--if-busy wait",
        )
    return plan.model_copy(
        update={"notes": (*plan.notes, f"{same}: they are measured one after the other")}
    )


def _same_disk(plan: Plan, other: Plan) -> bool:
    if plan.trial_id == other.trial_id or plan.rental is not None or other.rental is not None:
        return False
    boot = plan.facts.extra.get("boot_id")
    if not boot or boot != other.facts.extra.get("boot_id"):
        return False
    return bool(set(_disks(plan)) & set(_disks(other)))


def _disks(plan: Plan) -> list[str]:
    found = plan.facts.extra.get("disks")
    return [str(disk) for disk in found] if isinstance(found, list) else []


def _words(one: Plan, other: Plan) -> str:
    names = sorted(plan.address or "this machine" for plan in (one, other))
    disks = ", ".join(sorted(set(_disks(one)) & set(_disks(other))))
    ids = [plan.facts.extra.get("machine_id") for plan in (one, other)]
    what = "machine" if ids[0] == ids[1] else "kernel"
    agreed = "machine id and boot id agree" if ids[0] and ids[0] == ids[1] else "boot id agrees"
    return f"{names[0]} and {names[1]} reach the same {what} ({agreed}) and the same disk ({disks})"
