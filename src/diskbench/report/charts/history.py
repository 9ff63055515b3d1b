"""One step of one configuration over time: its trials, the median of each campaign, its levels,
their changes, and other facts that changed at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from diskbench.model.history import MetricHistory
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import (
    LATENCY_LABELS,
    UTC_LABELS,
    Channel,
    Spec,
    amount,
    named,
    wants_log,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import Row

WIDTH = 420
HEIGHT = 170
_ROOM = 0.06
"""Margin above and below the figures, as a share of their range; our choice."""
_LEAST_RANGE = 0.10
"""Minimum span of an axis as a share of the median, so that noise does not look like a change."""


def history_chart(
    track: MetricHistory,
    palette: Palette,
    *,
    id_: str,
    subtitle: str,
    alt_text: str,
    words: Mapping[str, str],
    links: Mapping[str, str],
    medians: Mapping[str, str],
    marks: Sequence[tuple[str, str]] = (),
) -> ChartFigure:
    """The history of a track. `words` and `links` give, by run id, the text of a trial's dot and
    the fragment (`#…`) that it links to; `medians` give, by campaign, the text of a median's dot.
    `marks` are times with a number: changed facts, which are explained beside the chart.
    """
    colour = palette.direction(track.history.direction)
    points = track.history.points
    several = len(track.sampled) > len(points)
    dots = [
        {"at": one.at, "value": one.value, "words": words[one.run_id], "href": links[one.run_id]}
        for one in track.sampled
    ]
    firsts = {trial.campaign_id: trial.run_id for trial in reversed(track.sampled)}
    of_times = [
        {
            "at": point.at,
            "value": point.value,
            "words": medians[point.campaign_id] if several else words[firsts[point.campaign_id]],
            "href": links[firsts[point.campaign_id]],
        }
        for point in points
    ]
    noted = [{"at": at, "text": number} for at, number in marks]
    changed = [
        {"at": change.at, "text": change_text(change.change)} for change in track.history.changes
    ]
    x, y = _axes(track)
    value = {"x": x, "y": y}
    to = value | {"x2": {"field": "to"}}
    text = {"x": x, "text": named("text")}
    told = value | {"href": named("href"), "description": named("words")}

    def drawing(_log: bool) -> Spec:
        layers = [
            layer("rect", _band(track), to | {"y2": {"field": "high"}}, color=palette.band),
            layer("rule", noted, {"x": x}, color=palette.muted, strokeDash=[2, 3]),
            layer("text", noted, text, color=palette.muted, align="left", dx=3, dy=8, y=0),
            layer("rule", _levels(track), to, color=palette.ink, strokeWidth=1.5, opacity=0.75),
            layer("point", dots if several else (), told, filled=True, size=14, opacity=0.45,
                  color=colour),
            layer("line", of_times, value, color=colour, strokeWidth=1, opacity=0.55),
            layer("point", of_times, told, filled=True, size=34, opacity=1, color=colour),
            layer("rule", changed, {"x": x}, color=palette.accent, strokeWidth=1.5,
                  strokeDash=[5, 3]),
            layer("text", changed, text, color=palette.accent, align="left", dx=4, dy=-6,
                  fontWeight="bold", y=HEIGHT),
        ]  # fmt: skip
        return layered(layers, WIDTH, HEIGHT)

    return ChartFigure(track.name, subtitle, drawing, id=id_, alt=alt_text)


def _axes(track: MetricHistory) -> tuple[Channel, Channel]:
    log = wants_log([trial.value for trial in track.sampled])
    scale: Channel = {"domain": _domain(track), "nice": False, "zero": False}
    labels = {"labelExpr": LATENCY_LABELS} if track.metric.endswith("_ns") else {"format": "~s"}
    y_axis = {"tickCount": 4, "domain": False, "ticks": False, "minExtent": 44, "title": None}
    x_axis = {"grid": False, "labelOverlap": True, "tickCount": 5, "labelExpr": UTC_LABELS}
    utc = {"type": "utc", "padding": 8}
    x = {"field": "at", "type": "temporal", "title": None, "axis": x_axis, "scale": utc}
    return x, amount("value", axis=y_axis | labels, scale={"type": "log"} if log else scale)


def change_text(change: float) -> str:
    """`−12.3 %`."""
    return f"{'−' if change < 0 else '+'}{abs(change) * 100:.1f} %"


def _domain(track: MetricHistory) -> list[float]:
    values = [trial.value for trial in track.sampled]
    low, high = min(values), max(values)
    middle = track.now.median
    reach = max(high - low, _LEAST_RANGE * middle)
    centre = (low + high) / 2
    half = reach * (0.5 + _ROOM)
    return [max(0.0, centre - half), centre + half]


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


def _band(track: MetricHistory) -> list[Row]:
    """The interval of the median since the last change, if there is one."""
    interval, changes = track.now.interval, track.history.changes
    if interval is None:
        return []
    start = changes[-1].at if changes else track.history.points[0].at
    end = track.history.points[-1].at
    return [{"at": start, "to": end, "value": interval.low, "high": interval.high}]
