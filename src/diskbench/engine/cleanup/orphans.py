"""Release of everything at a provider that carries our tags and outlived its lease, whether or not
the database knows it: the third net of docs/design.md#three-nets."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from diskbench.engine.cleanup.gc import (
    UNKNOWN,
    asked_once,
    attempted,
    cost_of_lease,
    in_use,
    leases_at_work,
    sweep,
)
from diskbench.engine.cleanup.named_ids import choose, ids_of_leases
from diskbench.engine.trial.release import end_released, mark_released, place, recorded
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.outcome import Swept, Unlisted, problem_of
from diskbench.model.rental import NOT_OURS, was_made
from diskbench.parallel import all_of
from diskbench.ports import Regional
from diskbench.store.database import database_time
from diskbench.store.leases import list_leases, load_lease
from diskbench.store.machines import list_machines
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from diskbench.engine.session import Session
    from diskbench.model.outcome import SweepOutcome
    from diskbench.model.rental import Found, Scope
    from diskbench.ports import Renter
    from diskbench.store.leases import Lease


def sweep_provider(
    session: Session,
    scope: Scope,
    ids: Sequence[str] = (),
    *,
    dry_run: bool,
    not_mine: bool = False,
) -> tuple[list[Swept], list[Unlisted]]:
    """Release what a provider lists that outlived its lease, or only what `ids` name, expired or
    not (engine/cleanup/named_ids.py), including open leases of the database. Returns all results,
    also of what stays, and the regions that could not be listed.

    A resource outlived its lease when the lease expired by the cloud's own clock, or when our
    database says that it was released. Whatever a live process uses stays, and so does a resource
    that carries a lease's tags but was not made for it. The cloud is asked for its time only where
    that decides; while it does not answer, leases that may have expired stay, with that problem. A
    failure of one does not stop the others. Raises UserError when the provider cannot be asked at
    all, UnknownName for an id that is neither listed nor open in the database, InvalidValue for an
    id that must not be released.
    """
    renter = session.providers.renter(scope.provider)
    if renter is None:
        raise InvalidValue(
            f"--provider {scope.provider} rents nothing, so nothing can be left there",
            advice="without --provider, gc removes what runs left on their hosts",
            field="provider",
        )
    listed, unlisted = _listed(renter, scope)
    listed = [_recorded(session, lease) for lease in listed]
    busy = leases_at_work(session.database)
    now = asked_once(session.database, renter, scope)
    swept = partial(_swept, session, renter, now=now, busy=busy, named=bool(ids), dry_run=dry_run)
    if not ids:
        theirs = all_of(swept, [lease for lease in listed if lease.resources])
        copied = [_copied(session, lease, lease.not_ours) for lease in listed if lease.not_ours]
        return [*theirs, *copied], unlisted
    rows = {lease.lease_id: load_lease(session.database, lease.lease_id) for lease in listed}
    shared = {machine.lease_id for machine in list_machines(session.database)}
    own, chosen, copies = choose(
        ids,
        ours=ids_of_leases(list_leases(session.database, state="open"), shared),
        released={name for name, row in rows.items() if row is not None},
        listed=listed,
        all_listed=not unlisted,
        owner=session.owner,
        not_mine=not_mine,
        is_over=lambda lease: _is_over(_expiry(lease, rows[lease.lease_id]), now),
    )
    if busy_lease := next((lease for lease in chosen if lease.lease_id in busy), None):
        raise in_use(busy_lease.lease_id)
    ours = sweep(session, own, dry_run=dry_run) if own else []
    theirs = all_of(swept, chosen)
    deleted = [_deleted(session, renter, *copy, dry_run=dry_run) for copy in copies]
    return [*ours, *theirs, *deleted], unlisted


def _recorded(session: Session, listed_lease: Found) -> Found:
    """The lease as listed; resources that our database does not record as made for it are moved to
    `not_ours`."""
    made = recorded(session.database, listed_lease.lease_id)
    copied = tuple(resource for resource in listed_lease.resources if not was_made(resource, made))
    if not copied:
        return listed_lease
    ours = tuple(resource for resource in listed_lease.resources if resource not in copied)
    return listed_lease.model_copy(
        update={"resources": ours, "not_ours": (*listed_lease.not_ours, *copied)}
    )


def _copied(session: Session, listed_lease: Found, resources: tuple[str, ...]) -> Swept:
    """The result for resources that carry a lease's tags but were not made for it: they stay."""
    lease = load_lease(session.database, listed_lease.lease_id)
    stays = _result(listed_lease, lease, resources, NOT_OURS, "kept")
    return stays.model_copy(update={"copied": True})


