"""One disk run after run: where it falls, where the fall was predicted, and by how much. A level
that a post states for a stretch of runs has no dots; measured runs are a line with a dot per run;
predictions of the catalogue are dashed."""

from collections.abc import Mapping, Sequence

from diskbench.model.ids import short
from diskbench.parallel import grouped
from diskbench.report.charts import measure
from diskbench.report.charts.figure import ChartFigure
from diskbench.report.charts.layers import described, layer, layered
from diskbench.report.charts.measure import LINE, Spec, title, with_unit
from diskbench.report.charts.palette import ACCENT, INK, MUTED, SERIES
from diskbench.report.charts.point import ChartPoint, Row, Source

WIDTH = 400
HEIGHT = 104
_SOURCES: tuple[Source, ...] = ("published", "measured", "predicted")
_WORDS = dict(zip(_SOURCES, ("published", "yours", "predicted by the catalogue"), strict=True))
_OWNERS = dict(zip(_SOURCES, ("the post", "found", "predicted"), strict=True))
_COLOURS = dict(zip(_SOURCES, (SERIES[0], INK, MUTED), strict=True))
_DASHES = dict(zip(_SOURCES, ([1, 0], [1, 0], [4, 3]), strict=True))
_LABEL_PX = 14
CLIFF = "run"
"""The metric of a cliff: its value is a number of a run."""


def cliff(run: int, source: Source, words: str = "", of: str = "") -> ChartPoint:
    """The run in which a disk fell, measured, published or predicted. Its label names whose it is
    (`of`) if a chart has several: `predicted: run 33`, `predicted: run 3 (yours)`."""
    label = f"{_OWNERS[source]}: run {run}{f' ({of})' if of else ''}"
    return ChartPoint(label, CLIFF, run, source, words=words)


def runs_chart(
    lines: Sequence[ChartPoint],
    *,
    name: str,
    heading: str,
    cliffs: Sequence[ChartPoint] = (),
    notes: str = "",
    hrefs: Mapping[str, str] | None = None,
) -> ChartFigure:
    """The `values` of one or more figures over the `numbers` of their runs, with cliffs marked. A
    mark leads where `hrefs` say for its run, else to the row of its figure. Raises ValueError if
    there is no run."""
    if not any(line.values for line in lines):
        raise ValueError("no runs to draw")
    panels = grouped(lines, lambda line: title(line.metric, line.direction))
    log = any(measure.wants_log(_values(of_panel)) for of_panel in panels.values())
    log = log and min(_values(lines)) > 0
    fallen = [int(mark.value) for mark in cliffs]
    last = max([run for line in lines for run in line.numbers] + fallen)

    def drawing(log: bool) -> Spec:
        scale = {"domain": [0.5, last + 0.5], "nice": False}
        x = measure.amount("run", scale=scale, axis=measure.run_axis(last, **LINE))
        drawn: list[Spec] = []
        for panel, of_panel in panels.items():
            marks = _cliffs(cliffs, x, last, labelled=not drawn)
            marks += _lines(of_panel, x, hrefs or {}, log=log)
            drawn.append(layered(marks, WIDTH, HEIGHT, title=measure.panel_title(panel)))
        return {"vconcat": drawn, "spacing": 12}

    return ChartFigure(
        title=heading,
        subtitle="; ".join([f"{' · '.join(panels)} of each run", *_counts(lines, notes)]),
        drawing=drawing,
        id=name,
        alt=_ends_in_words(lines, cliffs, heading),
        log=log or None,
    )


