"""What each step of a trial was promised: by its plan, or by the user's hint about its disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from diskbench.analysis.stretches import StepPromise
from diskbench.analysis.verdict import BY_OWNER
from diskbench.plan.expected_afterwards import PastStep, recalled
from diskbench.plan.step_lookup import expected_of, place_of
from diskbench.results.step_groups import StepGroup, load_of

if TYPE_CHECKING:
    from diskbench.catalog.books import Books
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.plan.as_disk import Hint
    from diskbench.plan.limit_path import Way

RunsOf = Sequence[tuple["Run", Sequence[StepGroup]]]


def promises_of(
    runs_of: RunsOf, plan: Plan | None, hint: Hint | None, books: Books
) -> dict[tuple[str, int], StepPromise]:
    """The promise of each step that has one, by run and index. The hint about the disk is used only
    where the plan has no expectation. Raises InvalidValue, UserError for a hint that names no disk.
    """
    if plan is not None and plan.expectation is not None:
        return _planned(runs_of, plan)
    provider = runs_of[0][0].provider if runs_of else ""
    day = _day(runs_of[0][0]) if runs_of else None
    ways = hint.ways(books, provider, day) if hint is not None else ()
    found = [_from_hint(runs_of, plan, way) for way in ways]
    if len(found) < 2:
        return found[0] if found else {}
    rates = _rates(runs_of)
    return max(found, key=lambda promises: fits(promises, rates))


def fits(
    promises: Mapping[tuple[str, int], StepPromise], rates: Mapping[tuple[str, int], float]
) -> int:
    """Return at how many steps the measured rate lies within 10 % of what is promised."""
    return sum(
        1 for key, promise in promises.items() if key in rates and promise.is_near(rates[key])
    )


def _day(run: Run) -> str | None:
    """Return the day of a run; None of an import that does not tell."""
    return (run.measured_at or "")[:10] or None


def _rates(runs_of: RunsOf) -> dict[tuple[str, int], float]:
    rates = {}
    for run, groups in runs_of:
        for group in groups:
            if group.iops is not None:
                rates[run.run_id, group.index] = group.iops
    return rates


def _planned(runs_of: RunsOf, plan: Plan) -> dict[tuple[str, int], StepPromise]:
    whole = plan.expectation
    assert whole is not None
    source = BY_OWNER if whole.sources == (BY_OWNER,) else "catalogue"
    promises = {}
    for run, groups in runs_of:
        number = run.number
        for group in groups:
            expected = expected_of(plan, group.index, of_round=group.of_round, run=number)
            planned_step = whole.step(place_of(plan, group.index), number, group.of_round)
            if expected is not None:
                credit = planned_step.credit if planned_step else {}
                promises[run.run_id, group.index] = StepPromise(expected, source, credit)
    return promises


def _from_hint(runs_of: RunsOf, plan: Plan | None, way: Way) -> dict[tuple[str, int], StepPromise]:
    keys, done, over = [], [], None
    for run, groups in runs_of:
        began = _seconds(run.started_at)
        for number, group in enumerate(groups):
            idle = max(0.0, began - over) if not number and began and over else 0.0
            keys.append((run.run_id, group.index))
            load = load_of(group, plan, run.provider)
            iops = group.iops
            if iops is None and load is not None and group.phases is not None:
                iops = _mean(group, load.block_bytes)
            done.append(PastStep(load, iops, group.seconds, idle))
        if began is not None:
            over = began + sum(group.seconds for group in groups)
    source = BY_OWNER if way.sources == (BY_OWNER,) else "catalogue"
    until = way.limits.until if way.limits else None
    return {
        key: StepPromise(step.expected, source, step.credit, is_guess=True, until=until)
        for key, step in zip(keys, recalled(way.path, done), strict=True)
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
