"""MR-8, MR-15: nothing differs from itself, a tenth less is found after three times."""

import math
import random

import pytest
from benchmarks.method import histories, order, series

from diskbench.analysis.compare import Pair, adjusted, compare, judge
from diskbench.analysis.drift import drift


@pytest.mark.slow
def test_in_turn_two_identical_systems_differ_no_more_often_than_chance_and_a_tenth_less_is_found():
    rates = {rate.name: rate for rate in order(25)}
    in_turn = rates["A/A in turn, two bands: called different"]
    assert in_turn.value <= in_turn.most
    # Why the order matters: the same two systems, the same noise, another order.
    apart = rates["A/A one after the other, two bands: called different"]
    assert apart.value >= in_turn.value + 0.1
    (found,) = [rate for name, rate in rates.items() if name.startswith("−10 %")]
    assert found.value >= found.least


@pytest.mark.slow
def test_of_a_matrix_of_identical_cells_hardly_any_is_called_different():
    """Forty comparisons of nothing with nothing: without the adjustment two would be by chance."""
    called = 0
    for matrix in range(10):
        draw = random.Random(matrix)

        def pair(i, draw=draw):
            a, b = (math.exp(draw.gauss(0, 0.1)) for _ in "ab")
            return Pair(a, b, f"a{i}", f"b{i}")

        found = [compare([pair(i) for i in range(10)]) for _ in range(40)]
        q = adjusted([one.p for one in found if one.p is not None])
        called += sum(judge(one, each) == "differs" for one, each in zip(found, q, strict=True))
    assert called <= 4  # of 400


@pytest.mark.parametrize(("effect", "finding"), [(0.949, "differs"), (0.951, "small")])
def test_five_percent_is_where_a_difference_counts(effect, finding):
    figures = [(100 + i, (100 + i) * effect * (1 + (i - 4.5) / 500)) for i in range(10)]
    one = compare([Pair(a, b, i, -i - 1) for i, (a, b) in enumerate(figures)])
    assert judge(one, one.p) == finding


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
