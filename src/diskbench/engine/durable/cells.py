"""A cell, of a matrix or of a run, as a durable workflow: the order of its stations; and the
trials that threads of this process work on.

    open ──▶ rent ──▶ prepare ──▶ for each run: measure step by step, finish ──▶ settle

There is a checkpoint where the machine is ready, and one after each measured step. The stations
between two checkpoints are repeated after a crash and find what they made; the end of a run is its
manifest and the end of a cell its row, so neither needs a checkpoint.

The workflow's id is the trial's. A killed controller's cell continues, in another process, at the
station where it stood. The properties of DBOS in docs/design.md#durable-execution shape this room:
the application version is fixed, a stop is a message that stations obey and never a DBOS cancel,
and each process has a fresh executor id and listens to its own queue, so that no bystander ever
runs another's trials. Only public calls of DBOS are used.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator

from dbos import DBOS

from diskbench.engine.matrix.cells import LiveCells
from diskbench.errors import MeasurementFailed, Suspended
from diskbench.model.outcome import Outcome, Problem, RunEnd, problem_of
from diskbench.model.result import RunState, StepResult
from diskbench.model.spec import Plan
from diskbench.plan.sequence import next_step

_bound_cells: LiveCells | None = None
BEGINS_WITHIN_S = 30.0
"""Seconds within which DBOS runs what it was given, in a thread of this process; our choice."""
suspensions: dict[str, Suspended] = {}
"""Why this process suspended a trial, by its id. Its workflow in the database is unchanged."""
_threads: Counter[str] = Counter()
"""How many threads of this process work on each trial."""
given_at: dict[str, float] = {}
"""When DBOS was given each trial to run here, by the monotonic clock."""
_changed = threading.Condition()


def bind(cells: LiveCells) -> None:
    """Give this process's workflows their stations; called once, before launch."""
    global _bound_cells
    _bound_cells = cells


def _stations() -> LiveCells:
    if _bound_cells is None:
        raise RuntimeError("bind() was not called before the workflow ran")
    return _bound_cells


@DBOS.workflow(name="cell")
def cell(trial_id: str) -> None:
    """Run one attempt of a cell: open, rent, the trial, settle.

    Every cell is settled, whatever happens: what was rented is released, and its row says how it
    ended. That row is the checkpoint of the settling: a settled cell is not settled again."""
    cells = _stations()
    with working_on(trial_id):
        begun = DBOS.run_step({"name": "begin_cell"}, _begin, trial_id)
        ready, *prepared = map(Outcome.model_validate, begun)
        if prepared:
            cells.settle(trial_id, _run_trial(trial_id, prepared[0]), None)
        else:
            cells.settle(trial_id, None, ready.problem)


def _begin(trial_id: str) -> list[Outcome]:
    """Open, rent and prepare. Each finds what it made before, so one checkpoint is enough for all:
    it keeps what the preparation was, which only its first call knows. It has only the first
    outcome where the machine is not there."""
    cells = _stations()
    ready = cells.open(trial_id)
    if ready.state == "done":
        ready = cells.rent(trial_id)
    if ready.state != "done":
        return [ready]
    return [ready, cells.trials.prepare(cells.plan(trial_id))]


def _run_trial(trial_id: str, ready: Outcome) -> tuple[RunEnd, ...]:
    """Measure all runs of a prepared trial in order; the first that does not end well ends it.

    What a trial put on its target is removed with its lease (engine/trial/release.py), never here:
    a trial may be cancelled or crash, and its lease outlives it."""
    cells = _stations()
    plan = cells.plan(trial_id)
    failed = None if ready.state == "done" else _end_state(ready)
    problem = ready.problem
    ends: list[RunEnd] = []
    for run_index, run_id in enumerate(plan.run_ids):
        if failed is None:
            state, problem = _measure_run(plan, run_index)
            failed = None if state == "done" else state
        elif not ends:
            state = failed
        else:
            why = f"run {run_index + 1} was not started: the run before it was {ends[-1].state}"
            state, problem = "cancelled", Problem(kind="NotStarted", message=why)
        end = RunEnd(run_id=run_id, run_index=run_index, state=state, problem=problem)
        cells.trials.finish_run(plan, end, ready)
        ends.append(end)
    return tuple(ends)


def _measure_run(plan: Plan, run_index: int) -> tuple[RunState, Problem | None]:
    """Measure one run step by step: what comes next depends on the steps so far."""
    trials = _stations().trials
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


@contextlib.contextmanager
def giving(trial_id: str) -> Iterator[None]:
    """Inside the block DBOS is given a trial to run here; it is not given it again for a while."""
    given_at[trial_id] = time.monotonic()
    try:
        yield
    except BaseException:
        given_at.pop(trial_id, None)
        raise


@contextlib.contextmanager
def working_on(trial_id: str) -> Iterator[None]:
    """Inside the block, count this thread as working on a trial, and keep why it was suspended."""
    with _changed:
        _threads[trial_id] += 1
        given_at.pop(trial_id, None)
    try:
        yield
    except Suspended as suspended:
        suspensions[trial_id] = suspended
        raise
    finally:
        with _changed:
            _threads[trial_id] -= 1
            if not _threads[trial_id]:
                del _threads[trial_id]
            _changed.notify_all()


def at_work(trial_id: str) -> bool:
    """Whether a thread of this process works on a trial, or will in a moment.

    DBOS ends a thread silently when it cannot write the thread's outcome, and may lose what it took
    from a queue while the database went away: such a trial is given to it again."""
    with _changed:
        given = given_at.get(trial_id)
        is_new = given is not None and time.monotonic() - given < BEGINS_WITHIN_S
        return trial_id in _threads or is_new


def none_at_work(within_s: float) -> bool:
    """Wait at most `within_s` seconds until no thread works on any trial; returns whether that is
    so."""
    with _changed:
        return _changed.wait_for(lambda: not _threads, within_s)
