"""A cell, of a matrix or of a run, as a durable workflow. Its id is the trial's; another process
continues it when its own dies."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbos import DBOS, SetEnqueueOptions, SetWorkflowID

from diskbench.engine.durable.at_work import working_on
from diskbench.engine.durable.process import own_queue
from diskbench.engine.durable.workflow import CHECKPOINTED, load_plan
from diskbench.engine.matrix.cell_order import CellStations, run_cell
from diskbench.engine.trial.order import run_trial
from diskbench.errors import Suspended
from diskbench.model.outcome import Outcome, Problem, TrialEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_TAKEOVER_POLL_S = 0.1
suspensions: dict[str, Suspended] = {}
"""Why this process suspended a cell, by trial id. Its workflow in the database is unchanged."""
_stations: CellStations | None = None


def bind_cells(stations: CellStations) -> None:
    """Give this process's cells their adapters; called once, before launch."""
    global _stations
    _stations = stations


def _bound() -> CellStations:
    if _stations is None:
        raise RuntimeError("bind_cells() was not called before the workflow ran")
    return _stations


@DBOS.step(name="open_cell")
def _open(trial_id: str) -> dict[str, Any]:
    return _bound().open(trial_id).model_dump(mode="json")


@DBOS.step(name="rent_cell")
def _rent(trial_id: str) -> dict[str, Any]:
    return _bound().rent(trial_id).model_dump(mode="json")


@DBOS.step(name="settle_cell")
def _settle(
    trial_id: str, end: dict[str, Any] | None, problem: dict[str, Any] | None, rented: bool
) -> None:
    _bound().settle(
        trial_id,
        TrialEnd.model_validate(end) if end else None,
        Problem.model_validate(problem) if problem else None,
        rented=rented,
    )


class _Durable:
    """The stations of a cell, each behind its checkpoint; only JSON goes in and out."""

    def open(self, trial_id: str) -> Outcome:
        return Outcome.model_validate(_open(trial_id))

    def rent(self, trial_id: str) -> Outcome:
        return Outcome.model_validate(_rent(trial_id))

    def settle(
        self, trial_id: str, end: TrialEnd | None, problem: Problem | None, *, rented: bool
    ) -> None:
        _settle(
            trial_id,
            end.model_dump(mode="json") if end else None,
            problem.model_dump(mode="json") if problem else None,
            rented,
        )


@DBOS.workflow(name="cell")
def cell(trial_id: str) -> None:
    """Rent, measure, release and settle one cell."""
    with _at_work(trial_id):
        run_cell(trial_id, _Durable(), CHECKPOINTED, load_plan)


@DBOS.workflow(name="trial")
def trial(trial_id: str) -> dict[str, Any]:
    """A run that diskbench 0.1 began, whose workflow had no other stations: it is only resumed."""
    with _at_work(trial_id):
        end = run_trial(load_plan(trial_id), CHECKPOINTED)
        _Durable().settle(trial_id, end, None, rented=True)
        return end.model_dump(mode="json")


@contextmanager
def _at_work(trial_id: str) -> Iterator[None]:
    with working_on(trial_id):
        try:
            yield
        except Suspended as suspended:
            suspensions[trial_id] = suspended
            raise


def enqueue(trial_id: str, *, queue: str, priority: int) -> None:
    """Put a cell into a queue; a second call changes nothing."""
    registered = DBOS.retrieve_queue(queue)
    if registered is None:
        raise RuntimeError(f"queue {queue} was not registered before a cell was put into it")
    with SetWorkflowID(trial_id), SetEnqueueOptions(priority=priority + 1):
        registered.enqueue(cell, trial_id)


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
    """Start a cell in this process, without a queue, once; returns a function that waits for its
    end."""
    with SetWorkflowID(trial_id):
        handle = DBOS.start_workflow(cell, trial_id)
    return handle.get_result


def go_on(trial_id: str, executor_id: str) -> Callable[[], object]:
    """Continue a cell that another process began; the caller has claimed its row. Returns a
    function that waits for its end."""
    suspensions.pop(trial_id, None)
    handle = DBOS.resume_workflow(trial_id, queue_name=own_queue(executor_id))

    def wait() -> object:
        pause = threading.Event()
        while handle.get_status().status in ("PENDING", "ENQUEUED"):
            if trial_id in suspensions:
                raise suspensions[trial_id]
            pause.wait(_TAKEOVER_POLL_S)
        return handle.get_result(polling_interval_sec=_TAKEOVER_POLL_S)

    return wait
