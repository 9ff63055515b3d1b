"""Cells that DBOS runs, without machines."""

import threading

import pytest

from diskbench.errors import Interrupted, Suspended
from diskbench.model.outcome import Outcome, Problem


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
