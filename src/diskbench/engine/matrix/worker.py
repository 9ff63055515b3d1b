"""A process that measures cells: it admits cells, takes those that it reaches, takes over cells of
dead processes (not while its clock is over a minute from the database's), and releases what
outlived its lease; and its main loop, until a signal.

It looks at the rows every two seconds, and takes a cell by writing its own id into the cell's row
(compare and swap) while it has room: `--concurrency` holds per process, and new routes are served,
too. One that is told to end leaves at once: fio continues, and another worker continues the cells.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from diskbench.engine.cleanup.gc import is_reached, sweep
from diskbench.engine.durable.cells import at_work
from diskbench.engine.durable.process import is_over, known, launch_cells, take
from diskbench.engine.durable.schedules import bind_schedules, forget_ended
from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.cells import LiveCells
from diskbench.engine.matrix.machine_reuse import let_idle_go
from diskbench.engine.processes import BEAT_S, DEAD_AFTER_S, DatabaseClock, forget_dead, living
from diskbench.engine.schedule.runs import ScheduleWatch
from diskbench.engine.session import Session
from diskbench.engine.trial.release import keep_begun, keep_ending
from diskbench.engine.trial.stop import Stop, on_signals
from diskbench.errors import DiskbenchError, Interrupted, StoreUnavailable, Suspended
from diskbench.model.campaign import CellRow
from diskbench.model.outcome import Problem, Swept, problem_of
from diskbench.plan.admit import EVERYWHERE, serves
from diskbench.ports import Watcher
from diskbench.store.campaigns import CampaignRow, list_campaigns, live_cells
from diskbench.store.executors import describe_executor, list_executors
from diskbench.store.machines import list_machines

log = logging.getLogger(__name__)

TICK_S = 2.0
"""Seconds between looks at the rows for cells to admit and to take; our choice. Well below BEAT_S,
since a longer gap between two looks counts as a database that was away, after which nobody is taken
for dead."""
SWEEP_EVERY_S = 30.0
"""Seconds between checks for leases that outlived their use (docs/design.md#three-nets)."""


@dataclass
class Worker:
    """The moving parts of one process that measures cells."""

    session: Session
    serves: tuple[str, ...]
    """Patterns of the routes that it reaches (plan/admit.py), or the queue of the matrix `own`."""
    room: int | None = None
    """The most cells that it takes from queues; None: as many as matrices allow. Cells taken over
    from dead processes come on top, because a machine that nobody watches costs money."""
    stop: Stop = field(default_factory=Stop)
    own: str | None = None
    """The id of the only matrix that it measures, in the foreground; None: all that it serves."""
    note: Callable[[str, str], None] = lambda _trial, _text: None
    swept: Callable[[list[Swept]], None] = lambda _: None
    wake: threading.Event = field(default_factory=threading.Event)
    admits: bool = True

    def __post_init__(self) -> None:
        watcher = Watcher(self.note)
        self.cells = LiveCells(self.session, self.stop, watcher, lambda _: self.wake.set())
        self._swept_at = self._ticked_at = self._back_at = time.monotonic()
        self._away: Problem | None = None
        self._kept: set[str] = set()
        self._clock = DatabaseClock(self.session.database)

    def launch(self, *, schedules: bool = False) -> None:
        """Start the workflow engine, listening to this process's own queue; `schedules` also begins
        the matrices of schedules when they are due."""
        watch = ScheduleWatch(self.session.database, self.session.executor_id, begun=self.wake.set)
        if schedules:
            bind_schedules(watch.heard)
        launch_cells(self.cells, schedules=schedules)
        if schedules:
            watch.start()

    def wait(self) -> None:
        """Wait for the next look; one follows at once when a cell of this process ends."""
        self.wake.wait(TICK_S)
        self.wake.clear()

    def tick(self) -> list[CampaignRow] | None:
        """One round of all checks; returns the matrices that have not ended, or None while the
        database is away, which is logged."""
        away_before, self._away = self._away, None
        try:
            open_ones = self._tick()
        except StoreUnavailable as error:
            self._away = problem_of(error)
            if self._away != away_before:
                log.warning("the database does not answer: %s", error.message)
            return None
        if away_before is not None:
            log.info("the database answers again")
        return open_ones

    def _tick(self) -> list[CampaignRow]:
        began, database = time.monotonic(), self.session.database
        jumped_s = self._clock.looked()
        if max(jumped_s, began - self._ticked_at) > BEAT_S:
            self._back_at = began
        served = [
            campaign
            for campaign in list_campaigns(database, states=("running", "cancelling"))
            if (campaign.campaign_id == self.own if self.own else campaign.queue is None)
        ]
        machines = list_machines(database) if served else []
        room = None
        if served and self.room is not None:  # cells that nobody has yet count: it takes them
            mine = (None, self.session.executor_id)
            room = max(0, self.room - sum(cell.owner in mine for cell in live_cells(database)))
        is_due = time.monotonic() - self._swept_at > SWEEP_EVERY_S
        open_ones = []
        for before in served:
            campaign, begun = admit_cells(
                database,
                before,
                admits=self.admits,
                reaches=self._reaches(before),
                keep=lambda ending: keep_ending(self.session, ending),
                machines=machines,
                room=room,
            )
            room = None if room is None else room - begun
            open_ones.append(campaign)
            # Who lets its first cells begin writes the record; the others look whether it is there.
            is_new = campaign.campaign_id not in self._kept
            if campaign.state != "done" and (begun or is_due) and is_new:
                keep_begun(self.session, campaign)
                self._kept.add(campaign.campaign_id)
        if served:
            self._check_cells({campaign.campaign_id: campaign for campaign in open_ones})
        patterns = self.serves if self.own is None else EVERYWHERE
        for campaign in open_ones:
            if any(machine.campaign_id == campaign.campaign_id for machine in machines):
                let_idle_go(self.session, campaign.campaign_id, patterns)
        if is_due:
            self._swept_at = time.monotonic()
            self.sweep()
        self._ticked_at = time.monotonic()
        return [campaign for campaign in open_ones if campaign.state != "done"]

    def holds_any(self) -> bool:
        """Whether this process has a cell, or will have one of its own matrix; True also while the
        database is away."""
        try:
            live = live_cells(self.session.database)
        except StoreUnavailable:
            return True
        me = self.session.executor_id
        return any(cell.owner == me or self.own == cell.campaign_id for cell in live)

    def sweep(self) -> None:
        """Release what outlived its lease, as far as this worker reaches it, and remove what nobody
        reads again."""
        patterns = self.serves if self.own is None else EVERYWHERE
        database = self.session.database
        try:
            reaches = partial(is_reached, database, patterns=patterns)
            self.swept(sweep(self.session, [], dry_run=False, reaches=reaches))
            forget_dead(database)
            forget_ended(database)
        except DiskbenchError as error:
            log.warning("%s", error.message)

    def _reaches(self, campaign: CampaignRow) -> Callable[[CellRow], bool]:
        if campaign.queue is not None:
            return lambda _: True
        return lambda cell: serves(self.serves, cell.route)

    def _check_cells(self, campaigns: dict[str, CampaignRow]) -> None:
        """Take the cells that this process may take, and look after its own."""
        database, me = self.session.database, self.session.executor_id
        reached = [
            cell
            for cell in live_cells(database)
            if cell.campaign_id in campaigns and self._reaches(campaigns[cell.campaign_id])(cell)
        ]
        alive = living(list_executors(database), silence=self._silence)
        taken, free = 0, list[tuple[str, CellRow]]()
        place = attrgetter("campaign_id", "position")
        for cell in sorted(reached, key=lambda cell: (cell.queued_at or "", *place(cell))):
            assert cell.trial_id is not None
            taken += cell.owner == me
            if cell.owner == me and at_work(cell.trial_id):
                self._check_own(campaigns[cell.campaign_id], cell)
            elif cell.owner == me or cell.owner not in alive:
                free.append((cell.trial_id, cell))
        workflows = known([trial_id for trial_id, cell in free if cell.owner is not None])
        for trial_id, cell in free:
            workflow = workflows.get(trial_id)
            if self._may_take(cell, workflow, taken):
                won = take(self.cells, cell, workflow, alive)
                taken += won and cell.owner != me

    def _may_take(self, cell: CellRow, workflow: str | None, taken: int) -> bool:
        """Whether this process may take a cell that no live process owns. Cells of dead processes
        are taken without room, because a machine that nobody watches costs money."""
        # No other process may end its own matrix, nor a cell that it has already.
        if self.own is not None or cell.owner == self.session.executor_id:
            return True
        if workflow is None:
            has_room = self.room is None or taken < self.room
            return self.admits and has_room and (cell.owner is None or not self._clock.is_skewed)
        return is_over(workflow) or (self.admits and not self._clock.is_skewed)

    @property
    def _silence(self) -> float:
        """Seconds that the heartbeat of another machine's process may be missing; unlimited for a
        while after the database was away, because no process could write a heartbeat then."""
        is_back = time.monotonic() - self._back_at > 2 * BEAT_S
        return DEAD_AFTER_S if is_back else float("inf")

    def _check_own(self, campaign: CampaignRow, cell: CellRow) -> None:
        """Stop a cell of this process that takes longer than the matrix allows."""
        trial_id, longest = cell.trial_id, campaign.limits.max_cell_s
        assert trial_id is not None
        if longest is not None and self._clock.age_s(cell.started_at) > longest:
            why = f"it took longer than max_cell_time, {longest:g} s, and was stopped"
            advice = "raise max_cell_time, then 'diskbench matrix retry --failed'"
            too_long = Problem(kind="TookTooLong", message=why, advice=advice)
            self.cells.too_long.setdefault(trial_id, too_long)
            self.stop.ask(trial_id, too_long)


def serve(worker: Worker, *, drains: bool) -> None:
    """Work until SIGINT or SIGTERM.

    On the first signal a worker that `drains` takes no more cells, and returns when its own have
    ended. The second signal, and the first for a worker that does not drain, suspends its cells and
    raises Suspended: fio continues on the hosts, and other workers continue the cells.
    """
    left = Interrupted("the worker was asked to end")

    def handle() -> None:
        if drains and worker.admits:
            worker.admits = False
            worker.wake.set()
            return
        worker.stop.leave()
        worker.wake.set()
        raise Suspended(left)

    announced = False
    with on_signals(handle):
        worker.wake.set()
        while True:
            worker.wait()
            # What the signal raised may have been lost: a driver that cleans up raises an error of
            # its own instead (psycopg, in the middle of SQLAlchemy's ping of a connection).
            if worker.stop.leaving:
                raise Suspended(left)
            if not worker.admits and not announced:
                announced = True
                log.info("draining: takes no new cells and ends after its last one")
                session = worker.session
                try:
                    describe_executor(session.database, session.executor_id, draining=True)
                except StoreUnavailable as error:
                    log.warning("the database does not answer: %s", error.message)
            if worker.tick() is not None and not worker.admits and not worker.holds_any():
                return
