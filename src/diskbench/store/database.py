"""Open the database: a SQLite file by default, PostgreSQL by URL."""

from __future__ import annotations

import json
import os
import select
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from platformdirs import user_data_path
from sqlalchemy import exc

from diskbench.errors import InvalidValue, StoreUnavailable
from diskbench.files import data_directory, private_directory
from diskbench.store.clock import warn_of_skew
from diskbench.store.database_errors import CHOOSE, as_unavailable, mark_refused
from diskbench.store.revisions import HEAD
from diskbench.store.schema_revision import VERSIONS, bring_up_to_date, revision_of
from diskbench.store.sqlite_time import supply_unixepoch
from diskbench.store.urls import DATABASE_FORMS, database_url, printable
from diskbench.visible import unstorable, unstorable_words

if TYPE_CHECKING:
    import sqlite3

    from sqlalchemy.engine import Connection, Engine
    from sqlalchemy.engine.interfaces import DBAPIConnection

BUSY_TIMEOUT_S = 30
"""How long a writer waits for the lock before it gives up; one write takes milliseconds."""
CONNECT_TIMEOUT_S = 10
CONNECTIONS = 5
"""The most connections of a process, beside the one that listens. A thread needs one for some
milliseconds at a time and waits for it; fifteen workers so fit into PostgreSQL's default of 100."""
IDLE_S = 1.0
"""Seconds without use after which a connection to PostgreSQL is asked whether it still stands; our
choice."""
_USED_AT = "diskbench_used_at"


