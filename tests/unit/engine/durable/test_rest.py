"""A process without work stops DBOS, and launches it again for the next cell."""

from __future__ import annotations

import threading

import pytest

from diskbench.engine.durable import cells, process
from diskbench.engine.durable.process import none_at_work
from diskbench.model.outcome import Outcome
from diskbench.store.database import open_database

POLLERS = ("queue-worker-", "dbos-background-jobs")
"""How the names of the threads begin with which DBOS asks the database for work."""


@pytest.fixture
def database(tmp_path, stations, monkeypatch):
    monkeypatch.setattr(process, "RESTS_AFTER_S", 0.0)
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    cells.bind(stations)
    process.launch(engine, "me", own_poll_s=0.01, schedules=True)
    yield engine
    stations.go_on.set()
    process.stop()
    engine.dispose()


def polls() -> bool:
    return any(thread.name.startswith(POLLERS) for thread in threading.enumerate())


@pytest.mark.usefixtures("database")
def test_nothing_asks_the_database_while_it_rests():
    assert polls()
    assert process.rest()
    assert not polls()
    assert process.rest(), "it rests already"


@pytest.mark.usefixtures("database")
def test_a_cell_that_begins_ends_the_rest(stations):
    assert process.rest()
    cells.start("a1")()
    assert stations.settled == ["a1"]
    assert polls()


@pytest.mark.usefixtures("database")
def test_a_question_about_cells_ends_the_rest():
    cells.start("a1")()
    assert process.rest()
    assert cells.known(["a1"])["a1"].is_over


def test_a_cell_that_another_process_left_is_taken_over_after_a_rest(database, stations):
    cells.start("s1")
    assert none_at_work(30)
    process.stop()
    process.launch(database, "other", own_poll_s=0.01)
    assert process.rest()
    stations.open = lambda _: Outcome(state="failed")
    cells.go_on("s1", "other")()
    assert stations.settled == ["s1"]


@pytest.mark.usefixtures("database")
def test_it_does_not_rest_while_a_cell_runs(stations):
    wait = cells.start("w1")
    assert stations.begun.wait(30)
    assert not process.rest()
    stations.go_on.set()
    wait()
    assert process.rest()


@pytest.mark.usefixtures("database")
def test_it_does_not_rest_while_dbos_would_run_a_workflow_again_at_the_next_launch():
    cells.start("s1")
    assert none_at_work(30)
    assert not process.rest()


@pytest.mark.usefixtures("database")
def test_it_does_not_rest_just_after_a_use(monkeypatch):
    monkeypatch.setattr(process, "RESTS_AFTER_S", 3600.0)
    assert not process.rest()
    assert polls()


def test_a_launch_that_fails_is_tried_again(database, stations, monkeypatch):
    assert process.rest()
    with monkeypatch.context() as patched:
        patched.setattr(process.DBOS, "launch", lambda: database.nowhere)
        with pytest.raises(AttributeError):
            cells.start("a1")
    cells.start("a1")()
    assert stations.settled == ["a1"]


@pytest.mark.usefixtures("database")
def test_a_process_that_ended_its_work_stays_at_rest():
    process.stop()
    process.wake()
    assert not polls()
