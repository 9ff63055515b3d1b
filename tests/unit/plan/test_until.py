"""Replicates until the interval is narrow (MR-7): how many begin, and what is spared."""

import pytest

from diskbench.model.matrix import Limits
from diskbench.plan.until import MOST_FAILURES, BlockStatus, Turn, turn_of

LIMITS = Limits(until_ci=0.05, max_replicates=30)


def block(**states):
    """How many cells of a block are in each state, thirty in all: the rest waits."""
    return states | {"waiting": 30 - sum(states.values())}


def turn(count, block_status=None):
    return turn_of(count, block_status or BlockStatus(0), LIMITS)


def test_ten_begin_whatever_they_show():
    assert turn(block()) == Turn(may_begin=10)
    assert turn(block(done=2, measuring=3)) == Turn(may_begin=5)
    assert turn(block(done=9, measuring=1)) == Turn()


def test_with_a_narrow_interval_the_rest_is_spared():
    found = turn(block(done=10), BlockStatus(10, "read", 0.03, 0))
    assert found == Turn(spare="the interval is within 5 %")


def test_as_many_more_begin_as_are_predicted_and_no_others_until_they_are_done():
    block_status = BlockStatus(10, "read", 0.08, 4)
    assert turn(block(done=10), block_status) == Turn(may_begin=4)
    assert turn(block(done=10, measuring=4), block_status) == Turn()
    assert turn(block(done=10, queued=1), block_status) == Turn(may_begin=3)


def test_too_noisy_to_tell_means_all_that_are_left():
    assert turn(block(done=10), BlockStatus(10, "read", 0.5, None)) == Turn(may_begin=20)


def test_what_was_read_before_the_last_one_ended_decides_nothing():
    assert turn(block(done=11), BlockStatus(10, "read", 0.03, 0)) == Turn()


def test_a_failed_one_is_replaced_and_five_end_it():
    assert turn(block(done=9, failed=1)) == Turn(may_begin=1)
    assert "failed" in turn(block(done=3, failed=MOST_FAILURES)).spare


def test_where_budget_or_deadline_refused_one_no_further_ones_are_tried():
    assert "time or money" in turn(block(done=4, refused=6)).spare
    assert turn(block(done=4, measuring=1, refused=5)).spare == ""


def test_a_block_of_which_nothing_waits_has_no_turn():
    assert turn(block(done=30), BlockStatus(30, "read", 0.2, 5)) == Turn()


@pytest.mark.parametrize("typed", ["5%", "5 %", 0.05])
def test_a_share_is_a_percentage_or_a_number(typed):
    assert Limits.model_validate({"until_ci": typed}).until_ci == 0.05
