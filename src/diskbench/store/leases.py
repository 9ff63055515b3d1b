"""Leases: a row for the resources of a trial that must be given back, written before they exist."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.base import Frozen
from diskbench.store import schema
from diskbench.store.database import change, fetch, fetch_as, transaction
from diskbench.store.dialects import insert_missing, moment_of, present

LeaseState = Literal["open", "released"]


class Lease(Frozen):
    """The lease of the resources rented or made for a trial; its id is the trial's.

    `address` is the host and `target` what was made on it; `expires_at` and `released_at` are UTC.
    `error` is why the last attempt to give it back failed.
    """

    lease_id: str
    provider: str
    account: str | None = None
    region: str | None = None
    endpoint: str | None = None
    address: str | None = None
    target: dict[str, Any] | None = None
    run_ids: tuple[str, ...] = ()
    created_at: str = ""
    expires_at: str | None = None
    hourly_usd: float | None = None
    state: LeaseState = "open"
    error: str | None = None
    released_at: str | None = None

    @property
    def ends(self) -> datetime | None:
        """When it expires, according to this row."""
        return moment_of(self.expires_at) if self.expires_at else None

    def age_s(self, now: datetime) -> float:
        """How long it has been billed by `now` in seconds; never negative."""
        end = moment_of(self.released_at) if self.released_at else now
        return max(0.0, (end - moment_of(self.created_at)).total_seconds())


def create_lease(database: Engine, lease: Lease) -> None:
    """Write the row of a new lease; an existing one is unchanged."""
    with transaction(database) as connection:
        insert_leases(connection, [lease])


def insert_leases(connection: Connection, leases: Sequence[Lease]) -> None:
    """`create_lease` for several leases, inside the caller's transaction. One lease alone may come
    without `created_at`: it gets the present time of the database's clock."""
    rows = [
        lease.model_dump(mode="json") | {"created_at": lease.created_at or present()}
        for lease in leases
    ]
    insert_missing(connection, schema.lease, rows)


def load_lease(database: Engine, lease_id: str) -> Lease | None:
    """The lease with this id; None when there is none."""
    query = sa.select(schema.lease).where(schema.lease.c.lease_id == lease_id)
    return next(iter(fetch_as(database, Lease, query)), None)


def extend_lease(database: Engine, lease_id: str, expires_at: str) -> None:
    """Move the expiry of an open lease."""
    _update(database, lease_id, expires_at=expires_at)


def note_lease_error(database: Engine, lease_id: str, error: str) -> None:
    """Save why an open lease could not be given back."""
    _update(database, lease_id, error=error)


def release_lease(database: Engine, lease_id: str, *, at: str | None = None) -> bool:
    """Mark an open lease as given back at `at` (default: now, by the database's clock), and return
    whether it was open. A released lease keeps its time."""
    return _update(database, lease_id, state="released", error=None, released_at=at or present())


def list_leases(
    database: Engine, *, state: LeaseState | None = None, campaign_id: str | None = None
) -> Sequence[Lease]:
    """All leases, or those in `state` or of the trials of a campaign, oldest first."""
    lease, trial = schema.lease, schema.trial
    query = sa.select(lease).order_by(lease.c.created_at, lease.c.lease_id)
    if state is not None:
        query = query.where(lease.c.state == state)
    if campaign_id is not None:
        trials = sa.select(trial.c.trial_id).where(trial.c.campaign_id == campaign_id)
        query = query.where(lease.c.lease_id.in_(trials))
    return fetch_as(database, Lease, query)


def any_expired(database: Engine) -> bool:
    """Whether an open lease has expired by the database's clock and no attempt to give it back has
    failed. Its trial may still be running."""
    lease = schema.lease
    query = sa.select(sa.literal(1)).where(
        lease.c.state == "open", lease.c.error.is_(None), lease.c.expires_at < present()
    )
    return bool(fetch(database, query.limit(1)))


def _update(database: Engine, lease_id: str, **values: object) -> bool:
    lease = schema.lease
    mine = lease.c.lease_id == lease_id, lease.c.state == "open"
    return change(database, sa.update(lease).where(*mine).values(**values)) > 0
