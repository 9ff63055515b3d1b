"""The setting in which a step ran, from its rows, its evidence and the facts of its machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from diskbench.analysis.limiter import BLOCK_TRANSPORTS
from diskbench.analysis.medium import LINKS, Medium
from diskbench.analysis.queue_depth import Sibling
from diskbench.analysis.setting import Setting
from diskbench.fio.client_bound import processor_of
from diskbench.model.processor import Processor, busiest

_SYNC = re.compile(r"^\s*(end_fsync|fsync_on_close|fsync|fdatasync|sync)\s*=\s*[1-9]", re.MULTILINE)

if TYPE_CHECKING:
    from diskbench.model.spec import Plan
    from diskbench.plan.as_disk import Hint
    from diskbench.results.run_evidence import StepEvidence
    from diskbench.results.step_groups import StepGroup


def setting_of(
    group: StepGroup,
    plan: Plan | None,
    hint: Hint,
    others: Iterable[StepGroup],
    memory_bytes: int | None,
) -> Setting:
    """The setting of a step; `others` are the other steps of its run."""
    load = group.load
    written = sum(
        row.bytes or 0 for rows in group.rounds for row in rows if row.direction == "write"
    )
    like = load.model_copy(update={"depth": None}) if load else None
    return Setting(
        load=load,
        seconds=group.seconds,
        processor=_processor(group),
        device_share=_device_share(group),
        memory_share=memory_bytes / written if memory_bytes and written else None,
        is_synced=_is_synced(group),
        keeps_cache=bool(group.kept) and group.kept[0].step.page_cache == "keep",
        host_cache=plan.cell.has_host_cache if plan is not None else hint.has_cache,
        network=_network(plan),
        medium=_medium(plan),
        siblings=tuple(
            Sibling(other.name, other.load.depth, other.iops)
            for other in others
            if other.iops is not None
            and other.load is not None
            and other.load.depth is not None
            and other.load.model_copy(update={"depth": None}) == like
        ),
    )


def _is_synced(group: StepGroup) -> bool:
    """Whether its jobs wait at their end until all that they wrote is on the disk."""
    jobs = [evidence.step.job for evidence in group.kept if evidence.step.job]
    return bool(jobs) and all(_SYNC.search(job) for job in jobs)


def _processor(group: StepGroup) -> Processor:
    """The processor in its busiest round: one round short of CPU makes the figure with care."""
    return busiest(
        processor_of(evidence.output, group.rows, evidence.samples) for evidence in group.kept
    )


def _device_share(group: StepGroup) -> float | None:
    """The device's bytes over fio's, in the direction where this share is smaller."""
    moved: dict[str, list[int]] = {"read": [0, 0], "write": [0, 0]}
    by_index = {evidence.step.index: evidence for evidence in group.kept}
    for row in group.rows:
        evidence = by_index.get(row.step_index)
        if evidence is None or row.scope != "step" or row.direction not in moved or not row.bytes:
            continue
        device = _device_bytes(evidence, row.direction)
        if device is None:
            return None
        moved[row.direction][0] += device
        moved[row.direction][1] += row.bytes
    return min((device / asked for device, asked in moved.values() if asked), default=None)


def _device_bytes(evidence: StepEvidence, direction: str) -> int | None:
    if evidence.samples is not None:
        samples = evidence.samples
        return samples.device_read_bytes if direction == "read" else samples.device_write_bytes
    disks = evidence.output.disks if evidence.output else ()
    if len(disks) != 1:
        return None
    return disks[0].read_bytes if direction == "read" else disks[0].write_bytes


def _network(plan: Plan | None) -> str | None:
    if plan is None:
        return None
    facts = plan.facts
    if facts.network_filesystem:
        return facts.mount.fstype if facts.mount else "a network filesystem"
    transport = facts.disk.transport if facts.disk else None
    return transport if transport in BLOCK_TRANSPORTS else None


def _medium(plan: Plan | None) -> Medium | None:
    """The disk under the target of a physical machine; None on a virtual machine, where the links
    that the hypervisor reports to the guest are not those of the real disks."""
    disk = plan.facts.disk if plan is not None else None
    if plan is None or disk is None or plan.facts.virtualisation not in (None, "none"):
        return None
    return Medium(disk.transport, bool(disk.rotational)) if disk.transport in LINKS else None
