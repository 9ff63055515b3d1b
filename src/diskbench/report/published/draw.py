"""Charts of published figures, with own runs laid over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.report.assemble.outlook_points import (
    held_of,
    monthly_usd,
    predicted_cliffs,
    predicted_lines,
)
from diskbench.report.charts.bars import bars_chart
from diskbench.report.charts.multiples import multiples_chart
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.price import Priced, price_chart
from diskbench.report.charts.promised import FigureBesidePromise, promised_chart
from diskbench.report.charts.runs_line import ChartRunLine, CliffMark, runs_chart
from diskbench.report.charts.spread import SpreadRow, spread_chart
from diskbench.report.published.points import published_point, short, with_extremes

if TYPE_CHECKING:
    from collections.abc import Callable

    from diskbench.catalog.published import Published
    from diskbench.model.expectation import PlanExpectation
    from diskbench.report.charts.figure import ChartFigure
    from diskbench.report.charts.palette import Palette
    from diskbench.report.published.charts import PostChart

_PRICES = "list prices of diskbench's catalogue, not of the post's year"


@dataclass(frozen=True)
class OwnTrials:
    """Own trials that match published figures.

    `points` bear as `key` the id of the figure that they are laid over. `lines` are their runs,
    `cliffs` where they fell or should have. `outlooks` are the expectations of their plans, by the
    first run's id.
    """

    points: tuple[ChartPoint, ...] = ()
    lines: tuple[ChartRunLine, ...] = ()
    cliffs: tuple[CliffMark, ...] = ()
    outlooks: Mapping[str, PlanExpectation] = field(default_factory=dict)


def rows_of(
    chart: PostChart, figures: Sequence[Published], own: OwnTrials, *, linked: bool = False
) -> tuple[ChartPoint, ...]:
    """What a chart is drawn of: published figures in its order, then the own points that lie over
    any of them. `linked`: the mark of the n-th leads to `#row-n`."""
    published = tuple(published_point(one, label=_label(chart, one)) for one in chart.of(figures))
    points: tuple[ChartPoint, ...] = (*published, *_laid_over(own.points, published))
    if chart.kind == "latency":
        points = with_extremes(points)
    if not linked:
        return points
    return tuple(replace(one, href=f"#row-{n}") for n, one in enumerate(points, 1))


def draw(
    chart: PostChart,
    figures: Sequence[Published],
    palette: Palette,
    *,
    outlook: Callable[[Published, int], PlanExpectation | None],
    own: OwnTrials | None = None,
    linked: bool = False,
) -> ChartFigure:
    """One chart of a post, of the rows that `rows_of` gives. `outlook` tells what the catalogue
    foresees of so many runs on a figure's disk.

    Raises InvalidValue where nothing of it can be drawn (no price is known).
    """
    own = own or OwnTrials()
    wanted = chart.of(figures)
    points = rows_of(chart, figures, own, linked=linked)
    name, heading = f"{chart.post}-{chart.name}", chart.heading
    match chart.kind:
        case "bars":
            return bars_chart(points, palette, name=name, heading=heading)
        case "latency":
            return bars_chart(points, palette, name=name, heading=heading, ranked=False)
        case "multiples":
            return multiples_chart(points, palette, name=name, heading=heading)
        case "instances":
            return multiples_chart(points, palette, name=name, heading=heading, by_instance=True)
        case "samples":
            groups = [_samples(one) for one in points if one.values]
            return spread_chart(groups, palette, name=name, heading=heading, samples=True)
        case "runs":
            return _runs(chart, wanted, points, own, outlook, palette)
        case "promised":
            held = _held(points, wanted, own, outlook)
            return promised_chart(held, palette, name=name, heading=heading)
        case "price":
            return _price(chart, points, wanted, own, outlook, palette)


def _label(chart: PostChart, figure: Published) -> str:
    words = short(figure)
    match chart.named:
        case "disk":
            return words
        case "disk and step":
            return f"{words}, {figure.step}"
        case "disk and direction":
            told = ", device cache on" if "device-cache" in figure.id and not figure.cache else ""
            return f"{words}, {figure.direction}{told}"
        case "workload":
            direction, _, size = figure.id.rpartition("/")[2].partition("-")
            return f"{words}, {direction} of {size.removesuffix('m')} MB"


def _laid_over(
    own: Sequence[ChartPoint], published: Sequence[ChartPoint]
) -> tuple[ChartPoint, ...]:
    """Own points under the labels of the figures that they lie over, and in their panels."""
    by_id = {one.key: one for one in published}
    return tuple(
        replace(one, label=by_id[one.key].label, direction=by_id[one.key].direction)
        for one in own
        if one.key in by_id
    )


def _samples(point: ChartPoint) -> SpreadRow:
    of_each = zip(point.values, point.run_ids or [""] * len(point.values), strict=True)
    word = "yours: " if point.source == "measured" else ""
    return SpreadRow(
        f"{word}{point.label}",
        tuple(
            replace(point, value=value, values=(), low=None, high=None, n=1,
                    run_ids=(run,) if run else (), machine=point.machine or point.label)
            for value, run in of_each
        ),
    )  # fmt: skip


def _runs(
    chart: PostChart,
    figures: Sequence[Published],
    points: Sequence[ChartPoint],
    own: OwnTrials,
    outlook: Callable[[Published, int], PlanExpectation | None],
    palette: Palette,
) -> ChartFigure:
    fall = chart.fall
    assert fall is not None, "a chart of runs tells of a fall"
    lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for figure in figures:
        first, last = (fall.run, fall.runs) if "/after-" in figure.id else (1, fall.run - 1)
        last = min(last, figure.n or last)
        of_line = lines.setdefault((figure.metric, figure.direction), [])
        of_line += [(run, figure.value) for run in range(first, last + 1)]
    label, words = short(figures[0]), f"published {figures[0].post.date or '(undated)'}"
    found = [
        ChartRunLine(label, metric, "published", tuple(values), direction, stated=True, words=words)
        for (metric, direction), values in lines.items()
    ]
    foreseen = outlook(figures[0], fall.runs)
    steps = list(dict.fromkeys((one.step, one.metric, one.direction) for one in figures))
    predicted = predicted_lines(foreseen, steps, fall.runs, label)
    panels = {(one.metric, one.direction) for one in found}
    rows = {run: one.href for one in points for run in one.run_ids if one.href}
    laid = [
        replace(one, hrefs=tuple(rows[run] for run in one.run_ids))
        if all(run in rows for run in one.run_ids)
        else one
        for one in own.lines
        if (one.metric, one.direction) in panels
    ]
    marks = [CliffMark(fall.run, "published", fall.words), *predicted_cliffs(foreseen)]
    notes = "" if predicted_cliffs(foreseen) else "the catalogue knows no burst of it"
    if not any("/after-" in one.id for one in figures):
        notes = "of the runs after the tenth the post tells the fall only"
    return runs_chart(
        [*found, *predicted, *laid],
        palette,
        name=f"{chart.post}-{chart.name}",
        heading=chart.heading,
        cliffs=[*marks, *own.cliffs] if laid else marks,
        notes=notes,
    )


def _held(
    points: Sequence[ChartPoint],
    figures: Sequence[Published],
    own: OwnTrials,
    outlook: Callable[[Published, int], PlanExpectation | None],
) -> list[FigureBesidePromise]:
    by_id = {one.id: one for one in figures}
    found = []
    for point in points:
        foreseen = _foreseen(point, by_id, own, outlook)
        one = held_of(point, foreseen)
        if one is not None:
            found.append(one)
    return found


def _price(
    chart: PostChart,
    points: Sequence[ChartPoint],
    figures: Sequence[Published],
    own: OwnTrials,
    outlook: Callable[[Published, int], PlanExpectation | None],
    palette: Palette,
) -> ChartFigure:
    by_id = {one.id: one for one in figures}
    found, without = [], dict[str, None]()
    for point in points:
        usd = monthly_usd(_foreseen(point, by_id, own, outlook))
        if usd is None:
            without[point.label] = None
        else:
            found.append(Priced(point, usd))
    if not found:
        raise InvalidValue(
            f"no price is known of any disk of {chart.post}",
            advice="prices of other regions come with `diskbench catalog disks --refresh`",
        )
    prices = _PRICES + (f"; none known of {', '.join(without)}" if without else "")
    name = f"{chart.post}-{chart.name}"
    return price_chart(found, palette, name=name, heading=chart.heading, prices_of=prices)


def _foreseen(
    point: ChartPoint,
    figures: Mapping[str, Published],
    own: OwnTrials,
    outlook: Callable[[Published, int], PlanExpectation | None],
) -> PlanExpectation | None:
    """What was foreseen of an own trial, or is of a published disk."""
    if point.source == "measured":
        return own.outlooks.get(point.run_ids[0]) if point.run_ids else None
    return outlook(figures[point.key], 1)
