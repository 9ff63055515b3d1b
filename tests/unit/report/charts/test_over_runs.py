"""Charts over runs and published figures: points, bars, prices, promises, spreads and courses."""

import re
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from tests.rigs.drawn import marks_in, rows_in

from diskbench.report.charts.bars import WIDTH, bars_chart, multiples_chart
from diskbench.report.charts.figure import picture
from diskbench.report.charts.measure import wants_log
from diskbench.report.charts.point import ChartPoint, machine_values, sample_words, subtitle
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import beside_promise, promised_chart, ratio
from diskbench.report.charts.runs_line import cliff, runs_chart
from diskbench.report.charts.spread import groups_of, spread_chart


def point(label="gp2", value=3000.0, **changes) -> ChartPoint:
    values = {"source": "published", "provider": "aws", "n": 10, "words": f"published: {label}"}
    return ChartPoint(label, **{"metric": "iops", "value": value} | values | changes)


def own(label="gp2", value=2500.0, run="01aaa", **changes) -> ChartPoint:
    values = {"source": "measured", "run_ids": (run,), "n": 3, "words": "", "machine": run}
    return point(label, value, **values | changes)


TEN, NONE = "mean of n = 10 runs", "no interval (n = 1 machine)"
SIX = "bracket: 95 % interval of the median over n = 6 machines"


def test_a_mark_says_run_place_values_n_and_doubt():
    place, span = {"region": "us-east-1", "instance": "c5.large"}, {"low": 2400.0, "high": 2600.0}
    assert own(**place, **span, marks=("emulated",), doubt="on credit").description == (
        "run 01aaa · gp2 · AWS us-east-1 c5.large · 2,500 IOPS · 2,400 IOPS to 2,600 IOPS · "
        "mean of n = 3 runs · emulated · doubted: on credit"
    )
    ids = tuple(f"r{n:02d}" for n in range(40))
    assert own(run_ids=ids).description.startswith("run r00 to r39 (40 runs) · gp2")


def test_six_machines_make_an_interval_and_five_or_runs_of_one_machine_do_not():
    points = [own(value=float(v), run=f"r{v}") for v in range(1, 7)]
    assert machine_values(points) == [1, 2, 3, 4, 5, 6]
    assert SIX in sample_words([replace(one, key="gp2") for one in points])
    assert "no interval" in sample_words([replace(one, key="gp2") for one in points[:5]])
    of_one = [own(value=float(v), run=f"r{v}", machine="same") for v in range(1, 20)]
    assert machine_values(of_one) == [10]


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([point(), point("io1")], f"published: {TEN}, no interval (n = 1 machine each)"),
        ([own()], f"mean of n = 3 runs, {NONE}"),
        ([own(n=1)], f"n = 1 run, {NONE}"),
        ([point(n=None, statistic="stated")], f"published: stated, n not stated, {NONE}"),
        ([point(), *(own(run=f"r{i}", value=float(i)) for i in range(6))],
         f"published: {TEN}, {NONE}; yours: mean of n = 3 runs, {SIX}"),
    ],
)  # fmt: skip
def test_a_chart_says_n_and_its_interval_or_that_there_is_none(points, words):
    assert sample_words(points) == words


def test_what_is_doubted_or_emulated_is_said_above_the_chart():
    words = subtitle([point(doubt="burst"), own(marks=("emulated",))], "IOPS")
    assert words.endswith("; hollow: doubted; yours: emulated")


bars = partial(bars_chart, name="c", heading="IOPS")


def scale(figure, axis, *, log=None):
    return figure.on(log=log)["layer"][0]["encoding"][axis]["scale"]


EIGHT = [point(f"disk {n}", float(n)) for n in range(1, 9)]
TWO = [point("a", 10.0), point("b", 50.0)]


@pytest.mark.parametrize(
    ("points", "ranked", "rows"),
    [(TWO, True, "ba"), (TWO, False, "ab"), ([*TWO, own("a", 20.0)], True, "baa")],
)
def test_the_fastest_is_on_top_and_own_runs_lie_beneath_what_was_published(points, ranked, rows):
    found = scale(bars(points, ranked=ranked), "y")["domain"]
    assert [name.strip("\u200b") for name in found] == list(rows)


@pytest.mark.parametrize(
    ("points", "suits", "asked"),
    [
        ([*EIGHT, point("two decades", 101.0)], "log", "log"),
        ([*EIGHT, point("dwarfs", 50.0)], "log", "log"),
        (EIGHT, "linear", "log"),
        ([point("none", 0.0), point("b", 50_000.0)], "linear", "linear"),
    ],
    ids=["two decades", "dwarfs", "alike", "nothing done"],
)
def test_a_logarithmic_axis_suits_two_decades_and_outliers_and_may_be_asked(points, suits, asked):
    figure = bars(points)
    kinds = {log: scale(figure, "x", log=log)["type"] for log in (None, False, True)}
    assert kinds == {None: suits, False: "linear", True: asked}


