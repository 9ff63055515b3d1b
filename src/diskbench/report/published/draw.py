"""Charts of published figures, by the name that `report --chart` takes (charts.yaml), with own runs
overlaid; and what a plan expects as points of them: promises, prices, predicted runs."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Literal

from diskbench.catalog.published import RATES, SEEDS, Published
from diskbench.errors import InvalidValue, check_known
from diskbench.model.base import Frozen
from diskbench.model.expectation import PlanExpectation, StepExpectation
from diskbench.parallel import grouped
from diskbench.plugin import known_plugin
from diskbench.report.charts.bars import bars_chart, multiples_chart
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.point import ChartPoint, Source, provider_label
from diskbench.report.charts.price import price_chart
from diskbench.report.charts.promised import promised_chart
from diskbench.report.charts.runs_line import CLIFF, cliff, runs_chart
from diskbench.report.charts.spread import spread_chart
from diskbench.units import MIB
from diskbench.yaml_lines import packaged

Outlook = Callable[[Published, int], PlanExpectation | None]
"""The catalogue's expectation for a number of runs on a figure's disk."""
_PRICES = "list prices of diskbench's catalogue, not of the post's year"


class PostChart(Frozen):
    """One chart of one post. `figures` are patterns of the ids to draw, without the post, in order;
    `metric` and `direction` filter them (None: all). `label` is the form of a row's name. `fell_in`
    is the run in which the post reports a `fall`, `runs` how many are drawn."""

    post: str
    name: str
    kind: Literal[
        "bars", "multiples", "instances", "latency", "samples", "runs", "promised", "price"
    ]
    heading: str
    words: str
    figures: tuple[str, ...]
    metric: str | None = None
    direction: str | None = None
    label: str = "{disk}"
    fell_in: int = 0
    runs: int = 0
    fall: str = ""

    def of(self, figures: Iterable[Published]) -> tuple[Published, ...]:
        """The figures that the chart draws, pattern by pattern."""
        of_post = [figure for figure in figures if figure.seed == self.post]
        return tuple(
            figure
            for pattern in self.figures
            for figure in of_post
            if fnmatchcase(figure.id, f"{self.post}/{pattern}")
            and self.metric in (None, figure.metric)
            and self.direction in (None, figure.direction)
        )


POST_CHARTS = tuple(
    PostChart.model_validate({"post": post, **chart})
    for post, charts in packaged("diskbench.report.published", "charts.yaml")["charts"].items()
    for chart in charts
)


def charts_of(post: str) -> tuple[PostChart, ...]:
    """The charts of one post. Raises UnknownName."""
    check_known("post", post, SEEDS)
    return tuple(chart for chart in POST_CHARTS if chart.post == post)


def find_chart(post: str, name: str) -> PostChart:
    """One chart of a post by its name. Raises UnknownName for an unknown post or chart."""
    charts = {chart.name: chart for chart in charts_of(post)}
    advice = f"`diskbench report --post {post} --chart list` shows all"
    check_known("chart", name, charts, advice=advice)
    return charts[name]


def rows_of(
    chart: PostChart,
    figures: Sequence[Published],
    own: Sequence[ChartPoint] = (),
    *,
    linked: bool = False,
) -> tuple[ChartPoint, ...]:
    """The rows of a chart: its published figures in order, then the points of own trials whose
    `key` is the id of any of them. `linked`: the mark of the n-th row links to `#row-n`."""
    by_id = {}
    for figure in chart.of(figures):
        device = "device-cache" in figure.id and not figure.cache
        label = chart.label.format(
            disk=short_label(figure),
            step=figure.step,
            direction=figure.direction,
            device=", device cache on" if device else "",
            mib=figure.parameters.get("size", 0) / MIB,
        )
        by_id[figure.id] = replace(published_point(figure), label=label)
    points = tuple(by_id.values())
    for point in own:
        if (theirs := by_id.get(point.key)) is not None:
            points += (replace(point, label=theirs.label, direction=theirs.direction),)
    if chart.kind == "latency":
        points = _with_extremes(points)
    if not linked:
        return points
    return tuple(replace(point, href=f"#row-{n}") for n, point in enumerate(points, 1))


def draw(
    chart: PostChart,
    figures: Sequence[Published],
    *,
    outlook: Outlook,
    own: Sequence[ChartPoint] = (),
    linked: bool = False,
) -> ChartFigure:
    """One chart of a post, drawn from the rows of `rows_of`, and from the cliffs among the `own`
    points. Raises InvalidValue if there is nothing to draw (no price is known)."""
    points = rows_of(chart, figures, own, linked=linked)
    name, heading = f"{chart.post}-{chart.name}", chart.heading
    if chart.kind in ("promised", "price"):  # own points have the expectation of their own plan
        by_id = {figure.id: figure for figure in chart.of(figures)}
        points = tuple(
            of_outlook(point, outlook(by_id[point.key], 1))
            if point.source == "published" else point
            for point in points
        )  # fmt: skip
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
            return _runs(chart, chart.of(figures), points, own, outlook)
        case "promised":
            held = [point for point in points if point.promised]
            return promised_chart(held, name=name, heading=heading)
        case "price":
            priced = [point for point in points if point.usd is not None]
            if not priced:
                raise InvalidValue(
                    f"no price is known for any disk of {chart.post}",
                    advice="prices of other regions come with `diskbench catalog disks --refresh`",
                )
            yours = {"measured": " (yours)"}
            unpriced = [point for point in points if point.usd is None]
            without = dict.fromkeys(of.label + yours.get(of.source, "") for of in unpriced)
            prices = _PRICES + (f"; none known of {', '.join(without)}" if without else "")
            return price_chart(priced, name=name, heading=heading, prices_of=prices)


def published_point(figure: Published) -> ChartPoint:
    """One published figure as a point; it has no link, because it belongs to no run of ours."""
    samples = figure.samples
    return ChartPoint(
        label=short_label(figure),
        metric=figure.metric,
        value=figure.value,
        source="published",
        direction=figure.direction,
        key=figure.id,
        provider=figure.provider,
        region=figure.region or "",
        instance=figure.instance_type or "",
        step=figure.step,
        values=samples,
        low=min(samples, default=None),
        high=max(samples, default=None),
        n=figure.n,
        counted="samples" if samples else "I/Os" if figure.metric.endswith("_ns") else "runs",
        statistic=figure.statistic,
        when=figure.post.date or "",
        doubt=figure.doubt.words if figure.doubt else "",
        words=f"published {figure.post.date or '(undated)'}: {figure.id}",
        machine=f"{figure.seed}:{figure.machine}:{figure.disk}",
    )


_SAID_OF_MODEL = re.compile(r" \(\D[^)]*\)")
_CACHES = {"readonly": ", read cache", "readwrite": ", rw cache"}


def short_label(figure: Published) -> str:
    """`LABEL gp2`, `LABEL Standard 20 GiB, rw cache`: the provider and the disk."""
    words = _SAID_OF_MODEL.sub("", figure.disk.split(":")[0].split(", ")[0])
    is_sold = (plugin := known_plugin(figure.provider)) is not None and plugin.rents
    whose = provider_label(figure.provider) or "" if is_sold else ""
    return f"{whose} {words}".strip() + _CACHES.get(figure.cache or "", "")


def _with_extremes(points: Iterable[ChartPoint]) -> tuple[ChartPoint, ...]:
    """Mean, lowest and highest latency of a disk and direction as one point: the mean with its
    extremes as `low` and `high`. Disks without a mean are left out."""
    found = []
    disk = attrgetter("label", "direction", "step", "source", "run_ids")
    for of_disk in grouped(points, disk).values():
        of = {point.metric: point for point in of_disk}
        low, high = (p.value if (p := of.get(f"lat_{end}_ns")) else None for end in ("min", "max"))
        if mean := of.get("lat_mean_ns"):
            found.append(replace(mean, low=low, high=high))
    return tuple(found)


def _samples(point: ChartPoint) -> tuple[str, list[ChartPoint]]:
    """The name of a row, and a point for each of a point's values."""
    runs = point.run_ids or ("",) * len(point.values)
    once = replace(point, values=(), low=None, high=None, n=1, machine=point.machine or point.label)
    word = "yours: " if point.source == "measured" else ""
    return f"{word}{point.label}", [
        replace(once, value=value, run_ids=(run,) if run else ())
        for value, run in zip(point.values, runs, strict=True)
    ]


