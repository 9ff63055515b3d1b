"""What each step of a trial was promised: by its plan, or by the user's hint about its disk."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from diskbench.analysis.stretches import StepPromise
from diskbench.analysis.verdict import BY_OWNER
from diskbench.catalog.books import Books
from diskbench.catalog.expect import Stage
from diskbench.catalog.path import Path
from diskbench.model.expectation import Expectation, PlanExpectation
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.plan.expectation import expected_afterwards
from diskbench.plan.limit_path import Hint, limit_path_of
from diskbench.results.step_groups import StepGroup

_TENTH = 0.1

RunsOf = Sequence[tuple[Run, Sequence[StepGroup]]]
"""The runs of a trial, each with its steps."""


def promises_of(
    runs_of: RunsOf, plan: Plan | None, hint: Hint | None, books: Books
) -> dict[tuple[str, int], StepPromise]:
    """The promise of each step that has one, by run and index. The hint about the disk is used only
    where the plan has no expectation. Raises InvalidValue, UserError for a hint that names no disk.
    """
    if plan is not None and plan.expectation is not None:
        return _planned(runs_of, plan, plan.expectation, books)
    if hint is None or not runs_of:
        return {}
    first = runs_of[0][0]
    day = (first.measured_at or "")[:10] or None
    hint = hint.on_machine(first.cloud, first.instance_type)
    paths = hint.limit_paths(books, first.provider, day)
    versions = [_from_hint(runs_of, path) for path in paths]
    if not versions:
        return {}
    rates = {
        (run.run_id, group.index): group.iops
        for run, groups in runs_of
        for group in groups
        if group.iops is not None
    }
    # At how many steps the measured rate lies within 10 % of what is promised.
    near = [sum(of[key].is_near(rates[key]) for key in of.keys() & rates) for of in versions]
    at = max(range(len(versions)), key=near.__getitem__)
    until = limits.until if (limits := paths[at].limits) else None
    if len(versions) == 1:
        why = f"limits until {until}, valid on {hint.measured_on or day}" if until else ""
    elif all(_promised(promises) == _promised(versions[at]) for promises in versions):
        return versions[at]  # what changed of its limits is not what this load meets
    else:
        which = f"the limits until {until}" if until else "today's limits"
        fit = f"{near[at]} of {len(rates)} steps within 10 %"
        why = f"{which} fit best of {len(versions)} dated versions: {fit}"
    return {key: replace(promise, chosen=why) for key, promise in versions[at].items()}


def _promised(promises: Mapping[tuple[str, int], StepPromise]) -> list[tuple[float, float]]:
    levels = [(promise.expected.begin, promise.expected.lasting) for promise in promises.values()]
    return [(begin.iops, lasting.iops) for begin, lasting in levels]


def _planned(
    runs_of: RunsOf, plan: Plan, expectation: PlanExpectation, books: Books
) -> dict[tuple[str, int], StepPromise]:
    """The promises of the plan; where a bucket had more or less credit when a step began than was
    foreseen, by what was really done, and in which time, those that follow from that. A probe of a
    search is promised what it offered."""
    promises = _foreseen(runs_of, plan, expectation)
    probes = plan.search.steps if plan.search else ()
    path = limit_path_of(plan, books) if plan.rental is not None or probes else None
    if path is not None and (designed := _designed(path)) is not None:
        promises = {key: replace(of, designed=designed) for key, of in promises.items()}
    if path is None or not (any(path.full()) or probes):
        return promises
    keys, done = _as_done(runs_of, path)
    for (key, seconds), step in zip(keys, expected_afterwards(path, done), strict=True):
        foreseen = promises.get(key)
        if step is None:
            break  # what it did to the credit is not known
        expected, credit = step
        if key[1] == 0 and plan.rental and plan.rental.loads_bytes_per_s is not None:
            continue  # it is bound by its snapshot
        is_probe = key[1] < len(plan.steps) and plan.steps[key[1]].name in probes
        if foreseen is None:
            continue
        if is_probe or _differs(foreseen.expected, expected, seconds):
            promises[key] = replace(foreseen, expected=expected, credit=credit)
    return promises


def _designed(path: Path) -> float | None:
    """The share of the time that a disk is designed to keep its promise; None if not documented."""
    share = path.limits.time_share if path.limits is not None else None
    return share.of_time if share is not None else None


def _differs(foreseen: Expectation, afterwards: Expectation, seconds: float) -> bool:
    """Whether credit lasts for longer or shorter, by a tenth of the step."""
    lasted = [
        min(expected.lasts_s if expected.lasts_s is not None else seconds, seconds)
        if expected.bursts
        else 0.0
        for expected in (foreseen, afterwards)
    ]
    return abs(lasted[0] - lasted[1]) > _TENTH * seconds


def _as_done(
    runs_of: RunsOf, path: Path
) -> tuple[list[tuple[tuple[str, int], float]], list[Stage]]:
    """The steps as they were done, with the idle time before each."""
    keys, done = [], []
    over: float | None = None
    for run, groups in runs_of:
        for group in groups:
            began = _seconds(group.results[0].started_at) if group.results else None
            ended = _seconds(group.results[-1].finished_at) if group.results else None
            idle = max(0.0, began - over) if began is not None and over is not None else 0.0
            over = ended if ended is not None else over
            keys.append(((run.run_id, group.index), group.seconds))
            is_fill = bool(group.results) and group.results[0].role == "fill"
            held = path.holds_credit and is_fill
            stage = Stage(group.load, group.seconds, reached=group.iops, idle_s=idle)
            done.append(replace(stage, credit_is_held=held))
    return keys, done


def _foreseen(
    runs_of: RunsOf, plan: Plan, expectation: PlanExpectation
) -> dict[tuple[str, int], StepPromise]:
    source = BY_OWNER if expectation.sources == (BY_OWNER,) else "catalogue"
    promises = {}
    for run, groups in runs_of:
        for group in groups:
            expected = plan.expected_of(group.index, of_round=group.of_round, run=run.number)
            place = plan.place_of(group.index)
            planned_step = expectation.step(place, run.number, group.of_round)
            if expected is not None:
                credit = planned_step.credit if planned_step else {}
                promises[run.run_id, group.index] = StepPromise(expected, source, credit)
    return promises


def _from_hint(runs_of: RunsOf, path: Path) -> dict[tuple[str, int], StepPromise]:
    keys, done, over = [], [], None
    for run, groups in runs_of:
        began = _seconds(run.started_at)
        for number, group in enumerate(groups):
            idle = max(0.0, began - over) if not number and began and over else 0.0
            keys.append((run.run_id, group.index))
            iops = group.iops
            if iops is None and group.load is not None and group.phases is not None:
                iops = _mean(group, group.load.block_bytes)
            done.append(Stage(group.load, group.seconds, reached=iops, idle_s=idle))
        if began is not None:
            over = began + sum(group.seconds for group in groups)
    source = BY_OWNER if path.sources == (BY_OWNER,) else "catalogue"
    designed, unknown = _designed(path), "; ".join(path.unknown)
    steps = zip(keys, expected_afterwards(path, done), strict=True)
    return {
        key: StepPromise(
            step[0], source, step[1], is_guess=True, designed=designed, unknown=unknown
        )
        for key, step in steps
        if step is not None
    }


def _mean(group: StepGroup, block_bytes: int) -> float | None:
    """Mean IOPS over all phases of a step that has only a log."""
    phases = group.phases.phases if group.phases else ()
    done = sum(
        (phase.iops if phase.iops is not None else (phase.bytes_per_s or 0.0) / block_bytes)
        * phase.seconds
        for phase in phases
    )
    seconds = sum(phase.seconds for phase in phases)
    return done / seconds if seconds and done else None


def _seconds(text: str | None) -> float | None:
    return datetime.fromisoformat(text).timestamp() if text else None
