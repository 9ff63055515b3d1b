"""Every chart that is made again of a post."""

import re
from functools import partial
from pathlib import Path

import pytest
from tests.books import SHIPPED
from tests.rigs.drawn import rows_in

from diskbench.catalog.published import SEEDS, find_published, load_published
from diskbench.engine.published_outlook import published_outlook
from diskbench.report.page.write_report import chart_markdown, chart_page
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
def test_a_page_has_the_drawing_the_rows_and_follows_the_readers_colours():
    chart = find_chart("iaas-2018", "iops")
    rows = rows_of(chart, load_published(), linked=True)
    html = chart_page(drawn(chart, linked=True), rows)
    assert html.count("<svg") == 1
    assert 'id="row-12"' in html
    assert 'xlink:href="#row-12"' in html
    assert 'fill="#' not in html[html.index("<svg") : html.rindex("</svg>")]
    assert "28,484 IOPS" in html
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', html), "it asks nobody"


def test_markdown_has_the_sentence_the_numbers_and_the_doubts():
    chart = find_chart("iaas-2018", "iops")
    text = chart_markdown(drawn(chart), rows_of(chart, load_published()), drawing="iops.svg")
    assert text.startswith("# IOPS of twelve disks, 2018\n\n![IOPS of twelve disks")
    for words in (
        "](iops.svg)", "| vSphere NVMe SSD | 28,484 IOPS |", "no interval (n = 1 machine each)",
        "the mean spans a fall in the fifth run",
    ):  # fmt: skip
        assert words in text
