"""The database and the evidence store go away under a matrix, and come back."""

from __future__ import annotations

import io
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cloud.rented import until
from tests.drills.book import drill
from tests.rigs import dying
from tests.rigs.chaos import Chaos


@drill(
    done="the database answers nothing at one of 7 writes",
    holds="the write is repeated; every row once, nothing rented",
)
@pytest.mark.parametrize(
    "moment",
    [
        "before diskbench.store.rows:save_plan 1",
        "after diskbench.store.rows:save_plan 1",
        "before diskbench.store.rows:replace_draft 1",
        "before diskbench.store.rows:save_step 2",
        "before diskbench.store.rows:end_run 1",
        "before diskbench.store.leases:release_lease 1",
        "before diskbench.engine.durable.cells:enqueue 1",
    ],
)
def test_a_database_that_is_away_for_a_moment_is_waited_for(chaos: Chaos, moment: str) -> None:
    done = chaos.at(f"fail {moment}").run("matrix", "run", chaos.matrix(max_parallel=2))
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="the database goes away between taking a dead process's cell over and going on with it",
    holds="the cell is gone on with, every row once",
)
def test_a_database_that_goes_away_during_a_takeover_stops_nothing(
    chaos: Chaos,
) -> None:
    chaos.killed_at(
        "before diskbench.engine.stations:LiveStations.measure 1", "run", chaos.matrix()
    )
    moment = "fail before diskbench.engine.durable.process:move_here 1"
    done = chaos.at(moment).run("matrix", "resume")
    assert done.returncode == 0, done.stderr
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@drill(
    done="another program holds SQLite's write lock for 8 seconds while two cells are measured",
    holds="the matrix waits, and ends with every row once",
)
def test_a_database_that_stays_locked_is_waited_for_and_nothing_is_lost(chaos: Chaos) -> None:
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
    _, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    books = chaos.books()
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


@pytest.fixture
def small_store(tmp_path: Path) -> Iterator[Path]:
    """A filesystem of one MiB."""
    directory = tmp_path / "small"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


@drill(
    done="the evidence store is full while a step is measured, and has room again later",
    holds="the cell says so and waits; nothing is lost or measured twice",
)
def test_a_full_evidence_store_is_reported_and_waited_for(chaos: Chaos, small_store: Path) -> None:
    chaos.user.extra_env["DISKBENCH_EVIDENCE_URL"] = small_store.as_uri()
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=8))
    until(lambda: chaos.steps() == ["read"])
    filler = small_store / "filler"
    with filler.open("wb", buffering=0) as file:
        while filled(file):
            pass
    until(lambda: "No space left" in (chaos.cells()[0]["note"] or ""))
    filler.unlink()
    _, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    books = chaos.books(evidence=small_store)
    assert (books.cells, books.done, books.wrong) == (2, 2, ())


def filled(file: io.FileIO) -> bool:
    """Whether there was room for another page."""
    try:
        return file.write(b"x" * 4096) > 0
    except OSError:
        return False
