"""MR-7: from ten replicates on, until the interval is within 5 % of the median; and how many more
that will take (CONFIRM)."""

import math
import random

import pytest

from diskbench.analysis.repeats import more_needed, width
from diskbench.model.campaign import UntilStatus
from diskbench.model.matrix import Limits
from diskbench.plan.until import may_begin
from diskbench.report.terminal.status_text import until_words


def drawn(seed, count, sd):
    draw = random.Random(seed)
    return [1000 * math.exp(draw.gauss(0, sd)) for _ in range(count)]


def test_ten_are_enough_only_where_the_interval_is_narrow():
    for seed in range(30):
        values = drawn(seed, 10, 0.05)
        assert (more_needed(values) == 0) == (width(values) <= 0.05)


def test_what_was_asked_for_brings_the_interval_under_five_percent_about_half_the_time():
    """CONFIRM's mean bounds are within 5 %; those of one sample are so for about half of them."""
    reached = asked = 0
    for seed in range(60):
        more = more_needed(drawn(seed, 10, 0.08))
        if more:
            asked += 1
            reached += width(drawn(seed + 1000, 10 + more, 0.08)) <= 0.05
    assert asked > 40
    assert 0.25 <= reached / asked <= 0.9


def room(status, **states):
    """What becomes of a block of twenty replicates, the rest of which waits."""
    count = states | {"waiting": 20 - sum(states.values())}
    return may_begin(count, status, Limits(until_ci=0.05, max_replicates=20))


@pytest.mark.parametrize(
    ("values", "begins"),
    [
        ([1000.0] * 9, 1),  # alike, but nine
        ([1000.0] * 10, "the interval is within 5 %"),
        (drawn(2, 10, 0.08), more_needed(drawn(2, 10, 0.08))),
        (drawn(0, 20, 0.3), 0),  # the most: none is left to begin
    ],
)
def test_replicates_go_on_until_it_is_narrow_or_the_most_are_done(values, begins):
    found = {"width": width(values), "more": more_needed(values)}
    status = UntilStatus(block="b", wanted=0.05, n=len(values), **found)
    assert room(status, done=len(values)) == begins


@pytest.mark.parametrize(
    ("reached", "word", "more"), [(True, "reached: ", 0), (False, "not reached: ", 8)]
)
def test_reached_or_not_is_said_with_what_is_predicted(reached, word, more):
    told = until_words(
        UntilStatus(
            block="b", wanted=0.05, n=12, step="read", width=0.04 if reached else 0.08, more=more,
            reached=reached, ended="no more are allowed",
        )
    )  # fmt: skip
    assert told.startswith(word)
    assert ("about 8 more" in told) is not reached
