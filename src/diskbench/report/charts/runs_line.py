"""One disk run after run: where it falls, where the fall was predicted, and by how much.

A panel for each figure (IOPS, read, write), with the runs on the horizontal axis. A level that a
post states for a stretch of runs has no dots; measured runs are a line with a dot per run;
predictions of the catalogue are dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import layer, layered
from diskbench.report.charts.measure import (
    Channel,
    Spec,
    amount,
    by_name,
    log_domain,
    named,
    span,
    title,
    value_axis,
    wants_log,
    with_unit,
)
from diskbench.report.charts.palette import ACCENT, INK, MUTED, SERIES
from diskbench.report.charts.point import Row, carried

WIDTH = 400
HEIGHT = 104
Origin = Literal["published", "measured", "predicted"]
_WORDS: dict[Origin, str] = {
    "published": "published",
    "measured": "yours",
    "predicted": "predicted by the catalogue",
}
_COLOURS: dict[Origin, str] = {"published": SERIES[0], "measured": INK, "predicted": MUTED}
_DASHES: dict[Origin, list[int]] = {"published": [1, 0], "measured": [1, 0], "predicted": [4, 3]}
_LABEL_PX = 14


@dataclass(frozen=True)
class ChartRunLine:
    """One figure of one disk: (run, value) with runs counted from 1, in the unit of `metric`.

    `run_ids` and `hrefs`, if not empty, are parallel to `values`. `stated`: a post states these
    levels for stretches of runs, not for single runs. `marks` qualify the figures: emulated,
    imported.
    """

    label: str
    metric: str
    origin: Origin
    values: tuple[tuple[int, float], ...]
    direction: str = "total"
    run_ids: tuple[str, ...] = ()
    hrefs: tuple[str, ...] = ()
    stated: bool = False
    words: str = ""
    marks: tuple[str, ...] = ()

    @property
    def panel(self) -> str:
        """`IOPS`, `read MB/s`."""
        return title(self.metric, self.direction)


@dataclass(frozen=True)
class CliffMark:
    """The run in which a disk fell: predicted, published, or measured. `of` names the owner if a
    chart has several."""

    run: int
    origin: Origin
    words: str = ""
    of: str = ""

    @property
    def label(self) -> str:
        """`predicted: run 33`, `predicted: run 3 (yours)`."""
        word = {"published": "the post", "measured": "found", "predicted": "predicted"}
        whose = f" ({self.of})" if self.of else ""
        return f"{word[self.origin]}: run {self.run}{whose}"


def runs_chart(
    lines: Sequence[ChartRunLine],
    *,
    name: str,
    heading: str,
    cliffs: Sequence[CliffMark] = (),
    notes: str = "",
) -> ChartFigure:
    """Lines of one or more figures over their runs, with cliffs marked.

    Raises ValueError if there is no run.
    """
    if not any(line.values for line in lines):
        raise ValueError("no runs to draw")
    panels: dict[str, list[ChartRunLine]] = {}
    for line in lines:
        panels.setdefault(line.panel, []).append(line)
    log = any(wants_log(_values(of_panel)) for of_panel in panels.values())
    log = log and min(_values(lines)) > 0
    last = max([run for line in lines for run, _ in line.values] + [mark.run for mark in cliffs])

    def drawing(log: bool) -> Spec:
        x = amount(
            "run",
            title="run",
            scale={"domain": [0.5, last + 0.5], "nice": False},
            axis={"format": "d", "grid": False, "tickCount": 8, "tickMinStep": 1},
        )
        drawn = [
            layered(
                [
                    *_cliffs(cliffs, x, last, labelled=not place),
                    *_lines(of_panel, x, log=log),
                ],
                WIDTH,
                HEIGHT,
                title={"text": panel, "anchor": "start", "frame": "group", "offset": 6},
            )
            for place, (panel, of_panel) in enumerate(panels.items())
        ]
        return {"vconcat": drawn, "spacing": 12}

    return ChartFigure(
        title=heading,
        subtitle="; ".join([f"{' · '.join(panels)} of each run", *_counts(lines, notes)]),
        drawing=drawing,
        id=name,
        alt=_sentence(lines, cliffs, heading),
        both=log,
        log_first=log,
    )


def _lines(lines: Sequence[ChartRunLine], x: Channel, *, log: bool) -> list[Spec]:
    """A line per series, a wide one per level that is stated for a stretch of runs; and a mark per
    run with its text, which is invisible on a level."""
    values = _values(lines)
    domain = log_domain(values) if log else [0.0, max(values) * 1.05 or 1.0]
    y = value_axis(
        "value", lines[0].metric, domain, log=log, title=None, minExtent=40, labelFlush=False,
        ticks=3,
    )  # fmt: skip
    shown = list(dict.fromkeys(_WORDS[line.origin] for line in lines))
    legend = {"orient": "top", "title": None, "values": shown, "symbolSize": 180,
              "columnPadding": 24}  # fmt: skip
    colours = {word: _COLOURS[origin] for origin, word in _WORDS.items()}
    dashes = {word: _DASHES[origin] for origin, word in _WORDS.items()}
    at = {"x": x, "y": y, "color": by_name("who", colours, legend)}
    level = at | {"strokeDash": by_name("who", dashes, legend), "detail": named("line")}
    layers: list[Spec] = []
    for stated in (False, True):
        series = {n: _rows(line) for n, line in enumerate(lines) if line.stated is stated}
        drawn = [
            row | {"line": f"{number}.{row.get('line', 0)}"}
            for number, rows in series.items()
            for row in (_levels(rows) if stated else rows)
        ]
        marks = [
            row
            for number, rows in series.items()
            if stated or lines[number].origin != "predicted"
            for row in rows
        ]
        layers += [
            layer("line", drawn, level, strokeWidth=3.5 if stated else 1.5),
            layer("point", marks, at | carried(marks), filled=True, shape="diamond", size=48,
                  opacity=0 if stated else 1),
        ]  # fmt: skip
    return layers


def _rows(line: ChartRunLine) -> list[Row]:
    rows = []
    for place, (run, value) in enumerate(line.values):
        origin = f"run {line.run_ids[place]}" if line.run_ids else line.words or _WORDS[line.origin]
        words = (origin, line.label, f"run {run} of the series", with_unit(line.metric, value))
        row: Row = {
            "run": run,
            "value": value,
            "who": _WORDS[line.origin],
            "description": " · ".join(word for word in words if word),
        }
        rows.append(row | ({"href": line.hrefs[place]} if line.hrefs else {}))
    return rows


def _levels(rows: Sequence[Row]) -> list[Row]:
    """Both ends of each stretch of consecutive runs with equal values, from the start of its first
    run to the end of its last."""
    ends: list[Row] = []
    for row in rows:
        last = ends[-1] if ends else None
        if last and (last["value"], round(last["run"]) + 1) == (row["value"], row["run"]):
            last["run"] = row["run"] + 0.4
        else:
            number = len(ends) // 2
            ends += [row | {"run": row["run"] + half, "line": number} for half in (-0.4, 0.4)]
    return ends


def _cliffs(cliffs: Sequence[CliffMark], x: Channel, last: int, *, labelled: bool) -> list[Spec]:
    """A rule per cliff; `labelled`: with its label above the plot, a line each."""
    layers: list[Spec] = []
    for place, cliff in enumerate(cliffs):
        rows = [{"run": cliff.run, "text": cliff.label, "description": cliff.words or cliff.label}]
        colour = ACCENT if cliff.origin == "measured" else _COLOURS[cliff.origin]
        align, dx = ("left", 3) if cliff.run <= last / 2 else ("right", -3)
        above = -4 - _LABEL_PX * (len(cliffs) - 1 - place)
        layers += [
            layer("rule", rows, {"x": x, "description": named("description")}, color=colour,
                  strokeWidth=1.5, strokeDash=_DASHES[cliff.origin]),
            layer("text", rows if labelled else (), {"x": x, "text": named("text")}, align=align,
                  dx=dx, y=above, baseline="bottom", color=colour),
        ]  # fmt: skip
    return layers


def _counts(lines: Sequence[ChartRunLine], notes: str) -> list[str]:
    words = []
    origins: tuple[Origin, ...] = ("published", "measured")
    for origin in origins:
        of_origin = [line for line in lines if line.origin == origin]
        if not of_origin:
            continue
        counts = {len(line.values) for line in of_origin}
        stated = ", stretches as stated" if any(line.stated for line in of_origin) else ""
        runs = "run" if counts == {1} else "runs"
        words.append(
            f"{_WORDS[origin]}: n = {span(counts)} {runs} of one machine{stated}, no interval "
            "(n = 1 machine)"
        )
    marks = dict.fromkeys(mark for line in lines for mark in line.marks)
    words += [f"yours: {', '.join(marks)}"] if marks else []
    return [*words, *([notes] if notes else [])]


def _sentence(lines: Sequence[ChartRunLine], cliffs: Sequence[CliffMark], heading: str) -> str:
    parts = []
    for line in lines:
        if line.origin == "predicted" or not line.values:
            continue
        (first, begins), (last, ends) = line.values[0], line.values[-1]
        until = f"{with_unit(line.metric, ends)} in run {last}"
        if begins == ends:
            course = f"{until}, as in run {first}"
        else:
            course = f"{with_unit(line.metric, begins)} in run {first}, {until}"
        parts.append(f"{_WORDS[line.origin]} {line.panel}: {course}")
    return f"{heading}: {'; '.join([*parts, *(cliff.label for cliff in cliffs)])}."


def _values(lines: Sequence[ChartRunLine]) -> list[float]:
    return [value for line in lines for _, value in line.values]
