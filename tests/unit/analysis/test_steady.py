"""The steady-state rule on each side of both limits."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.steady import steady


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [
        ([100, 100, 100, 100, 100], True),
        # excursion: (110 − 90)/100 = 0.20 exactly, line flat
        ([90, 110, 100, 110, 90], True),
        ([89.9, 110, 100.1, 110, 90], False),
        # slope: b = 2.5, 2.5·4/100 = 0.10 exactly
        ([95, 97.5, 100, 102.5, 105], True),
        ([105, 102.5, 100, 97.5, 95], True),
        ([94.9, 97.5, 100, 102.5, 105.1], False),
        ([105.1, 102.5, 100, 97.5, 94.9], False),
        # within the excursion, beyond the slope
        ([92, 96, 100, 104, 108], False),
        ([0, 0, 0, 0, 0], False),
    ],
)
def test_both_limits_count_and_are_inclusive(values, is_steady):
    assert steady(values).steady is is_steady


def test_the_figures_are_fractions_of_the_mean():
    found = steady([95, 97.5, 100, 102.5, 105])
    assert (found.excursion, found.slope) == (pytest.approx(0.10), pytest.approx(0.10))
    assert steady([105, 102.5, 100, 97.5, 95]).slope == pytest.approx(-0.10)


def test_a_fall_that_fio_would_call_steady_is_not():
    # fio's iops_slope divides by the mean a second: 3,000 to 100 IOPS over 300 s gives 0.63 %.
    falling = [3000 - 2900 * second / 299 for second in range(300)]
    assert not steady(falling).steady


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=25), st.floats(0.001, 1000))
def test_the_verdict_does_not_depend_on_the_unit(values, scale):
    first, second = steady(values), steady([value * scale for value in values])
    assert first.excursion == pytest.approx(second.excursion)
    assert first.slope == pytest.approx(second.slope, abs=1e-9)


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=25))
def test_turning_time_around_turns_the_slope_around(values):
    assert steady(values).slope == pytest.approx(-steady(values[::-1]).slope, abs=1e-9)


def test_noise_passes_about_as_often_as_the_method_says():
    # method.md B1: stationary noise of CV 10 % passes one window with p = 0.30.
    generator = random.Random(1)
    trials = 4000
    passed = sum(steady([generator.gauss(1, 0.1) for _ in range(5)]).steady for _ in range(trials))
    assert passed / trials == pytest.approx(0.30, abs=0.04)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_rounds_have_no_slope(values):
    with pytest.raises(ValueError, match="two rounds"):
        steady(values)
