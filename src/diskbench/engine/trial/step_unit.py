"""A step of a plan as a unit on its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.hosts.unit import DeviceGuard, Unit
from diskbench.hosts.workspace import mount_point

if TYPE_CHECKING:
    from diskbench.model.spec import Plan, Step

PATIENCE_S = 600.0
"""A time-based fio counts as hung this many seconds after 1.5 times its runtime (fio 3.33 was seen
to hang with io_submit_mode=offload). Our choice, far beyond any stall seen on a cloud disk."""


def unit_of(plan: Plan, run_index: int, step: Step) -> Unit:
    """The unit that runs `step`; its name is unique in the run and sorts in the run's order.

    The canary (MR-13) runs before the first step and after every step: which one is the last is
    not known while it runs, and an interrupted run keeps one too.
    """
    target = plan.target
    return Unit(
        trial_id=plan.trial_id,
        run_index=run_index,
        name=f"{step.index:03d}-{step.name}" + (f"-r{step.round}" if step.round else ""),
        state_dir=target.state_dir,
        job=step.job,
        work_dir=target.work_dir,
        guard=_guard(plan),
        sampled=target.device_number,
        drop_caches=step.page_cache == "drop",
        drop_every_s=step.drop_caches_every_s,
        canary_before=step.index == 0,
        canary_after=_may_be_last(plan, step),
        fio_limit_s=time_limit_s(step),
        # The machines of the fake cloud are this one: their disks are files beside each other.
        if_busy="share" if plan.cell.provider == "fake" else plan.cell.if_busy,
        root=_needs_root(plan),
    )


def time_limit_s(step: Step) -> float | None:
    """Seconds after which a step's fio counts as hung; None: its run time depends on the disk."""
    if "time_based" not in step.job:
        return None
    return 1.5 * step.expected_s + PATIENCE_S


def _may_be_last(plan: Plan, step: Step) -> bool:
    """Whether the run may end with this step: the plan's last, or the last of a round."""
    if plan.loop is None:
        return step.index == len(plan.steps) - 1
    body = len(plan.steps) - plan.loop.first
    return step.round is not None and (step.index - plan.loop.first) % body == body - 1


def _guard(plan: Plan) -> DeviceGuard | None:
    target = plan.target
    if target.kind != "device":
        return None
    assert target.device
    assert target.device_number
    assert target.identity
    assert target.device_size_bytes is not None
    return DeviceGuard(
        path=target.device,
        number=target.device_number,
        identity=target.identity,
        size_bytes=target.device_size_bytes,
        mount_point=mount_point(target),
    )


def _needs_root(plan: Plan) -> bool:
    """Raw devices and mounts are root's; a directory is measured as the user who owns it."""
    return plan.target.kind == "device" and not plan.facts.is_root
