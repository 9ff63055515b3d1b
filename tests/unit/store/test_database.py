"""Opening a database: its file, its schema and its errors; and DBOS's clock on SQLite before 3.42:
`unixepoch('subsec')`."""

import os
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.errors import StoreUnavailable
from diskbench.store.campaigns import save_campaign
from diskbench.store.database import (
    _beyond,
    check_writable,
    database_time,
    open_database,
    skew_s,
    skew_text,
    supply_unixepoch,
    transaction,
)
from diskbench.store.database_errors import mark_refused
from diskbench.store.dialects import iso, now, present
from diskbench.store.matrix_lock import locked
from diskbench.store.result_tables import metadata
from diskbench.store.schema_revision import HEAD, VERSION_TABLE


def test_opening_makes_every_table_and_twice_is_as_once(any_database_url):
    for _ in range(2):
        engine = open_database(any_database_url)
        assert set(metadata.tables) | {VERSION_TABLE} <= set(sa.inspect(engine).get_table_names())
        engine.dispose()


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_a_new_sqlite_file_and_all_beside_it_are_its_owners_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        engine = open_database(f"sqlite:///{tmp_path}/rows.db")
        with transaction(engine) as connection:
            connection.execute(sa.text("CREATE TABLE x (y TEXT)"))
        modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
        engine.dispose()
    finally:
        os.umask(before)
    assert modes == {"rows.db": 0o600, "rows.db-wal": 0o600, "rows.db-shm": 0o600}


def test_a_missing_directory_is_refused_and_not_made_and_the_mode_of_a_file_is_left(tmp_path):
    with pytest.raises(StoreUnavailable, match=f"no directory {tmp_path}/typo") as caught:
        open_database(f"sqlite:///{tmp_path}/typo/rows.db")
    assert caught.value.exit_code == 2
    assert f"mkdir -p {tmp_path}/typo" in caught.value.advice
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "rows.db").touch(mode=0o640)
    (tmp_path / "rows.db").chmod(0o640)
    open_database(f"sqlite:///{tmp_path}/rows.db").dispose()
    assert (tmp_path / "rows.db").stat().st_mode & 0o777 == 0o640


def test_the_users_data_directory_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    home = tmp_path / "data" / "diskbench"
    open_database(f"sqlite:///{home}/diskbench.db").dispose()
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "diskbench.db").exists()


def test_sqlite_is_in_wal_mode_and_keeps_foreign_keys(database):
    expected = {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "busy_timeout": 30_000}
    with database.connect() as connection:
        for name, value in expected.items():
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == value


OPENER = """
import sys
from diskbench.store.database import open_database
sys.stdin.readline()
open_database(sys.argv[1]).dispose()
"""


@pytest.mark.slow
def test_processes_that_open_a_new_database_at_once_all_succeed(any_database_url):
    argv, pipe = [sys.executable, "-c", OPENER, any_database_url], subprocess.PIPE
    openers = [subprocess.Popen(argv, stdin=pipe, stderr=pipe, text=True) for _ in range(4)]
    for opener in openers:
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        _, err = opener.communicate(timeout=240)
        assert (opener.returncode, err) == (0, "")
    engine = open_database(any_database_url)
    with engine.connect() as connection:
        versions = connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608
        assert versions.scalars().all() == [HEAD]
    engine.dispose()


def test_a_newer_schema_is_refused_by_its_name(any_database_url):
    engine = open_database(any_database_url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))  # noqa: S608
    engine.dispose()
    with pytest.raises(StoreUnavailable, match=f"schema 9999; this diskbench knows .*{HEAD}"):
        open_database(any_database_url)


