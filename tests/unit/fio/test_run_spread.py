"""Runs disagree by their variation, and not by their number."""

import random

import pytest

from diskbench.fio.audit import LEAST_VARIATION, least_variation


def flagged(variation, n, *, cases=300):
    """The share of series of `n` runs with a variation that are flagged."""
    drawn = random.Random(n)
    series = ([drawn.gauss(1000, 1000 * variation) for _ in range(n)] for _ in range(cases))
    return sum((least_variation(one) or 0) >= LEAST_VARIATION for one in series) / cases


@pytest.mark.parametrize("n", [3, 10, 50, 215])
def test_quiet_runs_are_not_flagged_however_many_there_are(n):
    assert flagged(0.02, n) <= 0.03


@pytest.mark.parametrize("n", [5, 10, 50])
def test_runs_that_vary_by_a_sixth_are_flagged(n):
    assert flagged(0.15, n) >= 0.95


def test_one_odd_run_of_many_is_no_disagreement():
    assert (least_variation([1000.0] * 29 + [100.0]) or 0.0) < LEAST_VARIATION


def test_a_fall_is_a_disagreement():
    assert (least_variation([3000.0] * 17 + [100.0] * 5) or 0.0) > 0.2
