"""Statistics of several replicates, and the order-statistic interval: exact ranks, and its coverage
by simulation."""

from collections import Counter
from itertools import product
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diskbench.analysis import repeats

FIGURES = st.lists(st.floats(1, 1e6), min_size=1, max_size=25)


def samples(values, machines=None):
    machines = machines or range(len(values))
    pairs = zip(values, machines, strict=True)
    return [repeats.Sample(f"t{i}", v, m) for i, (v, m) in enumerate(pairs)]


def test_six_machines_have_an_interval_and_trials_that_shared_one_are_one_sample():
    assert repeats.replicated(samples([1, 2, 3, 4, 5])).interval is None
    found = repeats.replicated(samples([1, 2, 3, 4, 5, 6]))
    assert (found.interval.low, found.interval.high) == (1, 6)
    found = repeats.replicated(samples([100, 200, 300, 50, 60, 70], ["m", "m", "m", "a", "b", "c"]))
    assert (found.trials, found.machines) == (6, 4)
    assert found.median == 65  # of 200, 50, 60 and 70
    assert found.interval is None


def test_an_outlier_is_named_and_counts_and_of_few_or_near_figures_there_is_none():
    found = repeats.replicated(samples([1000, 1001, 999, 1002, 998, 1000, 500]))
    assert (found.outliers, found.low, found.machines) == (("t6",), 500, 7)
    assert repeats.outliers(samples([1000] * 9 + [1030])) == ()
    assert repeats.outliers(samples([1000] * 9 + [1100])) == ("t9",)
    assert repeats.outliers(samples([1000, 1000, 1000, 1000, 1])) == ()


def test_variation_and_disagreement_are_told_where_there_are_figures():
    assert repeats.replicated(samples([90, 100, 110])).variation == pytest.approx(0.1)
    assert repeats.replicated(samples([90])).variation is None
    assert repeats.disagreement([3000, 3000, 100]) == pytest.approx(2900 / 3000)
    with pytest.raises(ValueError, match="no replicate"):
        repeats.replicated([])


def test_expected_bounds_are_the_means_over_all_samples():
    values, size = [1.0, 4.0, 9.0], 6
    drawn = [sorted(one) for one in product(values, repeat=size)]
    rank = repeats.rank_of(size)
    low = sum(one[rank - 1] for one in drawn) / len(drawn)
    high = sum(one[size - rank] for one in drawn) / len(drawn)
    assert repeats.expected_bounds(values, size) == pytest.approx((low, high))


def test_a_narrow_interval_needs_no_more_but_ten_and_some_noise_no_count_overcomes():
    assert repeats.more_needed([1000 + i for i in range(repeats.FIRST)]) == 0
    assert repeats.more_needed([1000, 1001, 1002, 1003, 1004, 1005]) == 4
    assert repeats.more_needed([1000, 3000]) == 8
    assert repeats.more_needed([1] * 5 + [1000] * 5) is None


@pytest.mark.parametrize(("cov", "least", "most"), [(0.02, 0, 0), (0.05, 0, 12), (0.15, 30, 200)])
def test_more_replicates_are_asked_for_where_there_is_more_noise(cov, least, most):
    """Of means, method.md B2 has 6, 12 and 90 for 5 %; medians need half as many more."""
    rng = np.random.default_rng(7)
    found = [repeats.more_needed(list(1000 * np.exp(cov * rng.normal(size=10)))) for _ in range(11)]
    assert least <= sorted(one if one is not None else 400 for one in found)[5] <= most


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(FIGURES)
def test_what_is_said_lies_within_what_was_measured(values):
    found = repeats.replicated(samples(values))
    assert found.low <= found.median <= found.high
    assert Counter(found.outliers) <= Counter(f"t{i}" for i in range(len(values)))
    if found.interval:
        assert found.low <= found.interval.low <= found.interval.high <= found.high
        assert found.interval == repeats.median_interval(values)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.floats(1, 1e6), min_size=6, max_size=20), st.integers(6, 60))
def test_expected_bounds_stay_within_the_figures_and_in_order(values, size):
    low, high = repeats.expected_bounds(values, size)
    assert min(values) * (1 - 1e-9) <= low <= high * (1 + 1e-9)
    assert high <= max(values) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    [(6, 1, 0.969), (9, 2, 0.961), (10, 2, 0.979), (12, 3, 0.961), (15, 4, 0.965), (20, 6, 0.959)],
)
def test_the_ranks_are_those_of_the_printed_table(n, rank, coverage):
    found = repeats.median_interval(range(1, n + 1))
    assert (found.low, found.high) == (rank, n + 1 - rank)
    assert found.coverage == pytest.approx(coverage, abs=0.0006)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=60))
def test_the_median_lies_within_and_order_does_not_matter(values):
    found = repeats.median_interval(values)
    assert found.low <= median(values) <= found.high
    assert found.coverage >= 0.95
    assert repeats.median_interval(sorted(values)) == found
