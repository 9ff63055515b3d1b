"""Make the plan of a trial from a cell and a machine's facts, and refuse a gate (a condition of the
user) that it can never pass, because its figure will not be there: pure.

On a rented machine it says how long the burst credit of its disk lasts, whether a bucket that
`--time-scale` reduced can still be measured, and what it should find. A load must run until the
credit is used up (MR-3):

    drain = 1.2 · max over the disk's buckets of C / (R_burst − R_base)

with capacities divided by the lab's time scale. 1.2 is MR-3's.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diskbench.catalog.books import Books
from diskbench.catalog.bucket import lasts_s, scaled
from diskbench.catalog.prices import disk_limits
from diskbench.errors import InvalidValue
from diskbench.fio import estimate
from diskbench.fio.declared import reported_of
from diskbench.fio.estimate import (
    block_sizes,
    count,
    largest_bytes,
    round_up_mib,
    space_bytes,
    with_filled,
)
from diskbench.fio.jobfile import Section, Sections, jobs, parse
from diskbench.fio.profiles import Profile
from diskbench.fio.retarget import change_lines
from diskbench.fio.steps import build_steps
from diskbench.fio.target import FioTarget
from diskbench.fio.template import is_local_nvme
from diskbench.model.facts import HostFacts
from diskbench.model.rental import Rental
from diskbench.model.spec import Cell, Plan, ProfileFacts, ResolvedTarget, Step, TargetDisk
from diskbench.model.threshold import Threshold
from diskbench.plan.expectation import BEYOND, with_expectation
from diskbench.plan.loads import cold_and_warm
from diskbench.units import MIB, field_of, format_bytes, format_duration_s

STATE_ROOT = "/var/tmp"  # noqa: S108 - survives a reboot of the host, unlike /tmp or /run
RESERVE = 0.05
"""Share of a filesystem's free space that stays free; our choice: root must not fill up."""
BASE_BYTES = 96 * MIB
"""Bytes that one fio process needs besides its buffers and logs: 35 MB resident for a small job
with fio 3.33, and as much again for a second's histograms; the rest is our margin."""
SHORTEST_PHASE_S = 120.0
"""Seconds; a shorter phase is not reliably found in a series of one-second values (issue 3)."""


@dataclass(frozen=True)
class TrialIds:
    """The ids of one trial."""

    campaign_id: str
    trial_id: str
    run_ids: tuple[str, ...]


def _resolve_target(
    cell: Cell, profile: Profile, facts: HostFacts, trial_id: str
) -> ResolvedTarget:
    """Return the only target that this trial writes to. Raises InvalidValue if the profile cannot
    use it."""
    spec = cell.target
    on_device = spec.kind == "device"
    filesystem = spec.filesystem or (profile.filesystem if on_device else "none")
    if on_device and filesystem == "none" and "device" not in profile.targets:
        filesystem = "ext4"
    if not on_device and filesystem != "none":
        raise InvalidValue(
            f"--filesystem {filesystem} needs a device, not the directory {spec.path}",
            advice="give --device and --destroy-data, or leave --filesystem out",
            field="filesystem",
        )
    if spec.others and filesystem != "none":
        raise InvalidValue(
            f"--filesystem {filesystem} is made on one disk; the target has {len(spec.others) + 1}",
            advice="leave it out: a job file that names several devices measures them raw",
            field="filesystem",
        )
    if "directory" not in profile.targets and (not on_device or filesystem != "none"):
        raise InvalidValue(
            f"profile {profile.name!r} measures a raw device, not files",
            advice="give --device and --destroy-data, and --filesystem none",
        )
    name = f"diskbench-{trial_id}"  # cleanup finds its directories by it and needs no state
    state_dir = f"{STATE_ROOT}/{name}"
    disk = facts.disk
    mounted = None if filesystem == "none" else f"{state_dir}/mnt/{name}"
    return ResolvedTarget(
        kind=spec.kind,
        path=spec.path,
        device=disk.path if disk and on_device else None,
        identity=spec.destroy_data,
        device_size_bytes=disk.size_bytes if disk else None,
        device_number=disk.number if disk else None,
        others=tuple(
            TargetDisk(
                device=other.path or named.path,
                identity=named.destroy_data,
                number=other.number,
                size_bytes=other.size_bytes,
            )
            for named, other in zip(spec.others, facts.other_disks, strict=True)
        ),
        filesystem=filesystem,
        work_dir=mounted if on_device else f"{spec.path.rstrip('/')}/{name}",
        state_dir=state_dir,
        size_bytes=spec.size_bytes or 0,
    )


