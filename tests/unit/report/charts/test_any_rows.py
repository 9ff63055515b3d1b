"""Whatever was measured, each chart over runs draws it, with its title, unit, n and numbers."""

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rigs.drawn import rows_in

from diskbench.report.charts.bars import bars_chart, multiples_chart
from diskbench.report.charts.figure import picture
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.runs_line import cliff, runs_chart
from diskbench.report.charts.spread import groups_of, spread_chart

pytestmark = pytest.mark.slow

VALUES = st.one_of(st.just(0.0), st.floats(1e-2, 1e12))
RATES = st.floats(1e-2, 1e12)
VISIBLE = st.characters(exclude_categories=("Cs", "Cc"))
HOSTILE = ["</svg><script>", "a'];b", "\\", "{{x}}", "datum.value", "💾 disk"]
NAMES = st.text(VISIBLE, min_size=1, max_size=40) | st.sampled_from(HOSTILE)
FEW = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
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
@given(of_one_metric())
def test_bars(found):
    holds(bars_chart(found, name="c", heading="Any"), [one.value for one in found])


@FEW
@given(st.lists(points(), min_size=1, max_size=6))
def test_multiples(found):
    holds(multiples_chart(found, name="c", heading="Any"), [one.value for one in found])


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
