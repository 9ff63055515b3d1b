"""A thinned series shows its extremes and its stalls, and is never longer than asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from diskbench.report.assemble.downsample import LEAST_POINTS, kept, stalled

rates = arrays.arrays(
    np.float64, st.integers(1, 3000), elements=st.floats(0, 1e6, width=32), fill=st.floats(0, 1e6)
)


@st.composite
def stalling(draw):
    """A steady series with a few stalls of a few seconds."""
    size = draw(st.integers(1000, 20_000))
    values = np.full(size, 3000.0) + np.random.default_rng(draw(st.integers(0, 99))).normal(
        0, 30, size
    )
    for _ in range(draw(st.integers(1, 20))):
        start = draw(st.integers(0, size - 1))
        values[start : start + draw(st.integers(1, 40))] = draw(st.sampled_from([0.0, 3.0]))
    return values


@settings(deadline=None)
@given(rates, st.integers(1, 700))
def test_lowest_and_highest_survive_and_no_more_points_than_asked_come_out(values, n_out):
    places = kept(values, n_out)
    assert places.size <= max(n_out, LEAST_POINTS)
    assert (np.diff(places) > 0).all()
    assert values[places].min() == values.min()
    assert values[places].max() == values.max()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(stalling())
def test_every_stall_survives_with_its_first_and_last_second(values):
    places = set(kept(values, 400).tolist())
    edges = np.diff(np.concatenate(([0], stalled(values).astype(int), [0])))
    assert (edges == 1).any()
    for first, after in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        assert {first, after - 1} <= places
        assert {one for one in (first - 1, after) if 0 <= one < values.size} <= places


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(rates.filter(lambda values: values.size > 800), st.integers(100, 600))
def test_of_too_many_stalls_each_part_of_the_series_shows_one(values, n_out):
    values[::2] = 0.0
    places = kept(values, n_out)
    still = stalled(values)
    for part in np.array_split(np.arange(values.size), n_out // 4):
        if still[part].any():
            assert still[np.intersect1d(places, part)].any()


def test_a_short_series_is_left_as_it_is():
    assert kept(np.array([3.0, 1.0, 2.0]), 600).tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [10, 5000])
def test_seconds_of_which_nothing_is_known_are_left_out(size):
    values = np.arange(float(size))
    values[3:6] = np.nan
    places = kept(values)
    assert not {3, 4, 5} & set(places.tolist())
    assert places[-1] == size - 1


def test_a_series_of_nothing_but_stalls_is_drawn():
    assert kept(np.zeros(5000), 100).size <= 100
    assert kept(np.full(5000, np.nan), 100).size == 0


def test_a_day_is_thinned_to_what_a_screen_can_show():
    day = np.random.default_rng(4).normal(3000, 20, 86_400)
    day[40_000] = 0.0
    places = kept(day)
    assert places.size <= 600
    assert {39_999, 40_000, 40_001} <= set(places.tolist())


@settings(deadline=None, max_examples=30)
@given(st.sets(st.integers(1, 86_398), min_size=1, max_size=40), st.sampled_from([0.6, 1.5]))
def test_a_single_second_of_a_day_beyond_its_neighbours_is_drawn(seconds, factor):
    day = np.random.default_rng(5).normal(3000, 20, 86_400)
    day[sorted(seconds)] *= factor
    places = kept(day, 250)
    for second in seconds:  # of several within one part of the day, the one farthest out
        near = places[np.abs(places - second) <= 2 * 86_400 / 250]
        assert (np.abs(day[near] - 3000) >= abs(day[second] - 3000)).any()
