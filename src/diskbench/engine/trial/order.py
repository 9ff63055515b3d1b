"""The order of work in one trial, independent of how it is made durable.

    prepare ──▶ for each run: begin, measure step by step, finish ──▶ end

What a trial put on its target is removed with its lease (engine/trial/lease.py), never here: a
trial may be cancelled or crash, and its lease outlives it.
"""

from typing import Protocol

from diskbench.errors import MeasurementFailed
from diskbench.model.outcome import Outcome, Problem, RunEnd, TrialEnd, problem_of
from diskbench.model.result import RunState, StepResult
from diskbench.model.spec import Plan, Step
from diskbench.plan.sequence import next_step


class Stations(Protocol):
    """The checkpointed steps of a trial. Each is idempotent for the same arguments."""

    def prepare(self, plan: Plan) -> Outcome:
        """Make the filesystem and directories that the trial needs."""
        ...

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        """Run one step to its end, keep its evidence, store its rows."""
        ...

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        """Write the manifest and the run's final state."""
        ...


def run_trial(plan: Plan, stations: Stations) -> TrialEnd:
    """Run all runs of `plan` in order; the first that does not end well ends the trial."""
    ready = stations.prepare(plan)
    failed = None if ready.state == "done" else _end_state(ready)
    problem = ready.problem
    ends: list[RunEnd] = []
    for run_index, run_id in enumerate(plan.run_ids):
        if failed is None:
            state, problem = _run(plan, run_index, stations)
            failed = None if state == "done" else state
        elif not ends:
            state = failed
        else:
            state, problem = "cancelled", _not_started(run_index, ends[-1])
        end = RunEnd(run_id=run_id, run_index=run_index, state=state, problem=problem)
        stations.finish_run(plan, end, ready)
        ends.append(end)
    return TrialEnd(trial_id=plan.trial_id, runs=tuple(ends))


def _run(plan: Plan, run_index: int, stations: Stations) -> tuple[RunState, Problem | None]:
    finished: list[StepResult] = []
    while True:
        try:
            step = next_step(plan, finished)
        except MeasurementFailed as error:  # a rate that depends on a step without a result
            return "failed", problem_of(error)
        if step is None:
            return "done", None
        outcome = stations.measure(plan, run_index, step)
        if outcome.result is None or outcome.state != "done":
            return _end_state(outcome), outcome.problem
        finished.append(outcome.result)


def _end_state(outcome: Outcome) -> RunState:
    return "interrupted" if outcome.state == "stopped" else "failed"


def _not_started(run_index: int, before: RunEnd) -> Problem:
    return Problem(
        kind="NotStarted",
        message=f"run {run_index + 1} was not started: the run before it was {before.state}",
    )
