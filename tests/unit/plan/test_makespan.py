"""When cells begin, if each takes as long as expected and so many may run at once; and how many
replicates begin until the interval is narrow (MR-7), and what is spared."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.model.campaign import UntilStatus
from diskbench.model.matrix import Limits
from diskbench.plan.makespan import Task, at_once, makespan_s, starts
from diskbench.plan.until import MOST_FAILURES, may_begin

PLACES = [
    ("aws", "aws/a"), ("aws", "aws/b"), ("gcp", "gcp/c"), ("ssh", "ssh/h"), ("local", "local"),
]  # fmt: skip
TASKS = st.lists(
    st.builds(lambda place, s: Task(*place, float(s)), st.sampled_from(PLACES), st.integers(0, 50)),
    max_size=25,
)
PER = st.dictionaries(st.sampled_from(["aws", "aws/a", "gcp"]), st.integers(1, 3))
LIMITS = st.builds(Limits, max_parallel=st.integers(1, 5), per=PER)


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
    # A makespan lies between the ideal and one after the other.
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


UNTIL_NARROW = Limits(until_ci=0.05, max_replicates=30)


def block(**states):
    """How many cells of a block are in each state, thirty in all: the rest waits."""
    return states | {"waiting": 30 - sum(states.values())}


def found(n, width, more):
    return UntilStatus(block="b", wanted=0.05, n=n, width=width, more=more)


MORE = found(10, 0.08, 4)
TURNS = {
    "ten begin whatever they show": [
        (block(), None, 10), (block(done=2, measuring=3), None, 5),
        (block(done=9, measuring=1), None, 0),
    ],
    "with a narrow interval the rest is spared": [
        (block(done=10), found(10, 0.03, 0), "the interval is within 5 %"),
    ],
    "as many more begin as are predicted and no others until they are done": [
        (block(done=10), MORE, 4), (block(done=10, measuring=4), MORE, 0),
        (block(done=10, queued=1), MORE, 3),
    ],
    "too noisy to tell means all that are left": [
        (block(done=10), found(10, 0.5, None), 20),
    ],
    "what was read before the last one ended decides nothing": [
        (block(done=11), found(10, 0.03, 0), 0),
    ],
    "a failed one is replaced and five end it": [
        (block(done=9, failed=1), None, 1),
        (block(done=3, failed=MOST_FAILURES), None, "5 replicates failed"),
    ],
    "where budget or deadline refused one no further ones are tried": [
        (block(done=4, refused=6), None, "the matrix has no time or money left for it"),
        (block(done=4, measuring=1, refused=5), None, 5),
    ],
    "a block of which nothing waits has no turn": [
        (block(done=30), found(30, 0.2, 5), 0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", TURNS.values(), ids=TURNS)
def test_how_many_begin_and_what_is_spared(rows):
    for count, status, room in rows:
        assert may_begin(count, status, UNTIL_NARROW) == room


@pytest.mark.parametrize("typed", ["5%", "5 %", 0.05])
def test_a_share_is_a_percentage_or_a_number(typed):
    assert Limits.model_validate({"until_ci": typed}).until_ci == 0.05
