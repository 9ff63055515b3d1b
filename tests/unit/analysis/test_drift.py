"""Where the level of a history changed, and where a series of runs falls and stays low."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit

from diskbench.analysis.drift import LEAST_HISTORY, LEVEL, _least_t, chance, drift, fall_of


def noisy(levels, cov=0.02, seed=0):
    return (levels * np.exp(cov * np.random.default_rng(seed).normal(size=len(levels)))).tolist()


def test_a_tenth_less_is_found_after_three_figures_and_noise_is_told_without_changes():
    (shift,) = drift(noisy([1000] * 30 + [900] * 3)).shifts
    assert (shift.at, shift.change) == (30, pytest.approx(-0.1, abs=0.03))
    assert shift.before == pytest.approx(1000, rel=0.01)
    found = drift(noisy([1000] * 40 + [500] * 40, cov=0.03))
    assert found.noise == pytest.approx(0.03, rel=0.3)
    assert found.span > 0.5


def test_neither_one_bad_night_nor_four_percent_is_a_change_and_down_and_up_are_two():
    assert drift(noisy([1000] * 15 + [400] + [1000] * 15)).shifts == ()
    assert drift([1000.0] * 20 + [960.0] * 20).shifts == ()
    assert len(drift([1000.0] * 20 + [940.0] * 20).shifts) == 1
    found = drift(noisy([1000] * 12 + [700] * 8 + [1000] * 12))
    assert [shift.at for shift in found.shifts] == [12, 20]
    assert found.shifts[0].change < 0 < found.shifts[1].change


def test_the_step_that_would_be_seen_is_found_in_95_of_100():
    cov, count, seen = 0.04, 60, 0
    steps = sorted(drift(noisy([1000] * 40, cov, seed)).visible for seed in range(15))
    assert steps[7] == pytest.approx(1 - math.exp(-4.2 * cov), abs=0.03)
    for seed in range(count):
        found = drift(noisy([1000] * 40 + [1000 * math.exp(-4.2 * cov)] * 3, cov, seed))
        seen += any(abs(shift.at - 40) <= 1 for shift in found.shifts)
    assert seen >= 0.95 * count


def test_a_short_history_says_that_it_is_short_and_a_figure_of_zero_has_no_level():
    found = drift([1000.0] * (LEAST_HISTORY - 1))
    assert (found.shifts, found.visible) == ((), None)
    assert drift([]).n == 0
    with pytest.raises(ValueError, match="above zero"):
        drift([1.0, 0.0, 1.0])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=60))
def test_changes_are_in_order_and_as_large_as_they_must_be(values):
    found = drift(values)
    places = [0, *(shift.at for shift in found.shifts), len(values)]
    assert not found.shifts or all(after - before >= 3 for before, after in pairwise(places))
    assert all(abs(shift.change) >= 0.05 and shift.p <= 0.001 for shift in found.shifts)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(1, 1e6), min_size=6, max_size=40), st.floats(0.001, 1000))
def test_the_unit_of_the_figures_changes_nothing(values, factor):
    scaled = drift([value * factor for value in values])
    assert [one.at for one in scaled.shifts] == [one.at for one in drift(values).shifts]


def test_a_fall_is_found_in_the_run_from_which_a_disk_stays_down_and_none_where_there_is_none():
    found = fall_of([300.0, 310.0, 295.0, 305.0, 80.0, 82.0, 79.0])
    assert (found.at + 1, found.before, found.after) == (5, 295.0, 82.0)
    assert fall_of([1750, 2150, 1330, 2660, 2700, 1400, 2260, 1470, 151, 135]).at + 1 == 9
    for values in ([], [300.0, 80.0], [0.0, 0.0, 0.0, 0.0], [80.0, 82.0, 300.0, 310.0]):
        assert fall_of(values) is None, values
    assert fall_of([300.0, 310.0, 305.0, 80.0]) is None, "one run may be an accident"
    assert fall_of([300.0, 310.0, 80.0, 82.0, 300.0]) is None, "it came back"
    assert fall_of([100.0, 90.0, 80.0, 70.0, 60.0, 51.0]) is None, "a slope is no fall"


@given(
    st.lists(st.floats(100, 200), min_size=2, max_size=20),
    st.lists(st.floats(0, 49), min_size=2, max_size=20),
)
def test_whatever_falls_below_half_is_found_at_its_run(high, low):
    found = fall_of([*high, *low])
    assert found.after < LEVEL * found.before
    # a deeper fall within the low part may be the sharper one
    assert found.at >= len(high)


@pytest.mark.parametrize("free", range(4, 99))
def test_the_chance_of_a_step_is_that_of_scipy(free):
    for t in (0.0, *np.geomspace(1e-3, 1e6, 60)):
        assert chance(t, free) == pytest.approx(2 * stdtr(free, -t), rel=1e-11, abs=1e-300)
    assert _least_t(free) == pytest.approx(-stdtrit(free, 0.0005), rel=1e-12)
