"""One step of one configuration over time: its trials, the median of each campaign, its levels,
their changes, and other facts that changed at the same time."""

from collections.abc import Sequence
from statistics import median

from diskbench.model.history import MetricHistory
from diskbench.report.assemble.words import change_text
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import described, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import ACCENT, BAND, INK, MUTED, OF_DIRECTION
from diskbench.report.charts.point import Row

WIDTH = 420
HEIGHT = 170
_ROOM = 0.06
"""Margin above and below the figures, as a share of their range; our choice."""
_LEAST_RANGE = 0.10
"""Minimum span of an axis as a share of the median, so that noise does not look like a change."""


def history_chart(
    track: MetricHistory,
    *,
    id_: str,
    subtitle: str,
    alt_text: str,
    trials: Sequence[Row],
    times: Sequence[Row],
    facts: Sequence[Row] = (),
) -> ChartFigure:
    """The history of a track: a dot for each of its `trials` and each of its `times`, with its
    `value` `at` a time, its `description` and the page that it links to (`href`). `facts` are times
    `at` which facts changed, with the number (`text`) that explains them beside the chart."""
    colour = OF_DIRECTION[track.history.direction]
    # Beside the rule, where the new level is not: above after a fall, below after a rise.
    changed = [
        {"at": of.at, "text": change_text(of.change), "y": 20 if of.change < 0 else HEIGHT - 6}
        for of in track.history.changes
    ]
    x, y = _axes(track)
    value = {"x": x, "y": y}
    to = value | {"x2": {"field": "to"}}
    levels, interval = _levels(track), track.now.interval  # of the median since the last change
    band = [levels[-1] | {"value": interval.low, "high": interval.high}] if interval else []
    layers = [
        layer("rect", band, to | {"y2": {"field": "high"}}, color=BAND),
        layer("rule", facts, {"x": x}, color=MUTED, strokeDash=[2, 3]),
        layer("text", facts, {"x": x}, color=MUTED, y=-5),
        layer("rule", levels, to, color=INK, strokeWidth=1.5, opacity=0.75),
        described("point", trials, value, filled=True, size=14, opacity=0.45, color=colour),
        layer("line", times, value, color=colour, strokeWidth=1, opacity=0.55),
        described("point", times, value, filled=True, size=34, opacity=1, color=colour),
        layer("rule", changed, {"x": x}, color=ACCENT, strokeWidth=1.5, strokeDash=[5, 3]),
        layer("text", changed, {"x": x, "y": measure.amount("y", scale=None)}, color=ACCENT,
              align="left", dx=4, fontWeight="bold"),
    ]  # fmt: skip
    return ChartFigure(
        track.name, subtitle, lambda _: layered(layers, WIDTH, HEIGHT), id=id_, alt=alt_text
    )


def _axes(track: MetricHistory) -> tuple[Spec, Spec]:
    values = [trial.value for trial in track.sampled]
    low, high, log = min(values), max(values), measure.wants_log(values)
    centre = (low + high) / 2
    half = max(high - low, _LEAST_RANGE * track.now.median) * (0.5 + _ROOM)
    domain = measure.log_domain(values) if log else [max(0.0, centre - half), centre + half]
    labels = {"labelOverlap": True, "tickCount": 5, "labelExpr": measure.UTC_LABELS}
    axis, utc = {**measure.LINE, "grid": False, **labels}, {"type": "utc", "padding": 8}
    x = {"field": "at", "type": "temporal", "title": None, "axis": axis, "scale": utc}
    return x, measure.value_axis("value", track.metric, domain, log=log, title=None, minExtent=44)


def _levels(track: MetricHistory) -> list[Row]:
    """Each level from its first to its last time."""
    points, changes = track.history.points, track.history.changes
    starts = [points[0].at, *(change.at for change in changes)]
    ends = [*(change.before for change in changes), points[-1].at]
    last = changes[-1].median_after if changes else median(point.value for point in points)
    medians = [*(change.median_before for change in changes), last]
    return [
        {"at": start, "to": end, "value": value}
        for start, end, value in zip(starts, ends, medians, strict=True)
    ]
