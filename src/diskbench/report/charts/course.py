"""One step second by second, with named phases and its cliff beside the predicted one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from diskbench.report.assemble.course import MOST_POINTS, kept, stalled
from diskbench.report.assemble.phases import clock
from diskbench.report.charts.axis import wants_log
from diskbench.report.charts.clock import WIDTH, time_axis
from diskbench.report.charts.course_hover import hover_layer
from diskbench.report.charts.course_layers import (
    Levels,
    Rate,
    cliff_layers,
    level_layers,
    phase_layers,
    round_layer,
    stall_layer,
)
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import stroke_legend, stroke_scale, value_axis
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
    from diskbench.report.assemble.course import StepCourse
    from diskbench.report.charts.palette import Palette

    Floats = NDArray[np.float64]

HEIGHT = 130
_DASHES = {
    "read": [1, 0], "write": [5, 2], "trim": [2, 2], "mixed": [1, 0], "sync": [8, 2, 2, 2],
    "total": [1, 0],
}  # fmt: skip
_WORDS: dict[Rate, str] = {"iops": "IOPS", "bytes_per_s": "Throughput"}
_UNITS: dict[Rate, str] = {"iops": "I/Os in each second", "bytes_per_s": "MB/s in each second"}
_FAR_ABOVE = 3.0
"""A level above the reached maximum by this factor is only named: it would flatten the rest."""


def course_chart(course: StepCourse, palette: Palette, *, rate: Rate = "iops") -> ChartFigure:
    """IOPS or bytes per second of a step, over time.

    Phases are shaded and named, found and predicted cliffs are marked with text, expected levels
    are lines. There is a linear and a logarithmic axis if the levels are two decades apart.
    """
    levels = _levels(course, rate)
    log = wants_log(_usual(course, rate))
    return ChartFigure(
        title=f"{course.step}: {_WORDS[rate]}",
        subtitle=_subtitle(course, rate, levels),
        drawing=_drawing(course, palette, rate, levels, log=False),
        id=f"course-{rate.replace('_', '-')}-{course.run_id}-{course.step_index}",
        alt=_sentence(course, rate),
        log_drawing=_drawing(course, palette, rate, levels, log=True) if log else None,
        log_first=log,
    )


def _drawing(
    course: StepCourse, palette: Palette, rate: Rate, levels: Levels, *, log: bool
) -> alt.LayerChart:
    import altair as alt

    x = time_axis(course.seconds)
    tracks = {name: getattr(track, rate) for name, track in course.tracks.items()}
    if len(tracks) > 1:  # phases and promises refer to the total
        tracks["total"] = course.total(rate)
    lines = line_rows(tracks)
    values = [row["value"] for row in lines] + list(levels.shown)
    if log:
        positive = [value for value in values if value > 0]
        domain = log_domain(positive)
    else:
        domain = [0, max(values, default=1.0) * 1.06 or 1.0]
    y = value_axis("y", "value", rate, domain, log=log, clamp=log, minExtent=34, title=None)
    floor = domain[0] if log else 0.0
    for row in lines:
        row["value"] = max(row["value"], floor)
    layers: list[Any] = [
        *phase_layers(course, palette, x, HEIGHT, rate=rate),
        *round_layer(course, palette, x),
        *level_layers(levels, palette, y, rate),
        *line_layers(lines, palette, x, y),
        *stall_layer(course, palette, x, HEIGHT),
        *cliff_layers(course, palette, x, HEIGHT),
        hover_layer(course, tracks, rate, x, palette),
    ]
    return alt.LayerChart(layer=layers).properties(width=WIDTH, height=HEIGHT)


def line_rows(tracks: dict[str, Floats], n_out: int = MOST_POINTS) -> list[dict[str, Any]]:
    """The points of the lines, downsampled; a second is drawn at its middle."""
    share = max(n_out // max(len(tracks), 1), 250)
    return [
        {"second": int(place) + 0.5, "value": float(f"{values[place]:.5g}"), "direction": name}
        for name, values in tracks.items()
        for place in kept(values, share)
    ]


def line_layers(lines: list[dict[str, Any]], palette: Palette, x: alt.X, y: alt.Y) -> list[Any]:
    """A line per direction, with its own colour and dash; a legend if there are several."""
    import altair as alt

    drawn = {row["direction"] for row in lines}
    names = [name for name in (*DIRECTIONS, "total") if name in drawn]
    dashes = {name: _DASHES[name] if len(names) > 1 else [1, 0] for name in names}
    legend = stroke_legend() if len(names) > 1 else None
    colours = {name: palette.direction(name) for name in names}
    base = alt.Chart(drawn_rows(lines)).encode(
        x=x,
        y=y,
        color=stroke_scale(alt.Color, "direction", colours, legend),
        strokeDash=stroke_scale(alt.StrokeDash, "direction", dashes, legend),
    )
    return [base.mark_line(strokeWidth=1.5, interpolate="linear", strokeJoin="round", aria=False)]


def _usual(course: StepCourse, rate: Rate) -> Sequence[float]:
    """The levels of its phases; for a step without phases, the values of seconds without a
    stall."""
    import numpy as np

    phases = course.phases.phases if course.phases else ()
    rates = [getattr(phase, rate) for phase in phases if phase.kind != "stall"]
    if len(known := [value for value in rates if value]) > 1:
        return known
    total = course.total(rate)
    ordered = np.sort(total[~stalled(total)])
    cut = ordered.size // 100
    kept_values: list[float] = ordered[cut : ordered.size - cut].tolist()
    return kept_values


def _levels(course: StepCourse, rate: Rate) -> Levels:
    expected = course.expected
    if expected is None or expected.lasting.limited_by is None:
        return Levels()
    lasting, begin = getattr(expected.lasting, rate), getattr(expected.begin, rate)
    levels = Levels(lasting=lasting, begin=begin if expected.bursts else None)
    levels = replace(
        levels, word="promised" if _is_promise(expected.lasting.limited_by) else "expected"
    )
    top = float(course.total(rate).max(initial=0.0))
    return replace(levels, most=_FAR_ABOVE * top if top else None)


def _is_promise(limit: str) -> bool:
    return limit.startswith(("disk-", "vm-"))


def _subtitle(course: StepCourse, rate: Rate, levels: Levels) -> str:
    parts = [f"{_UNITS[rate]}, n = {course.seconds:,} s; no interval (n = 1 run)"]
    if course.rounds:
        parts.append(f"{len(course.rounds)} rounds after each other")
    stalls = course.phases.stalls if course.phases else ()
    if stalls:
        parts.append(f"▲ stall (n = {len(stalls)})")
    for name, value in levels.beyond:
        parts.append(f"{levels.word} {name}: {bare(rate, value)}, above the picture")
    if course.seconds * len(course.tracks) > MOST_POINTS:
        parts.append("thinned: highest, lowest and stalls are kept")
    return "; ".join(parts)


def _sentence(course: StepCourse, rate: Rate) -> str:
    """The alternative text of the chart."""
    import numpy as np

    total = course.total(rate)
    unit = "IOPS" if rate == "iops" else "MB/s"
    low, middle, high = (bare(rate, float(f(total))) for f in (np.min, np.median, np.max))
    ran = f"{course.step} ran for {clock(course.seconds)}"
    parts = [f"{ran}, between {low} and {high} {unit}, median {middle}"]
    phases = course.phases.phases if course.phases else ()
    if len(phases) > 1:
        words = ", ".join(f"{phase.kind} from {clock(phase.start_s)}" for phase in phases[:6])
        parts.append(f"phases: {words}")
    cliffs = course.phases.cliffs if course.phases else ()
    if cliffs:
        parts.append(f"it fell at {', '.join(clock(cliff.at_s) for cliff in cliffs[:4])}")
    if course.predicted:
        parts.append(f"the fall was predicted at {clock(course.predicted.at_s)}")
    return "; ".join(parts) + "."


@chart(
    "seconds",
    title="IOPS of each step second by second, with its phases and cliffs",
    needs="the evidence of one run",
    rank=10,
)
def _of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for course in data.courses:
        yield course_chart(course, palette)
