"""DBOS's clock on SQLite before 3.42: `unixepoch('subsec')`."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from diskbench.store.database import open_database, supply_unixepoch

QUESTION = "SELECT unixepoch('subsec')"


def of_3_41(connection: sqlite3.Connection) -> None:
    """Let a connection answer as SQLite 3.38 to 3.41 does: it does not know the modifier."""
    connection.create_function("unixepoch", 1, lambda _modifier: None)


def of_3_42(connection: sqlite3.Connection) -> None:
    """Let a connection answer as SQLite 3.42 does."""
    connection.create_function("unixepoch", 1, lambda _modifier: 12.5)


class BeforeSqlite338(sqlite3.Connection):
    """A connection that knows no function of that name."""

    supplied = False

    def cursor(self, *_: object) -> Unknowing:  # type: ignore[override]
        return Unknowing(self)

    def create_function(self, *given: object, **named: object) -> None:  # type: ignore[override]
        self.supplied = True
        super().create_function(*given, **named)  # type: ignore[arg-type]


class Unknowing(sqlite3.Cursor):
    def execute(self, sql: str, *given: object) -> sqlite3.Cursor:  # type: ignore[override]
        if "unixepoch" in sql and not self.connection.supplied:  # type: ignore[attr-defined]
            error = sqlite3.OperationalError("no such function: unixepoch")
            error.sqlite_errorcode = sqlite3.SQLITE_ERROR
            raise error
        return super().execute(sql, *given)  # type: ignore[arg-type]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    yield made
    made.close()


def test_where_sqlite_answers_null_the_function_tells_the_time_in_milliseconds(connection):
    of_3_41(connection)
    before = time.time()
    assert supply_unixepoch(connection)
    (told,) = connection.execute(QUESTION).fetchone()
    assert before - 0.001 <= told <= time.time()
    assert round(told, 3) == told
    assert not supply_unixepoch(connection), "once is enough"


def test_where_sqlite_has_the_function_it_is_left_alone(connection):
    of_3_42(connection)
    assert not supply_unixepoch(connection)
    assert connection.execute(QUESTION).fetchone() == (12.5,)


def test_where_sqlite_does_not_know_the_function_at_all_it_gets_it():
    old = sqlite3.connect(":memory:", factory=BeforeSqlite338)
    assert supply_unixepoch(old)
    assert old.execute(QUESTION).fetchone()[0] > 1e9
    old.close()


def test_what_the_function_cannot_tell_is_an_error_and_not_a_wrong_time(connection):
    of_3_41(connection)
    supply_unixepoch(connection)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT unixepoch('2026-01-01')").fetchone()


@pytest.fixture(params=[of_3_41, of_3_42], ids=["3.41", "3.42"])
def every_connection(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every connection of every SQLite engine answers as that SQLite does, before ours prepares
    it: listeners of all engines are called before those of one."""
    answer: Callable[[sqlite3.Connection], None] = request.param

    def prepare(connection: object, _record: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            answer(connection)

    sa.event.listen(sa.Engine, "connect", prepare)
    yield
    sa.event.remove(sa.Engine, "connect", prepare)


@pytest.mark.usefixtures("every_connection")
def test_every_connection_of_an_opened_database_knows_the_time(tmp_path):
    """Also in a default of a table, as DBOS's migrations write it from Python 3.12 on."""
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    with engine.connect() as one, engine.connect() as other:
        for each in (one, other):
            assert each.exec_driver_sql(QUESTION).scalar() is not None
        one.exec_driver_sql(
            "CREATE TABLE t (a INTEGER, b BIGINT NOT NULL DEFAULT (unixepoch('subsec') * 1000))"
        )
        one.exec_driver_sql("INSERT INTO t (a) VALUES (1)")
        one.commit()
    engine.dispose()
