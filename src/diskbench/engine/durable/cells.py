"""A cell, of a matrix or of a run, as a durable workflow: the order of its stations.

    open ──▶ rent ──▶ prepare ──▶ for each run: measure step by step, finish ──▶ settle

There is a checkpoint where the machine is ready, and one after each measured step. The stations
between two checkpoints are repeated after a crash and find what they made; the end of a run is its
manifest and the end of a cell its row, so neither needs a checkpoint.

The workflow's id is the trial's. A killed controller's cell continues, in another process, at the
station where it stood. The five properties in docs/design.md#durable-execution shape this file: the
application version is fixed, and a stop is a message that stations obey, never a DBOS cancel.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbos import DBOS, SetWorkflowID

from diskbench.engine.durable.process import move_here, own_queue, suspensions, wake, working_on
from diskbench.errors import MeasurementFailed
from diskbench.model.base import Frozen
from diskbench.model.outcome import Outcome, Problem, RunEnd, TrialEnd, problem_of
from diskbench.plan.sequence import next_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.engine.matrix.cell_steps import LiveCells
    from diskbench.model.result import RunState, StepResult
    from diskbench.model.spec import Plan

_TAKEOVER_POLL_S = 0.1
_bound_cells: LiveCells | None = None


def bind(cells: LiveCells) -> None:
    """Give this process's workflows their stations; called once, before launch."""
    global _bound_cells
    _bound_cells = cells


def _cells() -> LiveCells:
    if _bound_cells is None:
        raise RuntimeError("bind() was not called before the workflow ran")
    return _bound_cells


class _Begun(Frozen):
    """A cell up to its first measurement; `prepared` is None where its machine is not there, for
    the problem in `ready`."""

    ready: Outcome
    prepared: Outcome | None = None


@DBOS.workflow(name="cell")
def cell(trial_id: str) -> None:
    """Run one attempt of a cell: open, rent, the trial, settle.

    Every cell is settled, whatever happens: what was rented is released, and its row says how it
    ended. That row is the checkpoint of the settling: a settled cell is not settled again."""
    cells = _cells()
    with working_on(trial_id):
        begun = _Begun.model_validate(DBOS.run_step({"name": "begin_cell"}, _begin, trial_id))
        if begun.prepared is None:
            cells.settle(trial_id, None, begun.ready.problem)
        else:
            cells.settle(trial_id, _run_trial(trial_id, begun.prepared), None)


def _begin(trial_id: str) -> _Begun:
    """Open, rent and prepare. Each finds what it made before, so one checkpoint is enough for all:
    it keeps what the preparation was, which only its first call knows."""
    cells = _cells()
    ready = cells.open(trial_id)
    if ready.state == "done":
        ready = cells.rent(trial_id)
    if ready.state != "done":
        return _Begun(ready=ready)
    return _Begun(ready=ready, prepared=cells.trials.prepare(cells.plan(trial_id)))


def _run_trial(trial_id: str, ready: Outcome) -> TrialEnd:
    """Measure all runs of a prepared trial in order; the first that does not end well ends it.

    What a trial put on its target is removed with its lease (engine/trial/release.py), never here:
    a trial may be cancelled or crash, and its lease outlives it."""
    cells = _cells()
    plan = cells.plan(trial_id)
    failed = None if ready.state == "done" else _end_state(ready)
    problem = ready.problem
    ends: list[RunEnd] = []
    for run_index, run_id in enumerate(plan.run_ids):
        if failed is None:
            state, problem = _run(plan, run_index)
            failed = None if state == "done" else state
        elif not ends:
            state = failed
        else:
            state, problem = "cancelled", _not_started(run_index, ends[-1])
        end = RunEnd(run_id=run_id, run_index=run_index, state=state, problem=problem)
        cells.trials.finish_run(plan, end, ready)
        ends.append(end)
    return TrialEnd(trial_id=plan.trial_id, runs=tuple(ends))


def _run(plan: Plan, run_index: int) -> tuple[RunState, Problem | None]:
    """Measure one run step by step: what comes next depends on the steps so far."""
    trials = _cells().trials
    finished: list[StepResult] = []
    while True:
        try:
            step = next_step(plan, finished)
        except MeasurementFailed as error:  # a rate that depends on a step without a result
            return "failed", problem_of(error)
        if step is None:
            return "done", None
        outcome = Outcome.model_validate(
            DBOS.run_step({"name": "measure"}, trials.measure, plan, run_index, step)
        )
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


@dataclass(frozen=True)
class WorkflowState:
    """The workflow of a cell: its state, the queue it is in, and the executor that runs it. Who
    owns the cell is in its row alone."""

    state: str
    queue: str | None
    executor: str | None

    @property
    def is_over(self) -> bool:
        """Whether the workflow ended. Its cell was settled before, unless a fault prevented it."""
        return self.state not in ("PENDING", "ENQUEUED", "DELAYED")

    def is_with(self, executor: str) -> bool:
        """Whether the process `executor` runs the workflow, or has it in its own queue."""
        if self.state == "ENQUEUED":
            return self.queue == own_queue(executor)
        return self.executor == executor


def known(trial_ids: Sequence[str]) -> dict[str, WorkflowState]:
    """The workflow state of each of these cells that has a workflow, by trial id."""
    if not trial_ids:
        return {}
    wake()
    workflows = DBOS.list_workflows(
        workflow_ids=list(trial_ids), load_input=False, load_output=False
    )
    return {
        workflow.workflow_id: WorkflowState(
            str(workflow.status), workflow.queue_name, workflow.executor_id
        )
        for workflow in workflows
    }


def start(trial_id: str) -> Callable[[], object]:
    """Start a cell in this process, without a queue; returns a function that waits for its end. A
    second call for the same cell starts nothing."""
    wake()
    with SetWorkflowID(trial_id):
        handle = DBOS.start_workflow(cell, trial_id)
    return handle.get_result


def go_on(trial_id: str, executor_id: str) -> Callable[[], object]:
    """Continue a cell that another process began; the caller has claimed its row. Returns a
    function that waits for its end."""
    suspensions.pop(trial_id, None)
    handle = move_here(trial_id, executor_id)

    def wait() -> object:
        pause = threading.Event()
        while handle.get_status().status in ("PENDING", "ENQUEUED"):
            if trial_id in suspensions:
                raise suspensions[trial_id]
            pause.wait(_TAKEOVER_POLL_S)
        return handle.get_result(polling_interval_sec=_TAKEOVER_POLL_S)

    return wait