def make_plan(
    cell: Cell,
    profile: Profile,
    facts: HostFacts,
    names: TrialIds,
    books: Books,
    *,
    version: str,
    rental: Rental | None = None,
) -> Plan:
    """Return the plan of one trial: rendered, split into steps, with its time, its space and its
    expectation; of a rental also with the digest of `books`. The facts of a machine that is to be
    rented are assumed ones.

    Raises ProfileError or InvalidValue when the profile does not fit the machine or the target, and
    for a time scale that it cannot measure.
    """
    target = _resolve_target(cell, profile, facts, names.trial_id)
    capacity, files = target.capacity_bytes, target.work_dir is not None
    fio_target = FioTarget(
        kind="directory" if files else "device",
        path=target.work_dir or target.device or target.path,
        others=tuple(disk.device for disk in target.others),
        size_bytes=cell.target.size_bytes,
        capacity_bytes=capacity,
        allowed=cell.allowed,
    )
    parameters = dict(cell.parameters)
    built = build_steps(profile, parameters, facts, fio_target, drain_s=drain_s(rental))
    steps, loop = built.steps, built.loop
    is_local = is_local_nvme(facts.disk)
    passes = estimate.LOCAL_PASSES if is_local else estimate.NETWORK_PASSES
    if not cell.is_from_snapshot:
        steps = with_filled(steps, capacity_bytes=capacity, least_passes=passes, files=files)
    # A loop runs until it is steady: its rounds already separate cold from warm passes.
    if loop is None and cell.has_host_cache:
        steps = cold_and_warm(steps)
    space, of_each = space_bytes(steps, capacity), largest_bytes(steps, capacity)
    once = sum(s.expected_s for s in (steps[: loop.first] if loop else steps))
    repeated = sum(s.expected_s for s in steps[loop.first :]) * loop.min_rounds if loop else 0.0
    same = ProfileFacts.model_fields.keys() - {"parameters", "thresholds"}
    kept = {name: getattr(profile, name) for name in same}
    plan = Plan(
        diskbench_version=version,
        rental=rental,
        campaign_id=names.campaign_id,
        trial_id=names.trial_id,
        run_ids=names.run_ids,
        cell=cell,
        profile=ProfileFacts(
            **kept,
            parameters=built.parameters,
            thresholds=tuple(entry.threshold() for entry in profile.thresholds),
        ),
        target=target.model_copy(update={"size_bytes": space}),
        steps=steps,
        loop=loop,
        search=built.search,
        facts=facts,
        expected_s=(once + repeated) * len(names.run_ids),
        space_bytes=space,
        changes=change_lines(built.changes) + allowed_lines(built.file, cell.allowed),
    )
    if gates_of(plan):
        check_gates(plan, [reported_of(step.job) for step in steps])
    _check_room(target, facts, of_each)
    check_memory(steps, facts, cell.address or "this machine")
    if rental is not None:
        notes = (*rental.warnings, *time_scale_notes(plan))
        plan = plan.model_copy(update={"notes": notes, "catalogue": books.digest})
    plan = with_expectation(plan, books)
    check_ratios(plan)
    return plan


def _check_room(target: ResolvedTarget, facts: HostFacts, of_each: Mapping[str, int]) -> None:
    """Raise an error for a plan that does not fit: a full disk yields no figures and may break
    other software on the machine. `of_each` are the bytes used by file, or by disk."""
    space = round_up_mib(sum(of_each.values()))
    for disk in target.disks:
        used = round_up_mib(of_each.get(disk.device, 0)) if target.others else space
        if disk.size_bytes is not None and used > disk.size_bytes:
            path = disk.device if target.others else target.path
            raise InvalidValue(
                f"{format_bytes(used)} is larger than {path} ({format_bytes(disk.size_bytes)})",
                advice="give a smaller --size",
            )
    if target.disks:
        return
    free = facts.mount.available_bytes if facts.mount else None
    if free is not None and space > free * (1 - RESERVE):
        raise InvalidValue(
            f"the profile writes {format_bytes(space)}, but {target.path} has "
            f"{format_bytes(free)} free ({RESERVE:.0%} of that is kept free)",
            advice="give a smaller --size or another --path",
        )


def check_memory(steps: Iterable[Step], facts: HostFacts, name: str) -> None:
    """Raise InvalidValue when a step's buffers do not fit into the memory that is available.

    Unknown memory (0) is accepted.
    """
    available = facts.memory_available_bytes
    for step in steps if available else ():
        needed = BASE_BYTES + sum(buffer_bytes(job) for job in jobs(parse(step.job)))
        if needed > available:
            raise InvalidValue(
                f"step {step.name!r} needs about {format_bytes(needed)} of memory for fio's "
                f"buffers, but {name} has {format_bytes(available)} available",
                advice="use fewer jobs, a smaller queue depth or block size, or a larger machine",
            )


def buffer_bytes(job: Section) -> int:
    """Return the I/O buffers of one job in bytes: numjobs × iodepth × its largest block size."""
    depth = count(job, "iodepth") * count(job, "numjobs")
    return depth * max(block_sizes(job))


def allowed_lines(file: Sections, allowed: Sequence[str]) -> tuple[str, ...]:
    """A line for each option of a job file that stays because it was allowed."""
    return tuple(
        f"{option.key}={option.value or ''} stays (allowed by --allow {option.name})"
        for section in file
        for option in section.options
        if option.name in allowed
    )


def drain_s(rental: Rental | None) -> int | None:
    """Return whole seconds; None if the disk is in no catalogue or has no bucket."""
    bursts = _scaled_bursts_s(rental) if rental is not None else []
    return math.ceil(BEYOND * max(bursts)) if bursts else None


