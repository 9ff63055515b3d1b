"""A process that runs cells: its stations, its workflow engine and its poller of wishes. `run`,
`resume`, `matrix run` and `worker` all start here."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from diskbench.engine.durable import cells as durable_cells
from diskbench.engine.durable import process
from diskbench.errors import StoreUnavailable
from diskbench.store.wishes import asked_to_stop

if TYPE_CHECKING:
    from diskbench.engine.matrix.cell_steps import LiveCells
    from diskbench.engine.session import Session
    from diskbench.engine.trial.stop import Stop

WISHES_EVERY_S = 1.0
"""Seconds between two polls for requests to stop; our choice."""
WISHES_LISTENING_S = 30.0
"""The same while notices are heard (store/notices.py): no request should ever wait for a poll."""


def launch_cells(
    cells: LiveCells,
    *,
    poll_s: float | None = None,
    schedules: bool = False,
) -> None:
    """Start the workflow engine of this process. With `poll_s` it takes over cells: it polls its
    own queue at this interval."""
    session = cells.session
    durable_cells.bind(cells)
    session.ends_work = process.stop
    follow_wishes(session, cells.stop)
    session.keep_running(lambda over: session.notices.follow(session.database, over))
    process.launch(
        session.database,
        session.executor_id,
        own_poll_s=poll_s,
        schedules=schedules,
    )


def follow_wishes(session: Session, stop: Stop) -> None:
    """Ask `stop` to stop each trial that `diskbench cancel` names, until the session is closed."""
    wake = threading.Event()
    session.notices.wake(wake, "wish")
    session.keep_running(lambda over: _follow(session, stop, wake, over))


def _follow(session: Session, stop: Stop, wake: threading.Event, over: threading.Event) -> None:
    while True:
        wake.wait(WISHES_LISTENING_S if session.notices.listening else WISHES_EVERY_S)
        wake.clear()
        if over.is_set():
            return
        try:
            trial_ids = asked_to_stop(session.database, session.executor_id)
        except StoreUnavailable:
            continue  # reported by whatever writes there; polled again when it is back
        for trial_id in trial_ids:
            stop.ask(trial_id)
