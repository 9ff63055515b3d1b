"""Replicates until the interval is narrow (MR-7): how many begin, and what is spared."""

import pytest

from diskbench.model.campaign import UntilStatus
from diskbench.model.matrix import Limits
from diskbench.plan.until import MOST_FAILURES, may_begin

LIMITS = Limits(until_ci=0.05, max_replicates=30)


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
        assert may_begin(count, status, LIMITS) == room


@pytest.mark.parametrize("typed", ["5%", "5 %", 0.05])
def test_a_share_is_a_percentage_or_a_number(typed):
    assert Limits.model_validate({"until_ci": typed}).until_ci == 0.05
