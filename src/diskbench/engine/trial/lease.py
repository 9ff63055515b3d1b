"""Release of what a trial put on its host, and of what was rented for it.

A lease is a row that is written before anything is made. `release` finds everything by the trial's
name and needs no other state, may be called any number of times, and does not depend on the run's
workflow: the end of a run, `diskbench resume` and `diskbench gc` all call it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import tenacity

from diskbench.engine.matrix.machine_reuse import let_go_after
from diskbench.engine.trial.keep_records import mark_released
from diskbench.errors import ConnectionLost, DiskbenchError, HostUnavailable, ReleaseFailed
from diskbench.hosts.jobs import cleanup
from diskbench.plan.duration import longest_s
from diskbench.store.clock import database_time, iso

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan

ATTEMPTS = 5
"""Tries before a host that does not answer is left to `diskbench gc`; our choice."""


GRACE = timedelta(hours=1)
"""A lease lasts twice the longest time of its runs, and this much longer; our choice."""


def expiry(database: sa.Engine, plan: Plan) -> str:
    """The expiry of a lease that begins or is extended now, by the database's clock: UTC, ISO 8601.
    It is generous, because a rented machine that ends before a loop's last round loses the result.
    """
    return iso(database_time(database) + timedelta(seconds=2 * longest_s(plan)) + GRACE)


def release(session: Session, plan: Plan) -> None:
    """Remove everything of this trial and mark its lease as released.

    A rented machine is deleted with everything on it; a shared one, too, unless another trial uses
    it by now. Raises ReleaseFailed naming what is left and where; the lease then stays open for
    `gc`.
    """
    renter = session.renter(plan)
    try:
        if not _goes_whole(plan):
            clean(session, plan)
        if plan.machine is not None:
            let_go_after(session, plan)
        elif renter is not None and plan.rental is not None:
            made = plan.acquired.made if plan.acquired is not None else ()
            renter.release(plan.trial_id, plan.rental.scope, made=made)
    except ReleaseFailed:
        raise
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back: {', '.join(left_behind(plan))} on {where(plan)}: {error.message}",
            advice=f"when it answers again: diskbench gc {plan.trial_id}",
        ) from error
    mark_released(session, plan.trial_id)


def _goes_whole(plan: Plan) -> bool:
    """Whether the machine is deleted with everything on it; not in the fake cloud, whose machine is
    this one."""
    return plan.rental is not None and (plan.acquired is None or plan.acquired.address != "")


def clean(session: Session, plan: Plan) -> None:
    """Remove our files from a machine that stays. Raises DiskbenchError."""
    tries = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=tenacity.wait_random_exponential(multiplier=0.5, max=10),
        retry=tenacity.retry_if_exception_type((ConnectionLost, HostUnavailable)),
        reraise=True,
    )
    tries(lambda: cleanup(session.connect(plan), plan.target))


def left_behind(plan: Plan) -> tuple[str, ...]:
    """What carries the trial's name, in words: the paths on its host, or what was rented."""
    if plan.rental is not None:
        return (f"what was rented as diskbench-{plan.lease_id}",)
    return tuple(p for p in (plan.target.work_dir, plan.target.state_dir) if p)


def where(plan: Plan) -> str:
    """The host of a plan, for display."""
    if plan.rental is not None:
        scope = plan.rental.scope
        return " ".join(word for word in (scope.provider, scope.region) if word)
    return plan.cell.address or "this machine"
