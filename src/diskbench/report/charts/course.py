"""One step second by second: its rate with named phases and its cliff beside the predicted one, and
its latencies, with hover text at the pointer or keyboard position; and so the representative runs
of the most common step: the median, the fallen, the stalled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from diskbench.model.ids import short
from diskbench.model.phase import Phase
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.course import (
    MOST_POINTS,
    DirectionSeries,
    Floats,
    StepCourse,
    kept,
    stalled,
    telling,
)
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import columns, layer, layered
from diskbench.report.charts.measure import (
    TIME_WIDTH,
    Spec,
    amount,
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
    with_unit,
)
from diskbench.report.charts.palette import (
    ACCENT,
    BAND,
    DIRECTIONS,
    GRID,
    INK,
    MUTED,
    OF_DIRECTION,
)
from diskbench.report.charts.point import Row

Rate = Literal["iops", "bytes_per_s"]
HEIGHT = 130
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
_TALL: dict[str, Spec] = {"y": {"value": 0}, "y2": {"value": HEIGHT}}
_MOST_CLIFF_WORDS = 2
_MOST_MARKS = 200


class Levels(NamedTuple):
    """Promised or expected rates (`word`) by their names: those `drawn`, and those so far `beyond`
    what was reached that they would flatten the rest."""

    word: str = "expected"
    drawn: tuple[tuple[str, float], ...] = ()
    beyond: tuple[tuple[str, float], ...] = ()


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
    return _with_surroundings(course, lines, tracks, rate, levels)


def _strokes(
    directions: Sequence[str], dashes: Mapping[str, list[int]], of: str, **more: object
) -> dict[str, Spec]:
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


def _with_surroundings(
    course: StepCourse,
    lines: Spec,
    tracks: Mapping[str, Floats],
    metric: str,
    levels: Levels | None = None,
) -> Spec:
    """The `lines` of a course with all that is around them. Cliffs and levels have their names in
    the picture of rates, the one with `levels`; that of latencies stands below it."""

    def second(field: str, axis: Spec | None = None) -> Spec:
        """A place on the time axis, which the lines draw."""
        return amount(field, axis=axis, scale={"domain": [0, course.seconds], "nice": False})

    phases = course.phases.phases if course.phases else ()
    stalls = course.phases.stalls if course.phases else ()
    longest = sorted(stalls, key=lambda stall: -stall.seconds)[:_MOST_MARKS]
    middles = [{"at": (stall.start_s + stall.end_s) / 2} for stall in longest]
    rounds = [{"at": float(at)} for at in course.rounds[1:]]
    cliffs, shown = _cliffs(course)
    legend = stroke_legend(values=shown) if levels else None
    rule = {
        "x": second("at"),
        "color": by_name("which", {row["which"]: row["colour"] for row in cliffs}, legend),
        "strokeDash": by_name("which", {row["which"]: row["dash"] for row in cliffs}, legend),
    }
    predicted = course.predicted
    spread = [] if predicted is None else [
        {"start": predicted.earliest_s, "end": min(predicted.latest_s, course.seconds)}
    ]  # fmt: skip
    words = [_phase_words(phase, metric if levels else None) for phase in phases]
    bands = {
        "x": second("start", _phase_axis([phase.start_s for phase in phases], words)),
        "x2": {"field": "end"},
        "color": named("fill", scale=None),
        "opacity": amount("opacity", scale=None),
    }
    stretch = {"x": second("start"), "x2": {"field": "end"}}
    at_levels = [
        {"value": value, "text": f"{levels.word}\n{name} {bare(metric, value)}"}
        for name, value in levels.drawn
    ] if levels else []  # fmt: skip
    y = {"y": lines["encoding"]["y"]}
    layers = [
        layer("rect", [_phase_row(phase, course.seconds) for phase in phases], bands | _TALL),
        layer("rule", rounds, {"x": second("at")}, color=GRID, strokeWidth=1),
        layer("rule", at_levels, y, color=MUTED, strokeDash=[3, 3]),
        # Named beside the plot.
        layer("text", at_levels, y | {"x": {"value": TIME_WIDTH + 6}, "text": named("text")},
              align="left", baseline="middle", color=MUTED, fontSize=11, lineBreak="\n",
              lineHeight=12),
        lines,
        layer("point", middles, {"x": second("at"), "y": {"value": HEIGHT - 4}},
              shape="triangle-up", filled=True, size=45, color=ACCENT),
        layer("rect", [row for row in spread if row["start"] < row["end"]], stretch | _TALL,
              color=INK, opacity=0.10),
        layer("rule", cliffs, rule, strokeWidth=2),
        columns(_hover_rows(course, tracks, metric), stretch),
    ]  # fmt: skip
    alone = {
        "scale": {"color": "independent", "strokeDash": "independent"},
        "axis": {"x": "independent"},
    }
    return layered(layers, TIME_WIDTH, HEIGHT, resolve=alone)


def _phase_row(phase: Phase, seconds: int) -> Row:
    """The band of a phase: bursts, ramps and stalls are shaded."""
    fills = {"burst": (BAND, 1.0), "ramp": (BAND, 0.5), "stall": (ACCENT, 0.25)}
    fill, opacity = fills.get(phase.kind, ("transparent", 1.0))
    end = min(phase.end_s, seconds)
    return {"start": phase.start_s, "end": end, "fill": fill, "opacity": opacity}


def _phase_axis(starts: list[float], words: list[str]) -> Spec:
    """An axis above with lines between the phases and their names."""
    return {
        "orient": "top",
        "title": None,
        "values": starts,
        "labelExpr": f"{json.dumps(words)}[indexof({json.dumps(starts)}, datum.value)]",
        "labelAlign": "left",
        "labelColor": INK,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "labelPadding": 3,
    }


def _phase_words(phase: Phase, rate: str | None) -> str:
    """The kind of a phase, with its level of the `rate` that the picture shows."""
    level = getattr(phase, rate) if rate and phase.kind != "stall" else None
    return phase.kind if rate is None or level is None else f"{phase.kind} {bare(rate, level)}"


def _cliffs(course: StepCourse) -> tuple[list[Row], list[str]]:
    """The predicted cliff and those that were found, and the ones that a legend names: the first
    that were found, then the predicted one."""
    rows: dict[str, Row] = {}
    if course.predicted is not None:
        word = f"predicted {clock(course.predicted.at_s)}"
        rows[word] = {"at": course.predicted.at_s, "colour": INK, "dash": [4, 3]}
    predicted = list(rows)
    for cliff in course.phases.cliffs if course.phases else ():
        row = {"at": cliff.at_s, "colour": ACCENT, "dash": [1, 0]}
        rows[f"cliff {clock(cliff.at_s)}"] = row
    found = [word for word in rows if word not in predicted][:_MOST_CLIFF_WORDS]
    return [row | {"which": word} for word, row in rows.items()], [*found, *predicted]


MOST_COLUMNS = 60
"""Stretches of a course with hover text: five pixels each, which a pointer can distinguish."""


def _hover_rows(course: StepCourse, tracks: Mapping[str, Floats], metric: str) -> list[Row]:
    """Stretches with their text: run, time, phase, and the median, lowest and highest second."""
    count = min(MOST_COLUMNS, course.seconds)
    edges = np.linspace(0, course.seconds, count + 1).round().astype(int).tolist()
    rows = []
    for start, end in pairwise(edges):
        found = []
        for name, values in tracks.items():
            known = values[start:end]
            known = known[~np.isnan(known)]
            if not known.size:
                continue
            middle = with_unit(metric, float(np.median(known)))
            low, high = bare(metric, float(known.min())), bare(metric, float(known.max()))
            found.append(f"{name} {middle}" + (f" ({low} to {high})" if known.size > 1 else ""))
        until = f"–{clock(end)}" if end - start > 1 else ""
        phase = phase_at(course, (start + end) / 2)
        words = [
            f"run {short(course.run_id)}",
            course.step,
            f"{clock(start)}{until}",
            phase,
            *found,
        ]
        text = " · ".join(word for word in words if word)
        rows.append({"start": start, "end": end, "words": text})
    return rows


def phase_at(course: StepCourse, second: float) -> str:
    """The kind of the phase at a second; empty if no phase was found."""
    phases = course.phases.phases if course.phases else ()
    return next((phase.kind for phase in phases if phase.start_s <= second < phase.end_s), "")


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
        drawing=lambda _: _with_surroundings(course, lines, words, "lat_ns"),
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


def latency_of_run(data: ChartData) -> Iterator[ChartFigure]:
    """The latencies of the first step that is long enough."""
    if data.detailed and (figure := course_latency_chart(data.detailed)):
        yield figure


def telling_runs(data: ChartData) -> Iterator[ChartFigure]:
    """The runs of the most common step that differ most."""
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
                    subtitle=f"run {short(run_id)}\n{figure.subtitle}",
                    rows_href=row_href(run_id),
                )
