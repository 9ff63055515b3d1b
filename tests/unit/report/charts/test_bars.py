import re
from functools import partial

import pytest
from tests.rigs.drawn import marks_in, rows_in
from tests.unit.report.charts.points import own, point

from diskbench.report.charts.bars import WIDTH, bars_chart, multiples_chart
from diskbench.report.charts.figure import picture
from diskbench.report.charts.measure import wants_log

chart = partial(bars_chart, name="c", heading="IOPS")


def scale(figure, axis, *, log=None):
    return figure.on(log=log)["layer"][0]["encoding"][axis]["scale"]


EIGHT = [point(f"disk {n}", float(n)) for n in range(1, 9)]
TWO = [point("a", 10.0), point("b", 50.0)]


@pytest.mark.parametrize(
    ("points", "ranked", "rows"),
    [(TWO, True, "ba"), (TWO, False, "ab"), ([*TWO, own("a", 20.0)], True, "baa")],
)
def test_the_fastest_is_on_top_and_own_runs_lie_beneath_the_published_figure_of_their_disk(
    points, ranked, rows
):
    found = scale(chart(points, ranked=ranked), "y")["domain"]
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
def test_a_logarithmic_axis_suits_beyond_two_decades_and_outliers_and_may_be_asked_for(
    points, suits, asked
):
    figure = chart(points)
    kinds = {log: scale(figure, "x", log=log)["type"] for log in (None, False, True)}
    assert kinds == {None: suits, False: "linear", True: asked}


def test_more_than_two_decades_call_for_a_logarithmic_axis():
    assert wants_log([99, 10_000])
    assert not any(map(wants_log, ([100, 10_000], [0, 0.0], [], [0, 50, 5000])))


@pytest.mark.slow
def test_bars_of_one_disk_begin_at_zero_and_lie_over_each_other():
    of_one = [own("a", 100.0, run=f"r{n}") for n in range(3)]
    svg = picture(chart([*of_one, own("b", 300.0, run="z")]), "svg").decode()
    bars = re.findall(r'<path aria-label="run (\w+) [^>]* d="M0,[\d.]+h([\d.]+)', svg)
    third = WIDTH / 3
    lengths = {run: float(length) for run, length in bars}
    assert lengths == pytest.approx({"z": WIDTH, "r0": third, "r1": third, "r2": third})


def test_a_doubted_figure_is_hollow_whatever_its_colour():
    spec = chart([point("a", 10.0, doubt="cache"), point("b", 5.0)]).on()
    bars = [layer for layer in spec["layer"] if layer["mark"]["type"] == "bar"]
    filled = [(bar["data"]["values"][0]["label"], bar["mark"].get("filled", True)) for bar in bars]
    assert dict(filled) == {"a": False, "b": True}


@pytest.mark.slow
@pytest.mark.parametrize("log", [False, True])
def test_every_mark_carries_its_run_and_leads_to_its_row(log):
    points = [*EIGHT, point("nvme", 500.0), own("disk 1", 2.0, run="01mine", href="#row-9")]
    figure = chart(points)
    assert figure.alt == "IOPS: 9 disks, from disk 1 with 1.00 IOPS to nvme with 500 IOPS."
    svg = picture(figure, "svg", log=log).decode()
    assert {one.description for one in points} <= set(marks_in(svg))
    assert 'xlink:href="#row-9"' in svg
    assert "<title>run 01mine" in svg, "any viewer shows it at the pointer"


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
    figure = chart([*published, *six])
    assert "bracket: 95 % interval of the median over n = 6 machines" in figure.subtitle
    told = {row.get("description", "") for row in rows_in(figure)}
    found = [words for words in told if "interval" in words]
    assert found == ["gp2: 95 % interval of the median 2,500 IOPS to 2,505 IOPS"]
