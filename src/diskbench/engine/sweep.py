"""`diskbench gc`: give back what was left, found by lease."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.engine.executor import abandoned
from diskbench.engine.lease import left_behind, release, where
from diskbench.errors import InvalidValue, ReleaseFailed, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.engine.session import Session
    from diskbench.model.rental import Found, Scope
    from diskbench.model.spec import Plan
    from diskbench.ports import Renter
    from diskbench.store.leases import Lease


@dataclass(frozen=True)
class Swept:
    """One lease that `gc` looked at: what it holds, why it goes, and why it could not."""

    lease_id: str
    where: str
    paths: tuple[str, ...]
    reason: str
    error: ReleaseFailed | None = None


def sweep(session: Session, ids: Sequence[str], *, dry_run: bool) -> list[Swept]:
    """Release every open lease that has outlived its use, or those named; one failure stops none.

    A lease has outlived its use when it expired, or when its trial is finished. A named lease is
    released whatever its age, but never while a live process works under it (InvalidValue).
    """
    from diskbench.store.claims import list_claims, list_executors
    from diskbench.store.leases import list_leases
    from diskbench.store.rows import load_plan

    claims = list_claims(session.database)
    orphaned = {c.trial_id for c in abandoned(claims, list_executors(session.database))}
    unfinished = {c.trial_id for c in claims}
    swept = []
    for lease in _chosen(list_leases(session.database, state="open"), ids):
        if lease.lease_id in unfinished - orphaned:
            if ids:
                raise InvalidValue(
                    f"lease {lease.lease_id} is in use by a live process",
                    advice=f"stop it first: diskbench cancel {lease.lease_id}",
                )
            continue
        reason = _reason(lease, finished=lease.lease_id not in unfinished, named=bool(ids))
        if reason:
            plan = load_plan(session.database, lease.lease_id)
            swept.append(_release(session, plan, reason, dry_run=dry_run))
    return swept


def sweep_provider(session: Session, scope: Scope, *, dry_run: bool) -> list[Swept]:
    """Release whatever a provider lists that has expired, whoever made it and whatever the database
    knows of it; what a live process of ours works with stays. One failure stops none.

    Raises UserError when the provider cannot be asked.
    """
    from diskbench.engine.draft import renter_named
    from diskbench.store.claims import list_claims, list_executors

    renter = renter_named(scope.provider)
    if renter is None:
        raise InvalidValue(
            f"--provider {scope.provider} rents nothing that could be left",
            advice="without --provider, gc takes away what runs left on their hosts",
        )
    claims = list_claims(session.database)
    orphaned = {c.trial_id for c in abandoned(claims, list_executors(session.database))}
    busy = {c.trial_id for c in claims} - orphaned
    swept = []
    for found in renter.found(scope):
        expired = found.expires_at is not None and found.expires_at < time.time()
        if not expired or found.lease_id in busy:
            continue
        swept.append(_release_found(session, renter, found, dry_run=dry_run))
    return swept


def _release_found(session: Session, renter: Renter, found: Found, *, dry_run: bool) -> Swept:
    from diskbench.store.leases import release_lease

    error = None
    if not dry_run:
        try:
            renter.release(found.lease_id, found.scope)
            release_lease(session.database, found.lease_id)
        except ReleaseFailed as failed:
            error = failed
    place = " ".join(word for word in (found.scope.provider, found.scope.region) if word)
    return Swept(found.lease_id, place, found.resources, "it expired", error)


def _chosen(leases: Sequence[Lease], ids: Sequence[str]) -> list[Lease]:
    if not ids:
        return list(leases)
    chosen = []
    for name in ids:
        found = [
            lease
            for lease in leases
            if any(i.startswith(name.lower()) for i in (lease.lease_id, *lease.run_ids))
        ]
        if not found:
            raise UnknownName("open lease", name, [lease.lease_id for lease in leases])
        chosen += found
    return chosen


def _reason(lease: Lease, *, finished: bool, named: bool) -> str | None:
    if finished:
        return "its trial is finished"
    if lease.expires_at and datetime.fromisoformat(lease.expires_at) < datetime.now(UTC):
        return f"it expired at {lease.expires_at}"
    return "it was named" if named else None


def _release(session: Session, plan: Plan, reason: str, *, dry_run: bool) -> Swept:
    error = None
    if not dry_run:
        try:
            release(session, plan)
            _end_unfinished(session, plan)
        except ReleaseFailed as failed:
            error = failed
        finally:
            session.disconnect(plan)
    return Swept(plan.trial_id, where(plan), left_behind(plan), reason, error)


def _end_unfinished(session: Session, plan: Plan) -> None:
    """A run whose lease is gone cannot go on: it ends, with its reason."""
    from diskbench.model.outcome import Problem
    from diskbench.store.claims import list_claims
    from diskbench.store.finish import finish_run
    from diskbench.store.rows import unfinished_runs

    if all(c.trial_id != plan.trial_id for c in list_claims(session.database)):
        return
    problem = Problem(kind="Released", message="its lease was given back before it ended")
    for run_id in unfinished_runs(session.database, plan.trial_id):
        index = plan.run_ids.index(run_id)
        finish_run(session.database, session.evidence, plan, index, "cancelled", problem)
