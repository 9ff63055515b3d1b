"""Several trials side by side: by disk, region and hour, and by the price of their disks."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from diskbench.report.assemble.chart_data import points_by_step
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.price import Priced, price_chart
from diskbench.report.charts.registry import chart
from diskbench.report.charts.spread import SpreadRow as Values
from diskbench.report.charts.spread import groups_of, spread_chart, undated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.charts.figure import ChartFigure
    from diskbench.report.charts.palette import Palette
    from diskbench.report.charts.point import ChartPoint
    from diskbench.report.charts.spread import By

MOST_STEPS = 8
"""The most steps with a chart each: those of the shipped profiles, and no page without end."""
MOST_APART = 3
"""The most steps that are drawn again by region and by hour."""
MOST_BARS = 40
"""The most subjects with a bar each; beyond, the chart shows their spread."""
LEAST_APART = 4
"""Fewer trials say nothing about regions and hours."""


@chart("trials", title="a step over all trials, by subject", needs="several trials", rank=10)
def _by_subject(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data):
        name, labels = f"trials-{number}", len({point.label for point in points})
        if labels > MOST_BARS:
            every = [Values(f"{labels} subjects", tuple(points))]
            yield spread_chart(every, palette, name=name, heading=step, samples=True)
        elif labels > 1:
            yield bars_chart(points, palette, name=name, heading=step)
        else:
            yield spread_chart(groups_of(points, "label"), palette, name=name, heading=step)


@chart("prices", title="what disks cost and what they delivered", needs="several trials", rank=20)
def _by_price(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    prices = {trial.trial.trial_id: trial.trial.price for trial in data.trials}
    usd = {key: price.total_usd for key, price in prices.items() if price and price.total_usd}
    for _, (step, points) in islice(_steps(data), 1):
        priced = [Priced(point, usd[point.key]) for point in points if point.key in usd]
        if len({disk.point.label for disk in priced}) > 1:
            yield price_chart(
                priced,
                palette,
                name="prices",
                heading=f"{step}: what it costs",
                prices_of="the catalogue, as it was when it was measured",
            )


@chart("regions", title="a step by region", needs="several trials", rank=30)
def _by_region(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    yield from _apart(data, palette, "region", "region")


@chart("hours", title="a step by hour of the day", needs="several trials", rank=40)
def _by_hour(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    yield from _apart(data, palette, "hour", "hour of the day (UTC)")


def _apart(data: ChartData, palette: Palette, by: By, words: str) -> Iterator[ChartFigure]:
    for number, (step, points) in _steps(data, MOST_APART):
        groups = groups_of(points, by) if len(points) >= LEAST_APART else ()
        if len(groups) > 1:
            yield spread_chart(
                groups,
                palette,
                name=f"{by}-{number}",
                heading=f"{step} by {words}",
                left_out=undated(points) if by == "hour" else "",
            )


def _steps(
    data: ChartData, most: int = MOST_STEPS
) -> Iterator[tuple[int, tuple[str, list[ChartPoint]]]]:
    """The first steps that several trials share, numbered."""
    yield from enumerate(islice(points_by_step(data.groups).items(), most))