def open_database(url: str) -> Engine:
    """An engine on `url` whose schema is the one this program knows.

    A missing SQLite file is made, readable by its owner alone. Its missing directory is made only
    where that is the user's data directory, since any other was typed, perhaps wrongly. Safe when
    several processes do it at once. Logs a warning where this machine's clock is over a minute from
    the database's. Raises StoreUnavailable, naming the URL without its password and the cause, when
    the database cannot be reached or written, is no database, or has a newer schema.
    """
    parsed = parse_url(url)
    _keep_private()
    _make_file(parsed)
    engine = sa.create_engine(parsed, **engine_options(parsed))
    if parsed.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    else:
        sa.event.listen(engine, "handle_error", mark_refused)
        ask_idle_connections(engine)
    sa.event.listen(engine, "before_cursor_execute", refuse_unstorable)
    try:
        with as_unavailable(engine, before_work=True):
            if revision_of(engine) != HEAD:
                bring_up_to_date(engine)
            warn_of_skew(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def check_writable(engine: Engine) -> None:
    """Write and roll back; raises StoreUnavailable when the database cannot be written to."""
    with as_unavailable(engine, before_work=True), engine.connect() as connection:
        # BEGIN IMMEDIATE would not do: SQLite begins a read transaction where it may only read.
        connection.execute(sa.update(VERSIONS).values(version_num=VERSIONS.c.version_num))
        connection.rollback()


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction, committed at the end or rolled back on an exception.

    Raises StoreUnavailable when the database fails meanwhile (disk full, gone, locked too long).
    """
    with as_unavailable(engine), engine.begin() as connection:
        yield connection


@contextmanager
def one_statement(engine: Engine) -> Iterator[Connection]:
    """A connection for one statement, which is committed with it, or for several reads. PostgreSQL
    gets no BEGIN and no COMMIT, which are two of three round trips; several writes that belong
    together need `transaction`. (Reads in a transaction of PostgreSQL see no single state either:
    it is READ COMMITTED.)

    Raises StoreUnavailable as `transaction` does.
    """
    if engine.dialect.name != "postgresql":
        with transaction(engine) as connection:
            yield connection
        return
    with as_unavailable(engine), engine.connect() as connection:
        yield connection.execution_options(isolation_level="AUTOCOMMIT")


def parse_url(url: str) -> sa.URL:
    """The URL with its driver; a path is a SQLite file. Raises StoreUnavailable for an unknown
    form, with no part of the URL in the message."""
    try:
        parsed = sa.make_url(database_url(url))
    except InvalidValue as error:
        raise StoreUnavailable(error.message, advice=error.advice) from None
    except (exc.ArgumentError, ValueError):  # the text itself may hold a password
        raise StoreUnavailable("the database URL cannot be read", advice=DATABASE_FORMS) from None
    is_sqlite = parsed.drivername.startswith("sqlite")
    return parsed.set(drivername="sqlite" if is_sqlite else "postgresql+psycopg")


def engine_options(url: sa.URL) -> dict[str, Any]:
    """The arguments of `create_engine` for `url`."""
    if url.get_backend_name() == "sqlite":
        return {
            "connect_args": {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
            "json_serializer": _json,
        }
    return {
        "json_serializer": _json,
        "connect_args": {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "diskbench"},
        "pool_size": CONNECTIONS,
        "max_overflow": 0,
        "pool_use_lifo": True,
    }


def ask_idle_connections(engine: Engine) -> None:
    """Ask a connection that was idle for IDLE_S whether it still stands before it is used again,
    and make all anew where it does not.

    SQLAlchemy's `pool_pre_ping` asks at each use, which was a quarter of all round trips. One that
    was used within that time is asked only where the server has said something meanwhile, as it
    does when it ends a connection. One that breaks in the middle of a statement is found by it:
    whoever waits for a database tries again.
    """

    @sa.event.listens_for(engine, "checkin")
    def checkin(_connection: object, record: sa.pool.ConnectionPoolEntry) -> None:
        record.info[_USED_AT] = time.monotonic()

    @sa.event.listens_for(engine, "checkout")
    def checkout(
        connection: DBAPIConnection, record: sa.pool.ConnectionPoolEntry, _proxy: object
    ) -> None:
        used_at = record.info.get(_USED_AT)
        if used_at is None:
            return
        if time.monotonic() - used_at < IDLE_S and not _is_spoken_to(connection):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            if engine.dialect.is_disconnect(error, connection, None):
                raise exc.InvalidatePoolError from error
            raise


def _is_spoken_to(connection: DBAPIConnection) -> bool:
    """Whether the server has sent something over an idle connection, or closed it."""
    psycopg_connection: Any = connection
    if psycopg_connection.closed:
        return True
    waiting = select.poll()
    waiting.register(psycopg_connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def refuse_unstorable(
    _connection: object,
    _cursor: object,
    _statement: str,
    parameters: object,
    *_: object,
) -> None:
    """Raise InvalidValue for text that one of the databases cannot store, before it is written:
    otherwise SQLite would store a NUL that PostgreSQL rejects."""
    _refuse(parameters)


def _json(value: object) -> str:
    """JSON for a column. Checked here, because JSON escapes hide a NUL from the check of
    parameters."""
    text = json.dumps(value)
    if "\\u0000" in text or "\\ud" in text:
        _refuse(value)
    return text


def _refuse(value: object) -> None:
    bad_text = unstorable(value)
    if bad_text is not None:
        raise InvalidValue(
            f"text to be stored: {unstorable_words(bad_text)}",
            advice="leave the character out of the label, name or path that it came from",
        )


def _make_file(url: sa.URL) -> None:
    """Make an empty file, which SQLite treats as a new database and whose mode its -wal and -shm
    files get."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return
    if "mode" in url.query:  # a file: URI that says itself what may be made
        return
    path = Path(url.database.removeprefix("file:") if "uri" in url.query else url.database)
    shown = f"database {printable(url.render_as_string(hide_password=False))}"
    try:
        if path.parent == user_data_path("diskbench"):
            data_directory()
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError as error:
        raise StoreUnavailable(
            f"{shown}: there is no directory {path.parent}",
            advice=f"check the spelling, make it (mkdir -p {path.parent}), or {CHOOSE}",
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{shown}: {path}: {error.strerror}", advice=CHOOSE) from error


def _keep_private() -> None:
    """Make an existing data directory of the user private: with PostgreSQL, too, it holds keys,
    evidence and the secret."""
    directory = user_data_path("diskbench")
    if directory.is_dir():
        private_directory(directory)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Set WAL (readers beside one writer), fewer syncs and enforced foreign keys, and add the
    function that DBOS needs."""
    supply_unixepoch(connection)
    cursor = connection.cursor()
    if cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(cursor)
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _switch_to_wal(cursor: sqlite3.Cursor) -> None:
    """Switch to WAL, waiting for the lock here because SQLite ignores its busy timeout."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
