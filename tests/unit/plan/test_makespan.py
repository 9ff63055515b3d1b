"""When cells begin, if each takes as long as expected and so many may run at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.model.matrix import Limits
from diskbench.plan.makespan import Task, at_once, makespan_s, starts

PLACES = [
    ("aws", "aws/a"), ("aws", "aws/b"), ("gcp", "gcp/c"), ("ssh", "ssh/h"), ("local", "local"),
]  # fmt: skip
TASKS = st.lists(
    st.builds(lambda place, s: Task(*place, float(s)), st.sampled_from(PLACES), st.integers(0, 50)),
    max_size=25,
)
LIMITS = st.builds(
    lambda most, per: Limits(max_parallel=most, per=per),
    st.integers(1, 5),
    st.dictionaries(st.sampled_from(["aws", "aws/a", "gcp"]), st.integers(1, 3)),
)


def aws(*seconds: float) -> list[Task]:
    return [Task("aws", "aws/a", s) for s in seconds]


def test_so_many_run_at_once_as_the_least_limit_lets_and_a_region_that_is_full_holds_up_no_other():
    assert starts(aws(10, 30, 5, 5), Limits(max_parallel=2)) == (0, 0, 10, 15)
    assert makespan_s(aws(10, 30, 5, 5), Limits(max_parallel=2)) == 30
    tasks = [*aws(10, 10, 10), Task("gcp", "gcp/c", 5)]
    assert starts(tasks, Limits(max_parallel=4, per={"aws/a": 1})) == (0, 10, 20, 0)
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=8)) == 3
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=2)) == 2
    assert at_once("aws/a", aws(1, 1, 1), Limits(max_parallel=8, per={"aws": 2, "aws/a": 1})) == 1


@pytest.mark.parametrize("place", [("ssh", "ssh/host"), ("local", "local")])
def test_a_machine_that_is_there_measures_one_thing_at_a_time(place):
    assert makespan_s([Task(*place, 10)] * 3, Limits(max_parallel=4, per={place[1]: 4})) == 30


@settings(deadline=None)
@given(TASKS, LIMITS)
def test_no_limit_is_passed_at_any_time_and_within_a_region_tasks_begin_in_their_order(
    tasks, limits
):
    begins = starts(tasks, limits)
    for now in begins:
        running = [t for t, b in zip(tasks, begins, strict=True) if b <= now < b + t.seconds]
        assert len(running) <= limits.max_parallel
        for name, most in {**limits.per, "ssh/h": 1, "local": 1}.items():
            assert sum(name in {t.provider, t.partition} for t in running) <= most
    for _, partition in PLACES:
        of = [b for t, b in zip(tasks, begins, strict=True) if t.partition == partition]
        assert of == sorted(of)


@settings(deadline=None)
@given(TASKS, LIMITS)
def test_a_makespan_lies_between_the_ideal_and_one_after_the_other(tasks, limits):
    work, found = sum(t.seconds for t in tasks), makespan_s(tasks, limits)
    longest = max((t.seconds for t in tasks), default=0.0)
    assert max(work / limits.max_parallel, longest) <= found + 1e-9
    assert found <= work


def test_cells_of_one_machine_follow_each_other_and_it_keeps_its_place_until_its_last():
    shared = [Task("aws", "aws/a", seconds, "one") for seconds in (3.0, 5.0)]
    own = Task("aws", "aws/a", 2.0)
    assert starts([shared[0], own, shared[1]], Limits(max_parallel=9)) == (0.0, 0.0, 3.0)
    assert makespan_s([*shared, own], Limits(max_parallel=9)) == 8.0
    assert at_once("aws/a", [*shared, own], Limits(max_parallel=9)) == 2
    tasks = [Task("aws", "aws/a", 3.0, name) for name in ("one", "two", "one")]
    assert starts(tasks, Limits(max_parallel=1)) == (0.0, 6.0, 3.0)
