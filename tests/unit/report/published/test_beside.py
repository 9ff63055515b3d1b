"""A published figure beside what runs measured, in words and in charts of a post."""

import dataclasses
import re
from functools import partial
from pathlib import Path

import pytest
from tests.books import SHIPPED
from tests.rigs.drawn import rows_in
from tests.rigs.runs import a_run
from tests.unit.report import made

from diskbench.catalog.published import SEEDS, find_published, load_published
from diskbench.engine.published_outlook import published_outlook
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.model.run import GOBONNIEGO_FILE
from diskbench.plan.published import RunSubject
from diskbench.report.page.write_report import chart_markdown, chart_page
from diskbench.report.published.beside import (
    ComparePublishedDocument,
    differences,
    figure_beside,
    trial_beside,
)
from diskbench.report.published.draw import (
    POST_CHARTS,
    charts_of,
    draw,
    find_chart,
    of_outlook,
    predicted_cliffs,
    predicted_lines,
    published_point,
    rows_of,
)
from diskbench.report.published.text import beside_lines
from diskbench.results.trial import Trial

GP2 = RunSubject(
    profile="gobonniego", cloud="aws", disk_type="gp2", size_gib=20, instance_type="c4.xlarge",
    region="us-east-1", memory_gib=7.5,
)  # fmt: skip


def row(step, direction, *, run="a", iops=1000.0, mb=100.0, seconds=5.0, **more):
    rate = {"ios": round(iops * seconds), "iops": iops, "bytes_per_s": mb * 1e6}
    time = {"runtime_ns": round(seconds * 1e9), "bytes": round(mb * 1e6 * seconds)}
    return made.row(step, direction=direction, run_id=run, step_index=0, **rate | time | more)


def beside(figures, rows, **of_run):
    """The figures beside a trial with these rows, without those that it has no value for."""
    trial = Trial("t", (a_run(**of_run),), None, {}, tuple(rows), (), (), (), ())
    return tuple(pair for one in figures if (pair := figure_beside(one, trial)) is not None)


def only(figure_id, rows):
    (pair,) = beside(find_published(figure_id), rows)
    return pair


def test_ours_is_the_mean_over_the_runs_of_reads_and_writes_together():
    rows = [row("rand-512-9to1", "read", iops=2700), row("rand-512-9to1", "write", iops=300)]
    pair = only("iaas-2018/results/gp2/iops", rows)
    assert pair.ours == 3000
    assert pair.ratio == pytest.approx(3000 / 3634)
    rows = [row("seq-read-64k", "read", run=run, mb=mb) for run, mb in (("a", 80), ("b", 120))]
    pair = only("iaas-2018/results/gp2/read", rows)
    assert (pair.ours, pair.runs) == (100e6, 2)


def test_a_mean_latency_is_that_of_all_ios_and_extremes_are_extremes():
    step = ("write-through-write", "write")
    first = {"ios": 100, "lat_mean_ns": 1e6, "lat_min_ns": 5e5, "lat_max_ns": 9e6}
    second = {"ios": 300, "lat_mean_ns": 5e6, "lat_min_ns": 4e5, "lat_max_ns": 8e6}
    rows = [row(*step, run="a", **first), row(*step, run="b", **second)]
    pairs = beside(find_published(HDD), rows)
    found = {pair.figure.metric: pair.ours for pair in pairs}
    assert found == {"lat_mean_ns": 4e6, "lat_min_ns": 4e5, "lat_max_ns": 9e6}


GP2_READ, HDD = "iaas-2018/results/gp2/read", "azure-caching/latencies/hdd"
UNKNOWN = dict.fromkeys(("lat_mean_ns", "lat_min_ns", "lat_max_ns"))


@pytest.mark.parametrize(
    ("figures", "rows"),
    [
        (GP2_READ, []),
        (GP2_READ, [row("other", "read")]),
        (GP2_READ, [row("seq-read-64k", "write")]),
        (GP2_READ, [row("seq-read-64k", "read", scope="job")]),
        (GP2_READ, [row("seq-read-64k", "read", iops=0.0)]),
        (HDD, [row("write-through-write", "write", **UNKNOWN)]),
    ],
    ids=["none", "other step", "other direction", "jobs alone", "no I/O", "no latency"],
)
def test_a_figure_without_rows_of_its_own_is_left_out(figures, rows):
    assert beside(find_published(figures), rows) == ()


def test_steps_of_an_imported_gobonniego_file_are_known():
    rows = [row("seqread", "read", mb=92), row("iops", "mixed", iops=3634)]
    pairs = beside(find_published("iaas-2018/results/gp2"), rows, provider=GOBONNIEGO_FILE)
    ratios = {pair.figure.step: pair.ratio for pair in pairs}
    assert ratios == {"rand-512-9to1": 1.0, "seq-read-64k": 1.0}
    assert beside(find_published("iaas-2018/results/gp2"), rows) == ()


