"""A cell, of a matrix or of a run, as a durable workflow: its stations, each a step of DBOS.

The workflow's id is the trial's. A killed controller's cell continues, in another process, at the
station where it stood. The four properties in docs/design.md#durable-execution shape this file: the
application version is fixed, and a stop is a message that stations obey, never a DBOS cancel.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from diskbench.engine.durable.at_work import working_on
from diskbench.engine.durable.bare_dbos import DBOS, SetWorkflowID
from diskbench.engine.durable.process import move_here, own_queue
from diskbench.engine.trial.order import run_trial
from diskbench.errors import Suspended
from diskbench.model.outcome import Outcome, Problem, RunEnd, TrialEnd
from diskbench.model.spec import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from diskbench.engine.trial.order import Stations
    from diskbench.model.spec import Plan

_TAKEOVER_POLL_S = 0.1
suspensions: dict[str, Suspended] = {}
"""Why this process suspended a cell, by trial id. Its workflow in the database is unchanged."""
_cells: CellStations | None = None
_trials: Stations | None = None


class CellStations(Protocol):
    """The checkpointed steps around a trial. Each is idempotent."""

    def plan(self, trial_id: str) -> Plan:
        """The plan of a trial; needs no checkpoint."""
        ...

    def open(self, trial_id: str) -> Outcome:
        """Plan the trial and write its rows, lease first; nothing is rented."""
        ...

    def rent(self, trial_id: str) -> Outcome:
        """Acquire the machine, or connect to the one that exists."""
        ...

    def settle(
        self, trial_id: str, end: TrialEnd | None, problem: Problem | None, *, rented: bool
    ) -> None:
        """Release everything, and write into the cell's row how it ended or when it is retried.
        `rented`: whether renting was begun."""
        ...


def bind(cells: CellStations, trials: Stations) -> None:
    """Give this process's workflows their adapters; called once, before launch."""
    global _cells, _trials
    _cells, _trials = cells, trials


def _bound() -> tuple[CellStations, Stations]:
    if _cells is None or _trials is None:
        raise RuntimeError("bind() was not called before the workflow ran")
    return _cells, _trials


@DBOS.step(name="open_cell")
def _open(trial_id: str) -> dict[str, Any]:
    cells, _ = _bound()
    return cells.open(trial_id).model_dump(mode="json")


@DBOS.step(name="rent_cell")
def _rent(trial_id: str) -> dict[str, Any]:
    cells, _ = _bound()
    return cells.rent(trial_id).model_dump(mode="json")


@DBOS.step(name="prepare")
def _prepare(trial_id: str) -> dict[str, Any]:
    cells, trials = _bound()
    return trials.prepare(cells.plan(trial_id)).model_dump(mode="json")


@DBOS.step(name="measure")
def _measure(trial_id: str, run_index: int, step: dict[str, Any]) -> dict[str, Any]:
    cells, trials = _bound()
    outcome = trials.measure(cells.plan(trial_id), run_index, Step.model_validate(step))
    return outcome.model_dump(mode="json")


@DBOS.step(name="finish_run")
def _finish_run(trial_id: str, end: dict[str, Any], prepared: dict[str, Any]) -> None:
    cells, trials = _bound()
    trials.finish_run(
        cells.plan(trial_id), RunEnd.model_validate(end), Outcome.model_validate(prepared)
    )


@DBOS.step(name="settle_cell")
def _settle(
    trial_id: str, end: dict[str, Any] | None, problem: dict[str, Any] | None, *, rented: bool
) -> None:
    cells, _ = _bound()
    cells.settle(
        trial_id,
        TrialEnd.model_validate(end) if end else None,
        Problem.model_validate(problem) if problem else None,
        rented=rented,
    )


class _Checkpointed:
    """The stations of a trial, each behind its checkpoint; only JSON goes in and out."""

    def prepare(self, plan: Plan) -> Outcome:
        return Outcome.model_validate(_prepare(plan.trial_id))

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        return Outcome.model_validate(
            _measure(plan.trial_id, run_index, step.model_dump(mode="json"))
        )

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        _finish_run(plan.trial_id, end.model_dump(mode="json"), prepared.model_dump(mode="json"))


@DBOS.workflow(name="cell")
def cell(trial_id: str) -> None:
    """Run one attempt of a cell: open, rent, the trial (engine/trial/order.py), settle.

    Every cell is settled, whatever happens: what was rented is released, and its row says how it
    ended."""
    with _at_work(trial_id):
        ready, rented = Outcome.model_validate(_open(trial_id)), False
        if ready.state == "done":
            ready, rented = Outcome.model_validate(_rent(trial_id)), True
        if ready.state == "done":
            _settle(trial_id, _measured(trial_id), None, rented=True)
        else:
            problem = ready.problem.model_dump(mode="json") if ready.problem else None
            _settle(trial_id, None, problem, rented=rented)


@DBOS.workflow(name="trial")
def trial(trial_id: str) -> dict[str, Any]:
    """A run that diskbench 0.1 began, whose workflow had no other stations: it is only resumed."""
    with _at_work(trial_id):
        end = _measured(trial_id)
        _settle(trial_id, end, None, rented=True)
        return end


def _measured(trial_id: str) -> dict[str, Any]:
    """Run the trial of a cell that is rented; how it ended, as JSON."""
    cells, _ = _bound()
    return run_trial(cells.plan(trial_id), _Checkpointed()).model_dump(mode="json")


@contextmanager
def _at_work(trial_id: str) -> Iterator[None]:
    with working_on(trial_id):
        try:
            yield
        except Suspended as suspended:
            suspensions[trial_id] = suspended
            raise


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
