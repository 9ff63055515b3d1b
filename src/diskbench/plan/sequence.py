"""Which step comes next: a pure function of the plan and the finished steps."""

from collections.abc import Sequence
from statistics import fmean

from diskbench.analysis.sla import needed_ios, next_share
from diskbench.analysis.steady import ROUNDS, steady
from diskbench.fio.offered import at_share, resolve
from diskbench.model.phase import Steadiness
from diskbench.model.result import StepResult
from diskbench.model.spec import Loop, Plan, Step


def next_step(plan: Plan, finished: Sequence[StepResult]) -> Step | None:
    """Return the step to run after `finished`, or None when the run is complete.

    Steps before the loop run once. The loop's steps repeat, with `round` counted from 1, until
    the tracked job is steady over the last five rounds and not in a burst, or until `max_rounds`
    are done. Rates that depend on earlier results (MR-11) are filled in. `index` counts all steps
    of the run.
    """
    done = len(finished)
    if plan.loop is None:
        step = plan.steps[done] if done < len(plan.steps) else None
        if step and (search := plan.search) and step.name in search.steps:
            needed, share = needed_ios(search.target, search.beyond), next_share(search, finished)
            # the next probe, for as long as its percentile needs
            return None if share is None else at_share(step, share, needed, finished)
        return resolve(step, finished) if step else None
    first = plan.loop.first
    if done < first:
        return resolve(plan.steps[done], finished)
    body = plan.steps[first:]
    rounds_done, position = divmod(done - first, len(body))
    if position == 0 and rounds_done >= plan.loop.max_rounds:
        return None
    if position == 0 and rounds_done >= max(plan.loop.min_rounds, ROUNDS):
        judged = steadiness(plan.loop, finished)
        if judged is not None and judged.state == "steady" and not _in_burst(plan, finished):
            return None
    step = body[position].model_copy(update={"index": done, "round": rounds_done + 1})
    return resolve(step, finished)


def steadiness(loop: Loop, finished: Sequence[StepResult]) -> Steadiness | None:
    """Return the steady-state result of the last five rounds; None while there are fewer."""
    values = _tracked_values(loop, finished)
    return steady(values[-ROUNDS:]) if len(values) >= ROUNDS else None


def _tracked_values(loop: Loop, finished: Sequence[StepResult]) -> list[float]:
    """Return the IOPS of the tracked job, one value per finished round, in order."""
    return [
        row.iops or 0.0
        for result in finished
        if result.round is not None and result.step == loop.tracked
        for row in result.measurements
        if row.scope == "step" and row.direction == loop.direction
    ]


def _in_burst(plan: Plan, finished: Sequence[StepResult]) -> bool:
    """Whether the last five rounds lie above the lasting rate of a disk or machine with burst
    credit. A steady burst is not the baseline (MR-3), so the loop continues."""
    expected = plan.expectation
    if plan.loop is None or expected is None or not expected.credits:
        return False
    values = _tracked_values(plan.loop, finished)[-ROUNDS:]
    index = next((step.index for step in plan.steps if step.name == plan.loop.tracked), None)
    expectation = expected.of(expected.step(index)) if index is not None else None
    if not values or expectation is None or expectation.lasting.limited_by is None:
        return False
    return fmean(values) > expectation.lasting_up_to
