"""What a worker without cells asks of PostgreSQL, by PostgreSQL's own count, and when it wakes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import psycopg
import pytest
import sqlalchemy as sa
from tests.rigs.cli import Cli
from tests.rigs.fake_cloud import a_user_of_the_fake_cloud
from tests.rigs.postgres import running_postgres
from tests.rigs.waiting import WAIT_S, until

from diskbench.model.campaign import CellRow
from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import load_cells
from diskbench.store.claims import list_executors
from diskbench.store.database import open_database

pytestmark = pytest.mark.slow
COUNTED = ("shared_preload_libraries=pg_stat_statements",)
COUNT = """SELECT query, calls FROM pg_stat_statements
    WHERE query NOT LIKE '%pg_stat%' AND query <> 'SELECT clock_timestamp()'"""
LOOKS = 4
MOST_A_SECOND = 2.0
WORKER = """
from diskbench.cli.main import main
from diskbench.engine.durable import process
process.RESTS_AFTER_S = 0.0
main()
"""
"""A worker that rests at its first look without work."""
JOB = "[read]\nioengine=null\nsize=1m\nrw=randread\ntime_based\nruntime={seconds}\n"


@dataclass(frozen=True)
class Sent:
    """The statements of a while: how often each was sent, and for how many seconds."""

    calls: dict[str, int]
    seconds: float

    def of(self, text: str) -> int:
        return sum(count for statement, count in self.calls.items() if text in statement)

    @property
    def looks(self) -> int:
        return self.of("FROM diskbench_matrix")

    @property
    def polls(self) -> int:
        """How many statements DBOS sent whether there was work or not."""
        return self.of("pg_try_advisory_xact_lock")


@pytest.fixture
def user(tmp_path) -> Iterator[Cli]:
    """A user whose rows are in a PostgreSQL that counts statements, with a fake cloud."""
    with running_postgres(*COUNTED) as url, a_user_of_the_fake_cloud(tmp_path, url) as made:
        yield made


@pytest.fixture
def database(user: Cli) -> Iterator[sa.Engine]:
    engine = open_database(user.extra_env["DISKBENCH_DATABASE_URL"])
    yield engine
    engine.dispose()


@pytest.fixture
def server(user: Cli) -> Iterator[psycopg.Connection]:
    with psycopg.connect(user.extra_env["DISKBENCH_DATABASE_URL"], autocommit=True) as connection:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        yield connection


@pytest.fixture
def start(user: Cli) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts a worker that rests at once."""
    processes: list[subprocess.Popen[bytes]] = []
    with (user.home / "worker.log").open("w") as log:

        def start_worker() -> subprocess.Popen[bytes]:
            command = [sys.executable, "-c", WORKER, "worker"]
            processes.append(
                subprocess.Popen(command, env=user.env, cwd=user.home, stdout=log, stderr=log)
            )
            return processes[-1]

        yield start_worker
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(WAIT_S)
    print((user.home / "worker.log").read_text())  # shown with a failure


def sent_in(server: psycopg.Connection, looks: int) -> Sent:
    """What all clients send while the workers look `looks` times at the matrices."""
    server.execute("SELECT pg_stat_statements_reset()")
    began = moment(server)

    def sent() -> Sent:
        rows = server.execute(COUNT).fetchall()
        return Sent(dict(rows), (moment(server) - began).total_seconds())

    return until(lambda: so_far if (so_far := sent()).looks >= looks else None, "a look")


def moment(server: psycopg.Connection) -> datetime:
    row = server.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    return row[0]


def rests(server: psycopg.Connection) -> bool:
    return sent_in(server, looks=2).polls == 0


def queue(user: Cli, name: str, *, seconds: int) -> None:
    """Begin a matrix of one cell, whose fio runs for so long, and leave it to workers."""
    job = user.home / f"{name}.fio"
    job.write_text(JOB.format(seconds=seconds))
    cell = {"provider": "fake", "disk": "plain", "size": 1, "profile": str(job)}
    file = user.home / f"{name}.yaml"
    file.write_text(json.dumps({"name": name, "defaults": cell, "include": [{"replicates": 1}]}))
    done = user.run("matrix", "run", str(file), "--queue")
    assert done.returncode == 0, done.stderr


def cell_of(database: sa.Engine, name: str) -> CellRow:
    (campaign,) = [matrix for matrix in list_campaigns(database) if matrix.name == name]
    (cell,) = load_cells(database, campaign.campaign_id)
    return cell


def test_a_worker_without_cells_sends_two_statements_a_second_at_most(
    user, database, server, start
):
    """Also after a cell, for which it launched DBOS again; nobody tells it but a notice."""
    start()
    until(lambda: rests(server), "a rest")
    sent = sent_in(server, looks=LOOKS)
    assert sum(sent.calls.values()) <= MOST_A_SECOND * sent.seconds, sent.calls

    queue(user, "short", seconds=1)
    until(lambda: cell_of(database, "short").state == "done", "a cell after a rest")
    until(lambda: rests(server), "a rest after a cell")


def test_a_worker_at_rest_takes_over_the_cell_of_a_killed_one_and_hears_its_cancel(
    user, database, server, start
):
    killed = start()
    queue(user, "long", seconds=3600)
    owner = until(
        lambda: (cell := cell_of(database, "long")).state == "measuring" and cell.owner,
        "a cell that is measured",
    )
    start()
    until(lambda: len(list_executors(database)) == 2, "a second worker")
    killed.kill()
    killed.wait(WAIT_S)
    until(lambda: cell_of(database, "long").owner not in (None, owner), "another owner")
    cancelled = user.run("cancel", cell_of(database, "long").trial_id or "")
    assert cancelled.returncode == 0, cancelled.stderr
    until(lambda: cell_of(database, "long").state == "cancelled", "the end of a cancelled cell")
    until(lambda: rests(server), "a rest after a takeover")
