"""Errors of the database's driver as StoreUnavailable, with what to do next."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from diskbench.errors import DiskbenchError, StoreUnavailable
from diskbench.store.urls import printable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from sqlalchemy.engine import Engine

T = TypeVar("T")
ABOUT_THE_ROWS = (exc.DataError, exc.IntegrityError)
"""Errors about rows that the database rejects, while the database itself works."""
CHOOSE = "choose another place with --database-url or DISKBENCH_DATABASE_URL"
_DISK_FULL = "53100"
"""PostgreSQL, "Appendix A. Error Codes": disk_full."""
BROKEN_S = 30.0
"""Seconds for which connections to the database may break again and again, or not be made, before
a command gives up: a restart or a failover takes less. Our choice."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 3.0
_REBUILD = (
    "'diskbench results rebuild' then makes the results again from the evidence, and "
    "'diskbench gc --provider NAME --dry-run' lists what is still rented there"
)


def shown_url(engine: Engine) -> str:
    """The URL of `engine` as it may be printed."""
    return printable(engine.url.render_as_string(hide_password=False))


def mark_refused(context: sa.engine.ExceptionContext) -> None:
    """Mark a connection that could not be made as a lost one.

    DBOS retries while a database is unreachable, but recognises that by words ("connection failed")
    that psycopg 3.3 does not use: a workflow that met a restart of PostgreSQL would end there,
    without a record.
    """
    if context.connection is None and isinstance(
        context.sqlalchemy_exception, exc.OperationalError
    ):
        context.is_disconnect = True


def is_broken(error: BaseException) -> bool:
    """Whether an error means that a connection to the database broke or could not be made, so that
    the same work may succeed on another one."""
    cause = error.__cause__ if isinstance(error, StoreUnavailable) else error
    return isinstance(cause, exc.DBAPIError) and cause.connection_invalidated


def through_breaks(work: Callable[[], T]) -> T:
    """The result of `work`, which may be repeated, while connections break, for BROKEN_S."""
    pause, end = FIRST_PAUSE_S, time.monotonic() + BROKEN_S
    while True:
        try:
            return work()
        except (StoreUnavailable, exc.DBAPIError) as error:
            if not is_broken(error) or time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


@contextmanager
def as_unavailable(engine: Engine, *, before_work: bool = False) -> Iterator[None]:
    """Turn errors of the database's driver into StoreUnavailable.

    `before_work`: nothing was started yet, so the advice does not mention resuming.
    """
    try:
        yield
    except exc.StatementError as error:
        if isinstance(error.orig, DiskbenchError):  # of `_json` (database.py)
            raise error.orig from None
        if not isinstance(error, exc.DBAPIError):
            raise
        cause = str(error.orig).strip().splitlines()
        raise StoreUnavailable(
            f"database {shown_url(engine)}: {cause[0] if cause else type(error.orig).__name__}",
            advice=_advice(error.orig, before_work=before_work),
        ) from error
    except exc.NoSuchModuleError as error:
        raise StoreUnavailable(f"database {shown_url(engine)}: {error}") from error


def _advice(error: BaseException | None, *, before_work: bool) -> str:
    """What to do next, by the driver's code: SQLite's own, or PostgreSQL's SQLSTATE."""
    # An extended code (SQLITE_CORRUPT_VTAB) has its kind in its low byte.
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF
    state = getattr(error, "sqlstate", None)
    if code == sqlite3.SQLITE_CORRUPT:
        return f"the file is damaged: move it away, with its -wal and -shm; {_REBUILD}"
    if code == sqlite3.SQLITE_NOTADB:
        return (
            f"{CHOOSE}; if it was diskbench's and is damaged, move it away with its -wal and "
            f"-shm: {_REBUILD}"
        )
    if code == sqlite3.SQLITE_FULL or state == _DISK_FULL:
        if before_work:
            return f"free some space there, or {CHOOSE}"
        return "free some space there, then run 'diskbench resume'; nothing is lost"
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return CHOOSE
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        then = f"or {CHOOSE}" if before_work else "then 'diskbench resume'"
        return f"another process keeps the database locked; end it, {then}"
    return "check that the server runs, and the URL: 'diskbench config' shows where it comes from"
