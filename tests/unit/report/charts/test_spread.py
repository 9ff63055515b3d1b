import numpy as np
import pytest
from tests.rigs.drawn import rows_in
from tests.unit.report.charts.points import own

from diskbench.report.charts.spread import groups_of, spread_chart


def points(values, **changes):
    return [own(value=float(v), run=f"r{n}", **changes) for n, v in enumerate(values)]


def chart(groups, **more):
    return spread_chart(groups, name="s", heading="IOPS by region", **more)


@pytest.mark.parametrize(("n", "drawn"), [(4, set()), (5, {"bar"}), (30, {"bar"})])
def test_few_values_are_dots_and_more_get_a_box_besides(n, drawn):
    figure = chart({"us": points(range(n))})
    marks = {one["mark"]["type"] for one in figure.on(log=False)["layer"]}
    assert marks & {"bar", "line"} == drawn
    assert sum("source" in row for row in rows_in(figure)) == n


def test_a_box_is_made_of_quartiles_and_reaches_the_extremes():
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    box = next(row for row in rows_in(chart({"us": points(values)})) if "q1" in row)
    assert (box["q1"], box["median"], box["q3"]) == tuple(np.quantile(values, (0.25, 0.5, 0.75)))
    assert (box["low"], box["high"]) == (1.0, 64.0)


def test_an_interval_is_drawn_from_six_machines_on_and_said_to_be_missing_before():
    six, five = {"us": points(range(6))}, {"eu": points(range(5))}
    assert "no interval (n = 5 machines)" in chart(five).subtitle
    told = chart(six | five).subtitle
    assert "n = 5–6 machines, bracket: 95 % interval of the median" in told
    assert "no interval of fewer than 6" in told
    marked = [row.get("description", "") for row in rows_in(chart(six))]
    assert any(words.startswith("us (n = 6): 95 % interval") for words in marked)
    samples = {"gp2": points(range(30), machine="one")}
    assert "n = 30 samples, no interval" in chart(samples, samples=True).subtitle


def test_points_are_grouped_by_region_and_by_the_hour_in_utc():
    found = [
        *points([1], region="us-east-1", when="2026-03-01T23:30:00-02:00"),
        *points([2], region="eu-west-1", when="2026-03-01T01:10:00+00:00"),
        *points([3], region="eu-west-1", when=""),
    ]
    regions, hours = groups_of(found, "region"), groups_of(found, "hour")
    counts = [{name: len(of) for name, of in groups.items()} for groups in (regions, hours)]
    assert counts == [{"aws eu-west-1": 2, "aws us-east-1": 1}, {"01:00 UTC": 2}]
    assert list(regions) == sorted(regions)