def time_scale_notes(plan: Plan) -> tuple[str, ...]:
    """Return notes for the reader about the plan's time scale; empty if it has no effect.

    Raises InvalidValue for a profile that waits for a steady state which the scaled bucket would
    only simulate: a burst that ends within a round or two looks like a trend that settled.
    """
    rental = plan.rental
    if rental is None or rental.spec.time_scale == 1:
        return ()
    scale = rental.spec.time_scale
    shortest = min(_scaled_bursts_s(rental), default=None)
    if shortest is None:
        return (f"--time-scale {scale:g} has no effect: the disk has no burst credit",)
    if shortest >= SHORTEST_PHASE_S:
        return ()
    lasts = f"with --time-scale {scale:g} the burst lasts {format_duration_s(shortest)}"
    if plan.loop is not None:
        raise InvalidValue(
            f"{lasts}, and profile {plan.profile.name!r} waits for a steady state",
            advice=f"give at most --time-scale {int(scale * shortest / SHORTEST_PHASE_S)}, which "
            f"leaves two minutes, or use a profile that does not judge steadiness",
        )
    return (
        f"{lasts}, under two minutes: phases as short as ten seconds are found, but less reliably",
    )


def _scaled_bursts_s(rental: Rental) -> list[float]:
    limits = disk_limits(rental.catalogue, rental.disk) if rental.disk is not None else None
    if limits is None:  # the disk is in no catalogue
        return []
    scale = rental.spec.time_scale
    allowances = [a for pool in limits.pools for a in (pool.iops, pool.bytes_per_s) if a]
    lasting = (lasts_s(scaled(allowance, time_scale=scale)) for allowance in allowances)
    return [seconds for seconds in lasting if seconds is not None]


def check_ratios(plan: Plan) -> None:
    """Raise InvalidValue for a gate on the ratio to a promise that there is not."""
    steps = plan.expectation.steps if plan.expectation else ()
    known = {step.name for step in steps if step.load is not None}
    for gate in gates_of(plan):
        if gate.metric == "ratio" and known.isdisjoint(s.name for s in _asked(gate, plan.steps)):
            what = f"step {gate.step!r}" if known else "this disk"
            raise _refusal(
                gate,
                f"there is no ratio: no documented limit says what {what} should reach",
                "say what the disk should reach with --promise iops=5000,mb_per_s=200, or give a "
                f"figure: {gate.flag} 'iops < 4500'",
            )


def _refusal(gate: Threshold, why: str, advice: str) -> InvalidValue:
    return InvalidValue(f"{gate.source}: {why}", advice=advice, field=field_of(gate.flag))


def gates_of(plan: Plan) -> list[Threshold]:
    """The user's own conditions of a plan; those of its profile fit its steps."""
    return [condition for condition in plan.conditions if condition.typed]


def check_gates(plan: Plan, reported: Sequence[tuple[frozenset[str], bool]]) -> None:
    """Raise InvalidValue for a gate on a step, a direction or a latency that is not measured, or on
    the result of a search that is not made. `reported` says what fio reports of each step
    (fio/declared.py: reported_of)."""
    profile, steps = plan.cell.profile, plan.steps
    for gate in gates_of(plan):
        if gate.metric == "sla":
            if plan.search is None or gate.step or gate.direction:
                none = f"profile {profile} makes no search for a rate"
                why = "a search has one result, of all its steps" if plan.search else none
                raise _refusal(gate, why, f"--profile sla {gate.flag} 'sla < 5000' does")
            continue
        asked = _asked(gate, steps)
        if not asked:
            names = ", ".join(dict.fromkeys(step.name for step in steps))
            why = f"profile {profile} has no step {gate.step!r}"
            raise _refusal(gate, why, f"its steps are {names}")
        if {step.role for step in asked} == {"fill"} != {step.role for step in steps}:
            why = f"step {gate.step!r} fills the disk, and no figure of it is kept"
            raise _refusal(gate, why, "name a step that measures")
        of_steps = [reported[step.index] for step in asked]
        run = sorted(frozenset[str]().union(*(directions for directions, _ in of_steps)))
        if gate.direction is not None and gate.direction not in run:
            where = f"step {gate.step!r}" if gate.step else f"no step of profile {profile}"
            why = f"{where} {'has no' if gate.step else 'has a'} {gate.direction}"
            raise _refusal(gate, why, f"it runs {', '.join(run)}")
        untimed = [
            step.name
            for step, (directions, is_timed) in zip(asked, of_steps, strict=True)
            if gate.direction in (None, *directions) and not is_timed
        ]
        if gate.is_latency and untimed:
            why = f"fio times no I/O of step {untimed[0]!r} (gtod_reduce, disable_clat)"
            advice = "take that option out of the job file, or name another step or figure"
            raise _refusal(gate, why, advice)


def _asked(gate: Threshold, steps: Sequence[Step]) -> list[Step]:
    """The steps whose figures a gate is about; a fill has none beside other steps."""
    if gate.step is not None:
        return [step for step in steps if step.name == gate.step]
    return [step for step in steps if step.role != "fill"] or list(steps)
