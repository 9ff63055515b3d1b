"""One chart as a file: a page with the plotted figures, a picture, Markdown or PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.files import write_whole
from diskbench.report.charts.figure import ChartFigure, picture
from diskbench.report.charts.measure import bare, title, with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.page.charts import drawn
from diskbench.report.page.markdown import escaped, table
from diskbench.report.templates import asset, environment, styled

if TYPE_CHECKING:
    from diskbench.report.page.write_report import Format

_HEAD = ("disk", "value", "lowest – highest", "n", "where", "source")


def chart_bytes(
    figure: ChartFigure,
    points: Sequence[ChartPoint],
    format_: Format,
    *,
    log: bool | None = None,
    made: str = "",
    drawing: str = "",
) -> bytes:
    """The chart in a format. `log` selects the axis of a picture; a page has both.

    `drawing` is the name of the picture that Markdown shows above its table; without a name it has
    only the sentence that describes the picture.
    """
    if format_ == "html":
        return _page(figure, points, made).encode()
    if format_ == "md":
        return chart_markdown(figure, points, drawing=drawing, made=made).encode()
    return picture(figure, format_, log=log)


def write_chart(
    path: Path,
    figure: ChartFigure,
    points: Sequence[ChartPoint],
    format_: Format,
    *,
    log: bool | None = None,
    made: str = "",
) -> tuple[Path, ...]:
    """Write the chart, and for Markdown also its picture. Returns the paths of the written files.

    Raises InvalidValue if a file cannot be written.
    """
    files: list[tuple[Path, Format]] = [(path, format_)]
    if format_ == "md":
        files.append((path.with_suffix(".svg"), "svg"))
    for file, kind in files:
        data = chart_bytes(
            figure, points, kind, log=log, made=made, drawing=path.with_suffix(".svg").name
        )
        try:
            write_whole(file, data)
        except OSError as error:
            raise InvalidValue(f"cannot write {file}: {error.strerror}") from error
    return tuple(file for file, _ in files)


def chart_markdown(
    figure: ChartFigure, points: Sequence[ChartPoint], *, drawing: str = "", made: str = ""
) -> str:
    """Title, picture with its description, unit and n, and the figures as a table."""
    shown = f"![{escaped(figure.alt)}]({drawing})" if drawing else escaped(figure.alt)
    parts = [f"# {escaped(figure.title)}", shown, escaped(figure.subtitle)]
    parts.append(table(_HEAD, map(_row, points)))
    parts.append("\n".join(f"- {escaped(doubt)}" for doubt in _doubts(points)))
    parts.append(f"*{escaped(made)}*" if made else "")
    return "\n\n".join(part for part in parts if part) + "\n"


def _page(figure: ChartFigure, points: Sequence[ChartPoint], made: str) -> str:
    (chart,) = drawn([figure])
    return (
        environment()
        .get_template("chart.html.j2")
        .render(
            chart=chart,
            head=_HEAD,
            rows=[_row(point) for point in points],
            doubts=_doubts(points),
            made=made,
            **styled("page.css", asset("page.js")),
        )
    )


def _row(point: ChartPoint) -> tuple[str, ...]:
    span = ""
    if point.low is not None and point.high is not None:
        span = f"{bare(point.metric, point.low)} – {bare(point.metric, point.high)}"
    direction = "" if point.direction == "total" else f", {point.direction}"
    return (
        f"{point.label}{direction if direction not in point.label else ''}",
        with_unit(point.metric, point.value),
        span,
        "not stated" if point.n is None else f"{point.n} {point.counted}",
        point.where,
        f"yours: {point.runs}" if point.source == "measured" else point.words or "published",
    )


def _doubts(points: Sequence[ChartPoint]) -> tuple[str, ...]:
    """The doubts about the figures, without duplicates."""
    doubts = [
        f"{point.label}, {title(point.metric)}: {point.doubt}" for point in points if point.doubt
    ]
    marks = {mark for point in points for mark in point.marks}
    return tuple(dict.fromkeys([*doubts, *(f"yours: {mark}" for mark in sorted(marks))]))
