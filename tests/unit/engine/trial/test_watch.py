"""What is kept of a running step for another process to read, and how often."""

import pytest
from tests.rigs.plans import make_plan, save_plan

from diskbench.engine.trial import watch
from diskbench.engine.trial.watch import HostLost, step_progress
from diskbench.errors import AccessDenied, RentalFailed
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.model.result import Tick
from diskbench.ports import Watcher
from diskbench.store.rows import progress_of_trials

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
    return progress and progress[1] and progress[1]["elapsed_s"]


def step_of(database):
    return step_progress(Watcher(), database, PLAN.trial_id, PLAN.run_ids[0], PLAN.steps[0])


def test_progress_is_in_its_row_at_once_and_every_second(database, clock):
    step = step_of(database)
    step(None)
    for second in range(1, 6):
        step(Tick(elapsed_s=second - 0.5))  # not written
        clock[0] += 1.0
        step(Tick(elapsed_s=second))
        assert tick_of(database, PLAN) == second
    step_of(database)(None)
    clock[0] += 0.1
    step_of(database)(None)
    assert list(progress_of_trials(database, [PLAN.trial_id])) == [PLAN.trial_id]


RENTED = make_plan(rental=Rental(scope=Scope(provider="x"), spec=RentSpec(), offer="a machine"))


class Cloud:
    def __init__(self, *answers):
        self.answers = list(answers)

    def gone(self, _lease_id, _scope):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_machine_that_comes_back_is_waited_for_but_not_one_that_its_provider_deleted():
    notes = []
    absence = HostLost(RENTED, Cloud(None, None), notes.append)
    absence.noted_or_raise("lost")
    absence.noted_or_raise("lost again")
    assert absence.reason is None
    assert notes == ["lost", "lost again"]
    absence = HostLost(RENTED, Cloud(None, "i-1 was terminated: Server.SpotInstance"), print)
    absence.noted_or_raise("lost")
    with pytest.raises(RentalFailed, match=r"gone: i-1 was terminated: Server\.SpotInstance"):
        absence.noted_or_raise("lost")
    assert absence.reason


def test_of_a_provider_that_does_not_answer_and_without_one_nothing_is_known():
    notes = []
    silent = HostLost(RENTED, Cloud(AccessDenied("the token expired")), notes.append)
    for absence in (silent, HostLost(make_plan(), None, print)):
        absence.noted_or_raise("lost")
        assert absence.reason is None
    assert "the token expired" in notes[-1]
