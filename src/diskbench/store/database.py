"""Open the database: a SQLite file by default, PostgreSQL by URL."""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from platformdirs import user_data_path
from pydantic import BaseModel
from sqlalchemy import exc
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import InvalidValue, StoreUnavailable
from diskbench.files import data_directory, private_directory
from diskbench.store.database_errors import CHOOSE, as_unavailable, mark_refused, shown_url
from diskbench.store.dialects import present
from diskbench.store.schema_revision import HEAD, VERSIONS, make_schema, refuse_unknown, revision_of
from diskbench.store.urls import DATABASE_FORMS, database_file, database_url, printable
from diskbench.visible import unstorable, unstorable_words

log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)

BUSY_TIMEOUT_S = 30
"""How long a writer waits for the lock before it gives up; one write takes milliseconds."""
CONNECT_TIMEOUT_S = 10
CONNECTIONS = 5
"""The most connections of a process, beside the one that listens. A thread needs one for some
milliseconds at a time and waits for it; fifteen workers so fit into PostgreSQL's default of 100."""
TOLERATED_SKEW_S = 60.0
"""The allowed difference between this machine's clock and the database's; our choice, the time
after which a silent process counts as dead."""


def open_database(url: str) -> Engine:
    """An engine on `url` whose schema is the one this program knows.

    A missing SQLite file is made, readable by its owner alone. Its missing directory is made only
    where that is the user's data directory, since any other was typed, perhaps wrongly. Safe when
    several processes do it at once. Logs a warning where this machine's clock is over a minute from
    the database's. Raises StoreUnavailable, naming the URL without its password and the cause, when
    the database cannot be reached or written, is no database, or has a schema of another version.
    """
    parsed = parse_url(url)
    _keep_private()
    _make_file(parsed)
    engine = sa.create_engine(parsed, **engine_options(parsed))
    if parsed.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _prepare_sqlite)
    else:
        sa.event.listen(engine, "handle_error", mark_refused)
    sa.event.listen(engine, "before_cursor_execute", refuse_unstorable)
    try:
        with as_unavailable(engine, before_work=True):
            if revision_of(engine) != HEAD:
                make_schema(engine)
            warn_of_skew(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def database_state(url: str) -> tuple[str, bool | None]:
    """The URL of the database as it may be printed, and whether it has our schema; None where there
    is no database yet: the first run makes a SQLite file. Nothing is made; a lock is taken for a
    moment to see whether it can be written to.
    Logs a warning where this machine's clock is over a minute from the database's. Raises
    StoreUnavailable when it cannot be reached or written, is none, or has a schema that this
    diskbench does not know."""
    parsed = parse_url(url)
    file = database_file(url)
    engine = sa.create_engine(parsed, **engine_options(parsed))
    try:
        if file is not None and not file.exists():
            return shown_url(engine), None
        with as_unavailable(engine, before_work=True):
            revision = revision_of(engine)
        if revision is not None:
            refuse_unknown(engine, revision)
            check_writable(engine)
            warn_of_skew(engine)
        return shown_url(engine), revision is not None
    finally:
        engine.dispose()


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


def fetch(engine: Engine, query: sa.Select[Any]) -> Sequence[Any]:
    """The rows that a query finds. Raises StoreUnavailable."""
    with one_statement(engine) as connection:
        return connection.execute(query).all()


def fetch_as(engine: Engine, kind: type[M], query: sa.Select[Any]) -> list[M]:
    """The rows that a query finds, each as the model whose fields are its columns."""
    with one_statement(engine) as connection:
        found = connection.execute(query).mappings()
        return [kind.model_validate(dict(row)) for row in found]


def change(engine: Engine, statement: sa.Update | sa.Delete) -> int:
    """Carry out one statement; returns how many rows it changed. Raises StoreUnavailable."""
    with one_statement(engine) as connection:
        return connection.execute(statement).rowcount


def database_time(engine: Engine) -> datetime:
    """The database's present time, UTC. Raises StoreUnavailable."""
    ((present_time,),) = fetch(engine, sa.select(present()))
    return datetime.fromisoformat(present_time)


def skew_s(engine: Engine) -> float:
    """Seconds by which this machine's clock is ahead of the database's (negative: behind), less the
    time of the query; 0 on SQLite, which uses this machine's clock. Raises StoreUnavailable."""
    return 0.0 if engine.dialect.name == "sqlite" else time_and_skew(engine)[1]


def time_and_skew(engine: Engine) -> tuple[datetime, float]:
    """`database_time` and `skew_s`, by one query."""
    before, theirs, after = datetime.now(UTC), database_time(engine), datetime.now(UTC)
    skew = _beyond(theirs, before, after)
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
    off = f"{abs(seconds):,.0f} s {'ahead of' if seconds > 0 else 'behind'}"
    return f"this machine's clock is {off} the database's; set it: timedatectl set-ntp true"


def warn_of_skew(engine: Engine) -> None:
    """Log a warning where this machine's clock is more than a minute from the database's."""
    seconds = skew_s(engine)
    if is_skewed(seconds):
        log.warning("%s", skew_text(seconds))


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
        arguments = {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}
        return {"connect_args": arguments, "json_serializer": _json}
    return {
        "json_serializer": _json,
        "connect_args": {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "diskbench"},
        "pool_size": CONNECTIONS,
        "max_overflow": 0,
        "pool_use_lifo": True,
        "pool_pre_ping": True,
    }


def refuse_unstorable(
    _connection: object, _cursor: object, _statement: str, parameters: object, *_: object
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
    # To switch to WAL the lock is waited for here: SQLite ignores its busy timeout for it.
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    is_other = cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
    while is_other:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            is_other = False
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def supply_unixepoch(connection: sqlite3.Connection) -> bool:
    """Give `connection` the function unixepoch('subsec') where SQLite answers NULL to it or does
    not know it. Returns whether that was needed.

    From Python 3.12 on DBOS (3.4.0, `_now_ms_sql` and the defaults in its migrations) reads the
    time so. The modifier came with SQLite 3.42; 3.38 to 3.41 answer NULL to it, and older ones know
    no `unixepoch`. Debian 12 has 3.40. Python does not bring SQLite along, so what counts is what a
    connection answers, not a version.
    """
    cursor = connection.cursor()
    try:
        if cursor.execute("SELECT unixepoch('subsec')").fetchone()[0] is not None:
            return False
    except sqlite3.OperationalError as error:
        # SQLite has no finer code for a function that it does not know.
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
    finally:
        cursor.close()

    def unixepoch(modifier: object) -> float:
        """Unix seconds with milliseconds, as SQLite 3.42 has them. Any other use of the function is
        an error in SQL, since a wrong time would be stored unseen."""
        if str(modifier).lower() not in ("subsec", "subsecond"):
            raise ValueError(f"unixepoch({modifier!r}) is not supplied")
        return time.time_ns() // 1_000_000 / 1000

    connection.create_function("unixepoch", 1, unixepoch)
    return True
