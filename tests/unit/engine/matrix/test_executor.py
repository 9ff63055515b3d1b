"""Telling dead processes from living ones."""

from __future__ import annotations

import os
import socket
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from tests.rigs.matrix_rows import campaign_row, cell_row

from diskbench.engine.processes import (
    DEAD_AFTER_S,
    forget_dead,
    is_alive,
    living,
    process_started,
    silent_s,
)
from diskbench.store.campaigns import save_campaign
from diskbench.store.claims import Executor, list_executors, register_executor
from diskbench.store.database import open_database
from diskbench.store.moments import iso

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HERE = socket.gethostname()


def executor(*, hostname=HERE, pid=None, started=None, beat_s_ago=0.0, **more):
    pid = pid or os.getpid()
    return Executor(
        executor_id=more.pop("executor_id", "e1"),
        hostname=hostname,
        pid=pid,
        process_started=started or process_started(pid) or "",
        beat_at=iso(NOW - timedelta(seconds=beat_s_ago)),
        seen_at=iso(NOW),
        **more,
    )


def alive(one, **more):
    return is_alive(one, hostname=HERE, **more)


@pytest.fixture
def dead():
    """A process of this machine that has ended."""
    process = subprocess.Popen(["sleep", "600"])
    started = process_started(process.pid)
    process.kill()
    process.wait()
    return executor(pid=process.pid, started=started)


def test_a_process_of_this_machine_is_alive_as_long_as_it_exists_however_silent():
    assert alive(executor(beat_s_ago=9999))


def test_a_process_of_this_machine_is_known_to_be_dead_at_once(dead):
    assert not alive(dead)


def test_another_process_with_the_same_pid_is_not_it():
    started = process_started(os.getpid())
    assert started is not None
    assert not alive(executor(started=started + "0"))


@pytest.mark.parametrize(("silent_s", "expected"), [(59.0, True), (61.0, False)])
def test_a_process_of_another_machine_is_dead_after_four_missed_beats(silent_s, expected):
    assert DEAD_AFTER_S == 60
    assert alive(executor(hostname="elsewhere", beat_s_ago=silent_s)) is expected


@pytest.mark.parametrize("part", [0, 1], ids=["boot", "pid namespace"])
def test_a_machine_or_container_of_the_same_name_is_another(part):
    """A clone, or a container on its host's network: its pids mean nothing here."""
    started = (process_started(os.getpid()) or "").split("/")
    started[part] = "other"
    twin = executor(pid=4_000_000, started="/".join(started), beat_s_ago=30)
    assert alive(twin)
    assert not alive(executor(pid=4_000_000, started="/".join(started), beat_s_ago=90))


def test_after_the_database_was_away_silence_means_nothing():
    assert alive(executor(hostname="elsewhere", beat_s_ago=9999), silence=float("inf"))


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    yield engine
    engine.dispose()


def enrolled(database, one):
    register_executor(
        database,
        one.executor_id,
        hostname=one.hostname,
        pid=one.pid,
        process_started=one.process_started,
    )


def test_the_dead_are_forgotten_once_nothing_of_theirs_is_left(database, dead):
    for name in ("left a cell", "left nothing"):
        enrolled(database, executor(executor_id=name, pid=dead.pid, started=dead.process_started))
    enrolled(database, executor(executor_id="lives"))
    enrolled(database, executor(executor_id="asleep", hostname="elsewhere"))
    cell = cell_row(0, state="measuring", trial_id="t", owner="left a cell")
    save_campaign(database, campaign_row(), [cell])
    forget_dead(database)
    known = {one.executor_id for one in list_executors(database)}
    assert known == {"left a cell", "lives", "asleep"}
    assert living(list_executors(database)) == {"lives", "asleep"}


def test_the_time_that_a_cell_stood_alone_counts_from_the_last_beat(database):
    enrolled(database, executor(executor_id="lives"))
    long_ago = "2026-01-01T00:00:00.000000+00:00"
    cell = cell_row(0, state="measuring", trial_id="t", owner="lives", started_at=long_ago)
    assert silent_s(database, cell) < 60
    assert silent_s(database, cell.model_copy(update={"owner": "unknown"})) > 1e6
