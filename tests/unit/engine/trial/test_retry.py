"""A worker that cannot go on waits, and goes on; a run that cannot is suspended at once."""

from types import SimpleNamespace

import pytest
from tests.rigs.plans import make_plan

from diskbench.engine.trial import stop as module
from diskbench.engine.trial.steps import LiveTrialSteps
from diskbench.engine.trial.stop import RetryPolicy, Stop
from diskbench.errors import HostUnavailable, KeyTaken, StoreUnavailable, Suspended

TRIAL = "01jd0000000000000000000001"


@pytest.fixture
def notes(monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.02)
    return []


@pytest.fixture
def stop():
    return Stop()


@pytest.fixture
def patience(stop, notes):
    return RetryPolicy(stop, lambda _, text: notes.append(text))


def failing(error, times):
    """Work that fails so often, and then is done."""
    left = [error] * times

    def work():
        if left:
            raise left.pop()
        return "done"

    return work


def through(patience, work):
    return patience.through(TRIAL, work, lambda problem: problem)


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), HostUnavailable("away")])
def test_what_comes_back_is_waited_for_and_told_until_it_goes_on(patience, notes, error):
    assert through(patience, failing(error, 3)) == "done"
    assert [error.message in note for note in notes] == [True, True, True, False]
    assert notes[-1] == ""


def test_what_a_station_was_held_up_by_counts_as_itself(patience):
    found = through(patience, failing(Suspended(ValueError("odd")), 1))
    assert (found.kind, "a fault in diskbench" in found.message) == ("ValueError", True)
    assert through(patience, failing(Suspended(StoreUnavailable("full")), 2)) == "done"


def test_a_host_that_stays_away_is_given_up(patience, monkeypatch):
    monkeypatch.setattr(module, "HOST_AWAY_S", 0.05)
    assert through(patience, failing(HostUnavailable("away"), 1000)).message == "away"


def test_a_stop_ends_waiting_for_a_host_but_not_for_a_store(patience, stop):
    stop.ask(TRIAL)
    assert through(patience, failing(HostUnavailable("away"), 5)).message == "away"
    assert through(patience, failing(StoreUnavailable("gone"), 5)) == "done"


def test_what_a_store_holds_already_is_not_waited_for(patience, notes):
    assert through(patience, failing(KeyTaken("plan.json is there"), 1)).kind == "KeyTaken"
    assert notes == []


@pytest.mark.parametrize(
    "error", [StoreUnavailable("gone"), HostUnavailable("away"), ValueError("odd")]
)
def test_one_policy_suspends_at_once_where_nobody_waits(stop, notes, error):
    run = RetryPolicy(stop, lambda _, text: notes.append(text), waits=False)
    with pytest.raises(Suspended) as suspended:
        through(run, failing(error, 1))
    assert suspended.value.error is error
    assert notes == []


def test_a_step_is_announced_once_however_often_its_station_is_retried(stop, patience, monkeypatch):
    announced, plan = [], make_plan()
    watcher = SimpleNamespace(step_started=lambda *words: announced.append(words))
    steps = LiveTrialSteps(SimpleNamespace(database=None), stop, watcher, patience)
    done = failing(StoreUnavailable("gone"), 3)
    monkeypatch.setattr(LiveTrialSteps, "_measure", lambda *_: done())
    assert steps.measure(plan, 0, plan.steps[0]) == "done"
    assert announced == [(plan.trial_id, 0, plan.steps[0])]