def test_more_than_two_decades_call_for_a_logarithmic_axis():
    assert wants_log([99, 10_000])
    assert not any(map(wants_log, ([100, 10_000], [0, 0.0], [], [0, 50, 5000])))


@pytest.mark.slow
def test_bars_of_one_disk_begin_at_zero_and_lie_over_each_other():
    of_one = [own("a", 100.0, run=f"r{n}") for n in range(3)]
    svg = picture(bars([*of_one, own("b", 300.0, run="z")]), "svg").decode()
    found = re.findall(r'<path aria-label="run (\w+) [^>]* d="M0,[\d.]+h([\d.]+)', svg)
    third = WIDTH / 3
    lengths = {run: float(length) for run, length in found}
    assert lengths == pytest.approx({"z": WIDTH, "r0": third, "r1": third, "r2": third})


def test_a_doubted_figure_is_hollow_whatever_its_colour():
    spec = bars([point("a", 10.0, doubt="cache"), point("b", 5.0)]).on()
    found = [layer for layer in spec["layer"] if layer["mark"]["type"] == "bar"]
    filled = [(bar["data"]["values"][0]["label"], bar["mark"].get("filled", True)) for bar in found]
    assert dict(filled) == {"a": False, "b": True}


@pytest.mark.slow
@pytest.mark.parametrize("log", [False, True])
def test_every_mark_carries_its_run_and_leads_to_its_row(log):
    points = [*EIGHT, point("nvme", 500.0), own("disk 1", 2.0, run="01mine", href="#row-9")]
    figure = bars(points)
    assert figure.alt == "IOPS: 9 disks, from disk 1 with 1.00 IOPS to nvme with 500 IOPS."
    svg = picture(figure, "svg", log=log).decode()
    assert {one.description for one in points} <= set(marks_in(svg))
    assert 'xlink:href="#row-9"' in svg
    assert ">yours</text>" in svg
    assert "<title>run 01mine" in svg, "any viewer shows it at the pointer"


@pytest.mark.slow
def test_a_long_name_has_lines_that_leave_room_for_what_it_names():
    named = [point("AWS gp2", 10.0), point("eu-central-1 m7i.2xlarge io2 200 GiB", 5.0)]
    svg = picture(bars(named), "svg").decode()
    lines = re.findall(r"<tspan[^>]*>([^<]+)</tspan>", svg)
    assert lines == ["eu-central-1 m7i.2xlarge io2", "200 GiB"]


def test_panels_side_by_side_have_the_same_rows_and_say_what_is_missing():
    read = point("a", 5e6, metric="bytes_per_s", direction="read")
    points = [point("a", 10.0), point("b", 20.0), read]
    figure = multiples_chart(points, name="m", heading="Two disks")
    assert figure.subtitle.startswith("IOPS · read MB/s; ")
    panels = figure.on()["hconcat"]
    assert [one["title"]["text"] for one in panels] == ["IOPS", "read MB/s"]
    rows = {tuple(p["layer"][0]["encoding"]["y"]["scale"]["domain"]) for p in panels}
    assert rows == {("a", "b")}
    assert "not stated" in {row.get("text") for row in rows_in(figure)}


@pytest.mark.parametrize("published", [(), (point(),)])
def test_the_interval_that_the_subtitle_tells_is_drawn(published):
    six = [own(value=2500.0 + n, run=f"r{n}", key=f"trial {n}") for n in range(6)]
    figure = bars([*published, *six])
    assert "bracket: 95 % interval of the median over n = 6 machines" in figure.subtitle
    told = {row.get("description", "") for row in rows_in(figure)}
    found = [words for words in told if "interval" in words]
    assert found == ["gp2: 95 % interval of the median 2,500 IOPS to 2,505 IOPS"]


GP2 = {"promised": (100.0, 100.0, 100.0), "burst": 3000.0, "promised_by": "AWS, 2023-05-11"}
ON_CREDIT = GP2 | {"on_credit": True}


def promises(*points):
    return promised_chart(points, name="p", heading="IOPS")


