"""A process that measures cells: it listens to queues, gives cells their turn, takes over those of
the dead, and gives back what outlived its lease.

A worker that is told to end leaves at once: fio goes on on its hosts, and another worker goes on
with the cells where they stand.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from diskbench.engine.cell import LiveCells
from diskbench.engine.executor import living
from diskbench.engine.feed import feed, queue_of
from diskbench.engine.held import Patience, PatientStations, hold
from diskbench.engine.stations import LiveStations
from diskbench.engine.stop import Stop
from diskbench.engine.watch import RowWatcher, Silent
from diskbench.errors import DiskbenchError, StoreUnavailable
from diskbench.model.outcome import Problem

if TYPE_CHECKING:
    from diskbench.engine.durable.cells import Standing
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.swept import Swept
    from diskbench.store.campaigns import CampaignRow

log = logging.getLogger(__name__)

TICK_S = 2.0
"""How often a worker looks for turns to give and cells to take over; our choice."""
SWEEP_EVERY_S = 30.0
"""How often it looks for leases that outlived their use (DESIGN.md section 7)."""
PER_PARTITION = 64
"""Cells of a region at once, all matrices together, unless a matrix has a queue of its own."""


@dataclass
class Worker:
    """The moving parts of one process that measures cells."""

    session: Session
    serves: tuple[str, ...]
    """Patterns of the queues that it listens to."""
    stop: Stop = field(default_factory=Stop)
    own: str | None = None
    """The only matrix that it looks after, in the foreground; None: all that it serves."""
    note: Callable[[str, str], None] = lambda _trial, _text: None
    swept: Callable[[list[Swept]], None] = lambda _: None
    wake: threading.Event = field(default_factory=threading.Event)
    admits: bool = True

    def __post_init__(self) -> None:
        self._watcher = RowWatcher(self.session.database, [], Silent(self.note), self.stop)
        self.cells = LiveCells(self.session, self.stop, self.note, lambda _: self.wake.set())
        self._swept_at = time.monotonic()

    def launch(self, queues: Collection[str], *, at_once: int | None = None) -> None:
        """Start the workflow engine, listening to `queues`."""
        from diskbench.engine.durable import cells, process
        from diskbench.store.rows import load_plan

        stations = LiveStations(
            database=self.session.database,
            evidence=self.session.evidence,
            connect=self.session.connect,
            watcher=self._watcher,
            stop=self.stop,
            suspend=hold,
            timing=self.session.timing,
            renter=self.session.renter,
        )
        cells.bind_cells(self.cells)
        process.launch(
            self.session.database,
            self.session.executor_id,
            PatientStations(stations, Patience(self.stop, self.note)),
            lambda trial_id: load_plan(self.session.database, trial_id),
            takes_over=True,
            listens=sorted(queues),
        )
        for queue in queues:
            process.register(queue, at_once=at_once, per_partition=PER_PARTITION)

    def tick(self) -> list[CampaignRow] | None:
        """One look at everything; returns the matrices that are not over, or None while the
        database is away, which is told and waited for."""
        try:
            return self._tick()
        except StoreUnavailable as error:
            log.warning("the database is away: %s", error.message)
            return None

    def _tick(self) -> list[CampaignRow]:
        from diskbench.store.campaigns import list_campaigns

        database = self.session.database
        open_ones = [
            feed(database, campaign, admits=self.admits)
            for campaign in list_campaigns(database, states=("running", "cancelling"))
            if self._looks_after(campaign)
        ]
        by_id = {campaign.campaign_id: campaign for campaign in open_ones}
        self._look_at_cells(by_id)
        if time.monotonic() - self._swept_at > SWEEP_EVERY_S:
            self._swept_at = time.monotonic()
            self.sweep()
        return [campaign for campaign in open_ones if campaign.state != "done"]

    def holds_any(self) -> bool:
        """Whether a cell is in this process's hands, or will be as soon as it is taken."""
        from diskbench.store.campaigns import live_cells

        return any(
            cell.owner == self.session.executor_id or self.own == cell.campaign_id
            for cell in live_cells(self.session.database)
        )

    def sweep(self) -> None:
        """Give back what outlived its lease."""
        from diskbench.engine.sweep import sweep

        try:
            self.swept(sweep(self.session, [], dry_run=False))
        except DiskbenchError as error:
            log.warning("%s", error.message)

    def _looks_after(self, campaign: CampaignRow) -> bool:
        return campaign.campaign_id == self.own if self.own else campaign.queue is None

    def _look_at_cells(self, campaigns: dict[str, CampaignRow]) -> None:
        from diskbench.engine.durable import cells
        from diskbench.store.campaigns import live_cells
        from diskbench.store.claims import list_executors

        mine = [cell for cell in live_cells(self.session.database) if cell.campaign_id in campaigns]
        standings = cells.known([cell.trial_id for cell in mine if cell.trial_id])
        alive = living(list_executors(self.session.database))
        for cell in mine:
            assert cell.trial_id is not None
            campaign = campaigns[cell.campaign_id]
            if not self._serves(queue_of(campaign, cell)):
                continue
            standing = standings.get(cell.trial_id)
            if standing is None:
                self._queue(campaign, cell)
            elif standing.is_broken:
                self._settle_broken(cell, standing.state)
            elif cell.owner == self.session.executor_id:
                self._look_at_own(campaign, cell)
            elif _is_left(cell, standing, alive):
                self._take_over(cell)

    def _queue(self, campaign: CampaignRow, cell: CellRow) -> None:
        from diskbench.engine.durable import cells, process

        assert cell.trial_id is not None
        queue = queue_of(campaign, cell)
        limits = campaign.limits
        per = limits.per.get(cell.partition) or limits.per.get(cell.cell.provider)
        if campaign.queue is not None or not process.is_registered(queue):
            rate = limits.calls_per_minute
            process.register(
                queue,
                at_once=None,
                per_partition=(per or limits.max_parallel) if campaign.queue else PER_PARTITION,
                per_minute=rate.get(cell.partition) or rate.get(cell.cell.provider),
                poll_s=0.2 if campaign.queue else 1.0,
            )
        cells.enqueue(cell.trial_id, queue=queue, partition=cell.partition, priority=cell.position)

    def _look_at_own(self, campaign: CampaignRow, cell: CellRow) -> None:
        """Stop a cell of ours whose matrix is cancelled, or that takes too long."""
        trial_id, longest = cell.trial_id, campaign.limits.max_cell_s
        assert trial_id is not None
        if campaign.state == "cancelling":
            self.stop.ask(trial_id)
        elif longest is not None and _age_s(cell) > longest:
            self.cells.too_long.setdefault(
                trial_id,
                Problem(
                    kind="TookTooLong",
                    message=f"it took longer than max_cell_time, {longest:g} s, and was stopped",
                    advice="raise max_cell_time, then 'diskbench matrix retry --failed'",
                ),
            )
            self.stop.ask(trial_id)

    def _take_over(self, cell: CellRow) -> None:
        """Go on with a cell whose process is dead, unless another is faster."""
        from diskbench.engine.durable import process
        from diskbench.engine.takeover import claim_with_cell
        from diskbench.store.campaigns import claim_cell

        assert cell.trial_id is not None
        me = self.session.executor_id
        if not claim_cell(self.session.database, cell.trial_id, owner=me, previous=cell.owner):
            return
        self.note(cell.trial_id, f"taken over: {cell.key}")
        claim_with_cell(self.session, cell.trial_id)
        process.move_here(cell.trial_id, me)

    def _settle_broken(self, cell: CellRow, state: str) -> None:
        """A workflow that broke leaves no cell behind it that never ends."""
        assert cell.trial_id is not None
        self.cells.settle(
            cell.trial_id,
            None,
            Problem(kind="Broken", message=f"a fault in diskbench ended its workflow: {state}"),
            rented=True,
        )

    def _serves(self, queue: str) -> bool:
        return any(fnmatchcase(queue, pattern) for pattern in self.serves)


def _is_left(cell: CellRow, standing: Standing, alive: set[str]) -> bool:
    """Whether the process that had the cell is gone. One that died between taking it from its queue
    and saying so is known to the workflow engine alone; one that died between taking it over and
    going on left it in a queue of its own, which nobody listens to."""
    if standing.state == "PENDING":
        return (cell.owner or standing.executor) not in alive
    return standing.state == "ENQUEUED" and cell.owner is not None and cell.owner not in alive


def _age_s(cell: CellRow) -> float:
    from datetime import UTC, datetime

    if cell.started_at is None:
        return 0.0
    return (datetime.now(UTC) - datetime.fromisoformat(cell.started_at)).total_seconds()
