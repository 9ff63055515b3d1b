"""MR-4: cliffs are found where they are, and nowhere else; what stalls is told apart from them.

The rates are those that benchmarks/method.py prints, held to their bounds; each case has its own
seed."""

import pytest
from benchmarks.method import alarms, cliffs, phases, stalled
from tests.rigs.synthetic import Noise, steps


@pytest.mark.parametrize(("after", "count"), [(700, 1), (900, 0)])
def test_a_fall_of_a_fifth_is_a_cliff_and_less_is_none(after, count):
    assert len(phases(steps([(1000, 600), (after, 600)], Noise(0.02), seed=2)).cliffs) == count


@pytest.mark.parametrize(("first", "count"), [(70, 1), (15, 0)])
def test_both_sides_last_a_minute_or_nearly(first, count):
    assert len(phases(steps([(3000, first), (100, 600)], Noise(0.02), seed=3)).cliffs) == count


CASES = (20, 50)
"""Of a kind; all of the fewer ones are among the more. `script/test --all` alone has the more."""


def out_of_bounds(rates):
    return [rate.line() for rate in rates if not rate.holds]


@pytest.mark.slow
@pytest.mark.parametrize("cases", CASES)
def test_cliffs_of_random_cases_of_each_kind_are_found(cases):
    assert out_of_bounds(cliffs(cases)) == []


@pytest.mark.slow
@pytest.mark.parametrize("cases", CASES)
def test_noisy_series_of_each_kind_raise_no_false_alarm(cases):
    assert out_of_bounds(alarms(cases)) == []


@pytest.mark.slow
@pytest.mark.parametrize("cases", CASES)
def test_stalls_in_series_are_found_to_the_second(cases):
    assert out_of_bounds(stalled(cases)) == []
