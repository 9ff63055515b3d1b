"""One step second by second: its rate with named phases and its cliff beside the predicted one, and
its latencies; and so the representative runs of the most common step: the median, the fallen, the
stalled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
    title,
    value_axis,
    wants_log,
)
from diskbench.report.charts.palette import DIRECTIONS, MUTED, OF_DIRECTION
from diskbench.report.charts.point import Row
from diskbench.report.charts.registry import chart

_WHOLE = [1, 0]
_DASHES = {
    "read": _WHOLE, "write": [5, 2], "trim": [2, 2], "mixed": _WHOLE, "sync": [8, 2, 2, 2],
    "total": _WHOLE,
}  # fmt: skip
_WORDS: dict[Rate, tuple[str, str]] = {
    "iops": ("IOPS", "I/Os in each second"),
    "bytes_per_s": ("Throughput", "MB/s in each second"),
}
_FAR_ABOVE = 3.0
"""A level above the reached maximum by this factor is only named: it would flatten the rest."""


def course_chart(course: StepCourse, *, rate: Rate = "iops") -> ChartFigure:
    """IOPS or bytes per second of a step, over time.

    Phases are shaded and named, found and predicted cliffs are marked with text, expected levels
    are lines. There is a linear and a logarithmic axis if the levels are two decades apart.
    """
    levels = _levels(course, rate)
    log = wants_log(_usual(course, rate))
    return ChartFigure(
        title=f"{course.step}: {_WORDS[rate][0]}",
        subtitle=_subtitle(course, rate, levels),
        drawing=lambda log: _drawing(course, rate, levels, log=log),
        id=f"course-{rate.replace('_', '-')}-{course.run_id}-{course.step_index}",
        alt=_sentence(course, rate),
        log=log or None,
    )


def _drawing(course: StepCourse, rate: Rate, levels: Levels, *, log: bool) -> Spec:
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
    dashes = _DASHES if len(tracks) > 1 else dict.fromkeys(_DASHES, _WHOLE)
    encoding = {
        "x": time_axis(course.seconds),
        "y": value_axis("value", rate, domain, log=log, minExtent=34, title=None),
        **_strokes(list(tracks), dashes, "direction"),
    }
    lines = layer("line", rows, encoding, strokeWidth=1.5, strokeJoin="round")
    return course_drawing(course, lines, tracks, rate, levels)


def _strokes(
    directions: Sequence[str], dashes: Mapping[str, list[int]], of: str, **more: object
) -> dict[str, Channel]:
    """A colour per direction and a dash per name in the field `of`, with legends where there are
    several directions; `more` are options of that of the dashes, which then is always there."""
    names = [name for name in (*DIRECTIONS, "total") if name in directions]
    legend = stroke_legend() if len(names) > 1 else None
    shown = {name: dash for name, dash in dashes.items() if of != "direction" or name in names}
    return {
        "color": by_name("direction", {name: OF_DIRECTION[name] for name in names}, legend),
        "strokeDash": by_name(of, shown, stroke_legend(**more) if more else legend),
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
    parts = [f"{_WORDS[rate][1]}, n = {course.seconds:,} s; no interval (n = 1 run)"]
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
    low, middle, high = (bare(rate, float(f(total))) for f in (np.min, np.median, np.max))
    ran = f"{course.step} ran for {clock(course.seconds)}"
    parts = [f"{ran}, between {low} and {high} {title(rate)}, median {middle}"]
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
def _rates_of_run(data: ChartData) -> Iterator[ChartFigure]:
    yield from map(course_chart, data.courses)


_LATENCIES = {"p50_ns": "p50", "p99_ns": "p99", "mean_ns": "mean", "max_ns": "max"}
_LATENCY_DASHES = {"p50": _WHOLE, "mean": _WHOLE, "p99": [5, 2], "max": [1, 2]}
_LEAST_KNOWN = 0.5


def course_latency_chart(course: StepCourse) -> ChartFigure | None:
    """Median (or mean), p99 and highest latency of each second, on a logarithmic axis; None if the
    logs have no latencies.

    A quantile is drawn if enough I/Os support it in at least half of the seconds (MR-10).
    """
    shown = {
        (direction, _LATENCIES[name]): getattr(track, name)
        for direction, track in course.tracks.items()
        for name in _latency_figures(track)
    }
    if not shown:
        return None
    if len(course.tracks) > 1:  # three lines for each of two directions would be unreadable
        shown = {key: shown[key] for key in shown if key[1] != "max"} or shown
    lines = _latency_lines(course, shown)
    words = {f"{direction} {which}": values for (direction, which), values in shown.items()}
    ends = [
        f"{word} between {bare('lat_ns', low)} and {bare('lat_ns', high)}"
        for word, values in words.items()
        for known in [values[~np.isnan(values) & (values > 0)]]
        for low, high in [(float(known.min()), float(known.max()))]
    ]
    kinds = dict.fromkeys(which for _, which in shown)
    return ChartFigure(
        title=f"{course.step}: latency",
        subtitle=f"time of one I/O ({', '.join(kinds)}) in each second, logarithmic; "
        f"n = {course.seconds:,} s, no interval (n = 1 run)",
        drawing=lambda _: course_drawing(course, lines, words, "lat_ns"),
        id=f"course-latency-{course.run_id}-{course.step_index}",
        alt=f"Latency of {course.step} second by second: {'; '.join(ends)}.",
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


def _latency_lines(course: StepCourse, shown: Mapping[tuple[str, str], Floats]) -> Spec:
    share = max(2 * MOST_POINTS // max(len(shown), 1), 100)
    rows: list[Row] = []
    for (direction, which), values in shown.items():
        drawn = np.where(values > 0, values, np.nan)
        pieces = np.cumsum(np.isnan(drawn))  # a second without I/O has no latency: a gap
        rows += [
            {
                "second": int(place) + 0.5,
                "value": float(f"{drawn[place]:.4g}"),
                "direction": direction,
                "which": which,
                "piece": f"{direction} {which} {pieces[place]}",
            }
            for place in kept(drawn, share)
        ]
    kinds = {which for _, which in shown}
    dashes = {which: dash for which, dash in _LATENCY_DASHES.items() if which in kinds}
    encoding = {
        "x": time_axis(course.seconds),
        "y": latency_axis("value", log_domain(row["value"] for row in rows)),
        "detail": named("piece"),
        **_strokes([name for name, _ in shown], dashes, "which", symbolStrokeColor=MUTED),
    }
    return layer("line", rows, encoding, strokeWidth=1.3, strokeJoin="round", strokeCap="round")


@chart(
    "latency-seconds",
    title="latency of a step second by second",
    needs="the evidence of one run",
    rank=20,
)
def _latency_of_run(data: ChartData) -> Iterator[ChartFigure]:
    if data.detailed and (figure := course_latency_chart(data.detailed)):
        yield figure


@chart(
    "telling-runs",
    title="the runs of a step that differ most, second by second",
    needs="the evidence of three runs or more",
    rank=20,
)
def _telling_runs(data: ChartData) -> Iterator[ChartFigure]:
    by_id = {row.run_id: row for row in data.runs}
    for bands in data.bands[:1]:
        for run_id, why in telling(bands).items():
            for course in data.courses_of(by_id[run_id]):
                if course.step != bands[0].step:
                    continue
                figure = course_chart(course, rate=bands[0].figure)
                yield replace(
                    figure,
                    title=f"{course.step}: {why}",
                    subtitle=f"run {run_id}\n{figure.subtitle}",
                    rows_href=row_href(run_id),
                )