def reasons(figure_id="iaas-2018/results/gp2/iops", asked=GP2, *, seconds=5.0, **how):
    figure = find_published(figure_id)[0]
    direction = "read" if figure.direction == "total" else figure.direction
    rows = [row(figure.step, direction, seconds=seconds, lat_mean_ns=1.0)]
    return " | ".join(differences(asked, beside([figure], rows), **how))


def ours(**changes):
    return {"asked": dataclasses.replace(GP2, **changes)}


def test_tool_cache_and_sample_are_told_once_each_and_what_is_doubted_of_theirs_and_ours():
    told = reasons()
    for words in ("GoBonnieGo 1.0.7 itself", "page cache", "mean of 10 runs on one machine"):
        assert words in told
    rows = [row("rand-512-9to1", "read"), row("seq-read-64k", "read")]
    both = differences(GP2, beside(find_published("iaas-2018/results/gp2"), rows))
    assert len(both) == len(set(both))
    asked = ours(profile="bonnie", cloud="vsphere", disk_type="nvme-ssd")
    assert "client-bound" in reasons("iaas-2018/bonnie/samsung/bonnie-seeks", **asked)
    bound = Warning(code="client-bound", message="busy", step="rand-512-9to1")
    fill = Warning(code="fill-slow", message="slow", step="fill")
    told = reasons(warnings=[bound, fill])
    assert "ours is doubted (client-bound)" in told
    assert "fill-slow" not in told
    assert "ours is doubted" not in reasons()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (ours(instance_type="c5.xlarge"), "c4.xlarge, ours on c5.xlarge"),
        (ours(instance_type=None), "no known type"),
        (ours(region="eu-west-1"), "us-east-1, ours in eu-west-1"),
        (ours(size_gib=30), "20 GiB, ours 30"),
        (ours(memory_gib=32.0), "7.5 GiB memory, ours 32"),
        (ours(disk_type=None), "our disk type is unknown"),
        (ours(disk_type="gp3"), "theirs is gp2, ours gp3"),
        ({"seconds": 60.0}, "lasted 5 s, ours 60 s"),
        ({"year": 2026}, "of 2018, ours of 2026"),
        *(({"marks": [mark]}, mark) for mark in ("emulated", "unverified", "imported")),
    ],
)
def test_what_differs_is_told_and_only_then_and_what_is_no_clouds_own_first(changes, told):
    place, *_ = [n for n, reason in enumerate(reasons(**changes).split(" | ")) if told in reason]
    assert place == 0 or "marks" not in changes
    assert told not in reasons()
    assert "lasted" not in reasons(seconds=6.0)
    assert "of 2018" not in reasons(year=2018)


def test_unknown_sizes_and_dates_are_told():
    asked = RunSubject(profile="diskspd", cloud="azure", disk_type="Standard_LRS", size_gib=64)
    told = reasons("azure-caching/latencies/hdd/write-mean", asked)
    assert "size of theirs is unknown" in told
    assert "no date" in told


FIGURES = load_published()
GROUPS = sorted({figure.group for figure in FIGURES})


def measured(*figures, count=1):
    """A trial of `count` runs, of which the first has rows with a value for each figure, ten times
    as much as was published."""
    runs = [a_run(run_id=f"{n:026}", emulated=True, unverified=True) for n in range(count)]
    return Trial("t", tuple(runs), None, {}, tuple(map(_row, figures)), (), (), (), ())


def _row(figure):
    latency = dict.fromkeys(("lat_mean_ns", "lat_min_ns", "lat_max_ns"))
    latency |= {figure.metric: figure.value * 10} if figure.metric in latency else {}
    direction = "read" if figure.direction == "total" else figure.direction
    of = {"iops": figure.value * 10, "bytes_per_s": figure.value * 10, "direction": direction}
    of |= {"ios": 1000, "bytes": 1, "runtime_ns": 10**10} | latency
    return made.row(figure.step, run_id="0" * 26, step_index=0, **of)


@pytest.mark.parametrize("name", GROUPS)
def test_every_published_disk_beside_a_run_fits_80_columns(name):
    first, *others = find_published(name)
    figures = [first, *(one for one in others if one.parameters == first.parameters)]
    asked = RunSubject(
        profile=first.profile, parameters=first.parameters, cloud=first.provider,
        disk_type=first.disk_type, size_gib=65536, instance_type="Standard_E112iads_v5",
        region="southafricanorth", memory_gib=672.0, cache="readwrite",
    )  # fmt: skip
    trial = trial_beside(asked, measured(*figures, count=10), figures, named=True)
    lines = list(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert [one.figure.id for one in trial.figures] == [figure.id for figure in figures]
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if line.endswith(" 10")]) == len(trial.figures)


def test_two_figures_of_one_step_are_told_apart():
    figures = find_published("ebs-fio")
    asked = RunSubject(profile="ebs-randrw")
    trial = trial_beside(asked, measured(figures[0]), figures, named=True)
    text = "\n".join(beside_lines(ComparePublishedDocument(trials=(trial,))))
    assert all(name in text for name in ("read-25m ", "read-250m "))


