"""What becomes of a cell after an attempt."""

import pytest
from tests.rigs.matrix_rows import cell_row

from diskbench.errors import (
    AccessDenied,
    Busy,
    CloudSilent,
    DiskbenchError,
    Interrupted,
    NoCapacity,
    QuotaExceeded,
    RentalFailed,
    Throttled,
    Unanswered,
)
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem, RunEnd, TrialEnd, problem_of
from diskbench.plan.cell_outcome import after, zone_of

NOW = "2026-11-21T12:00:00.000000+00:00"
LIMITS = Limits(attempts=3)
STOPPED = problem_of(Interrupted("stopped by the user"))


def ended(*states, problem=None):
    runs = tuple(
        RunEnd(run_id=f"r{n}", run_index=n, state=state, problem=problem)
        for n, state in enumerate(states)
    )
    return TrialEnd(trial_id="t", runs=runs)


def settled(end=None, problem=None, *, attempt=1, state="running", limits=LIMITS):
    return after(cell_row(attempt=attempt), limits, end, problem, state=state, now=NOW)


def test_a_cell_all_of_whose_runs_are_done_is_done():
    found = settled(ended("done", "done"))
    assert (found["state"], found["error"]) == ("done", None)


def test_a_cell_one_of_whose_runs_failed_has_failed_for_its_reason():
    why = Problem(kind="FioFailed", message="fio ended with status 1", advice="look")
    found = settled(ended("done", "failed", problem=why))
    assert found["state"] == "failed"
    assert (found["error_kind"], found["error"], found["advice"]) == (
        "FioFailed", "fio ended with status 1", "look",
    )  # fmt: skip


LATER = (NoCapacity, QuotaExceeded, RentalFailed, Unanswered, Throttled, Busy, CloudSilent)
"""What may be different later."""


@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize(("attempt", "at"), [(1, "12:01:00"), (2, "12:02:00")])
def test_what_could_not_be_had_is_tried_again_after_twice_as_long_each_time(
    kind: type[DiskbenchError], attempt: int, at: str
):
    found = settled(None, problem_of(kind("none there")), attempt=attempt)
    assert found["state"] == "waiting"
    assert found["not_before"] == f"2026-11-21T{at}.000000+00:00"
    assert found["error"] == "none there"
    assert found["error_data"]["retryable"] is True


@pytest.mark.parametrize("kind", LATER)
def test_an_error_of_another_name_that_may_be_over_later_is_tried_again(
    kind: type[DiskbenchError],
):
    """A cloud's own kind of an error, which nobody listed anywhere."""
    renamed = type("OfThatCloud", (kind,), {})
    assert settled(None, problem_of(renamed("none there")))["state"] == "waiting"


@pytest.mark.parametrize("word", ["NoCapacity", "Throttled", "Interrupted"])
def test_the_name_of_an_error_decides_nothing(word: str):
    assert settled(None, Problem(kind=word, message="it says so"))["state"] == "failed"


def test_one_error_may_be_retryable_where_its_kind_is_not():
    error = AccessDenied("the token is being made")
    error.retryable = True
    assert settled(None, problem_of(error))["state"] == "waiting"


def test_the_last_attempt_fails_with_the_providers_own_words():
    found = settled(None, problem_of(NoCapacity("AWS has none")), attempt=3)
    assert (found["state"], found["error"]) == ("failed", "AWS has none")


def test_what_will_not_be_otherwise_later_is_not_tried_again():
    assert settled(None, problem_of(AccessDenied("no")))["state"] == "failed"


def test_a_machine_that_went_away_while_it_was_measured_is_no_lack_of_capacity():
    gone = problem_of(RentalFailed("the machine is gone"))
    assert settled(ended("failed", problem=gone))["state"] == "failed"


@pytest.mark.parametrize("end", [None, ended("interrupted", "cancelled", problem=STOPPED)])
def test_a_cell_whose_process_was_stopped_keeps_its_turn_and_its_attempts(end):
    found = settled(end, STOPPED if end is None else None, attempt=2)
    assert (found["state"], found["attempt"], found["error"]) == ("waiting", 1, None)


@pytest.mark.parametrize("end", [None, ended("interrupted", problem=STOPPED)])
def test_a_cell_of_a_cancelled_matrix_is_cancelled(end):
    assert (
        settled(end, STOPPED if end is None else None, state="cancelling")["state"] == "cancelled"
    )


def test_a_cell_that_took_too_long_has_failed_for_that_reason():
    slow = Problem(kind="TookTooLong", message="it took longer than max_cell_time")
    found = settled(ended("interrupted", problem=STOPPED), slow)
    assert (found["state"], found["error_kind"]) == ("failed", "TookTooLong")


def test_each_attempt_looks_in_the_next_zone_that_is_allowed():
    zones = [zone_of(cell_row(attempt=n, zones=("a", "b"))) for n in (1, 2, 3)]
    assert zones == ["a", "b", "a"]
    assert zone_of(cell_row(attempt=1)) is None
