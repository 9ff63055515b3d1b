"""Which cells of a matrix may start, and what becomes of one after an attempt."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.matrix_rows import cell_row

from diskbench import errors
from diskbench.model.campaign import LIVE
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem, RunEnd, problem_of
from diskbench.plan import admit as rules
from diskbench.plan.admit import EVERYWHERE, AdmissionMoment, admit, after, read_patterns

NOW = "2026-11-21T12:00:00.000000+00:00"
LATER = "2026-11-21T12:01:00.000000+00:00"
MOMENT = AdmissionMoment(now=NOW, elapsed_s=0.0)
LIVE_TWO = [cell_row(0, state="measuring"), cell_row(1, state="queued")]


def moment(**changes):
    return AdmissionMoment(**{"now": NOW, "elapsed_s": 0.0} | changes)


def kinds(refused):
    return {position: problem.kind for position, problem in refused.items()}


WEST = {"partition": "aws/eu-west-1"}
DB1 = {"provider": "ssh", "partition": "ssh/db1"}
GCP = {"provider": "gcp", "partition": "gcp/x"}


def places(*of):
    """A waiting cell in each."""
    return [cell_row(n, **fields) for n, fields in enumerate(of)]


@pytest.mark.parametrize(
    ("cells", "limits", "begin"),
    [
        ([cell_row(n) for n in (3, 1, 0, 2)], {"max_parallel": 2}, (0, 1)),
        ([*LIVE_TWO, cell_row(2)], {"max_parallel": 2}, ()),
        ([*LIVE_TWO, cell_row(2)], {"max_parallel": 3}, (2,)),
        (places({}, {}, WEST), {"max_parallel": 9, "per": {"aws/us-east-1": 1}}, (0, 2)),
        (places({}, WEST, GCP), {"max_parallel": 9, "per": {"aws": 1}}, (0, 2)),
        (places(DB1, DB1, DB1 | {"partition": "ssh/2"}), {"max_parallel": 9}, (0, 2)),
        ([cell_row(0, not_before=LATER), cell_row(1)], {}, (1,)),
    ],
    ids=[
        "in their order", "those at work take places", "a place is left", "a region is full",
        "a provider is full in all regions", "a machine measures one thing at a time",
        "one that is to be tried again waits",
    ],
)  # fmt: skip
def test_as_many_begin_as_the_limits_of_their_places_let(cells, limits, begin):
    assert admit(cells, Limits(**limits), MOMENT) == ([*begin], {})


def test_a_cell_begins_when_its_wait_is_over_and_a_cancelled_matrix_begins_nothing():
    cells = [cell_row(0, not_before=LATER), cell_row(1)]
    assert admit(cells, Limits(), moment(now=LATER))[0] == [0, 1]
    cells = [cell_row(0, state="measuring"), cell_row(1), cell_row(2)]
    begin, refused = admit(cells, Limits(), moment(state="cancelling"))
    assert begin == []
    assert kinds(refused) == {1: "Cancelled", 2: "Cancelled"}


def test_a_cell_that_would_pass_the_budget_waits_or_is_refused_and_so_is_one_past_the_deadline():
    _, refused = admit([cell_row(0, cost_usd=3.0)], Limits(budget=5.0), moment(spent_usd=2.5))
    ((position, problem),) = refused.items()
    assert (position, problem.kind) == (0, "BudgetReached")
    assert "$3.00" in problem.message
    assert "$2.50 of the budget" in problem.message
    assert "matrix retry --failed" in problem.advice
    cells = [cell_row(0, state="measuring", cost_usd=3.0), cell_row(1, cost_usd=3.0)]
    assert admit(cells, Limits(budget=5.0), MOMENT) == ([], {})
    cells = [cell_row(0, state="done", cost_usd=3.0), cell_row(1, cost_usd=3.0)]
    assert kinds(admit(cells, Limits(budget=5.0), moment(spent_usd=3.0))[1]) == {1: "BudgetReached"}
    cells = [cell_row(0, cost_usd=9.0), cell_row(1, cost_usd=1.0)]
    begin, refused = admit(cells, Limits(budget=5.0), MOMENT)
    assert begin == [1]
    assert kinds(refused) == {0: "BudgetReached"}
    cells = [cell_row(0, expected_s=600.0), cell_row(1, expected_s=60.0)]
    begin, refused = admit(cells, Limits(deadline=3600.0), moment(elapsed_s=3400.0))
    assert begin == [1]
    assert kinds(refused) == {0: "DeadlineReached"}
    assert "matrix retry --failed" in refused[0].advice


states = st.sampled_from(["waiting", "queued", "renting", "measuring", "done", "failed"])
partitions = st.sampled_from(["aws/a", "aws/b", "gcp/a"])
rows = st.lists(st.tuples(states, partitions, st.floats(0, 10), st.floats(0, 1000)), max_size=30)


@given(rows, st.integers(1, 6), st.integers(1, 4), st.floats(0.5, 30), st.floats(0, 30))
def test_no_limit_is_ever_passed(found, max_parallel, per_aws, budget, spent):
    cells = []
    for n, (state, partition, cost, seconds) in enumerate(found):
        place = {"provider": partition.split("/")[0], "partition": partition}
        cells.append(cell_row(n, state=state, cost_usd=cost, expected_s=seconds, **place))
    limits = Limits(max_parallel=max_parallel, per={"aws": per_aws}, budget=budget, deadline=500.0)
    begin, refused = admit(cells, limits, moment(spent_usd=spent, elapsed_s=100.0))
    assert not refused.keys() & set(begin)
    live = [cell for cell in cells if cell.state in LIVE]
    begun = [cells[position] for position in begin]
    assert all(cell.state == "waiting" for cell in begun)
    if begun:
        assert len(live) + len(begun) <= max(max_parallel, len(live))
        running = Counter(cell.cell.provider for cell in live + begun)
        assert running["aws"] <= max(per_aws, Counter(cell.cell.provider for cell in live)["aws"])
        assert spent + sum(cell.cost_usd for cell in live + begun) <= budget + 1e-9
        assert all(cell.expected_s <= 400.0 for cell in begun)


@given(rows)
def test_nothing_waits_for_ever_while_nothing_runs(found):
    cells = [
        cell_row(n, state="waiting" if state in LIVE else state, partition=partition, cost_usd=cost)
        for n, (state, partition, cost, _) in enumerate(found)
    ]
    begin, refused = admit(cells, Limits(max_parallel=2, budget=12.0), MOMENT)
    waiting = [cell for cell in cells if cell.state == "waiting"]
    assert not waiting or begin or refused


JUST_NOW = "2026-11-21T11:59:30.000000+00:00"
A_MINUTE_AGO = "2026-11-21T11:59:00.000000+00:00"


def begun(cells, **rates):
    limits = Limits(max_parallel=99, calls_per_minute=rates)
    return tuple(admit(cells, limits, AdmissionMoment(now=NOW, elapsed_s=600.0))[0])


@pytest.mark.parametrize(
    ("cells", "rates", "begin"),
    [
        (places({}, {}, {}, GCP), {"aws": 2}, (0, 1, 3)),
        ([cell_row(0, state="measuring", queued_at=JUST_NOW), cell_row(1)], {"aws": 1}, ()),
        ([cell_row(0, state="done", queued_at=JUST_NOW), cell_row(1)], {"aws": 1}, ()),
        ([cell_row(0, state="failed", queued_at=JUST_NOW), cell_row(1)], {"aws": 1}, ()),
        ([cell_row(0, state="done", queued_at=A_MINUTE_AGO), cell_row(1)], {"aws": 1}, (1,)),
        (places({}, {}, WEST), {"aws/us-east-1": 1}, (0, 2)),
    ],
)
def test_no_more_begin_in_a_minute_than_the_rates_let(cells, rates, begin):
    assert begun(cells, **rates) == begin


LIMITS = Limits(attempts=3)
STOPPED = problem_of(errors.Interrupted("stopped by the user"))


def ended(*states, problem=None):
    of = [{"run_id": f"r{n}", "run_index": n, "state": state} for n, state in enumerate(states)]
    return tuple(RunEnd(problem=problem, **fields) for fields in of)


def settled(end=None, problem=None, *, attempt=1, state="running", limits=LIMITS):
    return after(cell_row(attempt=attempt), limits, end, problem, state=state, now=NOW)


TRIED_AGAIN = (
    errors.NoCapacity, errors.QuotaExceeded, errors.RentalFailed, errors.Unanswered,
    errors.Throttled, errors.Busy, errors.CloudSilent,
)  # fmt: skip
"""What may be different later."""


@pytest.mark.parametrize("kind", TRIED_AGAIN)
@pytest.mark.parametrize(("attempt", "at"), [(1, "12:01:00"), (2, "12:02:00")])
def test_what_could_not_be_had_is_tried_again_after_twice_as_long_each_time(kind, attempt, at):
    found = settled(None, problem_of(kind("none there")), attempt=attempt)
    assert found["state"] == "waiting"
    assert found["not_before"] == f"2026-11-21T{at}.000000+00:00"
    assert found["error"] == "none there"
    assert found["error_data"]["retryable"] is True
    renamed = type("OfThatCloud", (kind,), {})  # a cloud's own, which nobody listed anywhere
    assert settled(None, problem_of(renamed("none there")))["state"] == "waiting"


@pytest.mark.parametrize("word", ["NoCapacity", "Throttled", "Interrupted"])
def test_the_name_of_an_error_decides_nothing(word: str):
    assert settled(None, Problem(kind=word, message="it says so"))["state"] == "failed"


WHY = Problem(kind="FioFailed", message="fio ended with status 1", advice="look")
SLOW = Problem(kind="TookTooLong", message="it took longer than max_cell_time")
GONE = problem_of(errors.RentalFailed("the machine is gone"))
FAILED = {"error_kind": "FioFailed", "error": "fio ended with status 1", "advice": "look"}
AGAIN = {"state": "waiting", "attempt": 1, "error": None}


@pytest.mark.parametrize(
    ("end", "problem", "more", "becomes"),
    [
        (ended("done", "done"), None, {}, {"state": "done", "error": None}),
        (ended("done", "failed", problem=WHY), None, {}, {"state": "failed", **FAILED}),
        (None, problem_of(errors.AccessDenied("no")), {}, {"state": "failed"}),
        (
            None, problem_of(errors.NoCapacity("AWS has none")), {"attempt": 3},
            {"state": "failed", "error": "AWS has none"},
        ),
        (ended("failed", problem=GONE), None, {}, {"state": "failed"}),
        (None, STOPPED, {"attempt": 2}, AGAIN),
        (ended("interrupted", "cancelled", problem=STOPPED), None, {"attempt": 2}, AGAIN),
        (None, STOPPED, {"state": "cancelling"}, {"state": "cancelled"}),
        (
            ended("interrupted", problem=STOPPED), None, {"state": "cancelling"},
            {"state": "cancelled"},
        ),
        (
            ended("interrupted", problem=STOPPED), SLOW, {},
            {"state": "failed", "error_kind": "TookTooLong"},
        ),
    ],
    ids=[
        "all runs done", "one run failed", "never otherwise", "the last attempt",
        "a machine went away in the middle", "stopped while renting keeps its turn",
        "stopped while measuring keeps its turn", "cancelled while renting",
        "cancelled while measuring", "took too long",
    ],
)  # fmt: skip
def test_what_becomes_of_a_cell_after_an_attempt(end, problem, more, becomes):
    assert settled(end, problem, **more).items() >= becomes.items()


def test_one_error_may_be_retryable_where_its_kind_is_not():
    error = errors.AccessDenied("the token is being made")
    error.retryable = True
    assert settled(None, problem_of(error))["state"] == "waiting"


def test_each_attempt_looks_in_the_next_zone_that_is_allowed():
    tries = [cell_row(attempt=n, zones=("a", "b")) for n in (1, 2, 3)]
    assert [rules.zone_of(one) for one in tries] == ["a", "b", "a"]
    assert rules.zone_of(cell_row(attempt=1)) is None


@pytest.mark.parametrize(
    ("patterns", "route", "does"),
    [
        (EVERYWHERE, "aws", True), (EVERYWHERE, "vsphere/site-a", True), (("aws",), "aws", True),
        (("aws",), "aws/site-a", True), (("aws/*",), "aws", True),
        (("aws/*",), "aws/site-a", True), (("aws",), "azure", False),
        (("vsphere/site-a",), "vsphere/site-a", True),
        (("vsphere/site-a",), "vsphere/site-b", False), (("vsphere/site-a",), "vsphere", False),
        (("vsphere/site-?",), "vsphere/site-b", True),
        (("aws", "vsphere/site-a"), "vsphere/site-a", True), ((), "aws", False),
    ],
)  # fmt: skip
def test_a_worker_serves_the_routes_that_its_patterns_name(patterns, route, does):
    assert rules.serves(patterns, route) is does


def test_patterns_are_read_once_each_and_one_of_no_provider_is_told_with_the_nearest():
    found = read_patterns(" aws/* ,vsphere/site-a,aws/*", ["aws", "vsphere"])
    assert found == ("aws/*", "vsphere/site-a")
    with pytest.raises(errors.UnknownName) as raised:
        read_patterns("aws,vspere/site-a", ["aws", "vsphere"])
    assert "vspere" in raised.value.message
    assert "vsphere" in raised.value.advice
