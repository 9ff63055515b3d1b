import re
from bisect import bisect_right
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from diskbench.report.assemble import course
from diskbench.report.charts.figure import svg
from diskbench.report.charts.heat import bounds_of, overview_chart


def made(run_id, values, **more):
    values = np.asarray(values, dtype=np.float32)
    step = more.pop("step", "disk")
    return course.Band(run_id, step, "iops", values, float(np.median(values)), **more)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
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
