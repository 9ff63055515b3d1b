"""Release of what a trial put on its host and of what was rented for it, with the record of trial
and matrix in the evidence, and the end of the runs that it leaves.

A lease is a row that is written before anything is made. `release` finds everything by the trial's
name and needs no other state, may be called any number of times, and does not depend on the run's
workflow: the end of a cell, `diskbench resume` and `diskbench gc` all call it.
"""

import contextlib
import logging

import sqlalchemy as sa
import tenacity

from diskbench.engine.session import Session
from diskbench.errors import (
    ConnectionLost,
    DiskbenchError,
    HostUnavailable,
    ReleaseFailed,
    StoreUnavailable,
)
from diskbench.hosts.workspace import cleanup
from diskbench.model.campaign import CellRow
from diskbench.model.outcome import Problem
from diskbench.model.result import RunState
from diskbench.model.spec import Plan
from diskbench.store.campaigns import CampaignRow, end_run_cell
from diskbench.store.database import database_time
from diskbench.store.dialects import iso
from diskbench.store.finish import finish_run
from diskbench.store.kept_rows import keep_begun_matrix, keep_lease, keep_matrix, keep_trial
from diskbench.store.leases import Lease, load_lease, note_lease_error, release_lease
from diskbench.store.machines import MachineRecord, end_machine, find_machine, machine_of_trial
from diskbench.store.rows import add_timing, find_plan, unfinished_runs

ATTEMPTS = 5
"""Tries before a host that does not answer is left to `diskbench gc`; our choice."""
RELEASED = Problem(kind="Released", message="its lease was given back before it ended")
log = logging.getLogger(__name__)


def hand_back(session: Session, plan: Plan, *, keeps: bool = True) -> ReleaseFailed | None:
    """Release everything of a trial, close its connection, and store its timings. `keeps` as in
    `end_hold`.

    Returns the error of a failed release, or None. After a failure the lease stays open with the
    error in its row, for `gc` and workers. Raises StoreUnavailable; may be called again.
    """
    try:
        with session.timing.span("release", plan.trial_id):
            release(session, plan)
    except StoreUnavailable:
        raise
    except ReleaseFailed as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - a provider's fault must not keep what was measured
        failed = ReleaseFailed(
            f"not given back: {', '.join(left_behind(plan))} on {where(plan)}: {error!r}",
            advice=f"diskbench gc {plan.trial_id}",
        )
    else:
        return None
    finally:
        end_hold(session, plan, keeps=keeps)
    note_lease_error(session.database, plan.trial_id, failed.message)
    return failed


def end_hold(session: Session, plan: Plan, *, keeps: bool = True) -> None:
    """Close the trial's connection and store its timings. Errors of the database are ignored,
    because the call before this one has reported them. With `keeps` the trial's records are written
    to the evidence, too; the cell of a matrix writes them with its own end."""
    session.disconnect(plan)
    with contextlib.suppress(DiskbenchError):
        add_timing(session.database, plan.trial_id, session.timing.of(plan.trial_id))
    if keeps:
        keep_trial_rows(session, plan.trial_id)


def end_unfinished(session: Session, plan: Plan, problem: Problem, state: RunState) -> bool:
    """End the unfinished runs of a trial whose lease is gone, with `problem` as the reason. Returns
    whether the trial was unfinished."""
    unfinished = unfinished_runs(session.database, plan.trial_id)
    for run_id in unfinished:
        index = plan.run_ids.index(run_id)
        finish_run(
            session.database, session.evidence_of(plan.trial_id), plan, index, state, problem
        )
    return bool(unfinished)


def end_released(session: Session, plan: Plan) -> None:
    """End a trial whose lease was given back by another process than its own: its unfinished
    runs count as cancelled, and nobody can resume it."""
    end_unfinished(session, plan, RELEASED, "cancelled")
    end_run_cell(session.database, plan.trial_id)


def release(session: Session, plan: Plan) -> bool:
    """Remove everything of this trial and mark its lease as released; returns whether it was open
    until then, so that no other process gave it back meanwhile.

    A rented machine is deleted with everything on it; a shared one, too, unless another trial uses
    it by now. Raises ReleaseFailed naming what is left and where; the lease then stays open for
    `gc`.
    """
    renter = session.renter(plan)
    try:
        # A machine is deleted with everything on it; but that of the fake cloud is this one.
        if plan.rental is None or (plan.acquired is not None and plan.acquired.address == ""):
            clean(session, plan)
        if plan.machine is not None:
            machine = machine_of_trial(session.database, plan.trial_id)
            if machine is not None:
                let_go(session, machine)
        elif renter is not None and plan.rental is not None:
            made = plan.acquired.made if plan.acquired is not None else ()
            renter.release(plan.trial_id, plan.rental.scope, made=made)
    except ReleaseFailed:
        raise
    except DiskbenchError as error:
        raise ReleaseFailed(
            f"not given back: {', '.join(left_behind(plan))} on {where(plan)}: {error.message}",
            advice=f"when that is possible again: diskbench gc {plan.trial_id}",
        ) from error
    return mark_released(session, plan.trial_id, of_machine=plan.machine is not None)