_ABOVE = 1.05
"""A figure above the lasting promise by this factor was measured on credit, and is compared with
the burst. Our choice."""


def of_outlook(point: ChartPoint, outlook: PlanExpectation | None) -> ChartPoint:
    """The point with the price of its disk a month, transactions included, and with what is
    promised of its disk for the same step; a figure that is no rate has no promise."""
    price = outlook.price if outlook else None
    usd = price.total_usd if price and price.total_usd else None
    expected = outlook.of(_step(outlook, point.step)) if outlook else None
    if expected is None or point.metric not in RATES or expected.lasting.iops <= 0:
        return replace(point, usd=usd)
    per = 1.0 if point.metric == "iops" else float(expected.load.block_bytes)
    lasting = expected.lasting
    return replace(
        point,
        usd=usd,
        promised=tuple(of * per for of in (lasting.iops, lasting.low_iops, lasting.high_iops)),
        burst=expected.begin.iops * per if expected.bursts else None,
        on_credit=point.value > _ABOVE * lasting.iops * per,
    )


def _step(outlook: PlanExpectation, name: str) -> StepExpectation | None:
    return next((step for step in outlook.steps if step.name == name), None)


def _runs(
    chart: PostChart,
    figures: Sequence[Published],
    points: Sequence[ChartPoint],
    own: Sequence[ChartPoint],
    outlook: Outlook,
) -> ChartFigure:
    published, foreseen = _stated_lines(figures, chart), outlook(figures[0], chart.runs)
    predicted = predicted_lines(foreseen, figures, chart.runs)
    panels = {(line.metric, line.direction) for line in published}
    laid: dict[tuple[object, ...], ChartPoint] = {}
    for point in points:
        if point.source == "measured" and (point.metric, point.direction) in panels:
            laid.setdefault((point.run_ids, point.metric, point.direction), point)
    gone = predicted_cliffs(foreseen)
    notes = "" if gone else "the catalogue knows no burst of it"
    if not any("/after-" in figure.id for figure in figures):
        notes = "of the runs after the tenth the post states only the fall"
    of_own = [point for point in own if point.metric == CLIFF and laid]
    return runs_chart(
        [*published, *predicted, *laid.values()],
        name=f"{chart.post}-{chart.name}",
        heading=chart.heading,
        cliffs=[cliff(chart.fell_in, "published", chart.fall), *gone, *of_own],
        notes=notes,
    )


