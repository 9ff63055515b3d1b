"""Cells in this process: how it starts and stops DBOS, takes a cell and continues it, and the cells
of a run to their ends. `run`, `resume`, `matrix run` and `worker` all start here.

The row of a cell decides alone. A cell whose owner is this process runs here; one without an owner,
or whose owner is dead, is taken by whoever swaps the owner first. The workflow engine is told
afterwards: a process that dies in between left a cell that the next process takes in the same way.

The cells of a run are those of a worker, with the same stations, workflow and release. They differ
in three things: the caller saved and claimed their rows, each has a thread that waits for it, so
that a failure of one does not affect the others, and an error suspends them instead of making them
wait (engine/trial/stop.py).
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, SetWorkflowID, WorkflowHandle

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.durable.cells import bind, given_at, giving, none_at_work, suspensions
from diskbench.engine.durable.cells import cell as cell_workflow
from diskbench.engine.durable.schedules import JsonSerializer
from diskbench.engine.matrix.cells import LiveCells, TrialEnding
from diskbench.engine.processes import silent_s
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import prolong
from diskbench.engine.trial.stop import Stop
from diskbench.errors import InvalidValue, RentalFailed, StoreUnavailable, Suspended
from diskbench.model.campaign import CellRow
from diskbench.model.outcome import Problem, RunEnd, problem_of
from diskbench.model.spec import Plan
from diskbench.ports import Watcher
from diskbench.store.campaigns import asked_to_stop, claim_cell
from diskbench.store.database_errors import as_unavailable

log = logging.getLogger(__name__)

WISHES_EVERY_S = 1.0
"""Seconds between two polls for requests to stop; our choice."""
_TAKEOVER_POLL_S = 0.1
APPLICATION_VERSION = "1"
"""Raised by hand when the sequence of checkpoints changes: DBOS continues no workflow of another
version."""
OWN_POLL_S = 0.25
"""Seconds between polls of its own queue, which begin with its first takeover; our choice."""
_RARELY_S = 3600.0
"""Only workers use DBOS's schedules: other processes need not poll them."""
_NOTIFIED_S = 0.1
"""DBOS's notifications are not used; its thread for them sleeps for this time before it notices
that DBOS is stopped."""
_DBOS_HANDLER = "__dbos_console_log_handler__"
_DBOS_THREADS = "dbos-executor-"
_registering = threading.Lock()
_LEAVES_WITHIN_S = 5.0
"""How long the end of a process waits for its workflows to be suspended; a step that follows fio
notices within a second. Our choice."""


