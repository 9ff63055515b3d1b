"""Whose turn it is."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.matrix_rows import cell_row

from diskbench.model.campaign import LIVE
from diskbench.model.matrix import Limits
from diskbench.plan.admit import AdmissionMoment, Decision, admit, full

NOW = "2026-11-21T12:00:00.000000+00:00"
LATER = "2026-11-21T12:01:00.000000+00:00"
MOMENT = AdmissionMoment(now=NOW, elapsed_s=0.0)


def moment(**changes):
    return AdmissionMoment(**{"now": NOW, "elapsed_s": 0.0} | changes)


def kinds(decision):
    return {position: problem.kind for position, problem in decision.refuse}


def test_cells_begin_in_their_order_as_many_as_may_run_at_once():
    cells = [cell_row(n) for n in (3, 1, 0, 2)]
    assert admit(cells, Limits(max_parallel=2), MOMENT) == Decision(begin=(0, 1))


def test_what_is_at_work_takes_a_place():
    cells = [cell_row(0, state="measuring"), cell_row(1, state="queued"), cell_row(2)]
    assert admit(cells, Limits(max_parallel=2), MOMENT) == Decision()
    assert admit(cells, Limits(max_parallel=3), MOMENT).begin == (2,)


def test_a_region_that_is_full_holds_up_no_other():
    cells = [cell_row(0), cell_row(1), cell_row(2, partition="aws/eu-west-1")]
    limits = Limits(max_parallel=9, per={"aws/us-east-1": 1})
    assert admit(cells, limits, MOMENT).begin == (0, 2)


def test_a_provider_has_a_limit_of_all_its_regions():
    cells = [cell_row(0), cell_row(1, partition="aws/eu-west-1"), cell_row(2, provider="gcp")]
    assert admit(cells, Limits(max_parallel=9, per={"aws": 1}), MOMENT).begin == (0, 2)


def test_a_machine_that_is_there_measures_one_thing_at_a_time():
    db1 = {"provider": "ssh", "partition": "ssh/db1"}
    cells = [cell_row(0, **db1), cell_row(1, **db1), cell_row(2, provider="ssh", partition="ssh/2")]
    assert admit(cells, Limits(max_parallel=9), MOMENT).begin == (0, 2)


def test_a_cell_that_is_to_be_tried_again_waits_until_then():
    cells = [cell_row(0, not_before=LATER), cell_row(1)]
    assert admit(cells, Limits(), MOMENT).begin == (1,)
    assert admit(cells, Limits(), moment(now=LATER)).begin == (0, 1)


def test_a_cancelled_matrix_begins_nothing_and_what_waits_is_cancelled():
    cells = [cell_row(0, state="measuring"), cell_row(1), cell_row(2)]
    decision = admit(cells, Limits(), moment(state="cancelling"))
    assert decision.begin == ()
    assert kinds(decision) == {1: "Cancelled", 2: "Cancelled"}


def test_a_cell_that_would_pass_the_budget_is_refused_with_both_sums():
    decision = admit([cell_row(0, cost_usd=3.0)], Limits(budget=5.0), moment(spent_usd=2.5))
    ((position, problem),) = decision.refuse
    assert (position, problem.kind) == (0, "BudgetReached")
    assert "$3.00" in problem.message
    assert "$2.50 of the budget" in problem.message


def test_while_others_run_a_cell_waits_for_what_they_really_cost():
    cells = [cell_row(0, state="measuring", cost_usd=3.0), cell_row(1, cost_usd=3.0)]
    assert admit(cells, Limits(budget=5.0), MOMENT) == Decision()
    cells = [cell_row(0, state="done", cost_usd=3.0), cell_row(1, cost_usd=3.0)]
    assert kinds(admit(cells, Limits(budget=5.0), moment(spent_usd=3.0))) == {1: "BudgetReached"}


def test_a_cheaper_cell_may_begin_where_a_dearer_one_may_not():
    cells = [cell_row(0, cost_usd=9.0), cell_row(1, cost_usd=1.0)]
    decision = admit(cells, Limits(budget=5.0), MOMENT)
    assert decision.begin == (1,)
    assert kinds(decision) == {0: "BudgetReached"}


def test_what_cannot_end_before_the_deadline_does_not_begin():
    cells = [cell_row(0, expected_s=600.0), cell_row(1, expected_s=60.0)]
    decision = admit(cells, Limits(deadline=3600.0), moment(elapsed_s=3400.0))
    assert decision.begin == (1,)
    assert kinds(decision) == {0: "DeadlineReached"}


def test_a_provider_and_a_region_are_full_when_their_places_are_taken():
    live = [cell_row(0, state="measuring"), cell_row(1, state="queued"), cell_row(2)]
    assert full(live, Limits(per={"aws": 2, "aws/us-east-1": 3, "gcp": 1})) == {"aws"}


def test_a_machine_that_is_there_is_full_with_one_cell():
    live = [cell_row(0, provider="ssh", partition="ssh/box", state="renting")]
    assert full(live, Limits()) == {"ssh/box"}
    assert full([], Limits()) == set()


states = st.sampled_from(["waiting", "queued", "renting", "measuring", "done", "failed"])
rows = st.lists(
    st.tuples(
        states, st.sampled_from(["aws/a", "aws/b", "gcp/a"]), st.floats(0, 10), st.floats(0, 1000)
    ),
    max_size=30,
)


@given(rows, st.integers(1, 6), st.integers(1, 4), st.floats(0.5, 30), st.floats(0, 30))
def test_no_limit_is_ever_passed(found, max_parallel, per_aws, budget, spent):
    cells = [
        cell_row(
            n,
            state=state,
            provider=partition.split("/")[0],
            partition=partition,
            cost_usd=cost,
            expected_s=seconds,
        )
        for n, (state, partition, cost, seconds) in enumerate(found)
    ]
    limits = Limits(max_parallel=max_parallel, per={"aws": per_aws}, budget=budget, deadline=500.0)
    decision = admit(cells, limits, moment(spent_usd=spent, elapsed_s=100.0))
    refused = {position for position, _ in decision.refuse}
    assert not refused & set(decision.begin)
    live = [cell for cell in cells if cell.state in LIVE]
    begun = [cells[position] for position in decision.begin]
    assert all(cell.state == "waiting" for cell in begun)
    if begun:
        assert len(live) + len(begun) <= max(max_parallel, len(live))
        running = Counter(cell.cell.provider for cell in live + begun)
        before = Counter(cell.cell.provider for cell in live)
        assert running["aws"] <= max(per_aws, before["aws"])
        assert spent + sum(cell.cost_usd for cell in live + begun) <= budget + 1e-9
        assert all(cell.expected_s <= 400.0 for cell in begun)


@given(rows)
def test_nothing_waits_for_ever_while_nothing_runs(found):
    cells = [
        cell_row(n, state="waiting" if state in LIVE else state, partition=partition, cost_usd=cost)
        for n, (state, partition, cost, _) in enumerate(found)
    ]
    limits = Limits(max_parallel=2, budget=12.0)
    decision = admit(cells, limits, MOMENT)
    waiting = [cell for cell in cells if cell.state == "waiting"]
    assert not waiting or decision.begin or decision.refuse


@pytest.mark.parametrize("limit", [{"budget": 1.0}, {"deadline": 1.0}])
def test_every_refusal_says_what_to_do(limit):
    ((_, problem),) = admit([cell_row(0, cost_usd=2.0)], Limits(**limit), MOMENT).refuse
    assert "matrix retry --failed" in problem.advice
