"""Workers on PostgreSQL are woken by notices: here nobody polls more often than once an hour."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from tests.rigs.cli import Cli
from tests.rigs.fake_cloud import a_user_of_the_fake_cloud
from tests.rigs.postgres import running_postgres
from tests.rigs.waiting import WAIT_S, until

from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import load_cells
from diskbench.store.claims import list_executors
from diskbench.store.database import open_database
from diskbench.store.notices import CHANNEL

pytestmark = pytest.mark.slow
RARELY = """
import sys
from diskbench.cli.main import main
from diskbench.engine.durable import process
from diskbench.engine.matrix import cell_process, worker
process.RESTS_AFTER_S = 0.0
worker.TICK_S = worker.LISTENING_TICK_S = 3600.0
cell_process.WISHES_EVERY_S = cell_process.WISHES_LISTENING_S = 3600.0
main()
"""
JOB = """[read]
ioengine=null
size=1m
rw=randread
time_based
runtime={seconds}
"""
LISTENS = "datname = current_database() AND query LIKE 'LISTEN%'"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Cli]:
    """A user whose rows are in PostgreSQL, with a fake cloud."""
    with running_postgres() as url, a_user_of_the_fake_cloud(tmp_path, url) as made:
        yield made


@pytest.fixture
def database(user: Cli) -> Iterator[sa.Engine]:
    engine = open_database(user.extra_env["DISKBENCH_DATABASE_URL"])
    yield engine
    engine.dispose()


@pytest.fixture
def workers(user: Cli, database: sa.Engine) -> Iterator[Callable[..., None]]:
    """Starts workers that poll once an hour, and listen."""
    log = user.home / "worker.log"
    processes: list[subprocess.Popen[bytes]] = []

    def start(*words: str, count: int = 1) -> None:
        with log.open("a") as sink:
            processes.extend(
                subprocess.Popen(
                    [sys.executable, "-c", RARELY, "worker", *words],
                    env=user.env,
                    cwd=user.home,
                    stdout=sink,
                    stderr=sink,
                )
                for _ in range(count)
            )
        until(
            lambda: len(list_executors(database)) == len(listeners(database)) == len(processes),
            "workers that listen",
        )

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(WAIT_S)
    print(log.read_text())  # shown with a failure


def listeners(database: sa.Engine) -> list[int]:
    """The server's processes that serve a connection which listens."""
    query = sa.text(f"SELECT pid FROM pg_stat_activity WHERE {LISTENS}")  # noqa: S608
    with database.connect() as connection:
        return list(connection.execute(query).scalars())


def queue(user: Cli, name: str, *, seconds: int = 1, cells: int = 1, max_parallel: int = 1) -> None:
    job = user.home / f"{name}.fio"
    job.write_text(JOB.format(seconds=seconds))
    defaults = {"provider": "fake", "disk": "plain", "size": 1, "profile": str(job)}
    matrix = {
        "name": name,
        "defaults": defaults,
        "include": [{"replicates": cells}],
        "limits": {"max_parallel": max_parallel},
    }
    file = user.home / f"{name}.yaml"
    file.write_text(json.dumps(matrix))  # JSON is YAML
    done = user.run("matrix", "run", str(file), "--queue")
    assert done.returncode == 0, done.stderr


def states(database: sa.Engine, name: str) -> list[str]:
    (campaign,) = [one for one in list_campaigns(database) if one.name == name]
    return [cell.state for cell in load_cells(database, campaign.campaign_id)]


def test_nobody_waits_for_a_poll(
    user: Cli, database: sa.Engine, workers: Callable[..., None]
) -> None:
    """Cells begin and follow each other, a wish is heard; also on a connection made anew."""
    workers()
    queue(user, "first", cells=2)
    until(lambda: states(database, "first") == ["done"] * 2, "two cells, one after the other")

    queue(user, "long", seconds=3600)
    until(lambda: states(database, "long") == ["measuring"], "a cell that is measured")
    (campaign,) = [one for one in list_campaigns(database) if one.name == "long"]
    (cell,) = load_cells(database, campaign.campaign_id)
    assert cell.trial_id is not None
    done = user.run("cancel", cell.trial_id)
    assert done.returncode == 0, done.stderr
    until(lambda: states(database, "long") == ["cancelled"], "a wish")

    before = listeners(database)
    with database.connect() as connection:
        lost = sa.text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {LISTENS}")  # noqa: S608
        connection.execute(lost)
    until(lambda: set(listeners(database)) - set(before), "a connection that listens again")
    queue(user, "second")
    until(lambda: states(database, "second") == ["done"], "a cell after a lost connection")


def test_a_worker_that_begins_the_next_cell_itself_wakes_no_other(
    user: Cli, database: sa.Engine, workers: Callable[..., None]
) -> None:
    """Of two workers with room for one cell each, each follows its own cell by the next. The only
    notices are those of the command that begins the matrix and leaves."""
    workers("--concurrency", "1", count=2)
    url = database.url.render_as_string(hide_password=False)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        queue(user, "many", cells=8, max_parallel=2)
        until(lambda: states(database, "many") == ["done"] * 8, "eight cells, two at a time")
        heard = [notice.payload for notice in connection.notifies(timeout=1.0)]
    assert heard == ["cells"] * 2
    until(lambda: list_campaigns(database)[0].state == "done", "the end of the matrix")
