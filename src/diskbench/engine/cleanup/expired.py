"""Expiry by the cloud's own clock, checked before anything is deleted because it expired.

The end of a lease is stored in its row and in its tags. The clock of this machine may be wrong, and
so may the database's; the cloud's own clock is the same for everybody who rents there.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError
from diskbench.model.rental import Scope
from diskbench.ports import TellsTime
from diskbench.store.database import database_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Engine

    from diskbench.engine.session import Session
    from diskbench.store.leases import Lease


UNKNOWN = "it may have expired or not: its cloud did not report the time"


def _time_at(database: Engine, renter: object, scope: Scope) -> datetime:
    """The current time by which leases in `scope` expire: the cloud's, or the database's where the
    provider has no clock of its own. Raises DiskbenchError when the cloud does not answer."""
    if isinstance(renter, TellsTime):
        return renter.present(scope)
    return database_time(database)


def asked_once(database: Engine, renter: object, scope: Scope) -> Callable[[], datetime]:
    """A function that calls `time_at` when it is first called, once for all threads; each later
    call returns the same time, or raises the same error."""
    lock, answers = threading.Lock(), list[datetime | DiskbenchError]()

    def present() -> datetime:
        with lock:
            if not answers:
                try:
                    answers.append(_time_at(database, renter, scope))
                except DiskbenchError as error:
                    answers.append(error)
        if isinstance(answers[0], DiskbenchError):
            raise answers[0]
        return answers[0]

    return present


def kept_by_cloud(session: Session, lease: Lease) -> str | None:
    """Why a lease that expired by the database's clock stays: it has not expired by its cloud's.
    None where both agree. Raises DiskbenchError when the cloud does not give its time."""
    if lease.expires_at is None:
        return None
    scope = Scope(
        provider=lease.provider,
        account=lease.account,
        region=lease.region,
        endpoint=lease.endpoint,
    )
    present = _time_at(session.database, session.providers.renter(lease.provider), scope)
    if datetime.fromisoformat(lease.expires_at) < present:
        return None
    return (
        f"it expires at {lease.expires_at}; {lease.provider}'s clock says "
        f"{present.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC, and the database's is ahead of it"
    )
