"""A cell, of a matrix or of a run, as a durable workflow with a checkpoint where its machine is
ready, and one after each measured step.

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
from diskbench.model.base import Frozen
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
    """The stations around a trial. Each is idempotent."""

    def plan(self, trial_id: str) -> Plan:
        """The plan of a trial."""
        ...

    def open(self, trial_id: str) -> Outcome:
        """Plan the trial and write its rows, lease first; nothing is rented."""
        ...

    def rent(self, trial_id: str) -> Outcome:
        """Acquire the machine, or connect to the one that exists."""
        ...

    def settle(self, trial_id: str, end: TrialEnd | None, problem: Problem | None) -> None:
        """Release everything, and write into the cell's row how it ended or when it is retried."""
        ...


def bind(cells: CellStations, trials: Stations) -> None:
    """Give this process's workflows their adapters; called once, before launch."""
    global _cells, _trials
    _cells, _trials = cells, trials


def _bound() -> tuple[CellStations, Stations]:
    if _cells is None or _trials is None:
        raise RuntimeError("bind() was not called before the workflow ran")
    return _cells, _trials


@DBOS.step(name="begin_cell")
def _begin(trial_id: str) -> dict[str, Any]:
    return _begun(trial_id).model_dump(mode="json")


class _Begun(Frozen):
    """A cell up to its first measurement; `prepared` is None where its machine is not there, for
    the problem in `ready`."""

    ready: Outcome
    prepared: Outcome | None = None


def _begun(trial_id: str) -> _Begun:
    """Open, rent and prepare. Each finds what it made before, so that one checkpoint does for all:
    it keeps what the preparation was, which only its first call knows."""
    cells, trials = _bound()
    ready = cells.open(trial_id)
    if ready.state == "done":
        ready = cells.rent(trial_id)
    if ready.state != "done":
        return _Begun(ready=ready)
    return _Begun(ready=ready, prepared=trials.prepare(cells.plan(trial_id)))


@DBOS.step(name="measure")
def _measure(trial_id: str, run_index: int, step: dict[str, Any]) -> dict[str, Any]:
    cells, trials = _bound()
    outcome = trials.measure(cells.plan(trial_id), run_index, Step.model_validate(step))
    return outcome.model_dump(mode="json")


@dataclass(frozen=True)
class _Checkpointed:
    """The stations of a trial that was prepared; only JSON goes through a checkpoint. The end of a
    run has none: its manifest, once written, is kept by every further call."""

    prepared: Outcome

    def prepare(self, _: Plan) -> Outcome:
        return self.prepared

    def measure(self, plan: Plan, run_index: int, step: Step) -> Outcome:
        return Outcome.model_validate(
            _measure(plan.trial_id, run_index, step.model_dump(mode="json"))
        )

    def finish_run(self, plan: Plan, end: RunEnd, prepared: Outcome) -> None:
        _, trials = _bound()
        trials.finish_run(plan, end, prepared)


@DBOS.workflow(name="cell")
def cell(trial_id: str) -> None:
    """Run one attempt of a cell: open, rent, the trial (engine/trial/order.py), settle.

    Every cell is settled, whatever happens: what was rented is released, and its row says how it
    ended. That row is the checkpoint of the settling: a settled cell is not settled again."""
    with _at_work(trial_id):
        cells, _ = _bound()
        begun = _Begun.model_validate(_begin(trial_id))
        if begun.prepared is None:
            cells.settle(trial_id, None, begun.ready.problem)
        else:
            end = run_trial(cells.plan(trial_id), _Checkpointed(begun.prepared))
            cells.settle(trial_id, end, None)


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