SEVEN = ("iops", "read", "write", "aws", "azure", "throttling", "local")


def drawn(chart, **more):
    outlook = partial(published_outlook, books=SHIPPED)
    return draw(chart, load_published(), outlook=outlook, **more)


@pytest.mark.slow
@pytest.mark.parametrize("chart", POST_CHARTS, ids=lambda one: f"{one.post}-{one.name}")
def test_a_chart_holds_the_published_numbers_as_they_are(chart):
    assert chart.of(load_published()), "its patterns find something"
    figure = drawn(chart)
    rows = rows_in(figure)
    numbers = {value for row in rows for value in row.values() if isinstance(value, float)}
    labels = {row.get("label") for row in rows}
    for one in rows_of(chart, load_published()):
        if chart.kind == "samples":
            assert set(one.values) <= numbers
        elif chart.kind != "price" or one.label in labels:  # not all have a price
            assert one.value in numbers
    assert re.search(r"\bn (=|not stated)", figure.subtitle)
    assert "no interval (n = 1 machine" in figure.subtitle
    assert re.search(r"IOPS|MB/s|time of one operation", figure.subtitle)
    assert figure.alt.startswith(figure.title)


def test_every_post_has_charts_with_names_of_its_own_that_the_docs_tell_of():
    for post in SEEDS:
        names = [one.name for one in charts_of(post)]
        assert names
        assert len(names) == len(set(names))
    first = {one.name for one in charts_of("iaas-2018")}
    assert {*SEVEN, "throttling-aws", "promised", "price"} <= first
    docs = (Path(__file__).parents[4] / "docs" / "published.md").read_text(encoding="utf-8")
    assert [one.name for one in POST_CHARTS if f"{one.name}`" not in docs] == []


@pytest.mark.slow
def test_the_catalogue_predicts_the_fall_of_gp2_in_the_run_in_which_the_post_saw_it():
    (gp2,) = find_published("iaas-2018/results/gp2/iops")
    (cliff,) = predicted_cliffs(published_outlook(gp2, 40, books=SHIPPED))
    assert cliff.value == 34
    (line,) = predicted_lines(published_outlook(gp2, 40, books=SHIPPED), [gp2], 40)
    values = dict(zip(line.numbers, line.values, strict=True))
    assert (values[32], values[34]) == (pytest.approx(3000), pytest.approx(100))
    rows = rows_in(drawn(find_chart("iaas-2018", "throttling-aws")))
    labels = {row["text"] for row in rows if "text" in row}
    assert labels == {"the post: run 34", "predicted: run 34"}


@pytest.mark.slow
def test_googles_fall_is_drawn_as_the_post_states_it():
    figure = drawn(find_chart("iaas-2018", "throttling"))
    levels = {(row["run"], row["value"]) for row in rows_in(figure) if "value" in row}
    assert {(1, 300.0), (4, 300.0), (5, 80.0), (10, 80.0), (5, 6e6), (4, 135e6)} <= levels


@pytest.mark.parametrize(
    ("figure_id", "against", "on_credit"),
    [
        ("iaas-2018/results/premium-256/iops", 1100, False),
        ("iaas-2018/results/gp2/iops", 3000, True),
        ("iaas-2018/results/nvme-ssd/iops", None, False),
        ("ebs-types/m3.medium-read/sc1/buffered", None, False),
    ],
    ids=["lasts", "burst", "no catalogue", "unknown size"],
)
def test_a_figure_above_what_lasts_is_held_against_the_burst(figure_id, against, on_credit):
    (figure,) = find_published(figure_id)
    point = of_outlook(published_point(figure), published_outlook(figure, books=SHIPPED))
    found = (point.on_credit, point.against) if point.promised else None
    assert found == (against and (on_credit, pytest.approx(against, rel=1e-3)))


@pytest.mark.slow
def test_a_page_has_the_drawing_and_rows_and_markdown_the_sentence_numbers_and_doubts():
    chart = find_chart("iaas-2018", "iops")
    rows = rows_of(chart, load_published(), linked=True)
    html = chart_page(drawn(chart, linked=True), rows)
    assert html.count("<svg") == 1
    assert 'id="row-12"' in html
    assert 'xlink:href="#row-12"' in html
    assert 'fill="#' not in html[html.index("<svg") : html.rindex("</svg>")]
    assert "28,484 IOPS" in html
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', html), "it asks nobody"
    chart = find_chart("iaas-2018", "iops")
    text = chart_markdown(drawn(chart), rows_of(chart, load_published()), drawing="iops.svg")
    assert text.startswith("# IOPS of twelve disks, 2018\n\n![IOPS of twelve disks")
    for words in (
        "](iops.svg)", "| vSphere NVMe SSD | 28,484 IOPS |", "no interval (n = 1 machine each)",
        "the mean spans a fall in the fifth run",
    ):  # fmt: skip
        assert words in text
