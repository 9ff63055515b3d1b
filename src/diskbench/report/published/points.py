"""Charts of published figures, by the name that `report --chart` takes (charts.yaml), and their
points: published figures, and what a plan expects (promises, prices, predicted runs)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import Literal

from diskbench.catalog.post_file import Published
from diskbench.catalog.published import SEEDS
from diskbench.errors import UnknownName
from diskbench.model.base import Frozen
from diskbench.model.expectation import PlanExpectation, StepExpectation
from diskbench.parallel import grouped
from diskbench.plugins import known_plugin
from diskbench.report.charts.point import ChartPoint, Promise, Source, provider_label
from diskbench.report.charts.runs_line import CliffMark
from diskbench.report.published.differences import RATES
from diskbench.yaml_lines import packaged

Kind = Literal["bars", "multiples", "instances", "latency", "samples", "runs", "promised", "price"]
Named = Literal["disk", "disk and step", "disk and direction", "workload"]


class PublishedFall(Frozen):
    """A fall that a post reports: the run in which it happened, and how many runs are drawn."""

    run: int
    runs: int
    words: str


class PostChart(Frozen):
    """One chart of one post. `figures` are patterns of the ids to draw, without the post, in
    order; `metric` and `direction` filter them (None: all)."""

    post: str
    name: str
    kind: Kind
    heading: str
    words: str
    figures: tuple[str, ...]
    metric: str | None = None
    direction: str | None = None
    named: Named = "disk"
    fall: PublishedFall | None = None

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
    if post not in SEEDS:
        raise UnknownName("post", post, SEEDS)
    return tuple(chart for chart in POST_CHARTS if chart.post == post)


def find_chart(post: str, name: str) -> PostChart:
    """One chart of a post by its name. Raises UnknownName for an unknown post or chart."""
    charts = {chart.name: chart for chart in charts_of(post)}
    advice = f"`diskbench report --post {post} --chart list` shows all"
    if name not in charts:
        raise UnknownName("chart", name, list(charts), advice=advice)
    return charts[name]


_SAID_OF_MODEL = re.compile(r" \(\D[^)]*\)")
_CACHES = {"readonly": ", read cache", "readwrite": ", rw cache"}


def published_point(figure: Published, *, label: str | None = None) -> ChartPoint:
    """One published figure as a point; it has no link, because it belongs to no run of ours."""
    samples = figure.samples
    return ChartPoint(
        label=label if label is not None else short_label(figure),
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
        low=min(samples) if samples else None,
        high=max(samples) if samples else None,
        n=figure.n,
        counted="samples" if samples else "I/Os" if figure.metric.endswith("_ns") else "runs",
        statistic=figure.statistic,
        when=figure.post.date or "",
        doubt=figure.doubt.words if figure.doubt else "",
        words=f"published {figure.post.date or '(undated)'}: {figure.id}",
        machine=f"{figure.seed}:{figure.machine}:{figure.disk}",
    )


def short_label(figure: Published) -> str:
    """`LABEL gp2`, `LABEL Standard 20 GiB, rw cache`: the provider and the disk."""
    words = _SAID_OF_MODEL.sub("", figure.disk.split(":")[0].split(", ")[0])
    is_sold = (plugin := known_plugin(figure.provider)) is not None and plugin.rents
    whose = provider_label(figure.provider) or "" if is_sold else ""
    return f"{whose} {words}".strip() + _CACHES.get(figure.cache or "", "")


def with_extremes(points: Iterable[ChartPoint]) -> tuple[ChartPoint, ...]:
    """Mean, lowest and highest latency of a disk and direction as one point: the mean with its
    extremes as `low` and `high`. Disks without a mean are left out."""
    disk = attrgetter("label", "direction", "step", "source", "run_ids")
    found = []
    for of_disk in grouped(points, disk).values():
        of = {point.metric: point for point in of_disk}
        low, high = (p.value if (p := of.get(f"lat_{end}_ns")) else None for end in ("min", "max"))
        if mean := of.get("lat_mean_ns"):
            found.append(replace(mean, low=low, high=high))
    return tuple(found)


_ABOVE = 1.05
"""A figure above the lasting promise by this factor was measured on credit, and is compared with
the burst. Our choice."""


def of_outlook(point: ChartPoint, outlook: PlanExpectation | None) -> ChartPoint:
    """The point with the price of its disk a month, transactions included, and with what is
    promised of its disk for the same step; a figure that is no rate has no promise."""
    price = outlook.price if outlook else None
    usd = price.total_usd if price and price.total_usd else None
    step = _step(outlook, point.step)
    expected = outlook.of(step) if outlook and step else None
    if expected is None or point.metric not in RATES or expected.lasting.iops <= 0:
        return replace(point, usd=usd)
    per = 1.0 if point.metric == "iops" else float(expected.load.block_bytes)
    lasting = expected.lasting
    promise = Promise(
        value=lasting.iops * per,
        low=lasting.low_iops * per,
        high=lasting.high_iops * per,
        burst=expected.begin.iops * per if expected.bursts else None,
        on_credit=point.value > _ABOVE * lasting.iops * per,
    )
    return replace(point, usd=usd, promise=promise)


def predicted_lines(
    outlook: PlanExpectation | None, steps: Iterable[tuple[str, str, str]], runs: int, label: str
) -> list[ChartPoint]:
    """The mean rate that the catalogue predicts for each run, for each (step, metric,
    direction)."""
    lines = []
    for name, metric, direction in steps:
        first = _step(outlook, name)
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
            lines.append(_line(label, metric, direction, "predicted", values))
    return lines


def _line(
    label: str, metric: str, direction: str, source: Source, values: Mapping[int, float]
) -> ChartPoint:
    """A figure over runs, whose values are given by their numbers."""
    of, numbers = tuple(values.values()), tuple(values)
    return ChartPoint(label, metric, of[0], source, direction, values=of, numbers=numbers)


def stated_lines(figures: Sequence[Published], fall: PublishedFall) -> list[ChartPoint]:
    """What a post states of the runs before a fall, and of those after it."""
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for figure in figures:
        first, last = (fall.run, fall.runs) if "/after-" in figure.id else (1, fall.run - 1)
        of_line = lines.setdefault((figure.metric, figure.direction), {})
        of_line |= dict.fromkeys(range(first, min(last, figure.n or last) + 1), figure.value)
    label, words = short_label(figures[0]), f"published {figures[0].post.date or '(undated)'}"
    stated = (_line(label, *of, "published", values) for of, values in lines.items())
    return [replace(line, words=words) for line in stated]


def predicted_cliffs(outlook: PlanExpectation | None) -> tuple[CliffMark, ...]:
    """The run in which the first bucket runs empty; empty if none does."""
    gone = [credit for credit in outlook.credits if credit.gone_s is not None] if outlook else []
    if not gone:
        return ()
    first = min(gone, key=lambda credit: credit.gone_s or 0.0)
    words = f"predicted: credit is gone in run {first.run}, in {first.step}"
    return (CliffMark(first.run or 1, "predicted", words),)


def _step(outlook: PlanExpectation | None, name: str) -> StepExpectation | None:
    return next((step for step in outlook.steps if step.name == name), None) if outlook else None
