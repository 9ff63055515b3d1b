"""MR-8: every cell once a round, in a seeded random order; so nothing differs from itself."""

import pytest
from benchmarks.method_statistics import CELLS, REPLICATES, in_turn, order

from diskbench.plan.matrix import ordered


@pytest.fixture(scope="module")
def rates():
    return {name: (value, least, most) for name, value, least, most, _ in order(25)}


@pytest.mark.slow
def test_two_identical_systems_measured_in_turn_differ_no_more_often_than_chance(rates):
    value, _, most = rates["A/A in turn, two bands: called different"]
    assert value <= most


@pytest.mark.slow
def test_measured_one_after_the_other_they_would(rates):
    """Why the order matters: the same two systems, the same noise, another order."""
    apart, _, _ = rates["A/A one after the other, two bands: called different"]
    in_turn, _, _ = rates["A/A in turn, two bands: called different"]
    assert apart >= in_turn + 0.1


@pytest.mark.parametrize("seed", range(20))
def test_a_round_holds_each_once_and_ends_before_the_next_begins(seed):
    a, b = in_turn(seed)
    for number in range(REPLICATES):
        assert sorted((a[number], b[number])) == [2 * number, 2 * number + 1]


def test_the_order_is_that_of_its_seed():
    def keys(seed):
        return [one.key for one in ordered(CELLS, "random", seed)]

    assert keys(7) == keys(7)
    assert len({tuple(keys(seed)) for seed in range(20)}) == 20
