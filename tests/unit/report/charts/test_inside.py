"""Charts inside a run; and that each chart over runs draws whatever was measured."""

import re
from bisect import bisect_right
from dataclasses import replace
from functools import cache

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.drawn import checked, rows_in
from tests.rigs.searching import examples
from tests.rigs.synthetic import Noise, bucket, flat, with_stalls
from tests.unit.report.inside import counted, expectation, histogram, lognormal, row, series

from diskbench.analysis.phases import step_phases
from diskbench.report.assemble.course import courses
from diskbench.report.assemble.latencies import distributions, latency_map
from diskbench.report.assemble.loads import load_curves
from diskbench.report.charts.bars import bars_chart, multiples_chart
from diskbench.report.charts.course import course_chart, course_latency_chart
from diskbench.report.charts.figure import picture, svg
from diskbench.report.charts.heat import bounds_of, latency_map_chart, words_of
from diskbench.report.charts.loads import load_chart
from diskbench.report.charts.measure import run_axis, tick_words, ticks
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.runs_line import cliff, runs_chart
from diskbench.report.charts.spread import groups_of, spread_chart
from diskbench.report.charts.spread_lines import cdf_chart, percentile_chart

pytestmark = pytest.mark.slow


def course(values, **more):
    """A course with its phases found."""
    [found] = courses(series(values, **more.pop("series", {})))
    phases = step_phases(found.total("iops"), found.total("bytes_per_s"))
    return replace(found, phases=phases, **more)


def texts(drawn):
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawn)


def words(drawn):
    return re.findall(r'aria-label="([^"]*)"', drawn)


@cache
def burst():
    fell = bucket(900_000, 3000, 100, 900, Noise(sd=0.02), seed=1)
    return course(fell, expected=expectation(), predicted=(310, 300, 330))


def swept():
    rows = [row(f"qd{d}", iodepth=d, iops=min(d * 700, 3000)) for d in (1, 2, 4, 8, 16)]
    return load_curves(rows)[0]


def mixed():
    return course(flat(500, 300, Noise(), seed=1), series={"directions": ("read", "write")})


@cache
def spread():
    return distributions(histogram(lognormal(20_000)))