def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, of more than one hundred characters " * 20)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match=r"notes\.txt.*not a database"):
        open_database(f"sqlite:///{path}")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:////dev/null/x/rows.db", "Not a directory"),
        ("sqlite:////proc/self", "unable to open"),
        ("postgresql://me:hunter2@127.0.0.1:1/x", "127.0.0.1:1/x.*(refused|failed)"),
        ("mysql://me:hunter2@h/x", "mysql is not supported"),
        ("host=h password=hunter2", "neither a URL of a known form nor a path"),
        ("postgresql://me:hunter2@h@x/y", "unencoded"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(url, told):
    with pytest.raises(StoreUnavailable, match=told) as caught:
        open_database(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert caught.value.advice


@pytest.mark.slow
def test_a_wrong_password_is_told_but_not_shown(postgres_url):
    url = postgres_url.replace("bench@", "nobody:hunter2@")
    with pytest.raises(StoreUnavailable, match="nobody") as caught:
        open_database(url)
    assert "hunter2" not in str(caught.value)


def test_a_writable_database_is_found_writable(any_database):
    check_writable(any_database)
    with transaction(any_database) as connection:
        connection.execute(sa.text("SELECT 1"))


def test_a_database_that_may_only_be_read_is_found_so(any_database_url, tmp_path):
    engine = open_database(any_database_url)
    if engine.dialect.name == "sqlite":
        engine.dispose()
        path = tmp_path / "any.db"
        with sqlite3.connect(path) as plain:
            plain.execute("PRAGMA journal_mode=DELETE")
        plain.close()
        engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true")
    else:
        name = sa.make_url(any_database_url).database
        alter = sa.text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        with engine.begin() as connection:
            connection.execute(alter)
        engine.dispose()
    with pytest.raises(StoreUnavailable, match=r"read-?only"):
        check_writable(engine)
    engine.dispose()


def test_a_full_disk_is_told_with_what_to_do(small_disk):
    engine = open_database(f"sqlite:///{small_disk}/rows.db")
    with transaction(engine) as connection:
        connection.execute(sa.text("CREATE TABLE diskbench_ballast (data BLOB)"))
    insert = sa.text("INSERT INTO diskbench_ballast VALUES (:data)")
    with pytest.raises(StoreUnavailable, match="full") as caught, transaction(engine) as connection:
        connection.execute(insert, {"data": os.urandom(4 * 2**20)})
    assert "diskbench resume" in caught.value.advice
    with transaction(engine) as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM diskbench_ballast")).scalar() == 0
    engine.dispose()


def test_a_database_that_cannot_be_made_on_a_full_disk_is_not_to_be_resumed(small_disk):
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
    with pytest.raises(StoreUnavailable) as caught:
        open_database(f"sqlite:///{small_disk}/rows.db")
    assert "resume" not in caught.value.advice
    assert "--database-url" in caught.value.advice


def test_a_server_that_is_away_is_one_that_dbos_waits_for():
    """Fails when DBOS, SQLAlchemy or psycopg say it in another way."""
    from dbos._utils import retriable_postgres_exception

    engine = sa.create_engine("postgresql+psycopg://bench@/postgres?host=/nonexistent")
    sa.event.listen(engine, "handle_error", mark_refused)
    with pytest.raises(sa.exc.OperationalError) as raised:
        engine.connect()
    assert retriable_postgres_exception(raised.value)


QUESTION = "SELECT unixepoch('subsec')"


def answering(told):
    """Let a connection answer to the question."""
    return lambda connection: connection.create_function("unixepoch", 1, lambda _modifier: told)


of_3_41, of_3_42 = answering(None), answering(12.5)
"""SQLite 3.38 to 3.41 do not know the modifier."""


class Unknowing(sqlite3.Cursor):
    def execute(self, sql, *given):
        if "unixepoch" in sql and not self.connection.supplied:
            error = sqlite3.OperationalError("no such function: unixepoch")
            error.sqlite_errorcode = sqlite3.SQLITE_ERROR
            raise error
        return super().execute(sql, *given)


class BeforeSqlite338(sqlite3.Connection):
    """A connection that knows no function of that name."""

    supplied = False

    def cursor(self, *_):
        return Unknowing(self)

    def create_function(self, *given, **named):
        self.supplied = True
        super().create_function(*given, **named)


@pytest.fixture
def connection():
    made = sqlite3.connect(":memory:")
    yield made
    made.close()


def test_where_sqlite_answers_null_the_function_tells_the_time_in_milliseconds_or_fails(connection):
    of_3_41(connection)
    before = time.time()
    assert supply_unixepoch(connection)
    (told,) = connection.execute(QUESTION).fetchone()
    assert before - 0.001 <= told <= time.time()
    assert round(told, 3) == told
    assert not supply_unixepoch(connection), "once is enough"
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT unixepoch('2026-01-01')").fetchone()


def test_where_sqlite_has_the_function_it_is_left_alone(connection):
    of_3_42(connection)
    assert not supply_unixepoch(connection)
    assert connection.execute(QUESTION).fetchone() == (12.5,)


def test_where_sqlite_does_not_know_the_function_at_all_it_gets_it():
    old = sqlite3.connect(":memory:", factory=BeforeSqlite338)
    assert supply_unixepoch(old)
    assert old.execute(QUESTION).fetchone()[0] > 1e9
    old.close()


@pytest.fixture(params=[of_3_41, of_3_42], ids=["3.41", "3.42"])
def every_connection(request):
    """Every connection of every SQLite engine answers as that SQLite does, before ours prepares
    it: listeners of all engines are called before those of one."""

    def prepare(connection, _record):
        if isinstance(connection, sqlite3.Connection):
            request.param(connection)

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


@pytest.mark.slow
@pytest.mark.parametrize("any_database_url", ["postgresql"], indirect=True)
def test_connections_that_broke_while_idle_are_made_anew(any_database):
    """As after a restart of the server."""
    database_time(any_database)
    alone = {"isolation_level": "AUTOCOMMIT", "poolclass": sa.NullPool}
    with sa.create_engine(any_database.url, **alone).connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    database_time(any_database)


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_the_databases_present_is_text_as_rows_hold_it(any_database):
    with any_database.begin() as connection:
        text = connection.execute(sa.select(present())).scalar_one()
    assert len(text) == len(now())
    assert iso(datetime.fromisoformat(text)) == text
    assert abs(database_time(any_database) - datetime.now(UTC)) < timedelta(seconds=60)
    assert abs(skew_s(any_database)) < 60


@pytest.mark.parametrize(
    ("after_s", "ahead_s"), [(0, 0.0), (1, 0.0), (2, 0.0), (-300, 300.0), (302, -300.0)]
)
def test_a_clock_is_off_by_what_no_delay_explains(after_s, ahead_s):
    before, after, theirs = (NOON + timedelta(seconds=each) for each in (0, 2, after_s))
    assert _beyond(theirs, before, after) == ahead_s


def test_the_line_says_how_far_in_which_direction_and_what_to_do():
    assert skew_text(300.4) == (
        "this machine's clock is 300 s ahead of the database's; set it: timedatectl set-ntp true"
    )
    assert "3,600 s behind the database's" in skew_text(-3600)


def test_a_locked_matrix_has_the_time_at_which_its_cells_were_read(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    before = database_time(any_database)
    with locked(any_database, CAMPAIGN) as held:
        assert before <= held.now <= database_time(any_database)
        assert not held.is_over
        held.set_cell(0, state="done")
        assert held.is_over
