"""The cells of a run: each begins with its own host, whatever the others do."""

import threading
from types import SimpleNamespace

from diskbench.engine.durable import cells
from diskbench.engine.matrix import execute as execution
from diskbench.engine.trial.stop import Stop
from diskbench.engine.trial.timing import Timing

LIMIT_S = 240.0


class Begun:
    """First steps that are begun in the order `fast`, `slow`: the second one when the cell of the
    first was started."""

    def __init__(self):
        self.fast_started = threading.Event()
        self.waited_for = []

    def wait(self, trial_id):
        if trial_id == "slow":
            assert self.fast_started.wait(LIMIT_S), "the fast host waits for the slow one"
        self.waited_for.append(trial_id)


def test_no_host_waits_until_the_step_of_another_is_begun(monkeypatch):
    begun, started = Begun(), []

    def start(trial_id):
        assert trial_id in begun.waited_for
        started.append(trial_id)
        if trial_id == "fast":
            begun.fast_started.set()
        return lambda: None

    monkeypatch.setattr(execution, "launch_cells", lambda *_, **__: None)
    monkeypatch.setattr(cells, "start", start)
    session = SimpleNamespace(database=None, timing=Timing())
    plans = [SimpleNamespace(trial_id=name, is_draft=False) for name in ("slow", "fast")]
    endings = execution.execute(session, plans, None, Stop(), begun=begun)
    assert [ending.suspended for ending in endings] == [None, None]
    assert started == ["fast", "slow"]
