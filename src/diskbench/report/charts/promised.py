"""Measured against promised: the promise as a mark and a range, the measurement as a dot, and the
ratio of both as text. A disk that bursts has two promises; the ratio refers to the lasting one
unless the figure was measured on credit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import dots, interval_rule, layer, layered
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    bare,
    by_name,
    log_domain,
    named,
    title,
    value_axis,
    wants_log,
    with_unit,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import ChartPoint, Lanes, Row, lanes_of, middle, row, subtitle

WIDTH = 190
ROW = 30


@dataclass(frozen=True)
class ChartPromise:
    """A promise in the unit of the metric: `value` and its plausible range.

    `burst` is the promise while credit lasts; None if the disk does not burst. `source` says who
    made the promise, with a date.
    """

    value: float
    low: float
    high: float
    burst: float | None = None
    source: str = ""


@dataclass(frozen=True)
class FigureBesidePromise:
    """A figure and the promise that it is compared with. `on_credit`: it was measured during the
    burst, so it is compared with the burst. `interval` is that of the figure."""

    point: ChartPoint
    promise: ChartPromise
    on_credit: bool = False
    interval: tuple[float, float] | None = None

    @property
    def against(self) -> float:
        """The promised value that the figure is compared with."""
        burst = self.promise.burst
        return burst if self.on_credit and burst is not None else self.promise.value

    @property
    def ratio(self) -> float:
        """Measured over promised."""
        return self.point.value / self.against

    @property
    def words(self) -> str:
        """`1,106 of 1,100 (1.01×)`, `3,634 of 3,000 burst (1.21×)`."""
        metric = self.point.metric
        burst = " burst" if self.on_credit and self.promise.burst is not None else ""
        ratio = f"{self.ratio:.2f}×" if self.ratio < 100 else f"{self.ratio:,.0f}×"
        return f"{bare(metric, self.point.value)} of {bare(metric, self.against)}{burst} ({ratio})"


def promised_chart(
    held: Sequence[FigureBesidePromise],
    palette: Palette,
    *,
    name: str,
    heading: str,
    by: str = "the catalogue",
) -> ChartFigure:
    """Figures of one metric, each beside its promise. A promise must not be 0, because it has no
    ratio.

    Raises ValueError for figures of several metrics, or none.
    """
    points = [figure.point for figure in held]
    (metric,) = {point.metric for point in points}
    values = [value for beside in held for value in _extent(beside)]
    lanes = lanes_of(points, ranked=False)
    log = wants_log(values) and min(values) > 0
    unit = f"{title(metric)} measured, against what {by} promises"
    drawn = ["line: promised"]
    if any(beside.promise.low < beside.promise.high for beside in held):
        drawn.append("shade: its plausible range")
    if any(beside.promise.burst is not None for beside in held):
        drawn.append("triangle: burst")
    return ChartFigure(
        title=heading,
        subtitle=f"{subtitle(points, unit)}; {', '.join(drawn)}",
        drawing=lambda log: _drawing(held, lanes, metric, palette, log=log),
        id=name,
        alt=_sentence(held, heading),
        both=log,
        log_first=log,
    )


_KEPT = 0.95
"""A promise is kept from this ratio on, in the words of the chart. Our choice."""


def _sentence(held: Sequence[FigureBesidePromise], heading: str) -> str:
    count = sum(beside.ratio >= _KEPT for beside in held)
    least, best = (
        min(held, key=lambda beside: beside.ratio),
        max(held, key=lambda beside: beside.ratio),
    )
    text = f"{heading}: {count} of {len(held)} give at least 95 % of the promise"
    if len(held) == 1:
        return f"{text}: {least.point.label} {least.words}."
    return (
        f"{text}, from {least.point.label} with {least.words} to {best.point.label} with "
        f"{best.words}."
    )


def _drawing(
    held: Sequence[FigureBesidePromise], lanes: Lanes, metric: str, palette: Palette, *, log: bool
) -> Spec:
    values = [value for beside in held for value in _extent(beside)]
    domain = log_domain(values) if log else [0.0, max(values) * 1.04 or 1.0]
    y = lanes.axis()
    rows = [_row(beside, lanes) for beside in held]
    by_lane: dict[str, list[FigureBesidePromise]] = {}
    for beside in held:
        by_lane.setdefault(lanes.of(beside.point), []).append(beside)
    spans = [
        {"row": name, "span_low": interval[0], "span_high": interval[1]}
        for name, of_lane in by_lane.items()
        if (interval := _interval(of_lane))
    ]
    told = [{"row": name, "text": _words(of_lane)} for name, of_lane in by_lane.items()]
    promised = named("promise_words")
    colours = by_name("source", {"published": palette.series[0], "measured": palette.ink})

    def at(field: str, end: str = "") -> dict[str, Channel]:
        x = value_axis(field, metric, domain, log=log)
        return {"x": x, "y": y} | ({"x2": {"field": end}} if end else {})

    layers = [
        layer("bar", rows, at("promise_low", "promise_high"), height=16, color=palette.grid),
        layer("tick", rows, at("promise") | {"description": promised}, color=palette.muted,
              thickness=3, size=20, orient="vertical"),
        layer("point", [row for row in rows if row["burst"] is not None],
              at("burst") | {"description": promised}, shape="triangle-down", size=46,
              color=palette.muted, filled=True, yOffset=-10),
        interval_rule(spans, palette, at("span_low", "span_high")),
        *dots(rows, at("value") | {"color": colours}, size=90),
        # In a separate column, so that no mark is below the text.
        layer("text", told, {"y": y, "text": named("text")}, align="left", color=palette.ink,
              x=WIDTH + 10),
    ]  # fmt: skip
    return layered(layers, WIDTH, ROW * len(lanes.names))


def _row(beside: FigureBesidePromise, lanes: Lanes) -> Row:
    metric, promise = beside.point.metric, beside.promise
    burst = "" if promise.burst is None else f", burst {with_unit(metric, promise.burst)}"
    text = f"promised {with_unit(metric, promise.value)}{burst}"
    if promise.low < promise.high:
        text += f" ({with_unit(metric, promise.low)} to {with_unit(metric, promise.high)})"
    text += f" by {promise.source}" if promise.source else ""
    fields = row(beside.point)
    return fields | {
        "row": lanes.of(beside.point),
        "promise": promise.value,
        "promise_low": promise.low,
        "promise_high": promise.high,
        "burst": promise.burst,
        "promise_words": f"{beside.point.label}: {text}",
        "description": f"{fields['description']} · {text} · {beside.words}",
    }


def _interval(held: Sequence[FigureBesidePromise]) -> tuple[float, float] | None:
    """The interval of the only figure, or over the machines of a row."""
    if len(held) == 1:
        return held[0].interval
    return middle([beside.point for beside in held]).interval


def _words(held: Sequence[FigureBesidePromise]) -> str:
    """The text beside a row; for several figures their median against the first one's promise."""
    first = held[0]
    if len(held) == 1:
        return first.words
    value = middle([beside.point for beside in held]).value
    return f"{replace(first, point=replace(first.point, value=value)).words}, n = {len(held)}"


def _extent(beside: FigureBesidePromise) -> list[float]:
    values = [beside.point.value, beside.promise.value, beside.promise.low, beside.promise.high]
    values += [beside.promise.burst] if beside.promise.burst is not None else []
    return [*values, *(beside.interval or ())]
