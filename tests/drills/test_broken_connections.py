"""Connections to PostgreSQL that are ended again and again while a run measures and stores."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.drills.book import drill
from tests.rigs.cli import WRITE_THEN_READ, Cli, merged_rows
from tests.rigs.postgres import Server, postgres_server

END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def server() -> Iterator[Server]:
    with postgres_server() as made:
        yield made


def end_all(url: str, every_s: float, over: threading.Event, ended: list[int]) -> None:
    """End all other connections every so often, until `over`."""
    with (
        contextlib.suppress(psycopg.Error),
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection,
    ):
        while not over.wait(every_s):
            ended[0] += len(connection.execute(END_ALL).fetchall())


@drill(
    done="pg_terminate_backend on all connections of a run every 0.05, 0.3 or 1.5 seconds, from "
    "the middle of its last step for 12 seconds",
    holds="the run ends with every row once, and nothing has to be resumed",
    quick=False,
)
@pytest.mark.parametrize("every_s", [0.05, 0.3, 1.5])
def test_a_burst_of_broken_connections_costs_nothing(
    user: Cli, target: Path, server: Server, every_s: float
) -> None:
    user.extra_env["DISKBENCH_DATABASE_URL"] = server.url
    mine = user.home / "mine.fio"
    mine.write_text(WRITE_THEN_READ.format(seconds=4))
    process = user.start("run", "--path", str(target), "--profile", str(mine))
    assert process.stderr is not None
    for line in process.stderr:
        if "step 2 of 2" in line:
            break
    over, ended = threading.Event(), [0]
    burst = threading.Thread(target=end_all, args=(server.url, every_s, over, ended))
    timer = threading.Timer(12, over.set)
    burst.start()
    timer.start()
    try:
        _, err = process.communicate(timeout=240)
    finally:
        over.set()
        burst.join()
        timer.cancel()
    assert process.returncode == 0, err
    assert ended[0] > 1
    (run,) = user.json("results", "show", "last")["runs"]
    assert [row["step"] for row in merged_rows(run)] == ["write", "read"]
