"""The database and the evidence store go away under a matrix, and come back."""

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.rigs import dying
from tests.rigs.chaos import Chaos
from tests.rigs.loops import filesystem, fill
from tests.rigs.postgres import postgres_server
from tests.rigs.waiting import until


def test_a_database_that_stays_locked_is_waited_for_and_nothing_is_lost(chaos: Chaos) -> None:
    """Another program holds SQLite's write lock for 8 seconds while two cells are measured."""
    chaos.user.extra_env[dying.BUSY_S] = "1"
    chaos.user.program = (dying.__file__,)
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=10, max_parallel=2))
    until(lambda: len(chaos.steps()) == 2)
    path = chaos.user.home / ".local/share/diskbench/diskbench.db"
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=8)
        other.execute("ROLLBACK")
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "small"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_full_evidence_store_is_reported_and_waited_for(chaos: Chaos, small_store: Path) -> None:
    """The store is full while a step is measured, and has free space again later."""
    chaos.user.extra_env["DISKBENCH_EVIDENCE_URL"] = small_store.as_uri()
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=8))
    until(lambda: chaos.steps() == ["read"])
    filler = small_store / "filler"
    fill(filler)
    until(lambda: "No space left" in (chaos.cells()[0]["note"] or ""))
    filler.unlink()
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    books = chaos.books(evidence=small_store)
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@pytest.mark.parametrize("fall", ["crash", "stop"])
def test_a_postgresql_that_restarts_costs_a_matrix_nothing(chaos: Chaos, fall: str) -> None:
    """PostgreSQL crashes, or is stopped, while two cells are measured, and starts again."""
    with postgres_server() as server:
        chaos.user.extra_env["DISKBENCH_DATABASE_URL"] = server.url
        process = chaos.user.start("matrix", "run", chaos.matrix(seconds=12, max_parallel=2))
        until(lambda: measured(server.url) == 2, within_s=240)
        server.crash() if fall == "crash" else server.stop()
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        server.start()
        _, said = process.communicate(timeout=200)
        assert process.returncode == 0, said
        books = chaos.books(database_url=server.url)
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


def measured(url: str) -> int:
    engine = sa.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool
    )
    query = sa.text("SELECT COUNT(*) FROM diskbench_progress WHERE tick IS NOT NULL")
    try:
        with engine.connect() as connection:
            return int(connection.execute(query).scalar_one())
    except sa.exc.ProgrammingError:  # the table is not made yet
        return 0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with filesystem(tmp_path / "store", 16) as directory:
        yield directory


@pytest.mark.parametrize("which", ["evidence", "database"])
def test_a_store_that_cannot_be_written_stops_a_run_before_it_rents(
    chaos: Chaos, store: Path, which: str
) -> None:
    """The evidence store or the database's directory is read-only from the beginning: exit 2."""
    subprocess.run(["mount", "-o", "remount,ro", str(store)], check=True)
    urls = {
        "evidence": ("DISKBENCH_EVIDENCE_URL", store.as_uri()),
        "database": ("DISKBENCH_DATABASE_URL", f"sqlite:///{store}/rows.db"),
    }
    name, url = urls[which]
    chaos.user.extra_env[name] = url
    done = chaos.user.call_refused("matrix", "run", chaos.matrix())
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert str(store) in done.stderr
    assert not list(chaos.place.glob("fake/resources/*"))
