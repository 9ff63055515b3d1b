"""The database and the evidence store go away under a matrix, and come back."""

import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest
import sqlalchemy as sa
from tests.rigs import dying
from tests.rigs.cli import over_ssh
from tests.rigs.flaky_proxy import flaky_proxy
from tests.rigs.loops import filesystem, fill, tmpfs
from tests.rigs.postgres import postgres_server
from tests.rigs.sshd import running_sshd
from tests.rigs.waiting import ended, until

from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.processes import find_groups, init_of


def test_a_database_that_stays_locked_is_waited_for_and_nothing_is_lost(chaos):
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
    ended(process)
    chaos.all_done()


@pytest.fixture
def small_store(tmp_path):
    with tmpfs(tmp_path / "small", "1m") as directory:
        yield directory


def test_a_full_evidence_store_is_reported_and_waited_for(chaos, small_store):
    """The store is full while a step is measured, and has free space again later."""
    chaos.user.extra_env["DISKBENCH_EVIDENCE_URL"] = small_store.as_uri()
    process = chaos.user.start("matrix", "run", chaos.matrix(seconds=8))
    until(lambda: chaos.steps() == ["read"])
    filler = small_store / "filler"
    fill(filler)
    until(lambda: "No space left" in (chaos.cells()[0]["note"] or ""))
    filler.unlink()
    ended(process)
    chaos.all_done(evidence=small_store)


@pytest.mark.parametrize("fall", ["crash", "stop"])
def test_a_postgresql_that_restarts_costs_a_matrix_nothing(chaos, fall):
    """PostgreSQL crashes, or is stopped, while two cells are measured, and starts again."""
    with postgres_server() as server:
        chaos.user.extra_env["DISKBENCH_DATABASE_URL"] = server.url
        process = chaos.user.start("matrix", "run", chaos.matrix(seconds=12, max_parallel=2))
        until(lambda: measured(server.url) == 2, within_s=240)
        server.crash() if fall == "crash" else server.stop()
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
        server.start()
        ended(process)
        chaos.all_done(database_url=server.url)


def measured(url):
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
def store(tmp_path):
    with filesystem(tmp_path / "store", 16) as directory:
        yield directory


@pytest.mark.parametrize("which", ["evidence", "database"])
def test_a_store_that_cannot_be_written_stops_a_run_before_it_rents(chaos, store, which):
    """The evidence store or the database's directory is read-only from the beginning: exit 2."""
    subprocess.run(["mount", "-o", "remount,ro", str(store)], check=True)
    url = store.as_uri() if which == "evidence" else f"sqlite:///{store}/rows.db"
    chaos.user.extra_env[f"DISKBENCH_{which.upper()}_URL"] = url
    assert str(store) in chaos.user.refused("matrix", "run", chaos.matrix()).stderr
    assert not list(chaos.place.glob("fake/resources/*"))


# The way to a host is cut, and a host dies, while its disk is measured.


def test_ssh_that_is_cut_hung_and_refused_costs_a_matrix_nothing(chaos, tmp_path):
    """SSH is cut, then hangs, then refuses connections while fio runs: no step is cut short."""
    target = tmp_path / "target"
    target.mkdir()
    with running_sshd(tmp_path / "sshd") as server, flaky_proxy(server.port) as proxy:
        over_ssh(chaos.user, server.config_block("box", port=proxy.port))
        file = chaos.matrix("ssh", host="box", path=str(target), seconds=12)
        process = chaos.user.start("matrix", "run", file)
        until(lambda: chaos.steps() == ["read"])
        for broken in (proxy.drop, proxy.hang, proxy.refuse):
            known = proxy.accepted
            broken()
            proxy.heal()
            until(lambda known=known: proxy.accepted > known)
        ended(process)
    books = chaos.books()
    assert (books.cells, books.done, books.rows, books.wrong) == (1, 1, 4, ())
    for run in chaos.user.json("results", "list")["runs"]:
        (shown,) = chaos.user.json("results", "show", run["run_id"], "--alone")["runs"]
        assert shown["steps"][1]["seconds_in_fio"] >= 12, "by fio's own words"
    assert list(target.iterdir()) == []


def test_a_host_that_dies_fails_only_its_own_cell(chaos, monkeypatch):
    """The host dies while fio runs: its cell has a reason, and nothing stays rented."""
    monkeypatch.setenv(VARIABLE, chaos.user.extra_env[VARIABLE])
    process = chaos.user.start("matrix", "run", chaos.matrix("lab", seconds=15))
    until(lambda: chaos.steps() == ["read"])
    (host,) = [path.name for path in (chaos.place / "lab").iterdir() if path.name[0] != "."]
    init = init_of(find_groups().of(host))
    os.kill(init, signal.SIGKILL)
    ended(process, 1)
    first, second = chaos.cells()
    assert (first["state"], second["state"]) == ("failed", "done")
    assert first["error"]
    books = chaos.books()
    assert (books.done, books.failed, books.wrong) == (1, 1, ())


def test_a_full_disk_fails_the_run_and_keeps_the_files_of_others(chaos, tmp_path):
    """Another user fills the measured filesystem while fio writes: the evidence is kept."""
    with filesystem(tmp_path / "disk", 256) as target:
        slow = "[write]\nrw=write\nbs=64k\nsize=32m\nrate=2m\nioengine=psync\nfallocate=none\n"
        process = chaos.user.start("run", "--path", str(target), "--profile", chaos.user.job(slow))
        until(lambda: bool(list(target.glob("diskbench-*/*"))), within_s=240)
        theirs = target / "theirs"
        free = shutil.disk_usage(target).free - 4 * 2**20
        subprocess.run(["fallocate", "-l", str(free), str(theirs)], check=True)
        rest = ["dd", "if=/dev/zero", f"of={theirs}", "bs=64k", "oflag=append", "conv=notrunc"]
        subprocess.run(rest, capture_output=True, check=False)
        size = theirs.stat().st_size
        assert "No space left" in ended(process, 1)
        assert {one.name for one in target.iterdir()} == {"theirs", "lost+found"}
        assert theirs.stat().st_size == size
        (run,) = chaos.user.json("results", "list")["runs"]
        assert run["state"] == "failed"
        kept = chaos.user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
        assert list(kept.glob("steps/*/step.json"))
