"""Charts of published figures, with own runs overlaid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from diskbench.catalog.post_file import Published
from diskbench.errors import InvalidValue
from diskbench.model.expectation import PlanExpectation
from diskbench.report.charts.bars import bars_chart, multiples_chart
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.runs_line import CliffMark, runs_chart
from diskbench.report.charts.spread import spread_chart
from diskbench.report.published import points as of_posts
from diskbench.report.published.points import PostChart, short_label

_PRICES = "list prices of diskbench's catalogue, not of the post's year"


@dataclass(frozen=True)
class OwnRuns:
    """Own trials that match published figures: their `points`, whose `key` is the id of the figure
    that they match, the measured and predicted falls, and why other trials are left out."""

    points: tuple[ChartPoint, ...] = ()
    cliffs: tuple[CliffMark, ...] = ()
    left_out: tuple[str, ...] = ()


NOBODY = OwnRuns()


def rows_of(
    chart: PostChart, figures: Sequence[Published], own: OwnRuns = NOBODY, *, linked: bool = False
) -> tuple[ChartPoint, ...]:
    """The rows of a chart: its published figures in order, then the own points that match any of
    them. `linked`: the mark of the n-th row links to `#row-n`."""
    by_id = {
        figure.id: of_posts.published_point(figure, label=_label(chart, figure))
        for figure in chart.of(figures)
    }
    points = tuple(by_id.values())
    for point in own.points:
        if (theirs := by_id.get(point.key)) is not None:
            points += (replace(point, label=theirs.label, direction=theirs.direction),)
    if chart.kind == "latency":
        points = of_posts.with_extremes(points)
    if not linked:
        return points
    return tuple(replace(point, href=f"#row-{n}") for n, point in enumerate(points, 1))


def draw(
    chart: PostChart,
    figures: Sequence[Published],
    *,
    outlook: Callable[[Published, int], PlanExpectation | None],
    own: OwnRuns = NOBODY,
    linked: bool = False,
) -> ChartFigure:
    """One chart of a post, drawn from the rows of `rows_of`. `outlook` returns the catalogue's
    expectation for a number of runs on a figure's disk. Raises InvalidValue if there is nothing to
    draw (no price is known)."""
    drawn = chart.of(figures)
    points = rows_of(chart, figures, own, linked=linked)
    if chart.kind in ("promised", "price"):  # own points have the expectation of their own plan
        by_id = {figure.id: figure for figure in drawn}
        points = tuple(
            of_posts.of_outlook(point, outlook(by_id[point.key], 1))
            if point.source == "published" else point
            for point in points
        )  # fmt: skip
    name, heading = f"{chart.post}-{chart.name}", chart.heading
    match chart.kind:
        case "bars" | "latency":
            return bars_chart(points, name=name, heading=heading, ranked=chart.kind == "bars")
        case "multiples" | "instances":
            apart = chart.kind == "instances"
            return multiples_chart(points, name=name, heading=heading, by_instance=apart)
        case "samples":
            groups = dict(_samples(point) for point in points if point.values)
            return spread_chart(groups, name=name, heading=heading, samples=True)
        case "runs":
            return _runs(chart, drawn, points, own, outlook)
        case "promised":
            held = [point for point in points if point.promise is not None]
            return promised_chart(held, name=name, heading=heading)
        case "price":
            return _price(chart, points)


def _label(chart: PostChart, figure: Published) -> str:
    words = short_label(figure)
    match chart.named:
        case "disk":
            return words
        case "disk and step":
            return f"{words}, {figure.step}"
        case "disk and direction":
            cache = ", device cache on" if "device-cache" in figure.id and not figure.cache else ""
            return f"{words}, {figure.direction}{cache}"
        case "workload":
            direction, _, size = figure.id.rpartition("/")[2].partition("-")
            return f"{words}, {direction} of {size.removesuffix('m')} MB"


def _samples(point: ChartPoint) -> tuple[str, list[ChartPoint]]:
    """The name of a row, and a point for each of a point's values."""
    runs = point.run_ids or ("",) * len(point.values)
    once = replace(point, values=(), low=None, high=None, n=1, machine=point.machine or point.label)
    word = "yours: " if point.source == "measured" else ""
    return f"{word}{point.label}", [
        replace(once, value=value, run_ids=(run,) if run else ())
        for value, run in zip(point.values, runs, strict=True)
    ]


def _runs(
    chart: PostChart,
    figures: Sequence[Published],
    points: Sequence[ChartPoint],
    own: OwnRuns,
    outlook: Callable[[Published, int], PlanExpectation | None],
) -> ChartFigure:
    fall = chart.fall
    assert fall is not None, "a chart of runs has a fall"
    published = of_posts.stated_lines(figures, fall)
    foreseen = outlook(figures[0], fall.runs)
    steps = dict.fromkeys((figure.step, figure.metric, figure.direction) for figure in figures)
    predicted = of_posts.predicted_lines(foreseen, steps, fall.runs, short_label(figures[0]))
    panels = {(line.metric, line.direction) for line in published}
    laid: dict[tuple[object, ...], ChartPoint] = {}
    for point in points:
        if point.source == "measured" and (point.metric, point.direction) in panels:
            laid.setdefault((point.run_ids, point.metric, point.direction), point)
    gone = of_posts.predicted_cliffs(foreseen)
    marks = [CliffMark(fall.run, "published", fall.words), *gone]
    notes = "" if gone else "the catalogue knows no burst of it"
    if not any("/after-" in figure.id for figure in figures):
        notes = "of the runs after the tenth the post states only the fall"
    return runs_chart(
        [*published, *predicted, *laid.values()],
        name=f"{chart.post}-{chart.name}",
        heading=chart.heading,
        cliffs=[*marks, *own.cliffs] if laid else marks,
        notes=notes,
    )


def _price(chart: PostChart, points: Sequence[ChartPoint]) -> ChartFigure:
    priced = [point for point in points if point.usd is not None]
    without = dict.fromkeys(point.label for point in points if point.usd is None)
    if not priced:
        raise InvalidValue(
            f"no price is known for any disk of {chart.post}",
            advice="prices of other regions come with `diskbench catalog disks --refresh`",
        )
    prices = _PRICES + (f"; none known of {', '.join(without)}" if without else "")
    name = f"{chart.post}-{chart.name}"
    return price_chart(priced, name=name, heading=chart.heading, prices_of=prices)
