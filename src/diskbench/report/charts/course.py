"""One step second by second: its rate with named phases and its cliff beside the predicted one, and
its latencies; and so the representative runs of the most common step: the median, the fallen, the
stalled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.course import (
    MOST_POINTS,
    DirectionSeries,
    StepCourse,
    kept,
    stalled,
    telling,
)
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.course_layers import Floats, Levels, Rate, course_drawing
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import layer
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    bare,
    by_name,
    latency_axis,
    log_domain,
    named,
    stroke_legend,
    time_axis,
    value_axis,
    wants_log,
)
from diskbench.report.charts.palette import DIRECTIONS, Palette
from diskbench.report.charts.point import Row
from diskbench.report.charts.registry import chart

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
        drawing=lambda log: _drawing(course, palette, rate, levels, log=log),
        id=f"course-{rate.replace('_', '-')}-{course.run_id}-{course.step_index}",
        alt=_sentence(course, rate),
        both=log,
        log_first=log,
    )


def _drawing(
    course: StepCourse, palette: Palette, rate: Rate, levels: Levels, *, log: bool
) -> Spec:
    tracks = {name: getattr(track, rate) for name, track in course.tracks.items()}
    if len(tracks) > 1:  # phases and promises refer to the total
        tracks["total"] = course.total(rate)
    share = max(MOST_POINTS // max(len(tracks), 1), 250)
    rows: list[Row] = [
        {"second": int(place) + 0.5, "value": float(f"{values[place]:.5g}"), "direction": name}
        for name, values in tracks.items()
        for place in kept(values, share)
    ]
    values = [row["value"] for row in rows] + [value for _, value in levels.drawn]
    domain = log_domain(values) if log else [0.0, max(values, default=1.0) * 1.06 or 1.0]
    rows = [row | {"value": max(row["value"], domain[0])} for row in rows]
    y = value_axis("value", rate, domain, log=log, minExtent=34, title=None)
    names = [name for name in (*DIRECTIONS, "total") if name in tracks]
    legend = stroke_legend() if len(names) > 1 else None
    dashes = {name: _DASHES[name] if len(names) > 1 else [1, 0] for name in names}
    encoding = {"x": time_axis(course.seconds), "y": y, **_strokes(names, palette, legend)}
    encoding["strokeDash"] = by_name("direction", dashes, legend)
    lines = layer("line", rows, encoding, strokeWidth=1.5, strokeJoin="round")
    return course_drawing(course, lines, tracks, rate, palette, HEIGHT, levels)


def _strokes(names: Sequence[str], palette: Palette, legend: Channel | None) -> dict[str, Channel]:
    """A colour per direction; a legend if there are several."""
    return {
        "color": by_name("direction", {each: palette.direction(each) for each in names}, legend)
    }


def _usual(course: StepCourse, rate: Rate) -> Sequence[float]:
    """The levels of its phases; for a step without phases, the values of seconds without a
    stall."""
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
    if expected is None or (limit := expected.lasting.limited_by) is None:
        return Levels()
    begin = getattr(expected.begin, rate) if expected.bursts else None
    lasting = "baseline" if begin is not None else "rate"
    named = (("burst", begin), (lasting, getattr(expected.lasting, rate)))
    known = [(name, value) for name, value in named if value is not None]
    most = _FAR_ABOVE * float(course.total(rate).max(initial=0.0)) or math.inf
    return Levels(
        word="promised" if limit.startswith(("disk-", "vm-")) else "expected",
        drawn=tuple(level for level in known if level[1] <= most),
        beyond=tuple(level for level in known if level[1] > most),
    )


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
def _rates_of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    for course in data.courses:
        yield course_chart(course, palette)


_LATENCIES = {"p50_ns": "p50", "p99_ns": "p99", "mean_ns": "mean", "max_ns": "max"}
_LATENCY_DASHES = {"p50": [1, 0], "mean": [1, 0], "p99": [5, 2], "max": [1, 2]}
_LEAST_KNOWN = 0.5


def course_latency_chart(course: StepCourse, palette: Palette) -> ChartFigure | None:
    """Median (or mean), p99 and highest latency of each second, on a logarithmic axis; None if the
    logs have no latencies.

    A quantile is drawn if enough I/Os support it in at least half of the seconds (MR-10).
    """

    shown = {
        (direction, name): getattr(track, name)
        for direction, track in course.tracks.items()
        for name in _latency_figures(track)
    }
    if not shown:
        return None
    if len(course.tracks) > 1:  # three lines for each of two directions would be unreadable
        shown = {key: shown[key] for key in shown if key[1] != "max_ns"} or shown
    rows = _latency_rows(shown)
    words = {
        f"{direction} {_LATENCIES[name]}": values for (direction, name), values in shown.items()
    }
    kinds = list(dict.fromkeys(_LATENCIES[name] for _, name in shown))
    subtitle = (
        f"time of one I/O ({', '.join(kinds)}) in each second, logarithmic; "
        f"n = {course.seconds:,} s, no interval (n = 1 run)"
    )
    return ChartFigure(
        title=f"{course.step}: latency",
        subtitle=subtitle,
        drawing=lambda _: course_drawing(
            course, _latency_lines(course, rows, palette), words, "lat_ns", palette, HEIGHT
        ),
        id=f"course-latency-{course.run_id}-{course.step_index}",
        alt=_latency_sentence(course, shown),
    )


def _latency_figures(track: DirectionSeries) -> list[str]:
    """The figures to draw for a direction: quantiles if known, else the mean; and the highest."""

    def known(name: str) -> bool:
        values = getattr(track, name)
        active = np.nan_to_num(track.iops) > 0
        is_known = ~np.isnan(values) & (values > 0)
        return bool(is_known.any()) and is_known.sum() >= _LEAST_KNOWN * max(active.sum(), 1)

    middle = "p50_ns" if known("p50_ns") else "mean_ns"
    return [name for name in (middle, "p99_ns", "max_ns") if known(name)]


def _latency_rows(shown: dict[tuple[str, str], Floats]) -> list[Row]:
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
                "which": _LATENCIES[name],
                "piece": f"{direction} {_LATENCIES[name]} {pieces[place]}",
            }
            for place in kept(drawn, share)
        ]
    return rows


def _latency_lines(course: StepCourse, rows: list[Row], palette: Palette) -> Spec:
    names = [name for name in DIRECTIONS if any(row["direction"] == name for row in rows)]
    dashes = {k: v for k, v in _LATENCY_DASHES.items() if any(row["which"] == k for row in rows)}
    encoding = {
        "x": time_axis(course.seconds),
        "y": latency_axis("value", log_domain(row["value"] for row in rows)),
        "detail": named("piece"),
        **_strokes(names, palette, stroke_legend() if len(names) > 1 else None),
        "strokeDash": by_name("which", dashes, stroke_legend(symbolStrokeColor=palette.muted)),
    }
    return layer("line", rows, encoding, strokeWidth=1.3, strokeJoin="round", strokeCap="round")


def _latency_sentence(course: StepCourse, shown: dict[tuple[str, str], Floats]) -> str:
    parts = []
    for (direction, name), values in shown.items():
        known = values[~np.isnan(values) & (values > 0)]
        low, high = bare("lat_ns", float(known.min())), bare("lat_ns", float(known.max()))
        parts.append(f"{direction} {_LATENCIES[name]} between {low} and {high}")
    return f"Latency of {course.step} second by second: {'; '.join(parts)}."


@chart(
    "latency-seconds",
    title="latency of a step second by second",
    needs="the evidence of one run",
    rank=20,
)
def _latency_of_run(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    figure = course_latency_chart(data.detailed, palette) if data.detailed else None
    if figure is not None:
        yield figure


MOST_TELLING = 6


@chart(
    "telling-runs",
    title="the runs of a step that differ most, second by second",
    needs="the evidence of three runs or more",
    rank=20,
)
def _telling_runs(data: ChartData, palette: Palette) -> Iterator[ChartFigure]:
    by_id = {row.run_id: row for row in data.runs}
    for bands in data.bands[:1]:
        for run in telling(bands, MOST_TELLING):
            for course in data.courses_of(by_id[run.run_id]):
                if course.step != bands[0].step:
                    continue
                figure = course_chart(course, palette, rate=bands[0].figure)
                yield replace(
                    figure,
                    title=f"{course.step}: {run.why}",
                    subtitle=f"run {run.run_id}\n{figure.subtitle}",
                    rows_href=row_href(run.run_id),
                )
