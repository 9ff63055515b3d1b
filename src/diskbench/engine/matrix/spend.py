"""The cost of trials and matrices so far, computed from their leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.catalog.cost import cost_of_lease
from diskbench.store.matrix_sums import spent_on_idle_machines, spent_on_trials

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import sqlalchemy as sa

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
    database: sa.Engine, campaign_id: str, assumed: float | None
) -> tuple[float, dict[str, float]]:
    """The cost of a matrix in US dollars without its running attempts, and the cost so far of each
    running attempt, by trial id. Where no price is known, an hour costs `assumed`."""
    over, live = spent_on_trials(database, campaign_id, assumed)
    return over + spent_on_idle_machines(database, campaign_id, assumed), live
