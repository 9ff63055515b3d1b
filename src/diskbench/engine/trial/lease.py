"""The lease of a trial: written before anything is made; when it ends, and how its end is moved for
work that is resumed, everywhere or nowhere.

The end is set in the timers that end its machine without a controller (in the guest and at the
cloud), in the tags that every other database's `gc` reads, and in its row. They are changed in this
order: an extension that fails half-way leaves the earlier end in the row while the machine may last
longer, so nobody relies on time that a timer does not grant. Where the provider cannot change them,
the row is unchanged, and work that would outlast it is refused.

A run stays in the evidence store in which it began; only a complete copy may replace it.
"""

import logging
import math
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from diskbench.engine.session import Session
from diskbench.errors import DiskbenchError, InvalidValue, RentalFailed, StoreUnavailable
from diskbench.model.ids import short
from diskbench.model.rental import LeaseEnd
from diskbench.model.spec import Plan
from diskbench.plan.cost import left_s, longest_s, renting_s, snapshot_s
from diskbench.ports import EndsMachines, EvidenceStore, ExtendsLeases, RentWatch
from diskbench.store.archive import read_plan, read_step, run_prefix, step_folders, write_plan
from diskbench.store.database import database_time
from diskbench.store.dialects import iso
from diskbench.store.evidence_place import is_same_store
from diskbench.store.leases import Lease, extend_lease, load_lease
from diskbench.store.rows import (
    evidence_url_of,
    find_plan,
    move_evidence,
    save_plans,
    unfinished_runs,
)
from diskbench.store.step_rows import load_results

log = logging.getLogger(__name__)
GRACE = timedelta(hours=1)
"""A lease lasts twice the longest time of its runs, and this much longer; our choice."""


def save(session: Session, plans: Sequence[Plan], *, owner: str | None) -> None:
    """Write the leases and the rows of trials, before anything is made on their hosts. All are one
    transaction: the first of many hosts does not wait for a write to disk for each of the
    others."""
    started, moment = time.monotonic(), database_time(session.database)
    leases = [_lease_of(plan, moment) for plan in plans]
    save_plans(session.database, plans, session.evidence.url, owner=owner, leases=leases)
    for plan in plans:
        if not plan.is_draft:  # it does not change any more
            write_plan(session.evidence, plan)
    share = (time.monotonic() - started) / len(plans)
    for plan in plans:
        session.timing.add("save plan", share, plan.trial_id)


def _lease_of(plan: Plan, moment: datetime) -> Lease:
    """The lease of a trial that is saved at `moment`, by the database's clock."""
    scope = plan.rental.scope if plan.rental else None
    return Lease(
        lease_id=plan.trial_id,
        provider=plan.cell.provider,
        account=scope.account if scope else None,
        region=scope.region if scope else None,
        endpoint=scope.endpoint if scope else None,
        address=plan.cell.address,
        target=plan.target.model_dump(mode="json"),
        run_ids=plan.run_ids,
        created_at=iso(moment),
        expires_at=expiry(moment, plan),
        hourly_usd=plan.rental.hourly_usd if plan.rental else None,
    )


def expiry(moment: datetime, plan: Plan) -> str:
    """The expiry of a lease that begins or is extended at `moment`, the database's time: UTC, ISO
    8601. It is generous: a rented machine that ends before a loop's last round loses the result."""
    return iso(moment + timedelta(seconds=2 * (longest_s(plan) + snapshot_s(plan))) + GRACE)


def extend(session: Session, plan: Plan) -> bool:
    """Extend a trial's lease for all work that is left, also the lease of a machine that trials
    share, and never to an earlier time. The lease of a draft is checked when its machine is rented
    (`renew`).

    False where the provider cannot extend leases. Raises DiskbenchError when the guest or the
    provider refuses the extension; the lease then keeps the end in its row.
    """
    until = expiry(database_time(session.database), plan)
    renter = session.renter(plan)
    if renter is None or plan.rental is None:
        extend_lease(session.database, plan.trial_id, until)
        return True
    if plan.is_draft or not isinstance(renter, ExtendsLeases):
        return False
    move_end(session, plan, until)
    if plan.machine is not None:  # the trial's own lease covers its files on the machine
        extend_lease(session.database, plan.trial_id, until)
    return True


def prolong(session: Session, trial_id: str) -> None:
    """Extend the lease of a trial that this process has just claimed, where the trial has begun.
    Raises InvalidValue for work that would outlast a machine whose lease cannot be extended; the
    trial is then left unchanged."""
    plan = find_plan(session.database, trial_id)
    if plan is None or not unfinished_runs(session.database, trial_id):
        return
    try:
        moved, failed = extend(session, plan), None
    except StoreUnavailable:
        raise
    except DiskbenchError as error:  # the end in its row holds at least that long everywhere
        moved, failed = False, error
    if not moved:
        check_lasts(session, plan, failed)
    if failed is not None:
        log.warning("the lease of %s could not be extended: %s", trial_id, failed.message)


