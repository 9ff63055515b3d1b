"""A thinned series shows its extremes and its stalls, and is never longer than asked."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.unit.report.inside import expectation, series
from tests.unit.report.made import plan, step

from diskbench.model.expectation import CreditRange, PlanExpectation, StepExpectation
from diskbench.model.spec import Loop
from diskbench.report.assemble.course import courses, kept, stalled


def test_a_course_holds_every_second_but_the_last_unwhole_one():
    [found] = courses(series([3000] * 20 + [5]))
    assert found.seconds == 20
    assert found.tracks["read"]["iops"].tolist() == [3000.0] * 20
    [short] = courses(series([3000] * 5))
    assert short.seconds == 5


def test_rounds_lie_after_each_other_without_their_last_seconds():
    rounds = [series([k] * 12, index=k, of_round=k) for k in (1, 2, 3)]
    [found] = courses(pl.concat(rounds))
    assert found.rounds == (0, 11, 22)
    assert found.seconds == 11 + 11 + 12 - 1
    assert found.tracks["read"]["iops"][[0, 10, 11, 22]].tolist() == [1, 1, 2, 3]


def test_steps_that_are_not_wanted_and_directions_that_did_nothing_are_left_out():
    frame = pl.concat([series([1] * 9, step="fill", index=0), series([1] * 9, index=1)])
    [found] = courses(frame, is_selected=lambda name: name != "fill")
    assert found.step == "burst"
    assert courses(pl.DataFrame()) == ()
    read = series([100, 0, 100])
    write = series([0, 0, 0], latency=False).with_columns(direction=pl.lit("write"))
    [found] = courses(pl.concat([read, write]))
    assert set(found.tracks) == {"read"}
    assert np.isnan(found.tracks["read"]["p50_ns"][1]), "what is not known"
    assert found.total("iops").tolist() == [100, 0, 100]


def foreseen(gone_s=None, lasts_s=310.0):
    credits_ = CreditRange(
        bucket="disk-iops", gone_s=gone_s, earliest_s=gone_s and gone_s - 20,
        latest_s=gone_s and gone_s + 30, full_load_s=310, run=1, step="burst",
    )  # fmt: skip
    burst = StepExpectation(index=1, name="burst", start_s=8, seconds=900, load=0)
    known = (expectation(lasts_s=lasts_s),)
    return PlanExpectation(expectations=known, steps=(burst,), credits=(credits_,))


def planned(found):
    made = plan(steps=(step(0, "fill", role="fill"), step(1, "burst")))
    return made.model_copy(update={"expectation": found})


@pytest.mark.parametrize(
    ("known", "seconds", "predicted"),
    [
        ({"plan": planned(foreseen(gone_s=318.0))}, 900, (310, 290, 340)),
        # Without a simulated run the credit of the step alone tells the cliff.
        ({"plan": planned(foreseen(lasts_s=250.0))}, 900, (250, 250, 250)),
        # Of an imported run what was said of its disk is expected.
        ({"expectations": {1: expectation(lasts_s=250.0)}}, 900, (250, 250, 250)),
        # A cliff beyond the end of the step is not predicted in it.
        ({"plan": planned(foreseen(gone_s=318.0))}, 200, None),
        ({}, 200, None),
    ],
    ids=["simulated", "of the step", "imported", "beyond the end", "no plan"],
)
def test_the_predicted_cliff_is_on_the_clock_of_its_step(known, seconds, predicted):
    [found] = courses(series([3000] * seconds), **known)
    assert found.predicted == predicted
    assert (found.expected is not None) == bool(known)


@pytest.mark.parametrize(("index", "place"), [(0, 0), (1, 1), (2, 2), (3, 1), (4, 2), (9, 1)])
def test_a_step_of_a_later_round_has_its_place_in_the_plan(index, place):
    steps = tuple(step(k, name) for k, name in enumerate(("fill", "a", "b")))
    looped = plan(steps=steps, loop=Loop(first=1, tracked="a", direction="read"))
    assert looped.place_of(index) == place
    assert looped.expected_of(index) is None


rates = arrays.arrays(
    np.float64, st.integers(1, 3000), elements=st.floats(0, 1e6, width=32), fill=st.floats(0, 1e6)
)


@settings(deadline=None)
@given(rates, st.integers(16, 700))
def test_lowest_and_highest_survive_and_no_more_points_than_asked_come_out(values, n_out):
    places = kept(values, n_out)
    assert places.size <= n_out
    assert (np.diff(places) > 0).all()
    assert values[places].min() == values.min()
    assert values[places].max() == values.max()


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(rates.filter(lambda values: values.size > 800), st.integers(100, 600))
def test_of_many_stalls_each_part_of_the_series_shows_one(values, n_out):
    values[::2] = 0.0
    places = kept(values, n_out)
    still = stalled(values)
    for part in np.array_split(np.arange(values.size), n_out // 4):
        if still[part].any():
            assert still[np.intersect1d(places, part)].any()


@pytest.mark.parametrize("size", [10, 5000])
def test_seconds_of_which_nothing_is_known_are_left_out(size):
    values = np.arange(float(size))
    values[3:6] = np.nan
    places = kept(values)
    assert not {3, 4, 5} & set(places.tolist())
    assert places.size <= 600, "what a screen can show"
    assert places[-1] == size - 1


def test_a_series_of_nothing_but_stalls_is_drawn_and_a_short_one_left_as_it_is():
    assert kept(np.zeros(5000), 100).size <= 100
    assert kept(np.full(5000, np.nan), 100).size == 0
    assert kept(np.array([3.0, 1.0, 2.0]), 600).tolist() == [0, 1, 2]


@settings(deadline=None, max_examples=30)
@given(st.sets(st.integers(1, 86_398), min_size=1, max_size=40), st.sampled_from([0.6, 1.5]))
def test_a_single_second_of_a_day_beyond_its_neighbours_is_drawn(seconds, factor):
    day = np.random.default_rng(5).normal(3000, 20, 86_400)
    day[sorted(seconds)] *= factor
    places = kept(day, 250)
    assert places.size <= 250
    for second in seconds:  # of several within one part of the day, the one farthest out
        near = places[np.abs(places - second) <= 2 * 86_400 / 240]  # ends and extremes take points
        assert (np.abs(day[near] - 3000) >= abs(day[second] - 3000)).any()
