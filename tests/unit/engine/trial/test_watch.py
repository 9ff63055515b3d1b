"""What is kept of a running step for another process to read, and how often."""

from __future__ import annotations

import pytest
from tests.rigs.plans import make_plan, save_plan

from diskbench.engine.trial import watch
from diskbench.engine.trial.watch import HostLost, ProgressRows, Silent, StepProgress
from diskbench.errors import AccessDenied, RentalFailed
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.model.result import Tick
from diskbench.store.claims import progress_of_trials
from diskbench.store.rows import save_plans

PLAN = make_plan()


@pytest.fixture
def database(database):
    save_plan(database, PLAN, "file:///evidence")
    return database


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only the test moves on."""
    seconds = [1000.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: seconds[0])
    return seconds


def tick_of(database, plan):
    """The second that is in the row of a plan's run; None where no row is there."""
    progress = progress_of_trials(database, [plan.trial_id]).get(plan.trial_id)
    return progress and progress.tick and progress.tick["elapsed_s"]


def step_of(rows, plan):
    return StepProgress(
        Silent(lambda *_: None), rows, plan.trial_id, plan.run_ids[0], plan.steps[0]
    )


def test_progress_is_kept_every_second(database, clock):
    step = step_of(ProgressRows(database), PLAN)
    step.note(None)
    for second in range(1, 6):
        clock[0] += 1.0
        step.note(Tick(elapsed_s=second))
        assert tick_of(database, PLAN) == second


def test_a_step_that_begins_is_in_its_row_at_once(database, clock):
    step = step_of(ProgressRows(database), PLAN)
    step.note(None)
    clock[0] += 0.1
    step_of(ProgressRows(database), PLAN).note(None)
    assert list(progress_of_trials(database, [PLAN.trial_id])) == [PLAN.trial_id]


def test_many_rows_are_written_with_the_database_s_time(database, clock):
    other = make_plan(("c" * 26,), trial_id="d" * 26)
    save_plans(database, [other], "file:///evidence")
    rows = ProgressRows(database)
    steps = [step_of(rows, plan) for plan in (PLAN, other)]
    for step in steps:
        step.note(None)
    for step in steps:
        clock[0] += 0.6
        step.note(Tick(elapsed_s=1))
    assert [tick_of(database, plan) for plan in (PLAN, other)] == [1, 1]


def test_nothing_is_written_of_a_step_that_ended(database, clock):
    other = make_plan(("c" * 26,), trial_id="d" * 26)
    save_plans(database, [other], "file:///evidence")
    rows = ProgressRows(database)
    ended, runs = step_of(rows, PLAN), step_of(rows, other)
    ended.note(None)
    runs.note(None)
    ended.note(Tick(elapsed_s=1))  # not written yet
    rows.end(PLAN.run_ids[0])
    clock[0] += 1.0
    runs.note(Tick(elapsed_s=1))
    assert [tick_of(database, plan) for plan in (PLAN, other)] == [None, 1]


RENTED = make_plan(rental=Rental(scope=Scope(provider="x"), spec=RentSpec(), offer="a machine"))


class Cloud:
    def __init__(self, *answers):
        self.answers = list(answers)

    def gone(self, _lease_id, _scope):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_machine_that_comes_back_is_waited_for():
    notes = []
    absence = HostLost(RENTED, Cloud(None, None), notes.append)
    absence.noted_or_raise("lost")
    absence.noted_or_raise("lost again")
    assert absence.reason is None
    assert notes == ["lost", "lost again"]


def test_a_machine_that_its_provider_deleted_is_not_waited_for():
    absence = HostLost(RENTED, Cloud(None, "i-1 was terminated: Server.SpotInstance"), print)
    absence.noted_or_raise("lost")
    with pytest.raises(RentalFailed, match=r"gone: i-1 was terminated: Server\.SpotInstance"):
        absence.noted_or_raise("lost")
    assert absence.reason


def test_a_provider_that_does_not_answer_knows_nothing():
    notes = []
    absence = HostLost(RENTED, Cloud(AccessDenied("the token expired")), notes.append)
    absence.noted_or_raise("lost")
    assert absence.reason is None
    assert "the token expired" in notes[-1]


def test_a_machine_that_was_not_rented_is_never_known_to_be_gone():
    absence = HostLost(make_plan(), None, print)
    absence.noted_or_raise("lost")
    assert absence.reason is None
