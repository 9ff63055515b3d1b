"""Layers around the line of a course: phases, cliffs, levels, stalls, rounds, and the hover text at
the pointer or keyboard position.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diskbench.model.phase import Phase
from diskbench.report.assemble.course import StepCourse
from diskbench.report.assemble.phases import clock
from diskbench.report.charts.layers import columns, layer, layered
from diskbench.report.charts.measure import (
    TIME_WIDTH,
    Channel,
    Spec,
    amount,
    bare,
    by_name,
    named,
    stroke_legend,
    with_unit,
)
from diskbench.report.charts.palette import ACCENT, BAND, GRID, INK, MUTED
from diskbench.report.charts.point import Row

Floats = NDArray[np.float64]

Rate = Literal["iops", "bytes_per_s"]
HEIGHT = 130
_TALL: dict[str, Channel] = {"y": {"value": 0}, "y2": {"value": HEIGHT}}
_MOST_CLIFF_WORDS = 2
_MOST_MARKS = 200


@dataclass(frozen=True)
class Levels:
    """Promised or expected rates (`word`) by their names: those `drawn`, and those so far `beyond`
    what was reached that they would flatten the rest."""

    word: str = "expected"
    drawn: tuple[tuple[str, float], ...] = ()
    beyond: tuple[tuple[str, float], ...] = ()


def course_drawing(
    course: StepCourse,
    lines: Spec,
    tracks: Mapping[str, Floats],
    metric: str,
    levels: Levels | None = None,
) -> Spec:
    """The `lines` of a course with all that is around them. Cliffs and levels have their names in
    the picture of rates, the one with `levels`; that of latencies stands below it."""

    def second(field: str, axis: Channel | None = None) -> Channel:
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


def _phase_axis(starts: list[float], words: list[str]) -> Channel:
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
        words = [f"run {course.run_id}", course.step, f"{clock(start)}{until}", phase, *found]
        text = " · ".join(word for word in words if word)
        rows.append({"start": start, "end": end, "words": text})
    return rows


def phase_at(course: StepCourse, second: float) -> str:
    """The kind of the phase at a second; empty if no phase was found."""
    phases = course.phases.phases if course.phases else ()
    return next((phase.kind for phase in phases if phase.start_s <= second < phase.end_s), "")
