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
    title,
    value_axis,
    wants_log,
    whole_seconds,
    with_unit,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import Row, carried

WIDTH = 400
HEIGHT = 104
Origin = Literal["published", "measured", "predicted"]
_WORDS: dict[Origin, str] = {
    "published": "published",
    "measured": "yours",
    "predicted": "predicted by the catalogue",
}
_DASHES: dict[Origin, list[int]] = {"published": [1, 0], "measured": [1, 0], "predicted": [4, 3]}
_LABEL_PX = 14


@dataclass(frozen=True)
class ChartRunLine:
    """One figure of one disk: (run, value) with runs counted from 1, in the unit of `metric`.

    `run_ids` and `hrefs`, if not empty, are parallel to `values`. `stated`: a post states these
    levels for stretches of runs, not for single runs.
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
    """Marks that qualify the figures: emulated, imported."""


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
    palette: Palette,
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
    panels: dict[tuple[str, str], list[ChartRunLine]] = {}
    for line in lines:
        panels.setdefault((line.metric, line.direction), []).append(line)
    log = any(wants_log(_values(of_panel)) for of_panel in panels.values())
    positive = all(value > 0 for line in lines for _, value in line.values)
    return ChartFigure(
        title=heading,
        subtitle=_subtitle(lines, panels, notes),
        drawing=lambda log: _drawing(panels, cliffs, palette, log=log),
        id=name,
        alt=_sentence(lines, cliffs, heading),
        both=log and positive,
        log_first=log and positive,
    )


def _drawing(
    panels: dict[tuple[str, str], list[ChartRunLine]],
    cliffs: Sequence[CliffMark],
    palette: Palette,
    *,
    log: bool,
) -> Spec:
    runs = [run for of_panel in panels.values() for line in of_panel for run, _ in line.values]
    last = max([*runs, *(cliff.run for cliff in cliffs)])
    x = amount(
        "run",
        title="run",
        scale={"domain": [0.5, last + 0.5], "nice": False},
        axis={"format": "d", "grid": False, "values": [1, *whole_seconds(last)]},
    )
    drawn = [
        layered(
            [
                *_cliffs(cliffs, x, palette, last, labelled=not place),
                *_lines(of_panel, x, _y(of_panel, key[0], log=log), palette),
            ],
            WIDTH,
            HEIGHT,
            title={"text": _heading(key), "anchor": "start", "frame": "group", "offset": 6},
        )
        for place, (key, of_panel) in enumerate(panels.items())
    ]
    return {"vconcat": drawn, "spacing": 12}


def _y(lines: Sequence[ChartRunLine], metric: str, *, log: bool) -> Channel:
    values = _values(lines)
    domain = log_domain(values) if log else [0.0, max(values) * 1.05 or 1.0]
    return value_axis(
        "value", metric, domain, log=log, title=None, minExtent=40, labelFlush=False, ticks=3
    )


def _lines(lines: Sequence[ChartRunLine], x: Channel, y: Channel, palette: Palette) -> list[Spec]:
    """A line per series, a wide one per level that is stated for a stretch of runs; and a mark per
    run with its text, which is invisible on a level."""
    shown = list(dict.fromkeys(_WORDS[line.origin] for line in lines))
    legend = {"orient": "top", "title": None, "values": shown, "symbolSize": 180,
              "columnPadding": 24}  # fmt: skip
    colours = {word: _colours(palette)[origin] for origin, word in _WORDS.items()}
    dashes = {word: _DASHES[origin] for origin, word in _WORDS.items()}
    at = {"x": x, "y": y, "color": by_name("who", colours, legend)}
    level = at | {
        "strokeDash": by_name("who", dashes, legend), "detail": named("line")
    }  # fmt: skip
    layers: list[Spec] = []
    for stated in (False, True):
        rows = [
            row | {"line": f"{place}.{row['line']}"}
            for place, line in enumerate(lines)
            if line.stated is stated
            for row in (_levels(_rows(line)) if stated else _rows(line))
        ]
        layers.append(layer("line", rows, level, strokeWidth=3.5 if stated else 1.5))
        marks = [
            row
            for line in lines
            if line.stated is stated and (stated or line.origin != "predicted")
            for row in _rows(line)
        ]
        layers.append(
            layer("point", marks, at | carried(marks), filled=True, shape="diamond", size=48,
                  opacity=0 if stated else 1)
        )  # fmt: skip
    return layers


def _rows(line: ChartRunLine) -> list[Row]:
    rows = []
    for place, (run, value) in enumerate(line.values):
        origin = f"run {line.run_ids[place]}" if line.run_ids else line.words or _WORDS[line.origin]
        words = (origin, line.label, f"run {run} of the series", with_unit(line.metric, value))
        row: Row = {
            "line": 0,
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
    stretches: list[list[Row]] = []
    for row in rows:
        last = stretches[-1][-1] if stretches else None
        if last and last["value"] == row["value"] and last["run"] + 1 == row["run"]:
            stretches[-1].append(row)
        else:
            stretches.append([row])
    return [
        row | {"run": row["run"] + half, "line": number}
        for number, stretch in enumerate(stretches)
        for row, half in ((stretch[0], -0.4), (stretch[-1], 0.4))
    ]


def _cliffs(
    cliffs: Sequence[CliffMark], x: Channel, palette: Palette, last: int, *, labelled: bool
) -> list[Spec]:
    """A rule per cliff; `labelled`: with its label above the plot, a line each."""
    colours = _colours(palette) | {"measured": palette.accent}
    layers: list[Spec] = []
    for place, cliff in enumerate(cliffs):
        rows = [{"run": cliff.run, "text": cliff.label, "description": cliff.words or cliff.label}]
        colour = colours[cliff.origin]
        told = {"x": x, "description": named("description")}
        layers.append(
            layer("rule", rows, told, color=colour, strokeWidth=1.5,
                  strokeDash=_DASHES[cliff.origin])
        )  # fmt: skip
        if labelled:
            side = ("left", 3) if cliff.run <= last / 2 else ("right", -3)
            above = -4 - _LABEL_PX * (len(cliffs) - 1 - place)
            layers.append(
                layer("text", rows, {"x": x, "text": named("text")}, align=side[0], dx=side[1],
                      y=above, baseline="bottom", color=colour)
            )  # fmt: skip
    return layers


def _colours(palette: Palette) -> dict[Origin, str]:
    return {"published": palette.series[0], "measured": palette.ink, "predicted": palette.muted}


def _subtitle(
    lines: Sequence[ChartRunLine], panels: dict[tuple[str, str], list[ChartRunLine]], notes: str
) -> str:
    words = [" · ".join(dict.fromkeys(_heading(key) for key in panels)) + " of each run"]
    for origin in ("published", "measured"):
        of_origin = [line for line in lines if line.origin == origin]
        if not of_origin:
            continue
        counts = sorted({len(line.values) for line in of_origin})
        span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        stated = ", stretches as stated" if any(line.stated for line in of_origin) else ""
        runs = "run" if counts == [1] else "runs"
        words.append(
            f"{_WORDS[of_origin[0].origin]}: n = {span} {runs} of one machine{stated}, "
            "no interval (n = 1 machine)"
        )
    marks = dict.fromkeys(mark for line in lines for mark in line.marks)
    parts = [f"yours: {', '.join(marks)}"] if marks else []
    return "; ".join([*words, *parts, *([notes] if notes else [])])


def _heading(key: tuple[str, str]) -> str:
    metric, direction = key
    return title(metric) if direction == "total" else f"{direction} {title(metric)}"


def _sentence(lines: Sequence[ChartRunLine], cliffs: Sequence[CliffMark], heading: str) -> str:
    parts = []
    for line in lines:
        if line.origin == "predicted" or not line.values:
            continue
        (first, begins), (last, ends) = line.values[0], line.values[-1]
        subject = f"{_WORDS[line.origin]} {_heading((line.metric, line.direction))}"
        until = f"{with_unit(line.metric, ends)} in run {last}"
        if begins == ends:
            parts.append(f"{subject}: {until}, as in run {first}")
        else:
            parts.append(f"{subject}: {with_unit(line.metric, begins)} in run {first}, {until}")
    marks = [cliff.label for cliff in cliffs]
    return f"{heading}: {'; '.join([*parts, *marks])}."


def _values(lines: Sequence[ChartRunLine]) -> list[float]:
    return [value for line in lines for _, value in line.values]