def execute(
    session: Session,
    plans: Sequence[Plan],
    watcher: Watcher,
    stop: Stop,
    *,
    take_over: bool = False,
) -> list[tuple[Plan, TrialEnding]]:
    """Run the cells of `plans`, whose rows are saved and owned by this process, to their end or
    suspension; machines of drafts are rented first.

    Returns each plan, as it was measured, with its ending, in order. `take_over` continues cells
    that another process began.
    """
    settled: list[TrialEnding] = []
    suspended: dict[str, TrialEnding] = {}
    own = {} if take_over else {plan.trial_id: plan for plan in plans if not plan.is_draft}
    stations = LiveCells(session, stop, watcher, settled.append, waits=False, plans=own)
    with session.timing.span("launch"), as_unavailable(session.database):
        launch_cells(stations)
        workflows = known([plan.trial_id for plan in plans]) if take_over else {}

    def to_its_end(trial_id: str) -> None:
        """Begin or continue a cell and wait for its end; note why it was suspended."""
        try:
            with as_unavailable(session.database):
                carry_on(stations, trial_id, workflows.get(trial_id))()
        except (Exception, Suspended) as error:  # noqa: BLE001 - a workflow's fault is reported
            fault = error.error if isinstance(error, Suspended) else error
            stopped = stop.asked(trial_id)
            suspended[trial_id] = TrialEnding(trial_id, suspended=fault, stopped=stopped)

    threads = [
        threading.Thread(target=to_its_end, args=(plan.trial_id,), daemon=True) for plan in plans
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # in slices, so that signals are handled meanwhile
    endings = {ending.trial_id: ending for ending in settled}
    measured = [stations.plans.get(plan.trial_id, plan) for plan in plans]
    return [
        (plan, _whole(plan, suspended.get(plan.trial_id), endings.get(plan.trial_id)))
        for plan in measured
    ]


def _whole(plan: Plan, suspended: TrialEnding | None, settled: TrialEnding | None) -> TrialEnding:
    """How a trial ended whose cell was suspended, settled, or both; a cell whose release could not
    be tried is suspended, and reported as not given back."""
    if settled is None:
        return suspended or TrialEnding(plan.trial_id)
    if settled.end is None and (problem := settled.problem) is not None:  # it was never measured
        ends = (
            RunEnd(run_id=run_id, run_index=index, state=problem.run_state, problem=problem)
            for index, run_id in enumerate(plan.run_ids)
        )
        settled = replace(settled, end=tuple(ends))
    if suspended is None or settled.not_released is not None:
        return settled
    return replace(settled, suspended=suspended.suspended, stopped=suspended.stopped)


def take(stations: LiveCells, cell: CellRow, workflow: str | None, alive: Collection[str]) -> bool:
    """Take a cell that no live process runs and let it run here; False when another process owns
    it. One of this process that none of its threads works on is given to the workflow engine again.
    `workflow` is the state of its workflow, None for a cell that has not begun."""
    assert cell.trial_id is not None
    session = stations.session
    me = session.executor_id
    if cell.owner != me and (
        cell.owner in alive
        or not claim_cell(session.database, cell.trial_id, owner=me, previous=cell.owner)
    ):
        return False
    trial = {"trial": cell.trial_id}
    if workflow is None:
        log.info("took %s", cell.key, extra=trial)
    elif cell.owner == me:
        log.warning("resumes a cell that no thread works on", extra=trial)
    else:
        lost = {"lost_s": f"{silent_s(session.database, cell):.1f}"}
        log.info("takes over %s", cell.key, extra={**trial, **lost})
    if workflow is not None and not is_over(workflow):
        try:
            prolong(session, cell.trial_id)
        except InvalidValue as error:  # its machine would end first: it is tried again on a new one
            short = RentalFailed(error.message, advice="the cell is tried again on a new machine")
            stations.settle(cell.trial_id, None, problem_of(short))
    carry_on(stations, cell.trial_id, workflow)
    return True


def carry_on(stations: LiveCells, trial_id: str, workflow: str | None) -> Callable[[], object]:
    """Begin a cell of this process, or continue it where its workflow stands; returns a function
    that waits for its end. A cell whose workflow ended without settling it is settled as broken, so
    that it does not stay open."""
    if workflow is None:  # its process died before it began, or it is new
        return start(trial_id)
    if is_over(workflow):
        fault = f"a fault in diskbench ended its workflow: {workflow}"
        stations.settle(trial_id, None, Problem(kind="Broken", message=fault))
        return lambda: None
    return go_on(trial_id, stations.session.executor_id)


def known(trial_ids: Sequence[str]) -> dict[str, str]:
    """The state of the workflow of each of these cells that has one, by trial id. Who owns the cell
    is in its row alone."""
    if not trial_ids:
        return {}
    ids = list(trial_ids)
    workflows = DBOS.list_workflows(workflow_ids=ids, load_input=False, load_output=False)
    return {workflow.workflow_id: str(workflow.status) for workflow in workflows}


def is_over(state: str) -> bool:
    """Whether a workflow in this state, as DBOS names it, ended. Its cell was settled before,
    unless a fault prevented it."""
    return state not in ("PENDING", "ENQUEUED", "DELAYED")


def start(trial_id: str) -> Callable[[], object]:
    """Start a cell in this process, without a queue; returns a function that waits for its end. A
    second call for the same cell starts nothing."""
    with giving(trial_id), SetWorkflowID(trial_id):
        handle = DBOS.start_workflow(cell_workflow, trial_id)
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


def move_here(trial_id: str, executor_id: str) -> WorkflowHandle[Any]:
    """Continue in this process a cell that no other process runs; the caller has won its row."""
    queue = own_queue(executor_id)
    with giving(trial_id), _registering:
        # Registered at the first takeover only: DBOS keeps a row for each queue, and polls it.
        if DBOS.retrieve_queue(queue) is None:
            DBOS.register_queue(queue, polling_interval_sec=OWN_POLL_S)
        return DBOS.resume_workflow(trial_id, queue_name=queue)


def own_queue(executor_id: str) -> str:
    """The only queue that the process `executor_id` takes work from."""
    return f"exec-{executor_id}"


def launch_cells(cells: LiveCells, *, schedules: bool = False) -> None:
    """Start the workflow engine of this process."""
    session = cells.session
    bind(cells)
    session.ends_work = stop
    follow_wishes(session, cells.stop)
    launch(session.database, session.executor_id, schedules=schedules)


def follow_wishes(session: Session, stop: Stop) -> None:
    """Ask `stop` to stop each trial that `diskbench cancel` names, until the session is closed."""

    def follow(over: threading.Event) -> None:
        while not over.wait(WISHES_EVERY_S):
            try:
                trial_ids = asked_to_stop(session.database, session.executor_id)
            except StoreUnavailable:
                continue  # reported by whatever writes there; polled again when it is back
            for trial_id in trial_ids:
                stop.ask(trial_id)

    session.keep_running(follow)


def launch(engine: sa.Engine, executor_id: str, *, schedules: bool = False) -> None:
    """Start DBOS on our own database engine, after cells.bind. `schedules` listens to those, too
    (engine/durable/schedules.py)."""
    DBOS(
        config={
            "name": clocks.APPLICATION,
            "system_database_url": engine.url.render_as_string(hide_password=False),
            "system_database_engine": engine,
            "executor_id": executor_id,
            "application_version": APPLICATION_VERSION,
            "serializer": JsonSerializer(),
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": _NOTIFIED_S,
            "scheduler_polling_interval_sec": clocks.POLL_S if schedules else _RARELY_S,
            "log_level": "CRITICAL",
        }
    )
    DBOS.listen_queues([own_queue(executor_id), *([clocks.QUEUE] if schedules else [])])
    DBOS.launch()
    if schedules:
        clocks.listen()


def stop(within_s: float = _LEAVES_WITHIN_S) -> bool:
    """Stop DBOS, after waiting at most `within_s` seconds for workflows that are being suspended.
    Returns whether none runs any more. DBOS can be launched again in the same process."""
    idle = none_at_work(within_s)
    with contextlib.suppress(Exception):
        DBOS.destroy()
    if none_at_work(0):  # `destroy` tells the threads of workflows to end and does not wait
        end = time.monotonic() + _LEAVES_WITHIN_S
        for thread in threading.enumerate():
            if thread.name.startswith(_DBOS_THREADS) and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))
    given_at.clear()
    logger = logging.getLogger("dbos")
    for handler in logger.handlers[:]:
        if handler.name == _DBOS_HANDLER:  # it keeps the standard error of this launch
            logger.removeHandler(handler)
    return idle
