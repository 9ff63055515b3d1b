"""MR-15: a tenth less is found after three times; noise alone is no change."""

import random

import pytest
from benchmarks.method import histories, series

from diskbench.analysis.drift import drift


@pytest.fixture(scope="module")
def rates():
    return list(histories(30))


@pytest.mark.slow
def test_a_tenth_less_is_found_in_95_of_100_histories_after_three_times(rates):
    (found,) = [rate for rate in rates if rate.name.endswith("60, sd 2%: seen after 3")]
    assert found.value >= 0.95


def test_at_most_five_of_100_histories_of_noise_tell_a_change(rates):
    told = [rate for rate in rates if "of noise" in rate.name]
    assert len(told) == 3
    assert [rate.line() for rate in told if not rate.holds] == []


@pytest.mark.parametrize("after", [1, 2])
def test_before_the_third_time_nothing_is_told(after):
    assert sum(bool(drift(series(seed, 0.02, 60, after)).shifts) for seed in range(60)) <= 3


def test_shuffled_a_step_is_none_and_the_span_is_the_noise_of_mongodb():
    values = series(1, 0.02, 60, 30)
    assert len(drift(values).shifts) == 1
    random.Random(2).shuffle(values)
    assert drift(values).shifts == ()
    # (max − min) / median.
    assert drift([90, 100, 110, 100, 100, 100]).span == pytest.approx(0.2)
