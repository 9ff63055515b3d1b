"""Which workflows are removed: those that are over, and whose cells are settled."""

import threading
from datetime import timedelta

import pytest

from diskbench.engine.durable import cells, process
from diskbench.engine.durable.cells import none_at_work
from diskbench.engine.durable.schedules import forget_ended
from diskbench.errors import Interrupted, Suspended
from diskbench.model.outcome import Outcome, Problem

AT_ONCE = timedelta(0)
AFTER_A_DAY = timedelta(days=1)


class Cells:
    """Cells without a machine: `a…` end as soon as they begin, `s…` are suspended, `w…` wait."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.settled: list[str] = []

    def open(self, trial_id):
        if trial_id.startswith("s"):
            raise Suspended(Interrupted("the process leaves"))
        if trial_id.startswith("w"):
            self.begun.set()
            self.go_on.wait(30)
        return Outcome(state="failed", problem=Problem(kind="Refused", message="no machine"))

    def settle(self, trial_id, _end, _problem):
        self.settled.append(trial_id)


@pytest.fixture
def stations():
    return Cells()


@pytest.fixture
def database(database, stations):
    cells.bind(stations)
    process.launch(database, "me")
    yield database
    stations.go_on.set()
    process.stop()


def test_a_settled_cell_leaves_no_workflow_but_for_whoever_waits_for_it_a_moment(database):
    process.start("a1")()
    assert forget_ended(database, kept=AFTER_A_DAY) == 0
    assert process.is_over(process.known(["a1"])["a1"])
    for trial in ("a1", "a2"):
        process.start(trial)()
    assert process.known(["a1", "a2"]).keys() == {"a1", "a2"}
    assert forget_ended(database, kept=AT_ONCE) == 2
    assert process.known(["a1", "a2"]) == {}
    assert forget_ended(database, kept=AT_ONCE) == 0


def test_one_that_was_suspended_is_kept_to_be_resumed_and_one_that_runs_ends(database, stations):
    process.start("s1")
    assert none_at_work(30)
    assert forget_ended(database, kept=AT_ONCE) == 0
    assert not process.is_over(process.known(["s1"])["s1"])
    wait = process.start("w1")
    assert stations.begun.wait(30)
    assert forget_ended(database, kept=AT_ONCE) == 0
    stations.go_on.set()
    wait()
    assert stations.settled == ["w1"]
