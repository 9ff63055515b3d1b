"""Time as it stands in rows: ISO 8601 text in UTC; and whose clock it is.

What several processes compare (beats, leases and their expiry, the turns of cells) is by the clock
of the database that they share: that of PostgreSQL's server. SQLite has no server. Its clock is
that of the machine whose processes share the file, so on SQLite these times are that machine's.
What belongs to one run alone (when it began and ended) is by the clock of the machine that ran it.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from ulid import ULID

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

log = logging.getLogger(__name__)

TOLERATED_SKEW_S = 60.0
"""How far this machine's clock may be from the database's; our choice, the time after which a
silent process is dead."""


class present(FunctionElement[str]):  # noqa: N801 - an SQL function, named as those of SQLAlchemy
    """The database's present as rows hold it, to be used in a statement."""

    type = sa.Text()
    inherit_cache = True


@compiles(present, "sqlite")
def _present_on_sqlite(_element: present, _compiler: object, **_: object) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00')"


@compiles(present, "postgresql")
def _present_on_postgresql(_element: present, _compiler: object, **_: object) -> str:
    moment = "clock_timestamp() AT TIME ZONE 'UTC'"
    return f'to_char({moment}, \'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"\')'


def database_time(engine: Engine) -> datetime:
    """The database's present, UTC. Raises StoreUnavailable."""
    from diskbench.store.database import transaction

    with transaction(engine) as connection:
        return datetime.fromisoformat(connection.execute(sa.select(present())).scalar_one())


def skew_s(engine: Engine) -> float:
    """How many seconds this machine's clock is ahead of the database's (negative: behind), beyond
    what the answer took; 0 on SQLite, whose clock is this machine's. Raises StoreUnavailable."""
    if engine.dialect.name == "sqlite":
        return 0.0
    before = datetime.now(UTC)
    theirs = database_time(engine)
    return _beyond(theirs, before, datetime.now(UTC))


def _beyond(theirs: datetime, before: datetime, after: datetime) -> float:
    """How far `theirs` lies outside of the time between our `before` and `after`."""
    ahead, behind = (before - theirs).total_seconds(), (theirs - after).total_seconds()
    return max(ahead, 0.0) - max(behind, 0.0)


def is_skewed(seconds: float) -> bool:
    """Whether a clock that is so far off is not to be relied on."""
    return abs(seconds) > TOLERATED_SKEW_S


def skew_text(seconds: float) -> str:
    """How far this machine's clock is off, and what to do, in one line."""
    way = "ahead of" if seconds > 0 else "behind"
    return (
        f"this machine's clock is {abs(seconds):,.0f} s {way} the database's; set it: timedatectl "
        "set-ntp true"
    )


def warn_of_skew(engine: Engine) -> None:
    """Log a warning where this machine's clock is more than a minute from the database's."""
    seconds = skew_s(engine)
    if is_skewed(seconds):
        log.warning("%s", skew_text(seconds))


def now() -> str:
    """This machine's present, UTC, with microseconds."""
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """A moment as rows hold it: always UTC and always 32 characters, so that text sorts as time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def ulid_time(ulid: str) -> str | None:
    """When a ULID was made, to the millisecond; None when it is no ULID."""
    try:
        return iso(ULID.from_str(ulid.upper()).datetime)
    except ValueError:
        return None
