"""Layers around the line of a course: phases, cliffs, levels, stalls, rounds, and the hover text at
the pointer or keyboard position.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
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
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import Row

Floats = NDArray[np.float64]

Rate = Literal["iops", "bytes_per_s"]
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
    palette: Palette,
    height: int,
    levels: Levels | None = None,
) -> Spec:
    """The `lines` of a course with all that is around them. Cliffs and levels have their names in
    the picture of rates, the one with `levels`; that of latencies stands below it."""
    rate: Rate | None = None
    if levels is not None:
        rate = "bytes_per_s" if metric == "bytes_per_s" else "iops"
    y = lines["encoding"]["y"]
    layers = [
        _phase_layer(course, palette, height, rate),
        layer("rule", [{"at": float(at)} for at in course.rounds[1:]], {"x": _second(course, "at")},
              color=palette.grid, strokeWidth=1),
        *(_level_layers(levels, palette, y, rate) if levels and rate else ()),
        lines,
        _stall_layer(course, palette, height),
        *_cliff_layers(course, palette, height, words=rate is not None),
        _hover_layer(course, tracks, metric, palette),
    ]  # fmt: skip
    alone = {
        "scale": {"color": "independent", "strokeDash": "independent"},
        "axis": {"x": "independent"},
    }
    return layered(layers, TIME_WIDTH, height, resolve=alone)


def _second(course: StepCourse, field: str, axis: Channel | None = None) -> Channel:
    """A place on the time axis, which the lines draw."""
    return amount(field, axis=axis, scale={"domain": [0, course.seconds], "nice": False})


def _tall(height: int) -> dict[str, Channel]:
    return {"y": {"value": 0}, "y2": {"value": height}}


def _phase_layer(course: StepCourse, palette: Palette, height: int, rate: Rate | None) -> Spec:
    """A band per phase (bursts and stalls shaded) and an axis above with lines between them and
    their names, with their levels of the `rate` that the picture shows."""
    phases = course.phases.phases if course.phases else ()
    fills = {"burst": palette.band, "ramp": palette.band, "stall": palette.accent}
    rows = [
        {
            "start": phase.start_s,
            "end": min(phase.end_s, course.seconds),
            "fill": fills.get(phase.kind, "transparent"),
            "opacity": 0.25 if phase.kind == "stall" else 0.5 if phase.kind == "ramp" else 1.0,
        }
        for phase in phases
    ]
    starts = [phase.start_s for phase in phases]
    words = [_phase_words(phase, rate) if rate else phase.kind for phase in phases]
    axis = {
        "orient": "top",
        "title": None,
        "values": starts,
        "labelExpr": f"{json.dumps(words)}[indexof({json.dumps(starts)}, datum.value)]",
        "labelAlign": "left",
        "labelColor": palette.ink,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "labelPadding": 3,
        "ticks": False,
        "domain": False,
    }
    bands = {
        "x": _second(course, "start", axis),
        "x2": {"field": "end"},
        "color": named("fill", scale=None),
        "opacity": amount("opacity", scale=None),
    }
    return layer("rect", rows, bands | _tall(height))


def _phase_words(phase: Phase, rate: Rate) -> str:
    level = getattr(phase, rate)
    return (
        phase.kind
        if level is None or phase.kind == "stall"
        else f"{phase.kind} {bare(rate, level)}"
    )


def _cliff_layers(course: StepCourse, palette: Palette, height: int, *, words: bool) -> list[Spec]:
    """The cliffs that were found, and the predicted cliff with its range; `words`: with a legend
    of their times."""
    rules: dict[str, tuple[float, str, list[int]]] = {}
    spread: list[Row] = []
    predicted = course.predicted
    if predicted is not None:
        spread = [{"a": predicted.earliest_s, "b": min(predicted.latest_s, course.seconds)}]
        word = f"predicted {clock(predicted.at_s)}"
        rules[word] = (predicted.at_s, palette.ink, [4, 3])
    for cliff in course.phases.cliffs if course.phases else ():
        rules[f"cliff {clock(cliff.at_s)}"] = (cliff.at_s, palette.accent, [1, 0])
    cliffs = [word for word in rules if word.startswith("cliff")]
    shown = [*cliffs[:_MOST_CLIFF_WORDS], *(word for word in rules if word not in cliffs)]
    legend = stroke_legend(values=shown) if words else None
    rows = [{"at": at, "which": word} for word, (at, _, _) in rules.items()]
    rule = {
        "x": _second(course, "at"),
        "color": by_name("which", {word: colour for word, (_, colour, _) in rules.items()}, legend),
        "strokeDash": by_name("which", {word: dash for word, (*_, dash) in rules.items()}, legend),
    }
    between = {"x": _second(course, "a"), "x2": {"field": "b"}, **_tall(height)}
    return [
        layer("rect", [row for row in spread if row["a"] < row["b"]], between, color=palette.ink,
              opacity=0.10),
        layer("rule", rows, rule, strokeWidth=2),
    ]  # fmt: skip


def _level_layers(levels: Levels, palette: Palette, y: Channel, rate: Rate) -> list[Spec]:
    """A dashed line per level, named beside the plot."""
    rows = [
        {"value": value, "text": f"{levels.word}\n{name} {bare(rate, value)}"}
        for name, value in levels.drawn
    ]
    beside = {"x": {"value": TIME_WIDTH + 6}, "y": y, "text": named("text")}
    return [
        layer("rule", rows, {"y": y}, color=palette.muted, strokeDash=[3, 3]),
        layer("text", rows, beside, align="left", baseline="middle", color=palette.muted,
              fontSize=11, lineBreak="\n", lineHeight=12),
    ]  # fmt: skip


def _stall_layer(course: StepCourse, palette: Palette, height: int) -> Spec:
    """A triangle at the bottom of each stall."""
    stalls = course.phases.stalls if course.phases else ()
    longest = sorted(stalls, key=lambda stall: -stall.seconds)[:_MOST_MARKS]
    rows = [{"at": (stall.start_s + stall.end_s) / 2} for stall in longest]
    at = {"x": _second(course, "at"), "y": {"value": height - 4}}
    return layer("point", rows, at, shape="triangle-up", filled=True, size=45, color=palette.accent)


MOST_COLUMNS = 60
"""Stretches of a course with hover text: five pixels each, which a pointer can distinguish."""


def _hover_layer(
    course: StepCourse, tracks: Mapping[str, Floats], metric: str, palette: Palette
) -> Spec:
    """Invisible columns with the text of their stretch: run, time, phase, and the median, lowest
    and highest second."""
    count = min(MOST_COLUMNS, course.seconds)
    edges = np.linspace(0, course.seconds, count + 1).round().astype(int)
    rows = []
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
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
    return columns(rows, palette, {"x": _second(course, "start"), "x2": {"field": "end"}})


def phase_at(course: StepCourse, second: float) -> str:
    """The kind of the phase at a second; empty if no phase was found."""
    phases = course.phases.phases if course.phases else ()
    return next((phase.kind for phase in phases if phase.start_s <= second < phase.end_s), "")
