"""The end of a lease whose work is resumed: moved everywhere, or nowhere.

A lease's end stands in its row, on the tags that every other database's `gc` reads, and in the
switch that ends the machine without a controller. A row that says more than these would let our own
switch end our own run. Where the provider cannot move them, the row stays, and work that would
outlast it is refused.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.lease import expiry
from diskbench.errors import InvalidValue
from diskbench.plan.duration import left_s
from diskbench.ports import ExtendsLeases

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan


def extend(session: Session, plan: Plan) -> None:
    """Move the end of a trial's lease for all that it still has to do, on what was rented first,
    and then in its row. Raises DiskbenchError when the provider cannot be asked."""
    from diskbench.store.leases import extend_lease

    until = expiry(session.database, plan)
    renter = session.renter(plan)
    if renter is not None and plan.rental is not None and plan.machine is None:
        if not isinstance(renter, ExtendsLeases):
            return
        moment = datetime.fromisoformat(until).timestamp()
        renter.extend(plan.trial_id, plan.rental.scope, moment)
    # The lease of a machine that trials share is made for all of them (engine/machine.py).
    extend_lease(session.database, plan.trial_id, until)


def check_lasts(session: Session, plan: Plan) -> None:
    """Refuse to resume a trial whose machine ends itself before the trial can end, where that
    cannot be moved; raises InvalidValue."""
    from diskbench.store.clock import database_time
    from diskbench.store.leases import load_lease
    from diskbench.store.rows import load_results

    renter = session.renter(plan)
    if renter is None or (isinstance(renter, ExtendsLeases) and plan.machine is None):
        return
    lease = load_lease(session.database, plan.lease_id)
    if lease is None or lease.expires_at is None:
        return
    results = load_results(session.database, *plan.run_ids)
    done = [step.step for steps in results.values() for step in steps]
    left = left_s(plan, done)
    ends = datetime.fromisoformat(lease.expires_at)
    if database_time(session.database) + timedelta(seconds=left) <= ends:
        return
    raise InvalidValue(
        f"{plan.trial_id} cannot be resumed: it needs up to {math.ceil(left / 60):,} min more, and "
        f"its machine on {renter.name} ends itself at {ends:%Y-%m-%d %H:%M} UTC, which cannot be "
        "moved",
        advice=f"give the machine back (diskbench gc {plan.lease_id}), then start the run again",
    )
