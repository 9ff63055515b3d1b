"""`diskbench gc`: release what was left behind, found by the leases of the database; and what every
command that opens the database releases, because a killed run releases nothing.

The end of a lease is stored in its row and in its tags. Before anything is deleted because it
expired, the cloud's own clock is asked: the clock of this machine may be wrong, and so may the
database's. What a provider lists, whether or not the database knows it, is in orphans.py.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime

from sqlalchemy.engine import Engine

from diskbench.catalog.cost import HOUR_S, cost_of
from diskbench.engine.cleanup.named_ids import ids_of_leases
from diskbench.engine.matrix.machine_reuse import machine_is_reached, why_over
from diskbench.engine.processes import trials_at_work
from diskbench.engine.session import Session
from diskbench.engine.trial.release import (
    end_released,
    left_behind,
    let_go,
    mark_released,
    place,
    release,
    where,
)
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.ids import meant, short
from diskbench.model.outcome import LeaseCost, Problem, SweepOutcome, Swept, problem_of
from diskbench.model.rental import Scope
from diskbench.model.spec import Plan
from diskbench.parallel import all_of
from diskbench.plan.admit import serves
from diskbench.ports import TellsTime
from diskbench.store.campaigns import routes_of_trial
from diskbench.store.database import database_time
from diskbench.store.leases import Lease, list_leases, note_lease_error
from diskbench.store.machines import find_machine, list_machines
from diskbench.store.rows import find_plan, unfinished_trials

_MEANWHILE = "another process has given it back or begun to use it meanwhile"
UNKNOWN = "it may have expired: its cloud did not report the time"
log = logging.getLogger(__name__)


def sweep(
    session: Session,
    ids: Sequence[str],
    *,
    dry_run: bool,
    reaches: Callable[[Lease], bool] = lambda _: True,
) -> list[Swept]:
    """Release every open lease that has outlived its use, or those named; a failure of one does not
    stop the others.

    A lease has outlived its use when it expired by the database's clock and by its cloud's, or when
    its trial is finished; the lease of a machine that cells of a matrix share, when no cell needs
    the machine. A named lease is released whatever its age, but never while a live process uses it
    (InvalidValue). Leases for which `reaches` is false are left to other processes. An id is that
    of a lease or a run, or the beginning of one (model/ids.py); raises UnknownName, InvalidValue.
    """
    # Leases are read before runs: a lease that is written in between has runs, and without this
    # order would look finished.
    leases = list_leases(session.database, state="open")
    busy = leases_at_work(session.database)
    unfinished = set(unfinished_trials(session.database))
    machines = {machine.lease_id: machine for machine in list_machines(session.database)}
    now, due = database_time(session.database), []
    for lease in _chosen(leases, ids, machines):
        if lease.lease_id in busy:
            if ids:
                raise in_use(lease.lease_id)
            continue
        machine = machines.get(lease.lease_id)
        if machine is not None:
            over = why_over(session.database, machine)
        else:
            over = None if lease.lease_id in unfinished else "its trial is finished"
        is_expired = lease.ends is not None and lease.ends < now
        reason = over or (f"it expired at {lease.expires_at}" if is_expired else None)
        if (reason := reason or ("you named it" if ids else None)) and reaches(lease):
            due.append((lease, reason, over is None and not ids))
    return all_of(lambda due_lease: _swept(session, *due_lease, now, dry_run=dry_run), due)


def is_reached(database: Engine, lease: Lease, patterns: Collection[str]) -> bool:
    """Whether a worker with these route patterns reaches what a lease is for: by the routes of its
    matrix to its provider, or without a matrix by the provider's name."""
    machine = find_machine(database, lease.lease_id)
    if machine is not None:
        return machine_is_reached(database, machine, patterns)
    trial_routes = routes_of_trial(database, lease.lease_id)
    routes = {route for route in trial_routes if route.partition("/")[0] == lease.provider}
    return any(serves(patterns, route) for route in routes or {lease.provider})


def leases_at_work(database: Engine) -> set[str]:
    """The ids of the leases of trials that a live process works on, and of the machines that these
    trials share."""
    busy = trials_at_work(database)
    return busy | {
        machine.lease_id for machine in list_machines(database) if machine.trial_id in busy
    }


def in_use(lease_id: str) -> InvalidValue:
    """The error for a named lease that a live process uses."""
    return InvalidValue(
        f"lease {short(lease_id)} is in use by a running process",
        advice=f"stop it first: diskbench cancel {short(lease_id)}",
    )


def cost_of_lease(lease: Lease, now: datetime, plan: Plan | None = None) -> LeaseCost:
    """The cost of a lease until it was released, or until `now`, without transactions; by the
    prices of its plan, or without a plan by the price in its row."""
    seconds, hourly_usd = lease.age_s(now), lease.hourly_usd
    usd = None if hourly_usd is None else hourly_usd * seconds / HOUR_S
    if plan is not None:  # without a rental these are files on the user's own machine
        priced = cost_of(plan.rental, seconds)
        hourly_usd, usd = priced.hourly_usd, priced.total_usd
    hours = seconds / HOUR_S
    return LeaseCost(since=lease.created_at, hours=hours, hourly_usd=hourly_usd, usd=usd)