def mark_released(session: Session, lease_id: str, *, of_machine: bool = True) -> bool:
    """Mark a lease as released, and return whether it was open.

    In the evidence first, so that a database that is rebuilt from it never contains the lease as
    open. A store that cannot be written to is only logged, because the
    release has happened already. `of_machine`: whether it may be the lease of a shared machine.
    """
    database = session.database
    lease, moment = load_lease(database, lease_id), iso(database_time(database))
    if lease is not None and lease.state == "open":
        change = {"state": "released", "error": None, "released_at": moment}
        try:
            evidence = session.evidence_of(lease_id)
            keep_lease(evidence, lease.model_copy(update=change))
            machine = find_machine(database, lease_id) if of_machine else None
            if machine is not None:
                keep_matrix(database, evidence, machine.campaign_id)
        except DiskbenchError as error:
            warn_not_kept("lease", lease_id, error)
    return release_lease(database, lease_id, at=moment)


def keep_trial_rows(
    session: Session, trial_id: str, cell: CellRow | None = None, lease: Lease | None = None
) -> None:
    """Write the lease, timings and cell of a trial that has ended to the evidence, as they are in
    its rows; `cell` is the cell's row as it is about to be, and `lease` its lease, where the caller
    has them."""
    try:
        evidence = session.evidence_of(trial_id)
        lease = lease or load_lease(session.database, trial_id)
        if lease is not None:
            keep_lease(evidence, lease)
        keep_trial(session.database, evidence, trial_id, cell)
    except DiskbenchError as error:
        warn_not_kept("trial", trial_id, error)


def let_go(session: Session, machine: MachineRecord) -> bool:
    """Release a machine with all its disks, unless another trial was assigned to it meanwhile;
    returns whether this did.

    Raises ReleaseFailed naming what is left; its lease then stays open."""
    lease = load_lease(session.database, machine.lease_id)
    released = lease is not None and lease.state == "released"
    if released or not end_machine(session.database, machine):
        return False
    scope = machine.rental.scope
    renter = session.providers.renter(scope.provider)
    assert renter is not None
    made = recorded(session.database, machine.lease_id)
    try:
        renter.release(machine.lease_id, scope, made=made)
    except DiskbenchError as error:
        note_lease_error(session.database, machine.lease_id, error.message)
        raise
    return mark_released(session, machine.lease_id)


def recorded(database: sa.Engine, lease_id: str) -> tuple[str, ...]:
    """Kinds and ids of all resources that were made for a lease, recorded when its machine was
    acquired (Acquired.made); empty where it was not acquired."""
    machine = find_machine(database, lease_id)
    plan = find_plan(database, lease_id if machine is None else machine.trial_id)
    return plan.acquired.made if plan is not None and plan.acquired is not None else ()


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
        return place(plan.rental.scope.provider, plan.rental.scope.region)
    return plan.cell.address or "this machine"


def place(provider: str, region: str | None) -> str:
    """The provider and its region, for display."""
    return " ".join(word for word in (provider, region) if word)


def keep_begun(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix that was begun to the evidence, with the current state of its cells, unless
    it is there already."""
    try:
        keep_begun_matrix(session.database, session.evidence, campaign.campaign_id)
    except DiskbenchError as error:
        warn_not_kept("matrix", campaign.campaign_id, error)


def keep_ending(session: Session, campaign: CampaignRow) -> None:
    """Write a matrix whose cells have all ended to the evidence, before its row says that it ended.
    Raises StoreUnavailable."""
    ending = {"state": campaign.state, "finished_at": campaign.finished_at}
    keep_matrix(session.database, session.evidence, campaign.campaign_id, ending=ending)


def warn_not_kept(what: str, name: str, error: DiskbenchError) -> None:
    """Log that the record `what` of `name` could not be written to the evidence."""
    log.warning(
        "the record of %s %s is not in the evidence, and a rebuild would miss it: %s",
        what, name, error.message,
    )  # fmt: skip
