"""The latencies of one step, second by second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.course import MOST_POINTS, kept
from diskbench.report.charts.clock import WIDTH, time_axis
from diskbench.report.charts.course import HEIGHT
from diskbench.report.charts.course_hover import hover_layer
from diskbench.report.charts.course_layers import (
    cliff_layers,
    phase_layers,
    round_layer,
    stall_layer,
)
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import latency_axis, stroke_legend, stroke_scale
from diskbench.report.charts.measure import bare, log_domain
from diskbench.report.charts.palette import DIRECTIONS
from diskbench.report.charts.registry import chart
from diskbench.report.charts.rows import drawn_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import altair as alt
    import numpy as np
    from numpy.typing import NDArray

    from diskbench.report.assemble.chart_data import ChartData
    from diskbench.report.assemble.course import DirectionSeries, StepCourse
    from diskbench.report.charts.palette import Palette

    Floats = NDArray[np.float64]

_NAMES = {"p50_ns": "p50", "p99_ns": "p99", "mean_ns": "mean", "max_ns": "max"}
_DASHES = {"p50": [1, 0], "mean": [1, 0], "p99": [5, 2], "max": [1, 2]}
_LEAST_KNOWN = 0.5


def course_latency_chart(course: StepCourse, palette: Palette) -> ChartFigure | None:
    """Median (or mean), p99 and highest latency of each second, on a logarithmic axis; None if the
    logs have no latencies.

    A quantile is drawn if enough I/Os support it in at least half of the seconds (MR-10).
    """
    import altair as alt

    shown = {
        (direction, name): getattr(track, name)
        for direction, track in course.tracks.items()
        for name in _figures(track)
    }
    if not shown:
        return None
    if len(course.tracks) > 1:  # three lines for each of two directions would be unreadable
        shown = {key: shown[key] for key in shown if key[1] != "max_ns"} or shown
    rows = _rows(shown)
    domain = log_domain([row["value"] for row in rows])
    y = latency_axis("value", domain, clamp=True)
    x = time_axis(course.seconds)
    words = {f"{direction} {_NAMES[name]}": values for (direction, name), values in shown.items()}
    layers: list[Any] = [
        *phase_layers(course, palette, x, HEIGHT),
        *round_layer(course, palette, x),
        *_lines(rows, palette, x, y),
        *stall_layer(course, palette, x, HEIGHT),
        *cliff_layers(course, palette, x, HEIGHT, words=False),
        hover_layer(course, words, "lat_ns", x, palette),
    ]
    kinds = list(dict.fromkeys(_NAMES[name] for _, name in shown))
    subtitle = (
        f"time of one I/O ({', '.join(kinds)}) in each second, logarithmic; "
        f"n = {course.seconds:,} s, no interval (n = 1 run)"
    )
    return ChartFigure(
        title=f"{course.step}: latency",
        subtitle=subtitle,
        drawing=alt.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT),
        id=f"course-latency-{course.run_id}-{course.step_index}",
        alt=_sentence(course, shown),
    )


def _figures(track: DirectionSeries) -> list[str]:
    """The figures to draw for a direction: quantiles if known, else the mean; and the highest."""
    import numpy as np

    def known(name: str) -> bool:
        values = getattr(track, name)
        active = np.nan_to_num(track.iops) > 0
        is_known = ~np.isnan(values) & (values > 0)
        return bool(is_known.any()) and is_known.sum() >= _LEAST_KNOWN * max(active.sum(), 1)

    middle = "p50_ns" if known("p50_ns") else "mean_ns"
    return [name for name in (middle, "p99_ns", "max_ns") if known(name)]


def _rows(shown: dict[tuple[str, str], Floats]) -> list[dict[str, Any]]:
    import numpy as np

    share = max(2 * MOST_POINTS // max(len(shown), 1), 100)
    rows = []
    for (direction, name), values in shown.items():
        drawn = np.where(values > 0, values, np.nan)
        pieces = np.cumsum(np.isnan(drawn))  # a second without I/O has no latency: a gap
        rows += [
            {
                "second": int(place) + 0.5,
                "value": float(f"{drawn[place]:.4g}"),
                "direction": direction,
                "which": _NAMES[name],
                "piece": f"{direction} {_NAMES[name]} {pieces[place]}",
            }
            for place in kept(drawn, share)
        ]
    return rows


def _lines(rows: list[dict[str, Any]], palette: Palette, x: alt.X, y: alt.Y) -> list[Any]:
    import altair as alt

    names = [name for name in DIRECTIONS if any(row["direction"] == name for row in rows)]
    colours = {name: palette.direction(name) for name in names}
    dashes = {k: v for k, v in _DASHES.items() if any(row["which"] == k for row in rows)}
    legend = stroke_legend() if len(names) > 1 else None
    of_dashes = stroke_legend(symbolStrokeColor=palette.muted)
    return [
        alt.Chart(drawn_rows(rows))
        .mark_line(strokeWidth=1.3, strokeJoin="round", strokeCap="round", aria=False)
        .encode(
            x=x,
            y=y,
            detail=alt.Detail("piece:N"),
            color=stroke_scale(alt.Color, "direction", colours, legend),
            strokeDash=stroke_scale(alt.StrokeDash, "which", dashes, of_dashes),
        )
    ]


def _sentence(course: StepCourse, shown: dict[tuple[str, str], Floats]) -> str:
    import numpy as np

    parts = []
    for (direction, name), values in shown.items():
        known = values[~np.isnan(values) & (values > 0)]
        low, high = bare("lat_ns", float(known.min())), bare("lat_ns", float(known.max()))
        parts.append(f"{direction} {_NAMES[name]} between {low} and {high}")
    return f"Latency of {course.step} second by second: {'; '.join(parts)}."


@chart(
    "latency-seconds",
    title="latency of a step second by second",
    needs="the evidence of one run",
    rank=20,
)
def _of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    figure = course_latency_chart(data.detailed, palette) if data.detailed else None
    if figure is not None:
        yield figure
