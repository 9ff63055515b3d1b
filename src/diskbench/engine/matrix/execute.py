"""Running the cells of a run in this process: start or continue them, and wait for their ends.

These are the cells that a worker runs, with the same stations, workflow and release. They differ in
three things: the caller saved and claimed their rows, they begin without a queue, and an error
suspends them instead of making them wait (engine/trial/retry.py). Each trial has its own waiting
thread, so that a failure of one does not affect the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from diskbench.engine.durable import cells
from diskbench.engine.matrix.cell_process import launch_cells
from diskbench.engine.matrix.cell_steps import CellEnding, LiveCells
from diskbench.engine.matrix.claim_cell import settle_broken
from diskbench.errors import (
    ReleaseFailed,
    Suspended,
)
from diskbench.store.database_errors import as_unavailable

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.engine.trial.stop import Stop
    from diskbench.engine.trial.watch import Watcher
    from diskbench.model.outcome import Problem, TrialEnd
    from diskbench.model.spec import Plan

_OWN_POLL_S = 0.1


@dataclass
class TrialEnding:
    """How a trial ended in this process: finished, or suspended for another process to resume."""

    plan: Plan
    end: TrialEnd | None = None
    suspended: BaseException | None = None
    stopped: bool = False
    """Whether it was asked to stop before it was suspended."""
    refused: Problem | None = None
    """Why its runs never began: its machine could not be rented."""
    not_released: ReleaseFailed | None = None


def execute(
    session: Session,
    plans: Sequence[Plan],
    watcher: Watcher,
    stop: Stop,
    *,
    take_over: bool = False,
) -> list[TrialEnding]:
    """Run the cells of `plans`, whose rows are saved and owned by this process, to their end or
    suspension; machines of drafts are rented first.

    Returns one report per plan, in order. `take_over` continues cells that another process began.
    """
    settled: list[CellEnding] = []
    own = {} if take_over else {plan.trial_id: plan for plan in plans if not plan.is_draft}
    cells = LiveCells(session, stop, watcher, settled.append, waits=False, plans=own)
    with session.timing.span("launch"), as_unavailable(session.database):
        launch_cells(cells, poll_s=_OWN_POLL_S if take_over else None)
    reports = [TrialEnding(plan) for plan in plans]
    if take_over:
        waits = _continued(cells, plans)
    else:
        waits = (partial(_start, plan.trial_id) for plan in plans)
    threads = [
        _spawn(_to_its_end, session, stop, report, wait)
        for report, wait in zip(reports, waits, strict=True)
    ]
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # in slices, so that signals are handled meanwhile
    endings = {ending.trial_id: ending for ending in settled}
    for report in reports:
        trial_id = report.plan.trial_id
        report.plan = cells.plans.get(trial_id, report.plan)
        if trial_id in endings:
            _add(report, endings[trial_id])
    return reports


def _start(trial_id: str) -> object:
    """Start a cell and wait for its end, in the thread that waits for it."""
    return cells.start(trial_id)()


def _continued(stations: LiveCells, plans: Sequence[Plan]) -> Iterator[Callable[[], object]]:
    """Continue the cell of each plan, which another process began; functions that wait for their
    ends."""
    workflows = cells.known([plan.trial_id for plan in plans])
    for plan in plans:
        trial_id, workflow = plan.trial_id, workflows.get(plan.trial_id)
        if workflow is None:  # killed between its row and its workflow
            yield cells.start(trial_id)
        elif workflow.is_over:
            yield partial(settle_broken, stations, trial_id, workflow)
        else:
            yield cells.go_on(trial_id, stations.session.executor_id)


def _to_its_end(
    session: Session, stop: Stop, report: TrialEnding, wait: Callable[[], object]
) -> None:
    """Wait for a cell; note why it was suspended."""
    try:
        with as_unavailable(session.database):
            wait()
    except (Exception, Suspended) as error:  # noqa: BLE001 - a fault in the workflow is reported
        report.suspended = error.error if isinstance(error, Suspended) else error
        report.stopped = stop.asked(report.plan.trial_id)


def _add(report: TrialEnding, ending: CellEnding) -> None:
    """Add to a report how its cell ended; a cell whose release could not be tried is suspended,
    and reported as not given back."""
    report.end, report.not_released = ending.end, ending.not_released
    if ending.not_released is not None:
        report.suspended = None
    if ending.end is None and ending.problem is not None:
        report.end = ending.never_began(report.plan)
        report.refused = ending.problem


def _spawn(work: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread
