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
    not known while it runs, and an interrupted run keeps one too. There is none where other trials
    measure on the same machine at once: it would measure them, and take processor time from their
    fio. The machines of the fake cloud are this one, and its disks are files beside each other.
    """
    target, guards, is_fake = plan.target, _guards(plan), plan.cell.provider == "fake"
    has_canary = not (is_fake or plan.shares_machine)
    return Unit(
        trial_id=plan.trial_id,
        run_index=run_index,
        name=f"{step.index:03d}-{step.name}" + (f"-r{step.round}" if step.round else ""),
        state_dir=target.state_dir,
        job=step.job,
        work_dir=target.work_dir,
        guard=guards[0] if guards else None,
        others=guards[1:],
        sampled=_sampled(plan),
        drop_caches=step.page_cache == "drop",
        drop_every_s=step.drop_caches_every_s,
        canary_before=step.index == 0 and has_canary,
        canary_after=_may_be_last(plan, step) and has_canary,
        fio_limit_s=_time_limit_s(step),
        if_busy="share" if is_fake else plan.cell.if_busy,
        user=plan.facts.user,
        root=_needs_root(plan),
    )


def _time_limit_s(step: Step) -> float | None:
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


def _guards(plan: Plan) -> tuple[DeviceGuard, ...]:
    guards = []
    for disk in plan.target.disks:
        assert disk.number
        assert disk.identity
        assert disk.size_bytes is not None
        guards.append(
            DeviceGuard(
                path=disk.device,
                number=disk.number,
                identity=disk.identity,
                size_bytes=disk.size_bytes,
                mount_point=mount_point(plan.target),
            )
        )
    return tuple(guards)


def _sampled(plan: Plan) -> str | None:
    """The kernel's numbers of the disks whose counters are read: also of the one below a directory;
    None where that is not known."""
    target = plan.target
    numbers = [target.device_number, *(disk.number for disk in target.others)]
    return " ".join(number for number in numbers if number) or None


def _needs_root(plan: Plan) -> bool:
    """Raw devices and mounts are root's; a directory is measured as the user who owns it."""
    return plan.target.kind == "device" and not plan.facts.is_root
