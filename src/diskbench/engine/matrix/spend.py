"""The cost of trials and matrices so far, computed from their leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.prices.cost import cost_of_lease, spent_usd
from diskbench.store.clock import database_time
from diskbench.store.leases import leases_of_campaign
from diskbench.store.machines import leases_by_machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow
    from diskbench.model.result import StepResult
    from diskbench.model.spec import Plan
    from diskbench.store.leases import Lease

    Results = Mapping[str, Sequence[StepResult]]


def spent_on(lease: Lease | None, plan: Plan | None, results: Results, *, now: datetime) -> float:
    """The known cost of one trial in US dollars until `now`, transactions included."""
    if lease is None or plan is None or plan.rental is None:
        return 0.0
    rows = [row for run in results.values() for step in run for row in step.measurements]
    return cost_of_lease(lease, rows, plan.rental, now=now).known_usd


def spent_by(
    database: sa.Engine, campaign_id: str, cells: Sequence[CellRow], assumed: float | None
) -> tuple[float, dict[str, float]]:
    """The cost of a matrix in US dollars without its running attempts, and the cost so far of each
    running attempt, by trial id. `cells` are at least those that had an attempt. Where no price is
    known, an hour costs `assumed`."""
    newest = {cell.trial_id: cell for cell in cells if cell.trial_id is not None}
    now, over, live = database_time(database), 0.0, {}
    for lease in leases_of_campaign(database, campaign_id):
        usd = spent_usd([lease], now, assume_price_usd_per_hour=assumed)
        cell = newest.get(lease.lease_id)
        if cell is None:
            over += usd
        elif cell.finished_at is None:
            live[lease.lease_id] = usd
        else:
            over += max(usd, cell.cost_usd or 0.0)
    return over + _idle(database, campaign_id, now, assumed), live


def _idle(database: sa.Engine, campaign_id: str, now: datetime, assumed: float | None) -> float:
    """The cost in US dollars of shared machines while no cell used them."""
    leases = leases_by_machine(database, campaign_id)
    return sum(
        max(
            spent_usd([machine], now, assume_price_usd_per_hour=assumed)
            - spent_usd(turns, now, assume_price_usd_per_hour=assumed),
            0.0,
        )
        for machine, turns in leases
    )
