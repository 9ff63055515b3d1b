"""A process that measures cells: it admits cells, takes those that it can reach into its own queue,
takes over cells of dead processes, and releases what outlived its lease. A worker whose clock
differs by over a minute from the database's takes over no cells.

A worker takes a cell by writing its own id into the cell's row (compare and swap), and only while
it has room: `--concurrency` therefore holds per process, and routes that are new since it started
are served, too. A worker that is told to end leaves at once: fio continues on its hosts, and
another worker continues the cells.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diskbench.engine.cleanup.gc import is_reached, sweep
from diskbench.engine.durable import cells, process
from diskbench.engine.matrix.admission import Taker, feed
from diskbench.engine.matrix.cell_process import launch_cells
from diskbench.engine.matrix.cell_steps import LiveCells
from diskbench.engine.matrix.claim_cell import take
from diskbench.engine.matrix.database_clock import DatabaseClock
from diskbench.engine.matrix.executor import BEAT_S, DEAD_AFTER_S, forget_dead, living
from diskbench.engine.matrix.keep_matrix_rows import keep_begun, keep_ending
from diskbench.engine.matrix.machine_reuse import let_idle_go
from diskbench.engine.matrix.stuck_cells import StuckCells
from diskbench.engine.schedule.watch import ScheduleWatch
from diskbench.engine.trial.stop import Stop
from diskbench.engine.trial.watch import Silent
from diskbench.errors import DiskbenchError, StoreUnavailable
from diskbench.model.outcome import Problem, problem_of
from diskbench.plan.admit import EVERYWHERE, serves
from diskbench.store.campaigns import list_campaigns, traits_of
from diskbench.store.cells import live_cells
from diskbench.store.claims import list_executors
from diskbench.store.leases import list_machines
from diskbench.store.notices import announce_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.engine.durable.cells import WorkflowState
    from diskbench.engine.matrix.admission import Fed
    from diskbench.engine.matrix.cell_steps import CellEnding
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.outcome import Swept
    from diskbench.store.campaigns import CampaignRow, MatrixTraits
    from diskbench.store.claims import Executor
    from diskbench.store.leases import MachineRecord

log = logging.getLogger(__name__)

TICK_S = 2.0
"""Seconds between checks for cells to admit and to take over, where no notices are heard; our
choice."""
LISTENING_TICK_S = BEAT_S / 3
"""Seconds between checks while notices are heard (store/notices.py): only the silence of another
machine's process is found by looking. Well below BEAT_S, since a longer gap between two checks
counts as a database that was away, after which nobody is taken for dead."""
SWEEP_EVERY_S = 30.0
"""Seconds between checks for leases that outlived their use (docs/design.md#three-nets)."""
OWN_POLL_S = 0.25
"""Seconds between polls of its own queue, which begin with its first takeover."""


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
        self.cells = LiveCells(self.session, self.stop, Silent(self.note), self._over)
        self.session.notices.wake(self.wake, "cells")
        self._counting, self._ended = threading.Lock(), 0
        self._held: Counter[str] = Counter()
        self._by_time = True
        self._traits: dict[str, MatrixTraits] = {}
        self._others: Sequence[Executor] = ()
        self._alive: set[str] = set()
        self._swept_at = time.monotonic()
        self._ticked_at = self._back_at = time.monotonic()
        self._away: Problem | None = None
        self._stuck = StuckCells()
        self._kept: set[str] = set()
        self._clock = DatabaseClock(self.session.database)
        self._schedules: ScheduleWatch | None = None

    def launch(self, *, schedules: bool = False) -> None:
        """Start the workflow engine, listening to this process's own queue; `schedules` also begins
        the matrices of schedules when they are due."""
        watch = ScheduleWatch(self.session.database, self.session.executor_id, begun=self.wake.set)
        if schedules:
            self._schedules = watch
            watch.bind()
        launch_cells(self.cells, poll_s=OWN_POLL_S, schedules=schedules)
        if schedules:
            watch.start()

    def wait(self) -> None:
        """Wait until there is something to look at: a notice, the end of a cell, or the time."""
        while not self.wake.wait(TICK_S):
            if not self.session.notices.listening or self._by_time:
                break
            if time.monotonic() - self._ticked_at > LISTENING_TICK_S:
                break
            if living(self._others, silence=self._silence) != self._alive:
                break  # of this machine's processes the kernel says at once that they are gone
        self.wake.clear()

    def _over(self, _: CellEnding) -> None:
        with self._counting:
            self._ended += 1
        self.wake.set()

    def tick(self) -> list[CampaignRow] | None:
        """One round of all checks; returns the matrices that have not ended, or None while the
        database is away, which is logged."""
        try:
            open_ones = self._tick()
        except StoreUnavailable as error:
            away = problem_of(error)
            if away != self._away:
                log.warning("the database does not answer: %s", error.message)
            self._away = away
            return None
        if self._away is not None:
            log.info("the database answers again")
        self._away = None
        return open_ones

    def _tick(self) -> list[CampaignRow]:
        began, database = time.monotonic(), self.session.database
        jumped_s = self._clock.looked()
        if max(jumped_s, began - self._ticked_at) > BEAT_S:
            self._back_at = began
        with self._counting:
            ended, self._ended = self._ended, 0
        served = [
            campaign
            for campaign in list_campaigns(database, states=("running", "cancelling"))
            if self._is_served(campaign)
        ]
        shares = any(self._traits_of(campaign).shares_machines for campaign in served)
        machines = list_machines(database) if shares else []
        self._held = Counter(
            {campaign.campaign_id: self._held[campaign.campaign_id] for campaign in served}
        )
        fed = [self._feed(campaign, machines, is_free=ended > 0) for campaign in served]
        open_ones = [turn.campaign for turn in fed]
        self._by_time = any(turn.by_time for turn in fed) or bool(machines)
        taken = {trial_id for turn in fed for trial_id in turn.taken}
        by_id = {campaign.campaign_id: campaign for campaign in open_ones}
        untaken = self._check_cells(by_id, taken) if served else 0
        begun, left = any(turn.begun for turn in fed), any(turn.left for turn in fed)
        # The place of a cell that ended is free for others where no other cell has it now.
        if (untaken and begun) or (ended > len(taken) and left):
            announce_now(database, "cells")  # other workers have room for them, or reach them
        patterns = self.serves if self.own is None else EVERYWHERE
        is_due = time.monotonic() - self._swept_at > SWEEP_EVERY_S
        for turn in fed:
            # Who lets its first cells begin writes the record; the others look whether it is there.
            if turn.campaign.state != "done" and (turn.begun or is_due):
                self._keep_begun(turn.campaign)
        for campaign in open_ones:
            if any(machine.campaign_id == campaign.campaign_id for machine in machines):
                let_idle_go(self.session, campaign.campaign_id, patterns)
        if is_due:
            self._swept_at = time.monotonic()
            self.sweep()
        self._rest_or_wake()
        self._ticked_at = time.monotonic()
        return [campaign for campaign in open_ones if campaign.state != "done"]

    def _rest_or_wake(self) -> None:
        """Let the workflow engine of a worker run while it has a cell or a schedule is due, and
        rest otherwise."""
        if self._schedules is None:
            return
        if self._held.total() or self._schedules.is_due_soon():
            process.wake()
        else:
            process.rest()

    def _keep_begun(self, campaign: CampaignRow) -> None:
        if campaign.campaign_id not in self._kept:
            keep_begun(self.session, campaign)
            self._kept.add(campaign.campaign_id)

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
        from diskbench.engine.durable.retention import forget_ended

        patterns = self.serves if self.own is None else EVERYWHERE
        try:
            self.swept(
                sweep(
                    self.session,
                    [],
                    dry_run=False,
                    reaches=lambda lease: is_reached(self.session.database, lease, patterns),
                )
            )
            forget_dead(self.session.database)
            forget_ended(self.session.database)
        except DiskbenchError as error:
            log.warning("%s", error.message)

    def _feed(
        self, campaign: CampaignRow, machines: Sequence[MachineRecord], *, is_free: bool
    ) -> Fed:
        turn = feed(
            self.session.database,
            campaign,
            admits=self.admits,
            reaches=self._reaches(campaign),
            keep=lambda ending: keep_ending(self.session, ending),
            machines=machines,
            is_free=is_free,
            partitions=self._traits_of(campaign).partitions,
            taker=self._taker(campaign),
        )
        self._held[campaign.campaign_id] += len(turn.taken)
        return turn

    def _taker(self, campaign: CampaignRow) -> Taker | None:
        """This process with the room that its cells of other matrices leave; None: it has room for
        as many as matrices allow."""
        if self.room is None:
            return None
        elsewhere = self._held.total() - self._held[campaign.campaign_id]
        return Taker(self.session.executor_id, max(0, self.room - elsewhere))

    def _traits_of(self, campaign: CampaignRow) -> MatrixTraits:
        name = campaign.campaign_id
        if name not in self._traits:
            self._traits[name] = traits_of(self.session.database, name)
        return self._traits[name]

    def _is_served(self, campaign: CampaignRow) -> bool:
        return campaign.campaign_id == self.own if self.own else campaign.queue is None

    def _reaches(self, campaign: CampaignRow) -> Callable[[CellRow], bool]:
        if campaign.queue is not None:
            return lambda _: True
        return lambda cell: serves(self.serves, cell.route)

    def _check_cells(self, campaigns: dict[str, CampaignRow], begun: set[str]) -> int:
        """Start the cells that it has just let begin, by trial; take those that it may take, and
        look after its own. Returns how many that it reaches are left without a process."""
        database, me = self.session.database, self.session.executor_id
        mine = [
            cell
            for cell in live_cells(database)
            if cell.campaign_id in campaigns and self._reaches(campaigns[cell.campaign_id])(cell)
        ]
        self._others = list_executors(database)
        alive = self._alive = living(self._others, silence=self._silence)
        taken, untaken = sum(cell.owner == me for cell in mine), 0
        in_hand = {
            cell.trial_id
            for cell in mine
            if cell.trial_id is not None
            and (process.at_work(cell.trial_id) if cell.owner == me else cell.owner in alive)
        }
        # Of cells that somebody works on, or that nobody had yet, nothing needs to be asked.
        asked = [
            cell.trial_id
            for cell in mine
            if cell.trial_id and cell.owner is not None and cell.trial_id not in in_hand | begun
        ]
        workflows = cells.known(asked)
        self._held = Counter(cell.campaign_id for cell in mine if cell.owner == me)
        for cell in sorted(mine, key=_turn):
            assert cell.trial_id is not None
            workflow = workflows.get(cell.trial_id)
            if cell.trial_id in in_hand:
                if cell.owner == me:
                    self._find_cell(cell.trial_id)
                    self._check_own(campaigns[cell.campaign_id], cell)
            elif cell.owner == me and workflow is not None and not workflow.is_over:
                self._check_own(campaigns[cell.campaign_id], cell)
                if not workflow.is_with(me):
                    process.move_here(cell.trial_id, me)  # it was won, and the database went away
                elif workflow.state == "PENDING":
                    self._find_cell(cell.trial_id)
            elif self._may_take(cell, workflow, taken):
                won = take(self.session, self.cells, cell, workflow, alive)
                taken += won and cell.owner != me
                self._held[cell.campaign_id] += won and cell.owner != me
                untaken += not won
            else:
                untaken += cell.owner is None
        return untaken

    def _may_take(self, cell: CellRow, workflow: WorkflowState | None, taken: int) -> bool:
        """Whether this process may take a cell that no live process owns. Cells of dead processes
        are taken without room, because a machine that nobody watches costs money."""
        if self.own is not None:  # no other process may end its own matrix
            return True
        if workflow is None:
            if cell.owner == self.session.executor_id:  # counted in `taken`: its turn gave it here
                return True
            has_room = self.room is None or taken < self.room
            return self.admits and has_room and (cell.owner is None or not self._clock.is_skewed)
        return workflow.is_over or (self.admits and not self._clock.is_skewed)

    def _find_cell(self, trial_id: str) -> None:
        """Restart the workflow of a cell of this process that no thread works on."""
        state = self._stuck.look(trial_id, at_work=process.at_work(trial_id))
        if state == "again":
            log.warning("resumes a cell that no thread works on", extra={"trial": trial_id})
            process.move_here(trial_id, self.session.executor_id)
        elif state == "broken":
            fault = Problem(kind="Broken", message="a fault in diskbench ended its thread")
            self.cells.settle(trial_id, None, fault)

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
            too_long = Problem(
                kind="TookTooLong",
                message=f"it took longer than max_cell_time, {longest:g} s, and was stopped",
                advice="raise max_cell_time, then 'diskbench matrix retry --failed'",
            )
            self.cells.too_long.setdefault(trial_id, too_long)
            self.stop.ask(trial_id, too_long)


def _turn(cell: CellRow) -> tuple[str, str, int]:
    return (cell.queued_at or "", cell.campaign_id, cell.position)
