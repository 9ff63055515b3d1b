"""What the clouds' own clocks say before anything is deleted because it expired.

A lease's end stands in its row and on its tags. Whoever looks may have a wrong clock, and so may
the database: the cloud's own clock is the same for all who rent there.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.engine.trial.draft import renter_named
from diskbench.errors import DiskbenchError
from diskbench.model.rental import Scope
from diskbench.ports import TellsTime
from diskbench.store.clock import database_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Engine

    from diskbench.store.leases import Lease


UNKNOWN = "nobody knows whether it expired: its cloud does not say what time it is"


def time_at(database: Engine, renter: object, scope: Scope) -> datetime:
    """The present by which leases in `scope` expire: the cloud's; the database's where the provider
    is no cloud with a clock of its own. Raises DiskbenchError when the cloud does not say."""
    if isinstance(renter, TellsTime):
        return renter.present(scope)
    return database_time(database)


def asked_once(database: Engine, renter: object, scope: Scope) -> Callable[[], datetime]:
    """`time_at`, asked when it is first needed and for all threads once: each call then returns,
    or raises, the same."""
    lock, answers = threading.Lock(), list[datetime | DiskbenchError]()

    def present() -> datetime:
        with lock:
            if not answers:
                try:
                    answers.append(time_at(database, renter, scope))
                except DiskbenchError as error:
                    answers.append(error)
        if isinstance(answers[0], DiskbenchError):
            raise answers[0]
        return answers[0]

    return present


def kept_by_cloud(database: Engine, lease: Lease) -> str | None:
    """Why a lease that expired by the database's clock stays: it has not by its cloud's. None where
    that agrees. Raises DiskbenchError when the cloud does not say its time."""
    if lease.expires_at is None:
        return None
    scope = Scope(
        provider=lease.provider,
        account=lease.account,
        region=lease.region,
        endpoint=lease.endpoint,
    )
    present = time_at(database, renter_named(lease.provider), scope)
    if datetime.fromisoformat(lease.expires_at) < present:
        return None
    return (
        f"it expires at {lease.expires_at}; {lease.provider}'s clock says "
        f"{present.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC, and the database's is ahead of it"
    )