def _stated_lines(figures: Sequence[Published], chart: PostChart) -> list[ChartPoint]:
    """What a post states of the runs before a fall, and of those after it."""
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for figure in figures:
        after = "/after-" in figure.id
        first, last = (chart.fell_in, chart.runs) if after else (1, chart.fell_in - 1)
        of_line = lines.setdefault((figure.metric, figure.direction), {})
        of_line |= dict.fromkeys(range(first, min(last, figure.n or last) + 1), figure.value)
    label, words = short_label(figures[0]), f"published {figures[0].post.date or '(undated)'}"
    stated = (_line(label, *of, "published", values) for of, values in lines.items())
    return [replace(line, words=words) for line in stated]


def predicted_lines(
    outlook: PlanExpectation | None, figures: Sequence[Published], runs: int
) -> list[ChartPoint]:
    """The mean rate that the catalogue predicts for each run, for each step, metric and direction
    of the figures of one disk."""
    lines = []
    for name, metric, direction in dict.fromkeys(
        (one.step, one.metric, one.direction) for one in figures
    ):
        first = _step(outlook, name) if outlook else None
        if outlook is None or first is None:
            continue
        values: dict[int, float] = {}
        for run in range(1, runs + 1):
            step = outlook.step(first.index, run)
            expected = outlook.of(step)
            if step is not None and step.mean_iops is not None and expected is not None:
                per = expected.load.block_bytes if metric == "bytes_per_s" else 1
                values[run] = step.mean_iops * per
        if values:
            lines.append(_line(short_label(figures[0]), metric, direction, "predicted", values))
    return lines


def _line(
    label: str, metric: str, direction: str, source: Source, values: Mapping[int, float]
) -> ChartPoint:
    """A figure over runs, whose values are given by their numbers."""
    of, numbers = tuple(values.values()), tuple(values)
    return ChartPoint(label, metric, of[0], source, direction, values=of, numbers=numbers)


def predicted_cliffs(outlook: PlanExpectation | None, of: str = "") -> list[ChartPoint]:
    """The run in which the first bucket runs empty; empty if none does."""
    gone = [credit for credit in outlook.credits if credit.gone_s is not None] if outlook else []
    first = min(gone, key=lambda credit: credit.gone_s or 0.0, default=None)
    if first is None:
        return []
    words = f"predicted: credit is gone in run {first.run}, in {first.step}"
    return [cliff(first.run or 1, "predicted", words, of)]
