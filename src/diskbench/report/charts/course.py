"""One step second by second: its rate with named phases and its cliff beside the predicted one, and
its latencies; and so the representative runs of the most common step."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from diskbench.model.ids import short
from diskbench.report.assemble.chart_data import ChartData
from diskbench.report.assemble.course import MOST_POINTS, Floats, StepCourse, kept, stalled, telling
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import row_href
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import columns, layer, layered
from diskbench.report.charts.measure import Spec
from diskbench.report.charts.palette import ACCENT, BAND, DIRECTIONS, GRID, INK, MUTED, OF_DIRECTION
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
_FILLS = {"burst": (BAND, 1.0), "ramp": (BAND, 0.5), "stall": (ACCENT, 0.25)}
_MOST_CLIFF_WORDS = 2
_BLANK = "\u2800"
"""A character without ink that is no space: Vega trims those."""
_MOST_MARKS = 200


def course_chart(course: StepCourse, *, rate: Rate = "iops") -> ChartFigure:
    """IOPS or bytes per second of a step, over time: phases are shaded and named, found and
    predicted cliffs are marked with text, expected levels are lines."""
    levels = _levels(course, rate)
    log = measure.wants_log(_usual(course, rate))
    return ChartFigure(
        title=f"{course.step}: {_WORDS[rate][0]}",
        subtitle=_subtitle(course, rate, levels),
        drawing=lambda log: _drawing(course, rate, levels, log=log),
        id=f"course-{rate.replace('_', '-')}-{course.run_id}-{course.step_index}",
        alt=_phases_in_words(course, rate),
        log=log or None,
    )


def _drawing(course: StepCourse, rate: Rate, levels: Sequence[Row], *, log: bool) -> Spec:
    tracks = {name: track[rate] for name, track in course.tracks.items()}
    if len(tracks) > 1:  # phases and promises refer to the total
        tracks["total"] = course.total(rate)
    share = max(MOST_POINTS // max(len(tracks), 1), 250)
    rows = _rows({(name, ""): values for name, values in tracks.items()}, share)
    levels = [level for level in levels if not level["beyond"]]
    values = [row["value"] for row in (*rows, *levels)]
    domain = measure.log_domain(values) if log else [0.0, max(values, default=1.0) * 1.06 or 1.0]
    rows = [row | {"value": max(row["value"], domain[0])} for row in rows]
    dashes = _DASHES if len(tracks) > 1 else dict.fromkeys(_DASHES, _WHOLE)
    encoding = {
        "x": measure.time_axis(course.seconds),
        "y": measure.value_axis("value", rate, domain, log=log, minExtent=34, title=None),
        **_strokes(list(tracks), dashes, "direction"),
    }
    lines = layer("line", rows, encoding, strokeWidth=1.5, strokeJoin="round")
    return _with_surroundings(course, lines, tracks, rate, levels)


def _rows(lines: Mapping[tuple[str, str], Floats], share: int) -> list[Row]:
    """A row per drawn second of each line, named by its direction and figure; at a gap begins
    another `piece` of the line."""
    rows: list[Row] = []
    for (direction, which), values in lines.items():
        of_line, pieces = {"direction": direction, "which": which}, np.cumsum(np.isnan(values))
        for at in kept(values, share):
            place = {"second": int(at) + 0.5, "value": float(f"{values[at]:.5g}")}
            rows.append(of_line | place | {"piece": f"{direction} {which} {pieces[at]}"})
    return rows


def _strokes(
    directions: Sequence[str], dashes: Mapping[str, list[int]], of: str, **more: object
) -> dict[str, Spec]:
    """A colour per direction and a dash per name in the field `of`, with legends where there are
    several directions; `more` are options of that of the dashes, which then is always there."""
    names = [name for name in (*DIRECTIONS, "total") if name in directions]
    legend = measure.stroke_legend() if len(names) > 1 else None
    shown = {name: dash for name, dash in dashes.items() if of != "direction" or name in names}
    return {
        "color": measure.by_name("direction", {name: OF_DIRECTION[name] for name in names}, legend),
        "strokeDash": measure.by_name(of, shown, measure.stroke_legend(**more) if more else legend),
    }


def _usual(course: StepCourse, rate: Rate) -> Sequence[float]:
    """The levels of its phases; without any, the values of seconds without a stall."""
    phases = course.phases.phases if course.phases else ()
    rates = [getattr(phase, rate) for phase in phases if phase.kind != "stall"]
    if len(known := [value for value in rates if value]) > 1:
        return known
    total = course.total(rate)
    ordered: list[float] = np.sort(total[~stalled(total)]).tolist()
    cut = len(ordered) // 100
    return ordered[cut : len(ordered) - cut]


def _levels(course: StepCourse, rate: Rate) -> list[Row]:
    """The promised or expected rates; one that is so far above what was reached that it would
    flatten the rest is `beyond`."""
    expected = course.expected
    if expected is None or (limit := expected.lasting.limited_by) is None:
        return []
    begin = getattr(expected.begin, rate) if expected.bursts else None
    lasting = "baseline" if begin is not None else "rate"
    word = "promised" if limit.startswith(("disk-", "vm-")) else "expected"
    most = _FAR_ABOVE * float(course.total(rate).max(initial=0.0)) or math.inf
    return [
        {"word": word, "name": name, "value": value, "beyond": value > most}
        for name, value in (("burst", begin), (lasting, getattr(expected.lasting, rate)))
        if value is not None
    ]


def _subtitle(course: StepCourse, rate: Rate, levels: Sequence[Row]) -> str:
    parts = [f"{_WORDS[rate][1]}, n = {course.seconds:,} s; no interval (n = 1 run)"]
    if course.rounds:
        parts.append(f"{len(course.rounds)} rounds after each other")
    if course.phases and (stalls := course.phases.stalls):
        parts.append(f"▲ stall (n = {len(stalls)})")
    if any(not level["beyond"] for level in levels):
        parts.append(f"dashed level: {levels[0]['word']}")
    for level in levels:
        if level["beyond"]:
            value = measure.bare(rate, level["value"])
            parts.append(f"{level['word']} {level['name']}: {value}, above the picture")
    if course.seconds * len(course.tracks) > MOST_POINTS:
        parts.append("thinned: highest, lowest and stalls are kept")
    return "; ".join(parts)


def _phases_in_words(course: StepCourse, rate: Rate) -> str:
    total = course.total(rate)
    low, middle, high = (measure.bare(rate, float(f(total))) for f in (np.min, np.median, np.max))
    ran = f"{course.step} ran for {clock(course.seconds)}"
    parts = [f"{ran}, between {low} and {high} {measure.title(rate)}, median {middle}"]
    phases = course.phases.phases if course.phases else ()
    if len(phases) > 1:
        words = ", ".join(f"{phase.kind} from {clock(phase.start_s)}" for phase in phases[:6])
        parts.append(f"phases: {words}")
    if course.phases and (cliffs := course.phases.cliffs):
        parts.append(f"it fell at {', '.join(clock(cliff.at_s) for cliff in cliffs[:4])}")
    if course.predicted:
        parts.append(f"the fall was predicted at {clock(course.predicted[0])}")
    return "; ".join(parts) + "."


def _with_surroundings(
    course: StepCourse,
    lines: Spec,
    tracks: Mapping[str, Floats],
    metric: str,
    levels: Sequence[Row] | None = None,
) -> Spec:
    """The `lines` of a course with all that is around them. Cliffs and levels have their names in
    the picture of rates, the one with `levels`; that of latencies stands below it."""

    def second(field: str, axis: Spec | None = None) -> Spec:
        """A place on the time axis, which the lines draw."""
        scale = {"domain": [0, course.seconds], "nice": False}
        return measure.amount(field, axis=axis, scale=scale)

    stalls = course.phases.stalls if course.phases else ()
    longest = sorted(stalls, key=lambda stall: -stall.seconds)[:_MOST_MARKS]
    middles = [{"at": (stall.start_s + stall.end_s) / 2} for stall in longest]
    rounds = [{"at": float(at)} for at in course.rounds[1:]]
    cliffs, shown = _cliffs(course)
    legend = None if levels is None else measure.stroke_legend(values=shown)
    rule = {"x": second("at")}
    for channel, field in (("color", "colour"), ("strokeDash", "dash")):
        values = {row["which"]: row[field] for row in cliffs}
        rule[channel] = measure.by_name("which", values, legend)
    spread = []
    if predicted := course.predicted:
        _, earliest, latest = predicted
        spread = [{"start": earliest, "end": min(latest, course.seconds)}]
    stretch = {"x": second("start"), "x2": {"field": "end"}}
    at_levels = [
        level
        | {"text": f"{level['name']} {measure.bare(metric, level['value'])}", "dx": 0, "dy": 0}
        for level in reversed(levels or ())
    ]
    y = {"y": lines["encoding"]["y"]}
    end = {"x": {"value": measure.TIME_WIDTH}}
    layers = [
        _phase_layer(course, "" if levels is None else metric, second),
        layer("rule", rounds, {"x": second("at")}, color=GRID, strokeWidth=1),
        layer("rule", at_levels, y, color=MUTED, strokeDash=[3, 3]),
        layer("text", at_levels, y | end, style="placed-after", color=MUTED),
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
    return layered(layers, measure.TIME_WIDTH, HEIGHT, resolve=alone)


def _phase_layer(course: StepCourse, rate: str, second: Callable[..., Spec]) -> Spec:
    """The bands of the phases, with lines between them and their names above, with their levels of
    the `rate` that the picture shows."""
    rows, words, starts = [], [], []
    for phase in course.phases.phases if course.phases else ():
        level = getattr(phase, rate) if rate and phase.kind != "stall" else None
        words.append(phase.kind if level is None else f"{phase.kind} {measure.bare(rate, level)}")
        starts.append(phase.start_s)
        fill, opacity = _FILLS.get(phase.kind, ("transparent", 1.0))
        end = min(phase.end_s, course.seconds)
        rows.append({"start": phase.start_s, "end": end, "fill": fill, "opacity": opacity})
    # Vega leaves out names only of three or more, and always draws the last one.
    last = [course.seconds] if starts and starts[-1] < course.seconds / 2 else []
    label = f"{json.dumps(words)}[indexof({json.dumps(starts)}, datum.value)] || '{_BLANK}'"
    axis = {
        "orient": "top", "title": None, "values": [*starts, *last], "labelExpr": label,
        "labelAlign": "left", "labelColor": INK, "labelOverlap": "greedy", "labelSeparation": 10,
        "labelPadding": 3,
    }  # fmt: skip
    bands = {
        "x": second("start", axis),
        "x2": {"field": "end"},
        "color": measure.named("fill", scale=None),
        "opacity": measure.amount("opacity", scale=None),
    }
    return layer("rect", rows, bands | _TALL)


def _cliffs(course: StepCourse) -> tuple[list[Row], list[str]]:
    """The predicted cliff and those that were found, and the ones that a legend names: the first
    that were found, then the predicted one."""
    rows: dict[str, Row] = {}
    if course.predicted is not None:
        word = f"predicted {clock(course.predicted[0])}"
        rows[word] = {"at": course.predicted[0], "colour": INK, "dash": [4, 3]}
    predicted = list(rows)
    for cliff in course.phases.cliffs if course.phases else ():
        rows[f"cliff {clock(cliff.at_s)}"] = {"at": cliff.at_s, "colour": ACCENT, "dash": [1, 0]}
    found = [word for word in rows if word not in predicted][:_MOST_CLIFF_WORDS]
    return [row | {"which": word} for word, row in rows.items()], [*found, *predicted]


MOST_COLUMNS = 60
"""Stretches of a course with hover text: five pixels each, which a pointer can distinguish."""


def _hover_rows(course: StepCourse, tracks: Mapping[str, Floats], metric: str) -> list[Row]:
    """Stretches with their text: run, time, phase, and the median, lowest and highest second."""
    count = min(MOST_COLUMNS, course.seconds)
    edges = np.linspace(0, course.seconds, count + 1).round().astype(int).tolist()
    phases = course.phases.phases if course.phases else ()
    rows = []
    for start, end in pairwise(edges):
        found = []
        for name, values in tracks.items():
            known = values[start:end][~np.isnan(values[start:end])]
            if not known.size:
                continue
            middle = measure.with_unit(metric, float(np.median(known)))
            low, high = (measure.bare(metric, float(end)) for end in (known.min(), known.max()))
            found.append(f"{name} {middle}" + (f" ({low} to {high})" if known.size > 1 else ""))
        until = f"–{clock(end)}" if end - start > 1 else ""
        kinds = (phase.kind for phase in phases if phase.start_s <= (start + end) / 2 < phase.end_s)
        time = f"{clock(start)}{until}"
        words = [f"run {short(course.run_id)}", course.step, time, next(kinds, ""), *found]
        rows.append({"start": start, "end": end, "description": " · ".join(filter(None, words))})
    return rows


_LATENCY_DASHES = {"p50": _WHOLE, "mean": _WHOLE, "p99": [5, 2], "max": [1, 2]}
_LEAST_KNOWN = 0.5


def course_latency_chart(course: StepCourse) -> ChartFigure | None:
    """Median (or mean), p99 and highest latency of each second, on a logarithmic axis; None if the
    logs have no latencies.

    A quantile is drawn if enough I/Os support it in at least half of the seconds (MR-10).
    """
    shown = {
        (direction, name.removesuffix("_ns")): track[name]
        for direction, track in course.tracks.items()
        for name in _latency_figures(track)
    }
    if not shown:
        return None
    if len(course.tracks) > 1:  # three lines for each of two directions would be unreadable
        shown = {key: shown[key] for key in shown if key[1] != "max"} or shown
    lines = _latency_lines(course, shown)
    words = {f"{direction} {which}": values for (direction, which), values in shown.items()}
    ends = []
    for word, values in words.items():
        known = values[values > 0]
        low, high = (measure.bare("lat_ns", float(end)) for end in (known.min(), known.max()))
        ends.append(f"{word} between {low} and {high}")
    kinds = dict.fromkeys(which for _, which in shown)
    return ChartFigure(
        title=f"{course.step}: latency",
        subtitle=f"time of one I/O ({', '.join(kinds)}) in each second, logarithmic; "
        f"n = {course.seconds:,} s, no interval (n = 1 run)",
        drawing=lambda _: _with_surroundings(course, lines, words, "lat_ns"),
        id=f"course-latency-{course.run_id}-{course.step_index}",
        alt=f"Latency of {course.step} second by second: {'; '.join(ends)}.",
    )


def _latency_figures(track: Mapping[str, Floats]) -> list[str]:
    """The figures to draw for a direction: quantiles if known, else the mean; and the highest."""

    def known(name: str) -> bool:
        values = track[name]
        active = np.nan_to_num(track["iops"]) > 0
        is_known = values > 0
        return bool(is_known.any()) and is_known.sum() >= _LEAST_KNOWN * max(active.sum(), 1)

    middle = "p50_ns" if known("p50_ns") else "mean_ns"
    return [name for name in (middle, "p99_ns", "max_ns") if known(name)]


def _latency_lines(course: StepCourse, shown: Mapping[tuple[str, str], Floats]) -> Spec:
    share = max(2 * MOST_POINTS // max(len(shown), 1), 100)
    # A second without I/O has no latency: a gap.
    drawn = {name: np.where(values > 0, values, np.nan) for name, values in shown.items()}
    rows = _rows(drawn, share)
    kinds = {which for _, which in shown}
    dashes = {which: dash for which, dash in _LATENCY_DASHES.items() if which in kinds}
    encoding = {
        "x": measure.time_axis(course.seconds),
        "y": measure.latency_axis("value", measure.log_domain(row["value"] for row in rows)),
        "detail": measure.named("piece"),
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
                if course.step == bands[0].step:
                    figure = course_chart(course, rate=bands[0].figure)
                    words = f"{course.step}: {why}", f"run {short(run_id)}\n{figure.subtitle}"
                    href = row_href(run_id)
                    yield replace(figure, title=words[0], subtitle=words[1], rows_href=href)
