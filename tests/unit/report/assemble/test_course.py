"""A thinned series shows its extremes and stalls, never longer than asked; phases."""

import re
from bisect import bisect_right
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.rigs.searching import examples
from tests.rigs.synthetic import Noise, flat, settling, steps, with_stalls
from tests.unit.report.inside import expectation, series
from tests.unit.report.made import plan, step
from tsdownsample import MinMaxDownsampler

from diskbench.analysis.phases import step_phases
from diskbench.model.expectation import CreditRange, PlanExpectation, StepExpectation
from diskbench.model.spec import Loop
from diskbench.report.assemble import course
from diskbench.report.assemble.course import courses, kept, stalled
from diskbench.report.assemble.phases import MOST_LINES, cliff_words, clock, phase_lines
from diskbench.report.charts.figure import svg
from diskbench.report.charts.heat import bounds_of, overview_chart


def test_a_course_holds_every_second_but_the_last_unwhole_one_round_after_round():
    [found] = courses(series([3000] * 20 + [5]))
    assert found.seconds == 20
    assert found.tracks["read"]["iops"].tolist() == [3000.0] * 20
    [short] = courses(series([3000] * 5))
    assert short.seconds == 5
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
    span = {"earliest_s": gone_s and gone_s - 20, "latest_s": gone_s and gone_s + 30}
    where = {"bucket": "disk-iops", "full_load_s": 310, "run": 1, "step": "burst"}
    credits_ = CreditRange(gone_s=gone_s, **span, **where)
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
@settings(deadline=None, max_examples=examples(60))
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


@pytest.mark.parametrize("size", [601, 602, 1199, 5000, 86_400])
@pytest.mark.parametrize("levels", [2, 10_000])
def test_the_extremes_of_each_part_are_those_of_tsdownsample(size, levels):
    values = np.random.default_rng(size).integers(0, levels, size).astype(float)
    theirs = MinMaxDownsampler().downsample(values, n_out=598)
    assert set(kept(values).tolist()) == {0, *theirs.tolist(), size - 1}


@settings(deadline=None, max_examples=examples(30))
@given(st.sets(st.integers(1, 86_398), min_size=1, max_size=40), st.sampled_from([0.6, 1.5]))
def test_a_single_second_of_a_day_beyond_its_neighbours_is_drawn(seconds, factor):
    day = np.random.default_rng(5).normal(3000, 20, 86_400)
    day[sorted(seconds)] *= factor
    places = kept(day, 250)
    assert places.size <= 250
    for second in seconds:  # of several within one part of the day, the one farthest out
        near = places[np.abs(places - second) <= 2 * 86_400 / 240]  # ends and extremes take points
        assert (np.abs(day[near] - 3000) >= abs(day[second] - 3000)).any()


def made(run_id, values, **more):
    values = np.asarray(values, dtype=np.float32)
    step = more.pop("step", "disk")
    return course.Band(run_id, step, "iops", values, float(np.median(values)), **more)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        arrays.arrays(np.float32, st.integers(1, 900), elements=st.floats(0, 4096, width=32)),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_every_second_of_every_run_lies_in_one_span_of_its_own_heat(series):
    bands = [made(str(k), values) for k, values in enumerate(series)]
    bounds = bounds_of([float(v) for one in series for v in one if v > 0] or [1.0])
    width = course.stretch_s(bands)
    found = course.spans(bands, bounds)
    for row, one in enumerate(bands):
        mine = [(start, end, heat) for of, start, end, heat in found if of == row]
        assert mine[0][0] == 0
        assert mine[-1][1] == one.seconds
        assert all(a[1] == b[0] for a, b in pairwise(mine))
        for place, mean in enumerate(course.means(one, width).tolist()):
            heats = [heat for start, end, heat in mine if start <= place * width < end]
            assert heats == [bisect_right(bounds, mean)]


@pytest.mark.slow
def test_many_restless_runs_never_make_too_many_cells():
    generator = np.random.default_rng(1)
    bands = [made(str(k), generator.choice([10, 3000], 3600)) for k in range(500)]
    slow = [made(str(k), np.repeat(generator.choice([10, 3000], 100), 36)) for k in range(500)]
    for one in (bands, slow):
        assert len(course.spans(one, bounds_of([10, 3000]))) <= course.MOST_CELLS


def test_runs_that_keep_one_level_are_one_span_each():
    bands = [made(str(k), np.full(3600, 1000.0 + k)) for k in range(50)]
    assert len(course.spans(bands, bounds_of([1000, 1050]))) == 50
    assert course.stretch_s(bands) == 3600 / course.MOST_STRETCHES


def test_the_commonest_step_comes_first_and_single_ones_are_left_out():
    bands = [made("1", [1], step="a"), made("1", [1], step="b"), made("2", [1], step="b")]
    bands += [made("3", [1], step="c"), made("4", [1], step="c"), made("5", [1], step="c")]
    assert [group[0].step for group in course.by_step(bands)] == ["c", "b"]


