"""One step of one configuration over time: its trials, the median of each campaign, its levels,
their changes, and other facts that changed at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from diskbench.model.history import MetricHistory
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import chart_of, layered
from diskbench.report.charts.measure import LATENCY_LABELS, UTC_LABELS, wants_log
from diskbench.report.charts.palette import Palette

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
    import altair as alt

    log = wants_log([trial.value for trial in track.sampled])
    scale = (
        alt.Scale(type="log") if log else alt.Scale(domain=_domain(track), nice=False, zero=False)
    )
    labels: dict[str, Any] = (
        {"labelExpr": LATENCY_LABELS} if track.metric.endswith("_ns") else {"format": "~s"}
    )
    y_axis = alt.Axis(tickCount=4, domain=False, ticks=False, minExtent=44, title=None, **labels)
    x = alt.X(
        "at:T",
        title=None,
        axis=alt.Axis(grid=False, labelOverlap=True, tickCount=5, labelExpr=UTC_LABELS),
        scale=alt.Scale(type="utc", padding=8),
    )
    y = alt.Y("value:Q", axis=y_axis, scale=scale)
    colour = palette.direction(track.history.direction)
    points = track.history.points
    layers = []
    if track.now.interval is not None:
        layers.append(
            chart_of([_band(track)])
            .mark_rect(color=palette.band)
            .encode(x=x, x2=alt.X2("to:T"), y=y, y2=alt.Y2("high:Q"))
        )
    if marks:
        noted = [{"at": at, "number": number} for at, number in marks]
        base = chart_of(noted).encode(x=x)
        layers += [
            base.mark_rule(color=palette.muted, strokeDash=[2, 3]),
            base.mark_text(color=palette.muted, align="left", dx=3, dy=8).encode(
                y=alt.value(0), text=alt.Text("number:N")
            ),
        ]
    levels = chart_of(_levels(track)).mark_rule(color=palette.ink, strokeWidth=1.5, opacity=0.75)
    layers.append(levels.encode(x=x, x2=alt.X2("to:T"), y=y))
    several = len(track.sampled) > len(points)
    if several:
        dots = [
            {
                "at": trial.at,
                "value": trial.value,
                "words": words[trial.run_id],
                "href": links[trial.run_id],
            }
            for trial in track.sampled
        ]
        layers.append(
            chart_of(dots)
            .mark_point(filled=True, size=14, opacity=0.45, color=colour)
            .encode(x=x, y=y, href=alt.Href("href:N"), description=alt.Description("words:N"))
        )
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
    base = chart_of(of_times).encode(x=x, y=y)
    layers.append(base.mark_line(color=colour, strokeWidth=1, opacity=0.55))
    layers.append(
        base.mark_point(filled=True, size=34, opacity=1, color=colour).encode(
            href=alt.Href("href:N"), description=alt.Description("words:N")
        )
    )
    if track.history.changes:
        changed = [
            {"at": change.at, "text": change_text(change.change)}
            for change in track.history.changes
        ]
        base = chart_of(changed).encode(x=x)
        layers += [
            base.mark_rule(color=palette.accent, strokeWidth=1.5, strokeDash=[5, 3]),
            base.mark_text(
                color=palette.accent, align="left", dx=4, dy=-6, fontWeight="bold"
            ).encode(y=alt.value(HEIGHT), text=alt.Text("text:N")),
        ]
    drawing = layered(layers, WIDTH, HEIGHT)
    return ChartFigure(track.name, subtitle, drawing, id=id_, alt=alt_text)


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


def _levels(track: MetricHistory) -> list[dict[str, Any]]:
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


def _band(track: MetricHistory) -> dict[str, Any]:
    interval, changes = track.now.interval, track.history.changes
    assert interval is not None
    start = changes[-1].at if changes else track.history.points[0].at
    return {
        "at": start,
        "to": track.history.points[-1].at,
        "value": interval.low,
        "high": interval.high,
    }