def move_end(session: Session, plan: Plan, until: str) -> None:
    """Move the end of what is rented for a plan to `until` (ISO 8601), unless it ends later anyway:
    in the guest, at the cloud, and last in its row.

    Raises DiskbenchError; the row is then unchanged.
    """
    renter = session.renter(plan)
    assert renter is not None
    assert isinstance(renter, ExtendsLeases)
    assert plan.rental is not None
    assert plan.acquired is not None
    lease = load_lease(session.database, plan.lease_id)
    moment = datetime.fromisoformat(until)
    if lease is None or (lease.ends and lease.ends > moment):
        return
    end = LeaseEnd(
        expires_at=moment.timestamp(),
        left_s=(moment - database_time(session.database)).total_seconds(),
    )
    renter.extend(plan.lease_id, plan.rental.scope, end, session.connect(plan), plan.acquired.made)
    extend_lease(session.database, plan.lease_id, until)


def check_lasts(session: Session, plan: Plan, failed: DiskbenchError | None = None) -> None:
    """Raise InvalidValue for a trial whose machine ends itself before the trial can end. `failed`
    is the error of an extension that was tried; without it a provider that can extend leases passes
    the check."""
    renter = session.renter(plan)
    if renter is None or plan.is_draft or (failed is None and isinstance(renter, ExtendsLeases)):
        return
    ends = ends_at(session, plan.lease_id)
    if ends is None:
        return
    results = load_results(session.database, *plan.run_ids)
    done = [step.step for steps in results.values() for step in steps]
    left, now = left_s(plan, done), database_time(session.database)
    if now + timedelta(seconds=left) <= ends:
        return
    why = f"that could not be moved: {failed.message}" if failed else "that cannot be moved"
    if failed is None and isinstance(renter, EndsMachines):
        why = f"{why} while it runs: {renter.ends_by()}"
    name = short(plan.trial_id)
    again = f"{failed.advice}; then: diskbench resume {name}; or " if failed else ""
    raise InvalidValue(
        f"{name} cannot be resumed: it needs up to {_minutes(left)} more, and its machine "
        f"on {renter.name} ends itself at {ends:%Y-%m-%d %H:%M} UTC ({_left(ends - now)}); {why}",
        advice=f"{again}give the machine back (diskbench gc {name}), then start the run again",
    )


def renew(session: Session, draft: Plan, onlooker: RentWatch) -> Lease | None:
    """Renew a draft's lease before its machine is rented, where the lease ends before its work can;
    returns the lease. What was made under the old end, which was passed to the guest at its first
    boot, is released first; nothing was measured on it. A lease that lasts long enough stays.

    Raises ReleaseFailed, and RentalFailed for a machine that other trials used before.
    """
    lease, now = load_lease(session.database, draft.lease_id), database_time(session.database)
    ends, renter = lease.ends if lease else None, session.renter(draft)
    assert draft.rental is not None
    assert renter is not None
    needed = timedelta(seconds=longest_s(draft) + renting_s(draft))
    if ends is None or now + needed <= ends:
        return lease
    reason = (
        f"the lease ends at {ends:%Y-%m-%d %H:%M} UTC ({_left(ends - now)}), but "
        f"{_minutes(needed.total_seconds())} are needed"
    )
    if draft.machine is not None and draft.machine.turn > 1:
        raise RentalFailed(
            f"the machine that cells share cannot be used: {reason}",
            advice="the cell is tried again on a new machine",
        )
    onlooker.note(f"{reason}: its resources are given back and rented again")
    renter.release(draft.lease_id, draft.rental.scope)
    until = expiry(database_time(session.database), draft)
    for lease_id in {draft.lease_id, draft.trial_id}:
        extend_lease(session.database, lease_id, until)
    return load_lease(session.database, draft.lease_id)


def ends_at(session: Session, lease_id: str) -> datetime | None:
    """The end of a lease according to its row; None where the row has none."""
    lease = load_lease(session.database, lease_id)
    return lease.ends if lease else None


def _minutes(seconds: float) -> str:
    return f"{math.ceil(seconds / 60):,} min"


def _left(until: timedelta) -> str:
    """The time until an end, or since it, in words."""
    minutes = math.floor(abs(until.total_seconds()) / 60)
    return f"in {minutes:,} min" if until > timedelta(0) else f"{minutes:,} min ago"


def go_on_in(session: Session, plan: Plan) -> None:
    """Continue a trial in this session's store, which the user named. It must be the store in which
    the trial began, or contain every step of the trial that has rows; in this case the store was
    moved, and the rows of the runs are updated. Raises InvalidValue for any other store."""
    url = evidence_url_of(session.database, plan.trial_id)
    if url is None or is_same_store(url, session.evidence.url):
        return
    missing = _missing(session, plan, session.evidence)
    if missing is not None:
        raise InvalidValue(
            f"the evidence of {short(plan.trial_id)} is in {url}, and {session.evidence.url} lacks "
            f"{missing}",
            advice="leave out --evidence-url, or copy the whole store there first",
        )
    move_evidence(session.database, plan.trial_id, session.evidence.url)


def _missing(session: Session, plan: Plan, store: EvidenceStore) -> str | None:
    """The first file or step of a trial that the store lacks, in words; None: it is complete."""
    results = load_results(session.database, *plan.run_ids)
    for run_id in plan.run_ids:
        try:
            if not plan.is_draft:
                read_plan(store, run_id)
            closed = [read_step(store, run_id, folder) for folder in step_folders(store, run_id)]
        except KeyError:
            return f"{run_prefix(run_id)}/plan.json"
        except DiskbenchError as error:
            return f"a whole {run_prefix(run_id)}: {error.message}"
        there = {record.step.index for record in closed if record is not None}
        for result in results[run_id]:
            if result.step_index not in there:
                return f"step {result.step!r} of run {short(run_id)}"
    return None
