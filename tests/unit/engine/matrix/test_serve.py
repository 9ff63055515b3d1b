"""The main loop of a worker."""

import os
import signal
import threading

import pytest

from diskbench.engine.matrix import worker as worker_module
from diskbench.engine.matrix.worker import serve
from diskbench.engine.processes import BEAT_S
from diskbench.engine.trial.stop import Stop
from diskbench.errors import Suspended


class Masked:
    """A worker whose database driver loses what the signal raised, once."""

    admits = True

    def __init__(self):
        self.stop, self.wake, self.ticks = Stop(), threading.Event(), 0

    def wait(self):
        assert self.wake.wait(60)
        self.wake.clear()

    def tick(self):
        self.ticks += 1
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait(60)
        except Suspended:
            return
        raise AssertionError("no signal came")


def test_a_worker_whose_signal_was_lost_in_a_driver_ends_all_the_same():
    worker = Masked()
    with pytest.raises(Suspended):
        serve(worker, drains=False)
    assert worker.ticks == 1


def test_looks_are_no_gap_that_looks_like_a_database_that_was_away():
    assert worker_module.TICK_S < BEAT_S / 2
