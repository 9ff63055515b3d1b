"""The progress of a matrix, read from the rows that its workers write."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.matrix.campaign import runs_now
from diskbench.engine.matrix.executor import living
from diskbench.engine.matrix.spend import spent_by
from diskbench.model.campaign import LIVE
from diskbench.model.matrix_progress import CellStatus, MatrixStatus
from diskbench.plan.makespan import Task, makespan_s
from diskbench.plan.route import serves
from diskbench.results.until import until_statuses
from diskbench.store.cells import load_cells
from diskbench.store.claims import list_executors, progress_of_trials
from diskbench.store.clock import database_time
from diskbench.units import format_duration_s, format_iops

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow
    from diskbench.store.campaigns import CampaignRow
    from diskbench.store.claims import SavedProgress


def status_of_matrix(database: sa.Engine, campaign: CampaignRow) -> MatrixStatus:
    """The current state of the matrix and of its cells."""
    cells = load_cells(database, campaign.campaign_id)
    assumed = campaign.limits.assume_price_usd_per_hour
    over, live = spent_by(database, campaign.campaign_id, assumed)
    running = [cell.trial_id for cell in cells if cell.state in LIVE and cell.trial_id]
    progress = progress_of_trials(database, running)
    return MatrixStatus(
        campaign_id=campaign.campaign_id,
        name=campaign.name,
        state=campaign.state,
        created_at=campaign.created_at,
        finished_at=campaign.finished_at,
        for_workers=campaign.queue is None,
        worked_on=_is_worked_on(database, campaign, cells),
        budget_usd=campaign.limits.budget_usd,
        max_parallel=campaign.limits.max_parallel,
        counts=dict(Counter(cell.state for cell in cells)),
        spent_usd=over + sum(live.values()),
        unpriced=sum(cell.hourly_usd is None and cell.started_at is not None for cell in cells),
        expected_end=_expected_end(database, campaign, cells),
        cells=tuple(
            CellStatus(
                row=cell,
                doing=doing(cell, progress.get(cell.trial_id or "")),
                spent_usd=live.get(cell.trial_id or "", cell.cost_usd or 0.0)
                if cell.started_at
                else 0.0,
            )
            for cell in cells
        ),
        until=until_statuses(database, campaign, cells),
    )


def _is_worked_on(database: sa.Engine, campaign: CampaignRow, cells: Sequence[CellRow]) -> bool:
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
    left = {cell.route for cell in cells if cell.finished_at is None}
    return any(serves(served, route) for served in patterns for route in left)


def _expected_end(database: sa.Engine, campaign: CampaignRow, cells: list[CellRow]) -> str | None:
    """When the last cell should end (ISO 8601), if each cell takes its expected time; None where
    nothing is left, or where an expected time is not known."""
    now = database_time(database)
    left = []
    for cell in cells:
        if cell.finished_at is not None:
            continue
        if cell.expected_s is None:
            return None
        elapsed_s = 0.0
        if cell.state in LIVE and cell.started_at is not None:
            elapsed_s = (now - datetime.fromisoformat(cell.started_at)).total_seconds()
        seconds = max(cell.expected_s - elapsed_s, 1.0)
        task = Task(cell.cell.provider, cell.partition, seconds, cell.machine)
        left.append((cell.state not in LIVE, task))
    if not left:
        return None
    ordered = [task for _, task in sorted(left, key=lambda pair: pair[0])]
    end = now + timedelta(seconds=makespan_s(ordered, campaign.limits))
    return end.isoformat(timespec="seconds")


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