def _lines(
    lines: Sequence[ChartPoint], x: Spec, hrefs: Mapping[str, str], *, log: bool
) -> list[Spec]:
    """A line per series; of what is published a wide one per level, which posts state for stretches
    of runs; and a mark per run with its text, which is invisible on a level."""
    values = _values(lines)
    domain = measure.log_domain(values) if log else [0.0, max(values) * 1.05 or 1.0]
    y = measure.value_axis(
        "value", lines[0].metric, domain, log=log, title=None, minExtent=40, labelFlush=False,
        ticks=3,
    )  # fmt: skip
    shown = list(dict.fromkeys(_WORDS[line.source] for line in lines))
    keys = {"title": None, "values": shown, "symbolSize": 180, "columnPadding": 24}
    legend = keys if len(shown) > 1 else None
    colours = {word: _COLOURS[origin] for origin, word in _WORDS.items()}
    dashes = {word: _DASHES[origin] for origin, word in _WORDS.items()}
    at = {"x": x, "y": y, "color": measure.by_name("who", colours, legend)}
    dash = measure.by_name("who", dashes, legend)
    level = at | {"strokeDash": dash, "detail": measure.named("line")}
    layers: list[Spec] = []
    for stated in (False, True):
        drawn, marks = [], []
        for number, line in enumerate(lines):
            if (line.source == "published") is stated:
                rows = _rows(line, hrefs)
                marks += [] if line.source == "predicted" else rows
                ends = _levels(rows) if stated else rows
                drawn += [row | {"line": f"{number}.{row.get('line', 0)}"} for row in ends]
        layers += [
            layer("line", drawn, level, strokeWidth=3.5 if stated else 1.5),
            described("point", marks, at, filled=True, shape="diamond", size=48,
                  opacity=0 if stated else 1),
        ]  # fmt: skip
    return layers


def _rows(line: ChartPoint, hrefs: Mapping[str, str]) -> list[Row]:
    rows = []
    for place, (run, value) in enumerate(zip(line.numbers, line.values, strict=True)):
        run_id = line.run_ids[place] if line.run_ids else ""
        origin = f"run {short(run_id)}" if run_id else line.words or _WORDS[line.source]
        words = (origin, line.label, f"run {run} of the series", with_unit(line.metric, value))
        row: Row = {"run": run, "value": value, "who": _WORDS[line.source]}
        row["description"] = " · ".join(filter(None, words))
        href = hrefs.get(run_id) or line.href
        rows.append(row | ({"href": href} if href else {}))
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


def _cliffs(cliffs: Sequence[ChartPoint], x: Spec, last: int, *, labelled: bool) -> list[Spec]:
    """A rule per cliff; `labelled`: with its label above the plot, a line each."""
    layers: list[Spec] = []
    for place, mark in enumerate(cliffs):
        rows = [{"run": mark.value, "text": mark.label, "description": mark.words or mark.label}]
        colour = ACCENT if mark.source == "measured" else _COLOURS[mark.source]
        align, dx = ("left", 3) if mark.value <= last / 2 else ("right", -3)
        above = -4 - _LABEL_PX * (len(cliffs) - 1 - place)
        beside = {"align": align, "dx": dx, "y": above, "baseline": "bottom", "color": colour}
        dash = _DASHES[mark.source]
        layers += [
            described("rule", rows, {"x": x}, color=colour, strokeWidth=1.5, strokeDash=dash),
            layer("text", rows if labelled else (), {"x": x}, **beside),
        ]
    return layers


def _counts(lines: Sequence[ChartPoint], notes: str) -> list[str]:
    words = []
    for origin in _SOURCES[:2]:
        counts = {len(line.values) for line in lines if line.source == origin}
        if counts:
            stated = ", stretches as stated" if origin == "published" else ""
            n = f"n = {measure.span(counts)} {'run' if counts == {1} else 'runs'}"
            machine = f"of one machine{stated}, no interval (n = 1 machine)"
            words.append(f"{_WORDS[origin]}: {n} {machine}")
    marks = dict.fromkeys(mark for line in lines for mark in line.marks)
    words += [f"yours: {', '.join(marks)}"] if marks else []
    return [*words, *([notes] if notes else [])]


def _ends_in_words(lines: Sequence[ChartPoint], cliffs: Sequence[ChartPoint], heading: str) -> str:
    parts = []
    for line in lines:
        if line.source == "predicted" or not line.values:
            continue
        first, begins = line.numbers[0], with_unit(line.metric, line.values[0])
        until = f"{with_unit(line.metric, line.values[-1])} in run {line.numbers[-1]}"
        same = line.values[0] == line.values[-1]
        course = f"{until}, as in run {first}" if same else f"{begins} in run {first}, {until}"
        parts.append(f"{_WORDS[line.source]} {title(line.metric, line.direction)}: {course}")
    return f"{heading}: {'; '.join([*parts, *(mark.label for mark in cliffs)])}."


def _values(lines: Sequence[ChartPoint]) -> list[float]:
    return [value for line in lines for value in line.values]
