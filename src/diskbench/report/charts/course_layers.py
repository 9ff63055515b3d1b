"""Layers around the line of a course: phases, cliffs, levels, stalls, rounds, labels, and the hover
text at the pointer or keyboard position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from diskbench.model.phase import Phase
from diskbench.report.assemble.course import StepCourse
from diskbench.report.assemble.phases import clock
from diskbench.report.charts.layers import chart_of, columns
from diskbench.report.charts.measure import CHARACTER_PX, TIME_WIDTH, bare, with_unit
from diskbench.report.charts.palette import Palette

if TYPE_CHECKING:
    import altair as alt


Floats = NDArray[np.float64]

Rate = Literal["iops", "bytes_per_s"]
_LABEL_ROWS = 2
_ROW_PX = 12
_OVERHANG_PX = 60
_MOST_CLIFF_WORDS = 2
_MOST_MARKS = 200
_FIRST_LABEL_PX = 38
_LABEL_PX = 16
"""Below the names of the phases, and the height of a line of labels."""
_NEAR = 0.06
"""Share of the width: the labels of closer rules are on the same side."""


@dataclass(frozen=True)
class Levels:
    """Promised or expected rates (`word`): the lasting rate, and the rate at the start of a burst.
    `most` is the highest rate that is drawn."""

    lasting: float | None = None
    begin: float | None = None
    word: str = "expected"
    most: float | None = None

    @property
    def _named(self) -> tuple[tuple[str, float], ...]:
        lasting = "baseline" if self.begin is not None else "rate"
        named = (("burst", self.begin), (lasting, self.lasting))
        return tuple((name, value) for name, value in named if value is not None)

    @property
    def drawn(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the levels in the picture."""
        return tuple(level for level in self._named if self.most is None or level[1] <= self.most)

    @property
    def beyond(self) -> tuple[tuple[str, float], ...]:
        """Names and values of the levels above the picture."""
        return tuple(level for level in self._named if level not in self.drawn)

    @property
    def shown(self) -> tuple[float, ...]:
        """The values of the levels in the picture."""
        return tuple(value for _, value in self.drawn)


def phase_layers(
    course: StepCourse, palette: Palette, x: alt.X, height: int, *, rate: Rate | None = None
) -> list[Any]:
    """A band per phase (bursts and stalls shaded), lines between them, and names above, with their
    levels of the `rate` that the picture shows."""
    import altair as alt

    phases = course.phases.phases if course.phases else ()
    if not phases:
        return []
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
    bands = (
        chart_of(rows)
        .mark_rect(aria=False)
        .encode(
            x=at_field(x, "start"),
            x2=alt.X2("end:Q"),
            y=alt.value(0),
            y2=alt.value(height),
            color=alt.Color("fill:N", scale=None),
            opacity=alt.Opacity("opacity:Q", scale=None),
        )
    )
    edges = (
        chart_of(rows[1:]).mark_rule(color=palette.grid, aria=False).encode(x=at_field(x, "start"))
    )
    names = _phase_names(phases, course.seconds, rate)
    texts = (
        chart_of(names)
        .mark_text(align="left", baseline="bottom", color=palette.ink, fontSize=11, aria=False)
        .encode(x=at_field(x, "at"), y=alt.Y("y:Q", scale=None, axis=None), text=alt.Text("text:N"))
    )
    return [bands, edges, *([texts] if names else [])]