def _chosen(
    leases: Sequence[Lease], ids: Sequence[str], shared: Collection[str]
) -> Sequence[Lease]:
    """The leases that `ids` mean; all of them without ids."""
    if not ids:
        return leases
    known = ids_of_leases(leases, shared)
    named = {meant(name, known, "open lease").stands_for for name in ids}
    return [lease for lease in leases if lease.lease_id in named]


def _swept(
    session: Session, lease: Lease, reason: str, by_expiry: bool, now: datetime, *, dry_run: bool
) -> Swept:
    plan = find_plan(session.database, lease.lease_id)
    problem = why_kept = None
    try:
        why_kept = kept_by_cloud(session, lease) if by_expiry else None
    except DiskbenchError as error:
        why_kept, problem = UNKNOWN, problem_of(error)
    ended: SweepOutcome = "kept"
    if why_kept is None:
        ended, problem = attempted(lambda: _give_back(session, lease, plan), dry_run=dry_run)
        why_kept = _MEANWHILE if ended == "kept" else None
    if problem is not None and not dry_run:
        note_lease_error(session.database, lease.lease_id, problem.message)
    return Swept(
        lease_id=lease.lease_id,
        where=where(plan) if plan else place(lease.provider, lease.region),
        provider=lease.provider,
        region=lease.region,
        resources=left_behind(plan) if plan else (f"diskbench-{lease.lease_id}",),
        expires_at=lease.ends.timestamp() if lease.ends else None,
        reason=why_kept or reason,
        outcome=ended,
        cost=cost_of_lease(lease, now, plan),
        problem=problem,
    )


def attempted(
    release: Callable[[], object], *, dry_run: bool
) -> tuple[SweepOutcome, Problem | None]:
    """The outcome of a release that is attempted, or with `dry_run` only planned, and its problem.
    `release` returns False where nothing was left to release."""
    if dry_run:
        return "would-give-back", None
    try:
        return "kept" if release() is False else "gave-back", None
    except DiskbenchError as error:
        return "could-not-give-back", problem_of(error)


def _give_back(session: Session, lease: Lease, plan: Plan | None) -> bool:
    """Release what the lease holds; returns False where another process did so meanwhile, or uses
    its machine by now."""
    machine = find_machine(session.database, lease.lease_id)
    if machine is not None:
        return let_go(session, machine)
    if plan is None:  # its process died between writing the lease and writing the plan
        renter = session.providers.renter(lease.provider)
        if renter is not None:
            renter.release(lease.lease_id, _scope_of(lease))
        return mark_released(session, lease.lease_id)
    try:
        is_mine = release(session, plan)
        end_released(session, plan)
    finally:
        session.disconnect(plan)
    return is_mine


def _scope_of(lease: Lease) -> Scope:
    """Where what a lease holds was rented, by its row."""
    return Scope(
        provider=lease.provider, account=lease.account, region=lease.region, endpoint=lease.endpoint
    )


def _time_at(database: Engine, renter: object, scope: Scope) -> datetime:
    """The current time by which leases in `scope` expire: the cloud's, or the database's where the
    provider has no clock of its own. Raises DiskbenchError when the cloud does not answer."""
    if isinstance(renter, TellsTime):
        return renter.present(scope)
    return database_time(database)


def asked_once(database: Engine, renter: object, scope: Scope) -> Callable[[], datetime]:
    """A function that calls `time_at` when it is first called, once for all threads; each later
    call returns the same time, or raises the same error."""
    lock, answer = threading.Lock(), Future[datetime]()

    def present() -> datetime:
        with lock:
            if not answer.done():
                try:
                    answer.set_result(_time_at(database, renter, scope))
                except DiskbenchError as error:
                    answer.set_exception(error)
        return answer.result()

    return present


def kept_by_cloud(session: Session, lease: Lease) -> str | None:
    """Why a lease that expired by the database's clock stays: it has not expired by its cloud's.
    None where both agree. Raises DiskbenchError when the cloud does not give its time."""
    if lease.ends is None:
        return None
    renter = session.providers.renter(lease.provider)
    present = _time_at(session.database, renter, _scope_of(lease))
    if lease.ends < present:
        return None
    return (
        f"it expires at {lease.expires_at}; {lease.provider}'s clock says "
        f"{present.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC, and the database's is ahead of it"
    )


def give_back_expired(
    opened: Callable[[], Session], swept: Callable[[list[Swept]], None]
) -> Callable[[], None]:
    """Release expired leases in a thread with its own session; returns a function that waits for
    the thread. `swept` gets the results; other errors are logged."""

    def give_back() -> None:
        try:
            with contextlib.closing(opened()) as session:
                now = database_time(session.database)

                def is_expired(lease: Lease) -> bool:
                    """Whether a lease expired and was not tried before. One that could not be
                    released is left to `gc`, workers and `resume`, so that commands that only read
                    need not wait for the same cloud each time."""
                    return lease.error is None and (lease.ends or now) < now

                results = sweep(session, [], dry_run=False, reaches=is_expired)
                swept([result for result in results if result.outcome != "kept"])
        except DiskbenchError as error:
            log.warning("leases that expired are not given back: %s", error.message)

    thread = threading.Thread(target=give_back, daemon=True)
    thread.start()
    return thread.join
