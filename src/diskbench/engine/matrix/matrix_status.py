"""The progress of a matrix: its totals, and the cells that are shown of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.matrix.campaign import runs_now
from diskbench.engine.matrix.executor import living
from diskbench.engine.matrix.spend import spent_by
from diskbench.model.campaign import FINAL, LIVE, CellStatus, MatrixStatus
from diskbench.plan.admit import serves
from diskbench.plan.makespan import Task, makespan_s
from diskbench.results.replicate_set import until_statuses
from diskbench.store.cells import cells_in, first_cells, pages_of_cells
from diskbench.store.claims import list_executors, progress_of_trials
from diskbench.store.database import database_time
from diskbench.store.matrix_sums import (
    sum_cells,
    unfinished_routes,
    waiting_groups,
    waiting_in_order,
)
from diskbench.units import format_duration_s, format_iops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow, CellState
    from diskbench.store.campaigns import CampaignRow
    from diskbench.store.claims import SavedProgress
    from diskbench.store.matrix_sums import WaitingGroup

MOST_IN_ORDER = 500
"""Waiting cells that are read one by one for the expected end; our choice. Of more the database
counts those that are alike, and each kind is taken to lie evenly in the order: the end may differ
by what a cell takes."""


@dataclass(frozen=True)
class MatrixLook:
    """A matrix at one moment. `totals` is its status without its cells, `longest_key` the most
    characters of a cell's name, and `live_usd` the cost so far of each running attempt, by trial.
    """

    database: sa.Engine
    totals: MatrixStatus
    longest_key: int
    live_usd: Mapping[str, float]

    def important(self, order: Sequence[CellState], most: int) -> tuple[CellStatus, ...]:
        """At most `most` cells, those in the first states of `order` preferred, in their order."""
        present = [state for state in order if self.totals.counts.get(state)]
        return self._seen(first_cells(self.database, self.totals.campaign_id, present, most))

    def without_result(self) -> tuple[CellStatus, ...]:
        """The cells that ended without a result, in order."""
        states = FINAL - {"done", "spared"}
        return self._seen(cells_in(self.database, self.totals.campaign_id, states))

    def live(self) -> tuple[CellStatus, ...]:
        """The cells that are under way, in order."""
        return self._seen(cells_in(self.database, self.totals.campaign_id, LIVE))

    def pages(self) -> Iterator[tuple[CellStatus, ...]]:
        """All cells in order, page by page."""
        for page in pages_of_cells(self.database, self.totals.campaign_id):
            yield self._seen(page)

    def _seen(self, cells: Sequence[CellRow]) -> tuple[CellStatus, ...]:
        running = [cell.trial_id for cell in cells if cell.state in LIVE and cell.trial_id]
        progress = progress_of_trials(self.database, running) if running else {}
        return tuple(
            CellStatus(
                row=cell,
                doing=doing(cell, progress.get(cell.trial_id or "")),
                spent_usd=self.live_usd.get(cell.trial_id or "", cell.cost_usd or 0.0)
                if cell.started_at
                else 0.0,
            )
            for cell in cells
        )


def look_at(database: sa.Engine, campaign: CampaignRow, *, until: bool = True) -> MatrixLook:
    """The current state of the matrix, summed by the database. Without `until` no interval of
    replicates is computed."""
    sums = sum_cells(database, campaign.campaign_id)
    assumed = campaign.limits.assume_price_usd_per_hour
    over, live = spent_by(database, campaign.campaign_id, assumed)
    is_left = any(sums.counts.get(state) for state in ("waiting", *LIVE))
    totals = MatrixStatus(
        campaign_id=campaign.campaign_id,
        name=campaign.name,
        state=campaign.state,
        created_at=campaign.created_at,
        finished_at=campaign.finished_at,
        for_workers=campaign.queue is None,
        worked_on=_is_worked_on(database, campaign),
        budget_usd=campaign.limits.budget_usd,
        max_parallel=campaign.limits.max_parallel,
        counts=sums.counts,
        spent_usd=over + sum(live.values()),
        unpriced=sums.unpriced,
        expected_end=_expected_end(database, campaign, sums.counts) if is_left else None,
        until=until_statuses(database, campaign) if until else (),
    )
    return MatrixLook(database, totals, sums.longest_key, live)


def _is_worked_on(database: sa.Engine, campaign: CampaignRow) -> bool:
    """Whether a live process runs the matrix, or a live worker reaches any unfinished cell."""
    if campaign.queue is not None:
        return runs_now(database, campaign)
    executors = list_executors(database)
    alive = living(executors)
    patterns = [
        executor.queues
        for executor in executors
        if executor.queues and executor.executor_id in alive
    ]
    left = unfinished_routes(database, campaign.campaign_id) if patterns else set[str]()
    return any(serves(served, route) for served in patterns for route in left)


def _expected_end(
    database: sa.Engine, campaign: CampaignRow, counts: Mapping[CellState, int]
) -> str | None:
    """When the last cell should end (ISO 8601), if each cell takes its expected time; None where an
    expected time is not known."""
    now = database_time(database)
    tasks = []
    for cell in cells_in(database, campaign.campaign_id, LIVE):
        if cell.expected_s is None:
            return None
        elapsed_s = 0.0
        if cell.started_at is not None:
            elapsed_s = (now - datetime.fromisoformat(cell.started_at)).total_seconds()
        seconds = max(cell.expected_s - elapsed_s, 1.0)
        tasks.append(Task(cell.cell.provider, cell.partition, seconds, cell.machine))
    is_short = counts.get("waiting", 0) <= MOST_IN_ORDER
    waiting = (waiting_in_order if is_short else waiting_groups)(database, campaign.campaign_id)
    tasks_waiting = _tasks(waiting)
    if tasks_waiting is None:
        return None
    end = now + timedelta(seconds=makespan_s([*tasks, *tasks_waiting], campaign.limits))
    return end.isoformat(timespec="seconds")


def _tasks(groups: Sequence[WaitingGroup]) -> list[Task] | None:
    """The waiting cells as tasks in order, those of a group evenly between its first and its last;
    None where the expected time of one is not known."""
    placed: list[tuple[float, Task]] = []
    for group in groups:
        if group.expected_s is None:
            return None
        provider = group.partition.partition("/")[0]
        task = Task(provider, group.partition, max(group.expected_s, 1.0), group.machine)
        step = (group.last - group.first) / max(1, group.count - 1)
        placed += [(group.first + n * step, task) for n in range(group.count)]
    return [task for _, task in sorted(placed, key=lambda place: place[0])]


def doing(cell: CellRow, progress: SavedProgress | None) -> str:
    """What a cell does now, or why it does nothing; `progress` is its run's last progress, None
    before the first."""
    if cell.state not in LIVE:
        return cell.error or ""
    # While a cell is measured, its note says only what it waits for.
    return cell.note or (_doing_now(progress) if progress is not None else "")


def _doing_now(progress: SavedProgress) -> str:
    """The step of a run and its rate: `write at 12 s: 3,000 IOPS`."""
    step, tick = progress.step, progress.tick
    if not tick:
        return step
    rate = tick["read_iops"] + tick["write_iops"]
    return f"{step} at {format_duration_s(tick['elapsed_s'])}: {format_iops(rate)} IOPS"