def _deleted(
    session: Session, renter: Renter, listed_lease: Found, resource: str, *, dry_run: bool
) -> Swept:
    """Delete a resource that carries a lease's tags, was not made for it, and was named by its full
    id."""
    copy = partial(renter.release, listed_lease.lease_id, listed_lease.scope, copied=(resource,))
    ended, problem = attempted(copy, dry_run=dry_run)
    update = {"reason": f"you named it; it {NOT_OURS}", "outcome": ended, "problem": problem}
    return _copied(session, listed_lease, (resource,)).model_copy(update=update)


def _result(
    listed_lease: Found,
    lease: Lease | None,
    resources: tuple[str, ...],
    reason: str,
    ended: SweepOutcome,
) -> Swept:
    """The result for resources of a listed lease."""
    scope = listed_lease.scope
    return Swept(
        lease_id=listed_lease.lease_id,
        in_database=lease is not None,
        where=place(scope.provider, scope.region),
        provider=scope.provider,
        region=scope.region,
        resources=resources,
        reason=reason,
        outcome=ended,
    )


def _listed(renter: Renter, scope: Scope) -> tuple[list[Found], list[Unlisted]]:
    """The leases that are listed, and the regions that did not answer. Raises the first error when
    no region answered."""
    if not isinstance(renter, Regional) or scope.region is not None:
        return list(renter.found(scope)), []
    scopes = [scope.model_copy(update={"region": name}) for name in renter.regions(scope)]

    def ask(region_scope: Scope) -> Sequence[Found] | DiskbenchError:
        try:
            return renter.found(region_scope)
        except DiskbenchError as error:
            return error

    answers = all_of(ask, scopes)
    errors = [answer for answer in answers if isinstance(answer, DiskbenchError)]
    if errors and len(errors) == len(scopes):
        raise errors[0]
    unlisted = [
        Unlisted(
            where=place(region_scope.provider, region_scope.region),
            provider=region_scope.provider,
            region=region_scope.region,
            problem=problem_of(answer),
        )
        for region_scope, answer in zip(scopes, answers, strict=True)
        if isinstance(answer, DiskbenchError)
    ]
    listed = (answer for answer in answers if not isinstance(answer, DiskbenchError))
    return list(chain.from_iterable(listed)), unlisted


def _swept(
    session: Session,
    renter: Renter,
    listed_lease: Found,
    *,
    now: Callable[[], datetime],
    busy: set[str],
    named: bool,
    dry_run: bool,
) -> Swept:
    lease = load_lease(session.database, listed_lease.lease_id)
    plan = find_plan(session.database, listed_lease.lease_id) if lease else None

    def release() -> None:
        made = recorded(session.database, listed_lease.lease_id)
        renter.release(listed_lease.lease_id, listed_lease.scope, made=made)
        if plan is not None:
            end_released(session, plan)
        mark_released(session, listed_lease.lease_id)

    ended: SweepOutcome = "kept"
    problem = None
    try:
        is_busy = listed_lease.lease_id in busy
        goes, reason = _verdict(listed_lease, lease, now, busy=is_busy, named=named)
    except DiskbenchError as error:
        goes, reason, problem = False, UNKNOWN, problem_of(error)
    if goes:
        ended, problem = attempted(release, dry_run=dry_run)
    cost = cost_of_lease(lease, database_time(session.database), plan) if lease else None
    of_list = {"owner": listed_lease.owner, "expires_at": listed_lease.expires_at}
    result = _result(listed_lease, lease, listed_lease.resources, reason, ended)
    return result.model_copy(update={**of_list, "cost": cost, "problem": problem})


def _verdict(
    listed: Found, lease: Lease | None, now: Callable[[], datetime], *, busy: bool, named: bool
) -> tuple[bool, str]:
    """Whether the lease is released, and why or why not. Raises DiskbenchError where that depends
    on the cloud's time and the cloud does not give it."""
    if busy:
        return False, "a process is using it"
    if named:
        return True, "you named it"
    if lease is not None and lease.state == "released":
        return True, f"it was given back at {lease.released_at}, but still exists"
    until = _expiry(listed, lease)
    if until is None:
        return False, "it does not say when it expires"
    if _is_over(until, now):
        return True, "it expired"
    return False, f"it expires at {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"


def _is_over(until: float | None, now: Callable[[], datetime]) -> bool:
    return until is not None and until < now().timestamp()


def _expiry(listed_lease: Found, lease: Lease | None) -> float | None:
    """The expiry, in Unix seconds: the later of tags and row, because a resumed run may have a
    later end in its row than in its tags."""
    ends = [listed_lease.expires_at]
    if lease is not None and lease.ends is not None and lease.state == "open":
        ends.append(lease.ends.timestamp())
    return max((end for end in ends if end is not None), default=None)
