"""The cost of a trial's lease, over all its runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.catalog.prices.cost import TrialCost, cost_of_lease
from diskbench.store.leases import load_lease
from diskbench.store.rows import load_results

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.model.spec import Plan


def trial_cost(database: Engine, plan: Plan | None) -> TrialCost | None:
    """The cost in US dollars; None where nothing was rented, or where the lease is not known (a
    database that was rebuilt from evidence has no leases)."""
    lease = load_lease(database, plan.trial_id) if plan and plan.rental else None
    if plan is None or lease is None:
        return None
    steps = load_results(database, *plan.run_ids)
    rows = [row for found in steps.values() for step in found for row in step.measurements]
    cost = cost_of_lease(lease, rows, plan.rental, now=datetime.now(UTC))
    return TrialCost(
        **cost.model_dump(),
        trial_id=plan.trial_id,
        emulated=plan.emulated,
        ended=lease.released_at is not None,
    )
