"""Replicates until the interval is narrow (MR-7): how many begin, and what is spared."""

import pytest

from diskbench.model.matrix import Limits
from diskbench.plan.until import MOST_FAILURES, BlockStatus, Turn, turn_of

LIMITS = Limits(until_ci=0.05, max_replicates=30)


def block(**states):
    """How many cells of a block are in each state, thirty in all: the rest waits."""
    return states | {"waiting": 30 - sum(states.values())}


NONE = BlockStatus(0)
MORE = BlockStatus(10, "read", 0.08, 4)
TURNS = {
    "ten begin whatever they show": [
        (block(), NONE, Turn(10)), (block(done=2, measuring=3), NONE, Turn(5)),
        (block(done=9, measuring=1), NONE, Turn()),
    ],
    "with a narrow interval the rest is spared": [
        (block(done=10), BlockStatus(10, "read", 0.03, 0), Turn(0, "the interval is within 5 %")),
    ],
    "as many more begin as are predicted and no others until they are done": [
        (block(done=10), MORE, Turn(4)), (block(done=10, measuring=4), MORE, Turn()),
        (block(done=10, queued=1), MORE, Turn(3)),
    ],
    "too noisy to tell means all that are left": [
        (block(done=10), BlockStatus(10, "read", 0.5, None), Turn(20)),
    ],
    "what was read before the last one ended decides nothing": [
        (block(done=11), BlockStatus(10, "read", 0.03, 0), Turn()),
    ],
    "a failed one is replaced and five end it": [
        (block(done=9, failed=1), NONE, Turn(1)),
        (block(done=3, failed=MOST_FAILURES), NONE, Turn(0, "5 replicates failed")),
    ],
    "where budget or deadline refused one no further ones are tried": [
        (block(done=4, refused=6), NONE, Turn(0, "the matrix has no time or money left for it")),
        (block(done=4, measuring=1, refused=5), NONE, Turn(5)),
    ],
    "a block of which nothing waits has no turn": [
        (block(done=30), BlockStatus(30, "read", 0.2, 5), Turn()),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", TURNS.values(), ids=TURNS)
def test_how_many_begin_and_what_is_spared(rows):
    for count, status, turn in rows:
        assert turn_of(count, status, LIMITS) == turn


@pytest.mark.parametrize("typed", ["5%", "5 %", 0.05])
def test_a_share_is_a_percentage_or_a_number(typed):
    assert Limits.model_validate({"until_ci": typed}).until_ci == 0.05
