"""Measured against promised: a mark and a range, a dot, and the ratio of both as text. A disk that
bursts has two promises; the ratio refers to the lasting one unless it was measured on credit."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import along, brackets, dots, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import GRID, INK, MUTED, SERIES
from diskbench.report.charts.point import (
    ChartPoint,
    Lanes,
    Row,
    lane_axis,
    lanes_of,
    machine_values,
    row,
    subtitle,
)

WIDTH = 165
ROW = 30
_KEPT = 0.95
"""A promise is kept from this ratio on, in the words of the chart. Our choice."""


def ratio(point: ChartPoint) -> float:
    """Measured over promised. A promise must not be 0, because it has no ratio."""
    return point.value / point.against


def beside_promise(point: ChartPoint) -> str:
    """`1,106 of 1,100 (1.01×)`, `3,634 of 3,000 burst (1.21×)`."""
    burst = " burst" if point.on_credit and point.burst is not None else ""
    times = f"{ratio(point):.2f}×" if ratio(point) < 100 else f"{ratio(point):,.0f}×"
    measured, promised = (measure.bare(point.metric, of) for of in (point.value, point.against))
    return f"{measured} of {promised}{burst} ({times})"


def promised_chart(points: Sequence[ChartPoint], *, name: str, heading: str) -> ChartFigure:
    """Figures of one metric, each beside its promise. Raises ValueError for several, or none."""
    (metric,) = {point.metric for point in points}
    of_promises = [value for one in points for value in (*one.promised, one.burst)]
    values = [value for value in (*(p.value for p in points), *of_promises) if value is not None]
    log = measure.wants_log(values) and min(values) > 0
    unit = f"{measure.title(metric)} measured, against what the catalogue promises"
    has_range = any(low < high for _, low, high in (point.promised for point in points))
    drawn = [
        "line: promised",
        *(["shade: its plausible range"] if has_range else []),
        *(["triangle: burst"] if any(one.burst is not None for one in points) else []),
    ]
    lanes = lanes_of(points, ranked=False)

    def drawing(log: bool) -> Spec:
        domain = measure.log_domain(values) if log else [0.0, max(values) * 1.04 or 1.0]
        return _drawing(lanes, metric, domain, log=log)

    return ChartFigure(
        title=heading,
        subtitle=f"{subtitle(points, unit)}; {', '.join(drawn)}",
        drawing=drawing,
        id=name,
        alt=_kept_in_words(points, heading),
        log=log or None,
    )


def _kept_in_words(points: Sequence[ChartPoint], heading: str) -> str:
    count = sum(ratio(point) >= _KEPT for point in points)
    least, best = min(points, key=ratio), max(points, key=ratio)
    text = f"{heading}: {count} of {len(points)} give at least 95 % of the promise"
    if len(points) == 1:
        return f"{text}: {least.label} {beside_promise(least)}."
    ends = (f"{point.label} with {beside_promise(point)}" for point in (least, best))
    return f"{text}, from {' to '.join(ends)}."


def _drawing(lanes: Lanes, metric: str, domain: Sequence[float], *, log: bool) -> Spec:
    y = lane_axis(lanes)
    rows = [_row(point, name) for name, of_lane in lanes.items() for point in of_lane]
    words = [{"row": name, "text": _beside_row(of_lane)} for name, of_lane in lanes.items()]
    longest = max(len(row["text"]) for row in words)
    promised = {"description": measure.named("promise_words")}
    colours = measure.by_name("source", {"published": SERIES[0], "measured": INK})
    at = along(y, metric, domain, log=log)
    layers = [
        layer("bar", rows, at("promise_low", "promise_high"), height=16, color=GRID),
        layer("tick", rows, at("promise") | promised, color=MUTED, thickness=3, size=20,
              orient="vertical"),
        layer("point", [row for row in rows if row["burst"] is not None], at("burst") | promised,
              shape="triangle-down", size=46, color=MUTED, filled=True, yOffset=-10),
        *dots(rows, at("value") | {"color": colours}, size=90),
        *brackets(lanes, at),
        # In a separate column, so that no mark is below the text, as wide as the widest font.
        layer("text", words, {"y": y}, align="left", color=INK, x=WIDTH + 10),
        layer("point", [{}], {}, opacity=0, x=WIDTH + measure.text_room(longest), y=0),
    ]  # fmt: skip
    return layered(layers, WIDTH, measure.row_height(lanes, ROW) * len(lanes))


def _row(point: ChartPoint, name: str) -> Row:
    metric, (value, low, high) = point.metric, point.promised
    burst = "" if point.burst is None else f", burst {measure.with_unit(metric, point.burst)}"
    text = f"promised {measure.with_unit(metric, value)}{burst}"
    if low < high:
        text += f" ({measure.with_unit(metric, low)} to {measure.with_unit(metric, high)})"
    text += f" by {point.promised_by}" if point.promised_by else ""
    return row(point) | {
        "row": name,
        "promise": value,
        "promise_low": low,
        "promise_high": high,
        "burst": point.burst,
        "promise_words": f"{point.label}: {text}",
        "description": f"{point.description} · {text} · {beside_promise(point)}",
    }


def _beside_row(points: Sequence[ChartPoint]) -> str:
    """The text beside a row; for several figures their median against the first one's promise."""
    if len(points) == 1:
        return beside_promise(points[0])
    middle = replace(points[0], value=median(machine_values(points)))
    return f"{beside_promise(middle)}, n = {len(points)}"