@pytest.mark.parametrize(
    ("value", "promise", "words"),
    [
        (3634.0, ON_CREDIT, "3,634 of 3,000 burst (1.21×)"),
        (98.0, GP2, "98.0 of 100 (0.98×)"),
        (1106.0, {"promised": (1100.0,) * 3}, "1,106 of 1,100 (1.01×)"),
    ],
    ids=["on credit", "what lasts", "the post"],
)
def test_a_figure_on_credit_is_held_against_the_burst_others_to_what_lasts(value, promise, words):
    one = point("a disk", value, **promise)
    assert beside_promise(one) == words
    kept = int(ratio(one) >= 0.95)
    told = f"IOPS: {kept} of 1 give at least 95 % of the promise: a disk {words}."
    assert promises(one).alt == told


def test_marks_tell_the_promise_its_source_and_the_ratio():
    ours = own(value=2000.0, run="01mine", **ON_CREDIT)
    marks = marks_in(picture(promises(ours), "svg").decode())
    (told,) = [words for words in marks if words.startswith("run 01mine")]
    assert "promised 100 IOPS, burst 3,000 IOPS by AWS, 2023-05-11" in told
    assert told.endswith("2,000 of 3,000 burst (0.67×)")


def test_numbers_drawn_are_those_given():
    rows = rows_in(promises(point(value=210.0, promised=(213.0, 190.0, 384.0))))
    row = next(one for one in rows if one.get("promise") == 213)
    assert (row["value"], row["promise_low"], row["promise_high"]) == (210, 190, 384)


def test_several_machines_in_one_row_are_told_by_their_median_and_interval():
    rows = rows_in(promises(*(own(value=90.0 + n, run=f"r{n}", **GP2) for n in range(7))))
    assert [one["text"] for one in rows if "text" in one] == ["93.0 of 100 (0.93×), n = 7"]
    (interval,) = [one for one in rows if "95 % interval" in one.get("description", "")]
    assert (interval["row"], interval["low"], interval["high"]) == ("gp2", 90.0, 96.0)


def sampled(values, **changes):
    return [own(value=float(v), run=f"r{n}", **changes) for n, v in enumerate(values)]


def spread(groups, **more):
    return spread_chart(groups, name="s", heading="IOPS by region", **more)


@pytest.mark.parametrize(("n", "drawn"), [(4, set()), (5, {"bar"}), (30, {"bar"})])
def test_few_values_are_dots_and_more_get_a_box_besides(n, drawn):
    figure = spread({"us": sampled(range(n))})
    marks = {one["mark"]["type"] for one in figure.on(log=False)["layer"]}
    assert marks & {"bar", "line"} == drawn
    assert sum("source" in row for row in rows_in(figure)) == n


def test_a_box_is_made_of_quartiles_and_reaches_the_extremes():
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    box = next(row for row in rows_in(spread({"us": sampled(values)})) if "q1" in row)
    assert (box["q1"], box["median"], box["q3"]) == tuple(np.quantile(values, (0.25, 0.5, 0.75)))
    assert (box["low"], box["high"]) == (1.0, 64.0)


def test_an_interval_is_drawn_from_six_machines_on_and_said_to_be_missing_before():
    six, five = {"us": sampled(range(6))}, {"eu": sampled(range(5))}
    assert "no interval (n = 5 machines)" in spread(five).subtitle
    told = spread(six | five).subtitle
    assert "n = 5–6 machines, bracket: 95 % interval of the median" in told
    assert "no interval of fewer than 6" in told
    marked = [row.get("description", "") for row in rows_in(spread(six))]
    assert any(words.startswith("us (n = 6): 95 % interval") for words in marked)
    samples = {"gp2": sampled(range(30), machine="one")}
    assert "n = 30 samples, no interval" in spread(samples, samples=True).subtitle


def test_points_are_grouped_by_region_and_by_the_hour_in_utc():
    found = [
        *sampled([1], region="us-east-1", when="2026-03-01T23:30:00-02:00"),
        *sampled([2], region="eu-west-1", when="2026-03-01T01:10:00+00:00"),
        *sampled([3], region="eu-west-1", when=""),
    ]
    regions, hours = groups_of(found, "region"), groups_of(found, "hour")
    counts = [{name: len(of) for name, of in groups.items()} for groups in (regions, hours)]
    assert counts == [{"aws eu-west-1": 2, "aws us-east-1": 1}, {"01:00 UTC": 2}]
    assert list(regions) == sorted(regions)


def prices(priced, **more):
    return price_chart(priced, name="p", heading="Prices", prices_of="2026", **more)


