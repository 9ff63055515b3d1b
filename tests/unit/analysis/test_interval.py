"""The order-statistic interval: exact ranks, and its coverage by simulation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diskbench.analysis.interval import median_interval


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    [
        (6, 1, 0.969),
        (9, 2, 0.961),
        (10, 2, 0.979),
        (12, 3, 0.961),
        (15, 4, 0.965),
        (20, 6, 0.959),
    ],
)
def test_the_ranks_are_those_of_the_printed_table(n, rank, coverage):
    found = median_interval(range(1, n + 1))
    assert (found.low, found.high) == (rank, n + 1 - rank)
    assert found.coverage == pytest.approx(coverage, abs=0.0006)
    assert found.n == n


@pytest.mark.parametrize("n", range(6))
def test_fewer_than_six_replicates_have_no_interval(n):
    assert median_interval([1.0] * n) is None


def test_five_replicates_have_one_at_ninety_percent():
    assert median_interval([5, 1, 4, 2, 3], confidence=0.90).coverage == pytest.approx(0.9375)


@given(st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=60))
def test_the_median_lies_within_and_order_does_not_matter(values):
    found = median_interval(values)
    assert found.low <= found.median <= found.high
    assert found.coverage >= 0.95
    assert median_interval(sorted(values)) == found


def test_it_covers_the_true_median_of_a_skewed_distribution():
    generator = random.Random(2)
    trials = 3000
    covered = 0
    for _ in range(trials):
        found = median_interval([generator.lognormvariate(0, 1) for _ in range(10)])
        covered += found.low <= 1.0 <= found.high
    assert covered / trials >= 0.965  # exact: 0.979
