"""A stall is a second or more below a tenth of the median."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.stalls import filled, longest, stalls


def test_a_tenth_is_no_stall_and_less_is():
    values = np.array([100, 100, 10, 9.9, 100, 0, 0, 100, 100, 100])
    assert stalls(values) == ((3, 4), (5, 7))


def test_the_first_and_the_last_second_may_stall():
    assert stalls(np.array([0, 100, 100, 100, 0])) == ((0, 1), (4, 5))


def test_where_the_median_is_nothing_there_is_no_stall():
    assert stalls(np.zeros(10)) == ()
    assert stalls(np.array([])) == ()


def test_a_second_without_one_of_few_is_no_stall_and_three_are():
    values = np.full(100, 4.0)
    values[10] = 0
    values[50:53] = 0
    assert stalls(values, missed=10) == ((50, 53),)


def test_filling_leaves_all_but_the_stalls_as_it_was():
    values = np.full(200, 100.0)
    values[50:60] = 0
    assert (filled(values, longest_s=20) == 100).all()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=80))
def test_exactly_the_seconds_below_a_tenth_are_in_a_stall(values):
    series = np.array(values)
    stalled = {second for start, end in stalls(series) for second in range(start, end)}
    assert stalled == set(np.flatnonzero(series < 0.1 * np.median(series)).tolist())


def test_a_long_stall_is_filled_with_the_level_of_the_seconds_with_io():
    values = np.tile([90.0, 110.0], 200)
    values[50:95] = 0
    assert filled(values, longest_s=60)[50:95] == pytest.approx(100, rel=0.11)


def test_one_pause_is_the_longest_of_several():
    assert longest(np.array([True, False, True, True, False])) == 2
    assert longest(np.array([False])) == 0
