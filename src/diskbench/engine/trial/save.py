"""The rows of a trial, written before anything is made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.engine.trial.extend import expiry
from diskbench.store.archive import write_plan
from diskbench.store.leases import Lease
from diskbench.store.rows import save_plan

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan


def save(session: Session, plan: Plan, *, owner: str | None) -> None:
    """Write the lease and the rows of a trial, before anything is made on its host."""
    scope = plan.rental.scope if plan.rental else None
    lease = Lease(
        lease_id=plan.trial_id,
        provider=plan.cell.provider,
        account=scope.account if scope else None,
        region=scope.region if scope else None,
        endpoint=scope.endpoint if scope else None,
        address=plan.cell.address,
        target=plan.target.model_dump(mode="json"),
        run_ids=plan.run_ids,
        expires_at=expiry(session.database, plan),
        hourly_usd=plan.rental.hourly_usd if plan.rental else None,
    )
    with session.timing.span("save plan", plan.trial_id):
        save_plan(session.database, plan, session.evidence.url, owner=owner, lease=lease)
        if not plan.is_draft:
            write_plan(session.evidence, plan)
