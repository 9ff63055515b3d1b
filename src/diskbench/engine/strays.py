"""What a provider has under our tags that outlived its lease, whoever made it and whatever the
database knows of it: the third net of DESIGN.md section 3."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.engine.expired import time_at
from diskbench.engine.several import all_of
from diskbench.engine.sweep import (
    cost_of_lease,
    end_unfinished,
    expires_at,
    in_use,
    leases_at_work,
    outcome,
    place,
)
from diskbench.errors import DiskbenchError, InvalidValue, UnknownName
from diskbench.model.outcome import problem_of
from diskbench.model.swept import Swept, Unlisted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.engine.session import Session
    from diskbench.model.rental import Found, Scope
    from diskbench.model.spec import Plan
    from diskbench.ports import Renter
    from diskbench.store.leases import Lease


def sweep_provider(
    session: Session, scope: Scope, ids: Sequence[str] = (), *, dry_run: bool
) -> tuple[list[Swept], list[Unlisted]]:
    """Release what a provider lists that outlived its lease, or only the leases named, expired or
    not; told are those that stay, too, and the regions that could not be listed.

    What outlived its lease: its expiry is over by the cloud's own clock, or our database says that
    it was given back. What a live process of ours works with stays. One failure stops none. Raises
    UserError when the provider cannot be asked at all, UnknownName for a lease that it does not
    list.
    """
    from diskbench.engine.draft import renter_named

    renter = renter_named(scope.provider)
    if renter is None:
        raise InvalidValue(
            f"--provider {scope.provider} rents nothing that could be left",
            advice="without --provider, gc takes away what runs left on their hosts",
        )
    listed, unlisted = _listed(renter, scope)
    known = _named(listed, ids, whole=not unlisted) if ids else listed
    busy = leases_at_work(session.database)
    # What is named goes whatever the time is.
    now = time_at(session.database, None if ids else renter, scope)
    if ids and (held := next((one for one in known if one.lease_id in busy), None)):
        raise in_use(held.lease_id)
    return (
        all_of(
            lambda found: _swept(
                session, renter, found, now, busy=busy, named=bool(ids), dry_run=dry_run
            ),
            known,
        ),
        unlisted,
    )


def _listed(renter: Renter, scope: Scope) -> tuple[list[Found], list[Unlisted]]:
    """What is there, and where nobody answered. Raises UserError when nobody did anywhere."""
    from diskbench.ports import Regional

    if not isinstance(renter, Regional) or scope.region is not None:
        return list(renter.found(scope)), []
    scopes = [scope.model_copy(update={"region": name}) for name in renter.regions(scope)]

    def ask(one: Scope) -> Sequence[Found] | DiskbenchError:
        try:
            return renter.found(one)
        except DiskbenchError as error:
            return error

    found: list[Found] = []
    unlisted: list[Unlisted] = []
    errors: list[DiskbenchError] = []
    for one, answer in zip(scopes, all_of(ask, scopes), strict=True):
        if isinstance(answer, DiskbenchError):
            errors.append(answer)
            unlisted.append(
                Unlisted(
                    where=place(one.provider, one.region),
                    provider=one.provider,
                    region=one.region,
                    problem=problem_of(answer),
                )
            )
        else:
            found += answer
    if errors and len(errors) == len(scopes):
        raise errors[0]
    return found, unlisted


def _named(listed: Sequence[Found], ids: Sequence[str], *, whole: bool) -> list[Found]:
    chosen: dict[int, Found] = {}
    for name in ids:
        found = {i: f for i, f in enumerate(listed) if f.lease_id.startswith(name.lower())}
        if not found and whole:
            raise UnknownName("lease that is listed", name, [f.lease_id for f in listed])
        chosen |= found
    return list(chosen.values())


def _swept(
    session: Session,
    renter: Renter,
    found: Found,
    now: datetime,
    *,
    busy: set[str],
    named: bool,
    dry_run: bool,
) -> Swept:
    from diskbench.store.leases import load_lease
    from diskbench.store.rows import find_plan

    lease = load_lease(session.database, found.lease_id)
    plan = find_plan(session.database, found.lease_id) if lease else None
    goes, reason = _verdict(found, lease, now, busy=found.lease_id in busy, named=named)
    problem = None
    if goes and not dry_run:
        try:
            _give_back(session, renter, found, plan)
        except DiskbenchError as error:
            problem = problem_of(error)
    return Swept(
        lease_id=found.lease_id,
        where=place(found.scope.provider, found.scope.region),
        provider=found.scope.provider,
        region=found.scope.region,
        resources=found.resources,
        expires_at=found.expires_at,
        reason=reason,
        outcome=outcome(dry_run=dry_run, failed=problem is not None) if goes else "kept",
        cost=cost_of_lease(lease, now, plan) if lease else None,
        problem=problem,
    )


def _give_back(session: Session, renter: Renter, found: Found, plan: Plan | None) -> None:
    from diskbench.store.leases import release_lease

    renter.release(found.lease_id, found.scope)
    if plan is not None:
        end_unfinished(session, plan)
    release_lease(session.database, found.lease_id)


def _verdict(
    found: Found, lease: Lease | None, now: datetime, *, busy: bool, named: bool
) -> tuple[bool, str]:
    """Whether it goes, and why or why not."""
    if busy:
        return False, "a live process works with it"
    until = _expiry(found, lease)
    if until is not None and until < now.timestamp():
        return True, "it expired"
    if lease is not None and lease.state == "released":
        return True, f"it was given back at {lease.released_at}, and is there again"
    if named:
        return True, "it was named"
    if until is None:
        return False, "it does not say when it expires"
    return False, f"it expires at {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"


def _expiry(found: Found, lease: Lease | None) -> float | None:
    """When it expires: a run that was gone on with has a later end than its tags say."""
    row = expires_at(lease) if lease is not None and lease.state == "open" else None
    return max((one for one in (found.expires_at, row) if one is not None), default=None)