MAPPED = [(s, 2.0**k, 2.0 ** (k + 1), s + k) for s in range(300) for k in (18, 20)]
MAKERS = {
    "course": lambda: course_chart(burst()),
    "throughput": lambda: course_chart(burst(), rate="bytes_per_s"),
    "latency": lambda: course_latency_chart(burst()),
    "two directions": lambda: course_chart(mixed()),
    "percentiles": lambda: percentile_chart(spread()),
    "cdf": lambda: cdf_chart(spread()),
    "load": lambda: load_chart(swept()),
    "map": lambda: latency_map_chart(latency_map(counted(MAPPED))),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_chart_says_its_sample_and_takes_all_colours_from_the_palette(name):
    figure = MAKERS[name]()
    checked(figure)
    assert all((figure.title, figure.id, figure.alt.endswith(".")))
    assert re.search(r"\bn = [\d,–]+", figure.subtitle)
    assert "no interval (n = 1 run)" in figure.subtitle
    drawn = svg(figure)
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", drawn)) == set()
    assert [word for word in words(drawn) if " · " in word]
    assert len(drawn) < 100_000
    assert picture(figure, "png").startswith(b"\x89PNG")


def test_burst_baseline_cliff_and_prediction_are_marked_with_words():
    figure = course_chart(burst())
    drawn = svg(figure)
    for mark in (r"burst (3,0|2,9).*", "baseline .*", "predicted 5:10", r"cliff 5:\d\d"):
        assert any(re.fullmatch(mark, text) for text in texts(drawn)), mark
    assert {"burst 3,000", "baseline 100"} <= set(texts(drawn))
    assert "dashed level: promised" in figure.subtitle
    marks = [word for word in words(drawn) if "·" in word]
    assert len(marks) == 60
    assert marks[0].startswith("run 01run · burst · 0:00–0:15 · burst · read ")
    assert re.search(r" · baseline · read [19]", marks[-1])


def test_names_of_phases_and_levels_close_together_do_not_overlap():
    early = course(bucket(135_000, 3000, 100, 900, Noise(sd=0.02), seed=1))
    drawn = svg(course_chart(early))
    assert re.search(r'opacity="1">burst [23],', drawn)
    assert re.search(r'opacity="0">baseline ', drawn)
    near = course(flat(411, 300, Noise(), seed=1), expected=expectation(48.8, 7.61))
    drawn = svg(course_chart(near))
    [burst, baseline] = (
        float(re.search(rf'translate\([0-9.]+,([0-9.]+)\)"[^>]*>{name}<', drawn)[1])
        for name in ("burst 48.8", "baseline 7.61")
    )
    assert baseline - burst > 11


def test_a_picture_of_throughput_names_levels_in_its_own_unit():
    drawn = svg(course_chart(burst(), rate="bytes_per_s"))
    assert "burst 12.3" in drawn  # 3,000 blocks of 4 KiB
    assert any(re.fullmatch(r"baseline 0\.4\d*", text) for text in texts(drawn))
    assert "3,000" not in drawn


def test_reads_and_writes_have_their_sum_beside_them_that_promises_are_about():
    drawn = svg(course_chart(mixed()))
    assert {"read", "write", "total"} <= set(texts(drawn))
    told = next(word for word in words(drawn) if " · read " in word)
    assert re.search(r"read 2\d\d IOPS.* · write 2\d\d IOPS.* · total (4|5)\d\d IOPS", told)


def test_a_day_is_drawn_with_its_stall_and_few_points():
    day = with_stalls(flat(3000, 86_400, Noise(sd=0.02), seed=2), [(40_000, 40_002)])
    figure = course_chart(course(day))
    drawn = svg(figure)
    assert len(drawn) < 60_000
    assert "▲ stall (n = 1)" in figure.subtitle
    assert "thinned" in figure.subtitle
    assert "12:00 h" in texts(drawn)


def test_levels_far_apart_are_drawn_on_a_logarithmic_axis_if_nothing_else_is_asked_for():
    figure = course_chart(course(bucket(900_000, 3000, 10, 900, Noise(sd=0.02), seed=1)))
    assert figure.log is True
    assert figure.on() == figure.on(log=True) != figure.on(log=False)
    stalling = with_stalls(flat(3000, 300, Noise(), seed=1), [(50, 53), (100, 102)], left=0.001)
    assert course_chart(burst()).log is course_chart(course(stalling)).log is None


def test_the_subtitle_names_a_promise_far_above_and_counts_rounds_and_logs_may_lack_latency():
    slow = course(flat(100, 300, Noise(), seed=1), expected=expectation(9000, 9000))
    assert "promised rate: 9,000, above the picture" in course_chart(slow).subtitle
    frames = [series([1000] * 70, index=k, of_round=k) for k in range(1, 6)]
    [found] = courses(pl.concat(frames))
    assert "5 rounds after each other" in course_chart(found).subtitle
    [short] = courses(series([100.0] * 10, latency=False))
    assert "second" in texts(svg(course_chart(short))), "ten seconds have no phases"
    assert course_latency_chart(short) is None


def test_a_percentile_that_too_few_ios_back_is_not_marked():
    figure = percentile_chart(distributions(histogram(lognormal(1000))))
    told = [word for word in words(svg(figure)) if " · p" in word]
    assert len(told) == 3  # 50, 90 and 99
    assert "p99.9" not in figure.alt


@pytest.mark.parametrize(("steps", "lines", "said"), [(4, 4, ""), (9, 6, "6 of 9 lines")])
def test_lines_of_several_steps_have_names_and_shapes_and_of_many_some_are_seen(steps, lines, said):
    of_each = (histogram(lognormal(500, k), step=f"qd{k}", index=k) for k in range(1, steps + 1))
    figure = percentile_chart(distributions(pl.concat(of_each)))
    drawn = svg(figure)
    told = [text for text in texts(drawn) if text.startswith("qd")]
    assert (told[0], told[-1], len(told)) == ("qd1 read", f"qd{steps} read", lines)
    assert drawn.count("stroke-dasharray") >= 3
    assert said in figure.subtitle


def test_saturated_points_are_hollow_and_said():
    curve = swept()
    figure = load_chart(curve)
    assert "hollow: saturated" in figure.subtitle
    saturated = [word for word in words(svg(figure)) if "saturated" in word and "·" in word]
    assert len(saturated) == 2 * sum(point.saturated for point in curve.points)


@pytest.mark.parametrize("seconds", [2, 10, 60, 121, 420, 3600, 7300, 86_400, 400_000])
def test_time_axes_have_a_few_round_marks(seconds):
    marks = ticks(seconds)
    assert 2 <= len(marks) <= 7
    assert marks[0] == 0
    assert marks[-1] <= seconds
    assert len({tick_words(mark, seconds) for mark in marks}) == len(marks)


@pytest.mark.parametrize(
    ("runs", "marks"),
    [(1, [1]), (12, [*range(1, 13)]), (27, [1, 5, 10, 15, 20, 25]), (30, [1, *range(5, 31, 5)])],
)
def test_runs_are_counted_from_the_first_in_round_numbers(runs, marks):
    assert run_axis(runs)["values"] == marks


def test_heat_has_no_more_steps_than_colours_and_each_value_one_of_them():
    bounds = bounds_of([0.5, 3, 900, 20_000])
    assert len(words_of(bounds)) == len(bounds) + 1 <= 7
    assert [bisect_right(bounds, value) for value in (0.5, 20_000)] == [0, 6]
    assert words_of(bounds_of([5, 5])) == ["all"]
    assert bounds_of([]) == []


VALUES = st.one_of(st.just(0.0), st.floats(1e-2, 1e12))
RATES = st.floats(1e-2, 1e12)
VISIBLE = st.characters(exclude_categories=("Cs", "Cc"))
HOSTILE = ["</svg><script>", "a'];b", "\\", "{{x}}", "datum.value", "💾 disk"]
NAMES = st.text(VISIBLE, min_size=1, max_size=40) | st.sampled_from(HOSTILE)
FEW = settings(
    max_examples=examples(16),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@st.composite
def points(draw, metric=None, rates=VALUES, **fixed):
    def one_of(*values):
        return draw(st.sampled_from(values))

    value, source = draw(rates), one_of("published", "measured")
    spread = draw(st.none() | st.floats(0, 1))
    return ChartPoint(
        label=draw(NAMES), metric=metric or one_of("iops", "bytes_per_s", "p99_ns"), value=value,
        source=source, direction=one_of("read", "write", "total"),
        provider=one_of("aws", "azure", "gcp", "vsphere", "ssh", "local", "mine"),
        region=draw(NAMES), low=None if spread is None else value * (1 - spread),
        high=None if spread is None else value * (1 + spread),
        n=draw(st.none() | st.integers(1, 99)),
        run_ids=(draw(NAMES),) if source == "measured" else (), doubt=one_of("", "cache"),
        marks=one_of((), ("emulated",)), machine=one_of("", "one"),
        when=one_of("", "2026-03-01T10:00:00+00:00", "2018-03-16", "yesterday"), **fixed,
    )  # fmt: skip


def of_one_metric(rates=VALUES, metrics=("iops", "bytes_per_s", "p99_ns"), max_size=12):
    return st.sampled_from(metrics).flatmap(
        lambda metric: st.lists(points(metric, rates), min_size=1, max_size=max_size)
    )


def holds(figure, values):
    """It draws on both axes, tells what it must, and every value stands in its rows."""
    assert figure.title
    assert re.search(r"\bn (=|not stated)", figure.subtitle), figure.subtitle
    assert "interval" in figure.subtitle
    assert re.search(r"IOPS|MB/s|time of one operation", figure.subtitle)
    assert figure.alt.endswith(".")
    svg = picture(figure, "svg").decode()
    assert svg.count("<path") + svg.count("<line") > 1
    assert "NaN" not in svg
    assert "<script" not in svg
    for log in (False, True):
        cells = [value for row in rows_in(figure, log=log) for value in row.values()]
        assert set(values) <= {one for one in cells if isinstance(one, float | int)}


@FEW
@given(of_one_metric(), st.lists(points(), min_size=1, max_size=6))
def test_bars_and_multiples(bars, multiples):
    for chart, found in ((bars_chart, bars), (multiples_chart, multiples)):
        holds(chart(found, name="c", heading="Any"), [one.value for one in found])


@FEW
@given(of_one_metric(max_size=40), st.sampled_from(["region", "hour", "label"]))
def test_spread(found, by):
    groups = groups_of(found, by)
    if not groups:
        return
    figure = spread_chart(groups, name="c", heading="Any")
    holds(figure, [one.value for of in groups.values() for one in of])


@FEW
@given(of_one_metric(RATES, ("iops", "bytes_per_s")), RATES, st.none() | RATES, st.booleans())
def test_promised(found, promise, burst, on_credit):
    of_each = {"promised": (promise, promise / 2, promise * 2), "burst": burst}
    held = [replace(one, on_credit=on_credit, **of_each) for one in found]
    figure = promised_chart(held, name="c", heading="Any")
    holds(figure, [promise, *(one.value for one in found)])


@FEW
@given(of_one_metric(metrics=("iops", "bytes_per_s")), st.floats(0.01, 1e5))
def test_price(found, usd):
    priced = [replace(one, usd=usd * (n + 1)) for n, one in enumerate(found)]
    figure = price_chart(priced, name="c", heading="Any", prices_of="2026")
    holds(figure, [*(one.usd for one in priced), *(one.value for one in found)])


@FEW
@given(
    st.lists(VALUES, min_size=1, max_size=50),
    st.sampled_from(["published", "measured"]),
    st.lists(st.integers(1, 60), max_size=3),
)
def test_runs(values, source, cliffs):
    numbers = tuple(range(1, len(values) + 1))
    ids = tuple(f"r{n}" for n in numbers) if source == "measured" else ()
    of = {"values": tuple(values), "numbers": numbers, "run_ids": ids}
    line = ChartPoint("any", "iops", values[0], source, **of)
    marks = [cliff(run, "predicted", "credit is gone") for run in cliffs]
    figure = runs_chart([line], name="c", heading="Any", cliffs=marks)
    holds(figure, values)
