"""Cells in this process: how it is started, how a cell is taken and continued, and the cells of a
run to their ends. `run`, `resume`, `matrix run` and `worker` all start here.

The row of a cell decides alone. A cell whose owner is this process runs here; one without an owner,
or whose owner is dead, is taken by whoever swaps the owner first. The workflow engine is told
afterwards: a process that dies in between left a cell that the next process takes in the same way.

The cells of a run are those of a worker, with the same stations, workflow and release. They differ
in three things: the caller saved and claimed their rows, each has a thread that waits for it, so
that a failure of one does not affect the others, and an error suspends them instead of making them
wait (engine/trial/stop.py).
"""

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from diskbench.engine.durable import cells as durable
from diskbench.engine.matrix.cells import LiveCells, TrialEnding, never_began
from diskbench.engine.processes import silent_s
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import prolong
from diskbench.engine.trial.stop import Stop
from diskbench.errors import InvalidValue, RentalFailed, StoreUnavailable, Suspended
from diskbench.model.campaign import CellRow
from diskbench.model.outcome import Problem, problem_of
from diskbench.model.spec import Plan
from diskbench.ports import Watcher
from diskbench.store.campaigns import asked_to_stop, claim_cell
from diskbench.store.database_errors import as_unavailable


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
        workflows = durable.known([plan.trial_id for plan in plans]) if take_over else {}

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
    if settled.end is None and settled.problem is not None:
        settled = replace(settled, end=never_began(plan, settled.problem))
    if suspended is None or settled.not_released is not None:
        return settled
    return replace(settled, suspended=suspended.suspended, stopped=suspended.stopped)


log = logging.getLogger(__name__)


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
    if workflow is not None and not durable.is_over(workflow):
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
        return durable.start(trial_id)
    if durable.is_over(workflow):
        fault = f"a fault in diskbench ended its workflow: {workflow}"
        stations.settle(trial_id, None, Problem(kind="Broken", message=fault))
        return lambda: None
    return durable.go_on(trial_id, stations.session.executor_id)


WISHES_EVERY_S = 1.0
"""Seconds between two polls for requests to stop; our choice."""


def launch_cells(cells: LiveCells, *, schedules: bool = False) -> None:
    """Start the workflow engine of this process."""
    session = cells.session
    durable.bind(cells)
    session.ends_work = durable.stop
    follow_wishes(session, cells.stop)
    durable.launch(session.database, session.executor_id, schedules=schedules)


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