def test_marks_tell_price_and_what_it_buys_and_latency_has_none():
    figure = prices([point("gp2", 2000.0, usd=2.0), own("io1", 1000.0, usd=67.5)])
    marks = marks_in(picture(figure, "svg").decode())
    assert any("gp2" in words and "$2.00 a month, $1.00 for 1,000 IOPS" in words for words in marks)
    assert any(words.startswith("run 01aaa") and "$67.50 a month" in words for words in marks)
    assert "gp2 costs least for 1,000 IOPS, $1.00 a month" in figure.alt
    rate = prices([point(metric="bytes_per_s", value=94e6, usd=67.5)])
    assert "costs least for 100 MB/s, $71.81 a month" in rate.alt
    with pytest.raises(ValueError, match="nothing is sold"):
        prices([point(metric="p99_ns", value=1e6, usd=2.0)])


def boxes(drawn):
    """Label → its left, top, right and bottom edge, of the labels that are to be seen."""
    label = re.compile(r'<text text-anchor="(\w+)" transform="translate\(([^,]+),([^)]+)\)"([^>]*)>'
                       r"(disk \d+)</text>")  # fmt: skip
    found = {}
    for anchor, x, y, style, text in label.findall(drawn):
        if 'opacity="0"' not in style:
            width = 5.0 * len(text)
            left = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
            found[text] = (left, float(y) - 9, left + width, float(y))
    return found


@pytest.mark.parametrize("apart", [0.001, 0.01, 0.1, 1.0])
def test_no_label_lies_over_another_and_those_without_room_are_left_out(apart):
    rates = [1000.0 * (1 + apart * (n % 5)) for n in range(20)]
    priced = [point(f"disk {n}", rate, usd=10 + apart * n) for n, rate in enumerate(rates)]
    found = boxes(picture(prices(priced), "svg", log=False).decode())
    assert 1 <= len(found) <= 20
    for a, b in combinations(found.values(), 2):
        assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def test_every_disk_with_room_has_its_label_and_two_trials_of_one_disk_share_it():
    priced = [point(f"disk {n % 3}", 1000.0 * n, usd=10.0 * n) for n in range(1, 7)]
    found = boxes(picture(prices(priced), "svg").decode())
    assert set(found) == {"disk 0", "disk 1", "disk 2"}


def test_no_name_lies_over_the_line_of_what_is_asked_for():
    priced = [point(f"disk {n}", 1000.0 * (1 + n % 2), usd=10.0 * n) for n in range(1, 7)]
    drawn = picture(prices(priced, asked=1000.0), "svg", log=False).decode()
    (place,) = re.findall(r'<line transform="translate\([\d.]+,([\d.]+)\)"[^>]*#b3261e', drawn)
    found = boxes(drawn).values()
    assert found
    assert not [one for one in found if one[1] < float(place) < one[3]]


def test_own_disks_are_told_apart_only_from_published_ones():
    mine = own("mine", 1000.0, usd=67.5)
    for points, words in (([mine], "mine"), ([point(usd=2.0), mine], "mine (yours)")):
        assert words in {row.get("text") for row in rows_in(prices(points))}


def line(*values, source="measured", **changes):
    numbers = tuple(range(1, len(values) + 1))
    return ChartPoint("gp2", "iops", values[0], source, values=values, numbers=numbers, **changes)


OURS = line(3000.0, 2990.0, 100.0, run_ids=("r1", "r2", "r3"))


def course(lines, **more):
    return runs_chart(lines, name="runs", heading="gp2", **more)


def test_predicted_published_and_found_cliffs_are_told_apart_in_words():
    cliffs = [
        cliff(2, "predicted"), cliff(3, "measured"), cliff(4, "published"),
        cliff(9, "predicted", of="yours"),
    ]  # fmt: skip
    figure = course([OURS], cliffs=cliffs)
    labels = {row["text"] for row in rows_in(figure) if "text" in row}
    told = {"predicted: run 2", "found: run 3", "the post: run 4", "predicted: run 9 (yours)"}
    assert labels == told
    assert "found: run 3" in figure.alt


def test_what_a_post_states_of_a_stretch_is_a_level_and_no_series_of_points():
    spec = course([line(*[300.0] * 4, *[80.0] * 6, source="published")]).on()
    (line_,) = [one for one in spec["vconcat"][0]["layer"] if one["mark"]["type"] == "line"]
    ends = [(row["line"], row["run"]) for row in line_["data"]["values"]]
    assert ends == [("0.0", 0.6), ("0.0", 4.4), ("0.1", 4.6), ("0.1", 10.4)]


def test_it_says_n_and_a_fall_of_more_than_two_decades_is_drawn_logarithmic_first():
    words = course([OURS]).subtitle
    assert "n = 3 runs of one machine" in words
    assert "no interval (n = 1 machine)" in words
    assert course([line(9000.0, 50.0)]).log
    assert not course([OURS]).log