def test_the_telling_runs_are_those_that_stand_out_each_once():
    bands = [made(f"flat{k}", [100.0 + k] * 9) for k in range(5)]
    bands += [
        made("early", [3000.0] * 9, fell_s=2),
        made("late", [200.0] * 9, fell_s=7),
        made("stuck", [101.5] * 9, stalls=((3, 2), (6, 1))),
    ]
    why = {"flat3": "the middle", "flat0": "the lowest", "early": "the highest",
           "late": "the last to fall", "stuck": "the longest stall"}  # fmt: skip
    assert course.telling(bands) == {name: f"{words} of 8 runs" for name, words in why.items()}
    assert course.telling([]) == {}


def test_values_that_hardly_differ_have_one_step_of_heat():
    assert [bounds_of(values) for values in ([], [0.0], [5.0, 5.0], [1.0, 1.05])] == [[]] * 4


def test_every_run_says_its_values_and_leads_to_its_row():
    bands = [
        made("r1", [3000.0] * 400 + [100.0] * 200, fell_s=400),
        made("r2", np.full(600, 1500.0), stalls=((30, 3),)),
        made("r3", np.full(500, 1500.0)),
    ]
    figure = overview_chart(bands, hrefs={one.run_id: f"#row-{one.run_id}" for one in bands})
    drawn = svg(figure)
    told = [word for word in re.findall(r'aria-label="([^"]*)"', drawn) if "·" in word]
    assert len(told) == 3
    assert told[0].startswith("run r1 · 1: disk · median second 3,000 IOPS · fell at 6:40")
    assert "stalled for 3 s" in told[1]
    assert {f"#row-r{k}" for k in (1, 2, 3)} <= set(re.findall(r'href="([^"]*)"', drawn))
    assert drawn.count("var(--accent)") == 1
    assert "n = 3 runs; no interval (n = 1 run each)" in figure.subtitle
    assert "1 fell off a cliff and 1 stalled" in figure.alt


@pytest.mark.slow
def test_five_hundred_runs_of_an_hour_are_one_small_drawing():
    generator = np.random.default_rng(2)
    hours = (generator.normal(1000 + 4 * k, 40, 3600).clip(0) for k in range(500))
    bands = [made(f"run{k:03}", hour) for k, hour in enumerate(hours)]
    drawn = svg(overview_chart(bands))
    assert len(drawn) < 1_500_000
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", drawn)


QUIET = Noise(sd=0.0)
FLAT = flat(1000, 600, QUIET, seed=1)


def of(values, step="read", run="r1", **more):
    found = step_phases(values, values * 4096)
    return found.model_copy(update={"step": step, "run_id": run, **more})


def cliff(step="read", run="r1"):
    return of(steps([(3000, 1862), (100, 600)], QUIET, seed=1), step, run)


def test_each_phase_has_a_line_with_its_level_and_time_and_a_ramp_whence_and_whither():
    assert phase_lines([cliff()]) == [
        "read: steady (baseline)",
        "  burst     0:00–31:02  3,000 IOPS  12.3 MB/s",
        "  baseline 31:02–41:02    100 IOPS  0.41 MB/s",
    ]
    [_, ramp, level] = phase_lines([of(settling(2500, 1000, 150, 1800, QUIET, seed=1))])
    assert " → " in ramp
    assert level.split()[0] == "level"


def test_stalls_are_counted_and_the_longest_are_told_in_order():
    stalls = [(10, 11), (60, 62), (100, 103), (200, 204)]
    *_, told = phase_lines([of(with_stalls(FLAT, stalls))])
    assert told == "  4 stalls, 10 s in all, the longest: 2 s at 1:00, 3 s at 1:40, 4 s at 3:20"
    assert phase_lines([of(with_stalls(FLAT, [(60, 62)]))])[-1] == "  1 stall: 2 s at 1:00"


def test_of_several_runs_only_what_happened_is_told_with_the_run_it_happened_in():
    assert phase_lines([of(FLAT[:100])]) == [], "a short step of one level"
    level = of(FLAT, run="r1")
    assert phase_lines([level, cliff(run="r2")])[0] == "read (run 2): steady (baseline)"
    assert phase_lines([of(FLAT, rounds=10)])[0] == "read: steady in 10 rounds"


@pytest.mark.slow
def test_many_steps_are_cut_short_and_the_rest_counted():
    lines = phase_lines([cliff(step=f"s{i}") for i in range(30)])
    assert len(lines) <= MOST_LINES + 1
    assert lines[-1] == "22 more steps with phases (all: --output json)"


def test_a_cliff_is_said_in_words_on_a_clock():
    told = "burst of 3,000 IOPS for 31:02 in read, then a baseline of 100 IOPS"
    assert cliff_words([cliff()]) == told
    assert cliff_words([of(FLAT)]) == ""
    assert cliff_words([of(steps([(100, 600), (3000, 600)], QUIET, seed=1))]) == ""
    # Hours are told only where there are some.
    assert [clock(0), clock(59.6), clock(3599), clock(3600)] == ["0:00", "1:00", "59:59", "1:00:00"]
