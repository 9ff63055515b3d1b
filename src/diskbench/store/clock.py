"""Times in rows: ISO 8601 text in UTC; and by which clock they are taken.

Times that several processes compare (beats, leases and their expiry, the turns of cells) are taken
by the clock of the shared database: that of PostgreSQL's server or, since SQLite has no server,
that of the machine whose processes share the file. Times of one run alone (its begin and end) are
taken by the clock of the machine that ran it.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from ulid import ULID

from diskbench.store.moments import iso

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

log = logging.getLogger(__name__)

__all__ = [
    "TOLERATED_SKEW_S",
    "database_time",
    "is_skewed",
    "iso",
    "now",
    "present",
    "skew_s",
    "skew_text",
    "ulid_time",
    "warn_of_skew",
]

TOLERATED_SKEW_S = 60.0
"""The allowed difference between this machine's clock and the database's; our choice, the time
after which a silent process counts as dead."""


class present(FunctionElement[str]):  # noqa: N801 - an SQL function, named as those of SQLAlchemy
    """The database's present time in the format of rows, for use in a statement."""

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
    """The database's present time, UTC. Raises StoreUnavailable."""
    from diskbench.store.database import one_statement

    with one_statement(engine) as connection:
        return datetime.fromisoformat(connection.execute(sa.select(present())).scalar_one())


def skew_s(engine: Engine) -> float:
    """Seconds by which this machine's clock is ahead of the database's (negative: behind), less the
    time of the query; 0 on SQLite, which uses this machine's clock. Raises StoreUnavailable."""
    return 0.0 if engine.dialect.name == "sqlite" else time_and_skew(engine)[1]


def time_and_skew(engine: Engine) -> tuple[datetime, float]:
    """`database_time` and `skew_s`, by one query."""
    before = datetime.now(UTC)
    theirs = database_time(engine)
    skew = _beyond(theirs, before, datetime.now(UTC))
    return theirs, 0.0 if engine.dialect.name == "sqlite" else skew


def _beyond(theirs: datetime, before: datetime, after: datetime) -> float:
    """Seconds by which `theirs` lies outside of our interval from `before` to `after`."""
    ahead, behind = (before - theirs).total_seconds(), (theirs - after).total_seconds()
    return max(ahead, 0.0) - max(behind, 0.0)


def is_skewed(seconds: float) -> bool:
    """Whether a clock that is `seconds` off is too wrong to rely on."""
    return abs(seconds) > TOLERATED_SKEW_S


def skew_text(seconds: float) -> str:
    """One line: the skew of this machine's clock, and what to do."""
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
    """This machine's present time, UTC, with microseconds."""
    return iso(datetime.now(UTC))


def ulid_time(ulid: str) -> str | None:
    """The time in a ULID, to the millisecond; None when `ulid` is no ULID."""
    try:
        return iso(ULID.from_str(ulid.upper()).datetime)
    except ValueError:
        return None