def _phase_names(
    phases: tuple[Phase, ...], seconds: float, rate: Rate | None
) -> list[dict[str, Any]]:
    """Names above the bands, in two rows if one is too narrow; the longest phases are placed
    first."""
    taken: list[list[tuple[float, float]]] = [[] for _ in range(_LABEL_ROWS)]
    names = []
    for phase in sorted(phases, key=lambda phase: -phase.seconds):
        begin_px = phase.start_s / seconds * TIME_WIDTH
        texts = (_phase_words(phase, rate), phase.kind) if rate else (phase.kind,)
        for text, row in ((t, r) for t in texts for r in range(_LABEL_ROWS)):
            room = CHARACTER_PX * len(text) + 6
            start = max(min(begin_px, TIME_WIDTH + _OVERHANG_PX - room), 0.0)
            if start > begin_px or start < begin_px - room / 2:
                continue
            if all(start + room <= a or b <= start for a, b in taken[row]):
                taken[row].append((start, start + room))
                at = start / TIME_WIDTH * seconds
                names.append({"at": at, "y": -4 - _ROW_PX * row, "text": text})
                break
    return names


def _phase_words(phase: Phase, rate: Rate) -> str:
    level = getattr(phase, rate)
    return (
        phase.kind
        if level is None or phase.kind == "stall"
        else f"{phase.kind} {bare(rate, level)}"
    )


def cliff_layers(
    course: StepCourse, palette: Palette, x: alt.X, height: int, *, words: bool = True
) -> list[Any]:
    """The cliffs that were found, and the predicted cliff with its range.

    Without `words` only the rules, for a picture below one that has the labels.
    """
    import altair as alt

    layers: list[Any] = []
    labels: list[tuple[float, str, str]] = []
    cliffs = course.phases.cliffs if course.phases else ()
    predicted = course.predicted
    if predicted is not None:
        if predicted.latest_s > predicted.earliest_s:
            spread = [{"a": predicted.earliest_s, "b": min(predicted.latest_s, course.seconds)}]
            layers.append(
                chart_of(spread)
                .mark_rect(color=palette.ink, opacity=0.10, aria=False)
                .encode(x=at_field(x, "a"), x2=alt.X2("b:Q"), y=alt.value(0), y2=alt.value(height))
            )
        layers.append(
            _rules([predicted.at_s], x).mark_rule(
                color=palette.ink, strokeDash=[4, 3], strokeWidth=1.5, aria=False
            )
        )
    if cliffs:
        layers.append(
            _rules([cliff.at_s for cliff in cliffs], x).mark_rule(
                color=palette.accent, strokeWidth=2, aria=False
            )
        )
        labels += [
            (cliff.at_s, f"cliff {clock(cliff.at_s)}", palette.accent)
            for cliff in cliffs[:_MOST_CLIFF_WORDS]
        ]
    if predicted is not None:
        labels.append((predicted.at_s, f"predicted {clock(predicted.at_s)}", palette.ink))
    rows = beside(labels if words else [], course.seconds)
    for side in ("left", "right"):
        mine = [row for row in rows if row["side"] == side]
        if mine:
            layers.append(
                chart_of(mine)
                .mark_text(align=side, dx=5 if side == "left" else -5, fontSize=11, aria=False)
                .encode(
                    x=at_field(x, "at"),
                    y=alt.Y("y:Q", scale=None, axis=None),
                    text=alt.Text("text:N"),
                    color=alt.Color("fill:N", scale=None),
                )
            )
    return layers


def beside(labels: list[tuple[float, str, str]], seconds: float) -> list[dict[str, Any]]:
    """Labels right of their rule, where a fallen series leaves room; left of it near the end. Each
    is on a line of its own, so that none covers another."""
    rows: list[dict[str, Any]] = []
    near = _NEAR * seconds
    for place, (at, text, fill) in enumerate(labels):
        px = at / seconds * TIME_WIDTH
        fits_right = px + CHARACTER_PX * len(text) + 6 <= TIME_WIDTH
        close = [taken for taken, *_ in labels if abs(taken - at) <= near]
        beside = max(close) if fits_right else min(close)
        y = _FIRST_LABEL_PX + _LABEL_PX * place
        side = "left" if fits_right else "right"
        rows.append({"at": beside, "y": y, "text": text, "fill": fill, "side": side})
    return rows


