"""A process that runs cells: its stations, its workflow engine and its poller of wishes. `run`,
`resume`, `matrix run` and `worker` all start here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.engine.trial.trial_steps import LiveStations
from diskbench.engine.wishes import follow_wishes

if TYPE_CHECKING:
    from diskbench.engine.matrix.cell_steps import LiveCells


def stations_of(cells: LiveCells) -> LiveStations:
    """The stations of the trials of `cells`."""
    session = cells.session
    return LiveStations(
        database=session.database,
        evidence_of=session.evidence_of,
        connect=session.connect,
        watcher=cells.watcher,
        stop=cells.stop,
        retry=cells.retry,
        timing=session.timing,
        renter=session.renter,
    )


def launch_cells(
    cells: LiveCells,
    stations: LiveStations,
    *,
    poll_s: float | None = None,
    schedules: bool = False,
) -> None:
    """Start the workflow engine of this process. With `poll_s` it takes over cells: it polls its
    own queue at this interval."""
    from diskbench.engine.durable import cells as durable_cells
    from diskbench.engine.durable import process

    session = cells.session
    durable_cells.bind(cells, stations)
    session.ends_work = process.stop
    follow_wishes(session, cells.stop)
    session.keep_running(lambda over: session.notices.follow(session.database, over))
    process.launch(
        session.database,
        session.executor_id,
        own_poll_s=poll_s,
        schedules=schedules,
    )
