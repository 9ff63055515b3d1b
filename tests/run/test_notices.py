"""Workers on PostgreSQL are woken by notices: here nobody polls more often than once an hour."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.rigs.cli import Cli, a_user
from tests.rigs.postgres import running_postgres

from diskbench.providers.fake import VARIABLE as FAKE_DIR
from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import load_cells
from diskbench.store.claims import list_executors
from diskbench.store.database import open_database

pytestmark = pytest.mark.slow
WAIT_S = 240.0
RARELY = """
import sys
from diskbench.cli.main import main
from diskbench.engine.matrix import cell_process, worker
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


def until(what: Callable[[], Any], why: str) -> Any:
    """What `what` returns as soon as that is anything."""
    deadline = time.monotonic() + WAIT_S
    while not (found := what()):
        assert time.monotonic() < deadline, f"it never came: {why}"
        time.sleep(0.1)
    return found


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Cli]:
    """A user whose rows are in PostgreSQL, with a fake cloud."""
    made = a_user(tmp_path)
    with (
        tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory,
        running_postgres() as url,
    ):
        made.extra_env |= {FAKE_DIR: f"{directory}/fake", "DISKBENCH_DATABASE_URL": url}
        yield made
        assert [*(Path(directory) / "fake/resources").glob("*")] == []


@pytest.fixture
def database(user: Cli) -> Iterator[sa.Engine]:
    engine = open_database(user.extra_env["DISKBENCH_DATABASE_URL"])
    yield engine
    engine.dispose()


@pytest.fixture
def worker(user: Cli, database: sa.Engine) -> Iterator[None]:
    """A worker that polls once an hour, and listens."""
    log = user.home / "worker.log"
    with log.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", RARELY, "worker"],
            env=user.env,
            cwd=user.home,
            stdout=sink,
            stderr=sink,
        )
    until(lambda: list_executors(database) and listeners(database), "a worker that listens")
    yield
    process.terminate()
    process.wait(WAIT_S)
    print(log.read_text())  # shown with a failure


def listeners(database: sa.Engine) -> list[int]:
    """The server's processes that serve a connection which listens."""
    query = sa.text(f"SELECT pid FROM pg_stat_activity WHERE {LISTENS}")  # noqa: S608
    with database.connect() as connection:
        return list(connection.execute(query).scalars())


def queue(user: Cli, name: str, *, seconds: int = 1, cells: int = 1) -> None:
    job = user.home / f"{name}.fio"
    job.write_text(JOB.format(seconds=seconds))
    defaults = {"provider": "fake", "disk": "plain", "size": 1, "profile": str(job)}
    matrix = {
        "name": name,
        "defaults": defaults,
        "include": [{"replicates": cells}],
        "limits": {"max_parallel": 1},
    }
    file = user.home / f"{name}.yaml"
    file.write_text(json.dumps(matrix))  # JSON is YAML
    done = user.run("matrix", "run", str(file), "--queue")
    assert done.returncode == 0, done.stderr


def states(database: sa.Engine, name: str) -> list[str]:
    (campaign,) = [one for one in list_campaigns(database) if one.name == name]
    return [cell.state for cell in load_cells(database, campaign.campaign_id)]


@pytest.mark.usefixtures("worker")
def test_nobody_waits_for_a_poll(user: Cli, database: sa.Engine) -> None:
    """Cells begin and follow each other, a wish is heard; also on a connection made anew."""
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