def level_layers(levels: Levels, palette: Palette, y: alt.Y, rate: Rate) -> list[Any]:
    """A dashed line per level, named beside the plot."""
    import altair as alt

    rows = [
        {"value": value, "text": f"{levels.word}\n{name} {bare(rate, value)}"}
        for name, value in levels.drawn
    ]
    if not rows:
        return []
    base = chart_of(rows)
    rules = base.mark_rule(color=palette.muted, strokeDash=[3, 3], aria=False).encode(y=y)
    texts = base.mark_text(
        align="left",
        baseline="middle",
        color=palette.muted,
        fontSize=11,
        lineBreak="\n",
        lineHeight=12,
        aria=False,
    ).encode(x=alt.value(TIME_WIDTH + 6), y=y, text=alt.Text("text:N"))
    return [rules, texts]


def stall_layer(course: StepCourse, palette: Palette, x: alt.X, height: int) -> list[Any]:
    """A triangle at the bottom of each stall."""
    import altair as alt

    stalls = course.phases.stalls if course.phases else ()
    longest = sorted(stalls, key=lambda stall: -stall.seconds)[:_MOST_MARKS]
    rows = [{"at": (stall.start_s + stall.end_s) / 2} for stall in longest]
    if not rows:
        return []
    return [
        chart_of(rows)
        .mark_point(shape="triangle-up", filled=True, size=45, color=palette.accent, aria=False)
        .encode(x=at_field(x, "at"), y=alt.value(height - 4))
    ]


def round_layer(course: StepCourse, palette: Palette, x: alt.X) -> list[Any]:
    """Thin lines at the start of each round of a repeated step."""
    starts = [float(at) for at in course.rounds[1:]]
    if not starts:
        return []
    rules = _rules(starts, x).mark_rule(color=palette.grid, strokeWidth=1, aria=False)
    return [rules]


def _rules(seconds: list[float], x: alt.X) -> alt.Chart:

    return chart_of([{"at": second} for second in seconds]).encode(x=at_field(x, "at"))


def at_field(x: alt.X, field: str) -> alt.X:
    """The time axis for another field."""
    axis: alt.X = x.copy()
    axis["shorthand"] = f"{field}:Q"
    return axis


MOST_COLUMNS = 60
"""Stretches of a course with hover text: five pixels each, which a pointer can distinguish."""


def hover_layer(
    course: StepCourse, tracks: Mapping[str, Floats], metric: str, x: alt.X, palette: Palette
) -> alt.Chart:
    """Invisible columns with the text of their stretch: run, time, phase, values."""
    import altair as alt

    rows = column_words(course, tracks, metric)
    return columns(rows, palette, {"x": at_field(x, "start"), "x2": alt.X2("end:Q")})


def column_words(
    course: StepCourse, tracks: Mapping[str, Floats], metric: str
) -> list[dict[str, Any]]:
    """The text of each of at most 60 stretches of a course: median, lowest and highest second."""
    import numpy as np

    count = min(MOST_COLUMNS, course.seconds)
    edges = np.linspace(0, course.seconds, count + 1).round().astype(int)
    rows = []
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        columns = []
        for name, values in tracks.items():
            known = values[start:end]
            known = known[~np.isnan(known)]
            if not known.size:
                continue
            middle = with_unit(metric, float(np.median(known)))
            low, high = bare(metric, float(known.min())), bare(metric, float(known.max()))
            columns.append(f"{name} {middle}" + (f" ({low} to {high})" if known.size > 1 else ""))
        until = f"–{clock(end)}" if end - start > 1 else ""
        phase = phase_at(course, (start + end) / 2)
        words = [f"run {course.run_id}", course.step, f"{clock(start)}{until}", phase, *columns]
        text = " · ".join(word for word in words if word)
        rows.append({"start": start, "end": end, "words": text})
    return rows


def phase_at(course: StepCourse, second: float) -> str:
    """The kind of the phase at a second; empty if no phase was found."""
    phases = course.phases.phases if course.phases else ()
    return next((phase.kind for phase in phases if phase.start_s <= second < phase.end_s), "")
