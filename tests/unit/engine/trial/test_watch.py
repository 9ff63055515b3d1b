"""What is kept of a running step for another process to read, and how often."""

from __future__ import annotations

import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.trial import watch
from diskbench.engine.trial.watch import Silent, StepProgress
from diskbench.model.result import Tick
from diskbench.store.claims import progress_of_trials
from diskbench.store.database import open_database
from diskbench.store.rows import save_plan

PLAN = make_plan()


@pytest.fixture
def database(tmp_path):
    engine = open_database(f"sqlite:///{tmp_path}/rows.db")
    save_plan(engine, PLAN, "file:///evidence")
    yield engine
    engine.dispose()


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only the test moves on."""
    seconds = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: seconds[0])
    return seconds


def test_progress_is_kept_every_second(database, clock):
    watcher = Silent(lambda *_: None)
    row = StepProgress(watcher, database, PLAN.trial_id, PLAN.run_ids[0], PLAN.steps[0])
    row.note(None)
    for second in range(1, 6):
        clock[0] += 1.0
        row.note(Tick(elapsed_s=second))
        (kept,) = progress_of_trials(database, [PLAN.trial_id]).values()
        assert kept.tick["elapsed_s"] == second
