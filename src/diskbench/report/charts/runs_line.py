"""One disk run after run: where it falls, where the fall was predicted, and by how much.

A panel for each figure (IOPS, read, write), with the runs on the horizontal axis. A level that a
post states for a stretch of runs has no dots; measured runs are a line with a dot per run;
predictions of the catalogue are dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import chart_of, layered, stroke_scale, value_axis
from diskbench.report.charts.measure import (
    CHARACTER_PX,
    linear_domain,
    log_domain,
    title,
    wants_log,
    whole_seconds,
    with_unit,
)
from diskbench.report.charts.palette import Palette
from diskbench.report.charts.point import carried

if TYPE_CHECKING:
    import altair as alt

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
        drawing=_drawing(panels, cliffs, palette, log=False),
        id=name,
        alt=_sentence(lines, cliffs, heading),
        log_drawing=_drawing(panels, cliffs, palette, log=True) if log and positive else None,
        log_first=log and positive,
    )


def _drawing(
    panels: dict[tuple[str, str], list[ChartRunLine]],
    cliffs: Sequence[CliffMark],
    palette: Palette,
    *,
    log: bool,
) -> alt.TopLevelMixin:
    import altair as alt

    runs = [run for of_panel in panels.values() for line in of_panel for run, _ in line.values]
    last = max([*runs, *(cliff.run for cliff in cliffs)])
    x = alt.X(
        "run:Q",
        title="run",
        scale=alt.Scale(domain=[0.5, last + 0.5], nice=False),
        axis=alt.Axis(format="d", grid=False, values=[1, *whole_seconds(last)]),
    )
    drawn: list[Any] = []
    for place, (key, of_panel) in enumerate(panels.items()):
        layers = [
            *_cliffs(cliffs, x, palette, last, labelled=not place),
            *_lines(of_panel, x, _y(of_panel, key[0], log=log), palette),
        ]
        words = alt.TitleParams(_heading(key), anchor="start", frame="group", offset=6)
        drawn.append(layered(layers, WIDTH, HEIGHT, title=words))
    return alt.vconcat(*drawn, spacing=12)


def _y(lines: Sequence[ChartRunLine], metric: str, *, log: bool) -> alt.Y:
    values = _values(lines)
    domain = log_domain(values) if log else linear_domain(max(values) * 1.05)
    options: dict[str, Any] = {"title": None, "minExtent": 40, "labelFlush": False, "ticks": 3}
    axis: alt.Y = value_axis("y", "value", metric, domain, log=log, **options)
    return axis


def _lines(lines: Sequence[ChartRunLine], x: alt.X, y: alt.Y, palette: Palette) -> list[Any]:
    import altair as alt

    shown = list(dict.fromkeys(_WORDS[line.origin] for line in lines))
    colours = {"published": palette.series[0], "measured": palette.ink, "predicted": palette.muted}
    legend = (
        alt.Legend(orient="top", title=None, values=shown, symbolSize=180, columnPadding=24)
        if shown
        else None
    )
    by_word = {words: (colours[origin], _DASHES[origin]) for origin, words in _WORDS.items()}
    colour, dash = (
        stroke_scale(
            channel, "who", {words: values[at] for words, values in by_word.items()}, legend
        )
        for at, channel in enumerate((alt.Color, alt.StrokeDash))
    )
    layers: list[Any] = []
    for place, line in enumerate(lines):
        rows = _rows(line)
        stretches = [rows] if not line.stated else _levels(rows)
        for number, stretch in enumerate(map(_wide, stretches) if line.stated else stretches):
            chart = chart_of([row | {"line": f"{place}.{number}"} for row in stretch])
            width = 3.5 if line.stated else 1.5
            layers.append(
                chart.mark_line(strokeWidth=width, aria=False).encode(
                    x=x, y=y, color=colour, strokeDash=dash, detail=alt.Detail("line:N")
                )
            )
        if line.stated or line.origin != "predicted":
            layers.append(_dots(rows, x, y, colour, visible=not line.stated))
    return layers


def _dots(
    rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colour: alt.Color, *, visible: bool
) -> alt.Chart:
    """A mark per run with the run's text; invisible for levels."""

    marks = chart_of(rows).mark_point(
        filled=True, shape="diamond", size=48, opacity=1 if visible else 0
    )
    marked: alt.Chart = marks.encode(x=x, y=y, color=colour, **carried(rows))
    return marked


def _rows(line: ChartRunLine) -> list[dict[str, Any]]:
    rows = []
    for place, (run, value) in enumerate(line.values):
        origin = f"run {line.run_ids[place]}" if line.run_ids else line.words or _WORDS[line.origin]
        words = (origin, line.label, f"run {run} of the series", with_unit(line.metric, value))
        row: dict[str, Any] = {
            "run": run,
            "value": value,
            "who": _WORDS[line.origin],
            "description": " · ".join(word for word in words if word),
        }
        rows.append(row | ({"href": line.hrefs[place]} if line.hrefs else {}))
    return rows


def _levels(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Stretches of consecutive runs with equal values."""
    stretches: list[list[dict[str, Any]]] = []
    for row in rows:
        last = stretches[-1][-1] if stretches else None
        if last and last["value"] == row["value"] and last["run"] + 1 == row["run"]:
            stretches[-1].append(row)
        else:
            stretches.append([row])
    return stretches


def _wide(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A level from the start of its first run to the end of its last."""
    first, last = rows[0], rows[-1]
    return [first | {"run": first["run"] - 0.4}, last | {"run": last["run"] + 0.4}]


def _cliffs(
    cliffs: Sequence[CliffMark], x: alt.X, palette: Palette, last: int, *, labelled: bool
) -> list[Any]:

    import altair as alt

    colours = {
        "published": palette.series[0],
        "measured": palette.accent,
        "predicted": palette.muted,
    }
    layers: list[Any] = []
    for place, cliff in enumerate(cliffs):
        rows = [{"run": cliff.run, "text": cliff.label, "description": cliff.words or cliff.label}]
        chart = chart_of(rows)
        rule = chart.mark_rule(
            color=colours[cliff.origin], strokeWidth=1.5, strokeDash=_DASHES[cliff.origin]
        )
        layers.append(rule.encode(x=x, description=alt.Description("description:N")))
        if labelled:
            fits_right = cliff.run * WIDTH / last + CHARACTER_PX * len(cliff.label) < WIDTH
            text = chart.mark_text(
                align="left" if fits_right else "right",
                dx=3 if fits_right else -3,
                y=-4 - _LABEL_PX * (len(cliffs) - 1 - place),
                color=colours[cliff.origin],
                baseline="bottom",
                aria=False,
            )
            layers.append(text.encode(x=x, text=alt.Text("text:N")))
    return layers


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
