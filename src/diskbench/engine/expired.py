"""What the clouds' own clocks say before anything is deleted because it expired.

A lease's end stands in its row and on its tags. Whoever looks may have a wrong clock, and so may
the database: the cloud's own clock is the same for all who rent there.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from diskbench.engine.draft import renter_named
from diskbench.model.rental import Scope
from diskbench.ports import TellsTime

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.store.leases import Lease


def time_at(database: Engine, renter: object, scope: Scope) -> datetime:
    """The present by which leases in `scope` expire: the cloud's; the database's where the provider
    is no cloud with a clock of its own. Raises DiskbenchError when the cloud does not say."""
    from diskbench.store.clock import database_time

    if isinstance(renter, TellsTime):
        return renter.present(scope)
    return database_time(database)


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
