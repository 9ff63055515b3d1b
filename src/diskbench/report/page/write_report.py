"""A report, or one chart with its figures, as a file: HTML, a picture, Markdown or PDF."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from diskbench.errors import InvalidValue
from diskbench.files import file_format, unknown_suffix, write_whole
from diskbench.report.assemble.report_view import Report
from diskbench.report.charts.figure import ChartFigure, drawn_as, picture
from diskbench.report.charts.measure import bare, title, with_unit
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.summary import summary_picture
from diskbench.report.page.markdown import escaped, markdown, table
from diskbench.report.page.page import drawn, page, pdf
from diskbench.report.templates import asset, environment, styled
from diskbench.units import counted

Format = Literal["html", "svg", "png", "md", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)


def format_of(path: Path, typed: Format | None) -> Format:
    """The format that was typed, else the one for the file's suffix. Raises InvalidValue for an
    unknown suffix or none, and where both are known and differ."""
    if (known := file_format(path, typed, FORMATS)) is not None:
        return known
    raise unknown_suffix(path, FORMATS)


def check_folder(path: Path) -> None:
    """Raises InvalidValue if the file's folder does not exist; called before the report is made."""
    if not path.absolute().parent.is_dir():
        raise InvalidValue(f"cannot write {path}: no such directory")


def write_report(path: Path, report: Report, format_: Format, *, log: bool | None = None) -> None:
    """Write the report; `log` selects the axis of a picture. Raises InvalidValue if the file cannot
    be written or there is nothing to draw."""
    _write(path, rendered(report, format_, log=log))


def _write(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def rendered(report: Report, format_: Format, *, log: bool | None = None) -> bytes:
    """The report in a format. Raises InvalidValue for a picture of many trials that have
    no common chart."""
    if format_ in ("html", "md"):
        return (page(report) if format_ == "html" else markdown(report)).encode()
    if format_ == "pdf":
        return pdf(report)
    if report.single is not None and not report.chart:
        subject = report.single.subject
        words = filter(None, (subject.offer, subject.machine, subject.target, subject.fio))
        marks = f" [{', '.join(subject.marks)}]" if subject.marks else ""
        title_ = f"{subject.title}{marks}"
        return drawn_as(summary_picture(title_, " · ".join(words), report.single.lines), format_)
    if not report.over:
        advice = "name one of them, or write a page: -o report.html"
        none = f"{len(report.trials)} trials have no chart in common"
        raise InvalidValue(none, advice=advice)
    return picture(report.over[0], format_, log=log)


_HEAD = ("disk", "value", "lowest – highest", "n", "where", "source")


def write_chart(
    path: Path,
    figure: ChartFigure,
    points: Sequence[ChartPoint],
    format_: Format,
    *,
    log: bool | None = None,
    made: str = "",
) -> tuple[Path, ...]:
    """Write the chart, and for Markdown also its picture; `log` selects the axis of a picture.
    Returns the paths of the written files. Raises InvalidValue if a file cannot be written."""
    if format_ == "html":
        files = {path: chart_page(figure, points, made=made).encode()}
    elif format_ == "md":
        drawing = path.with_suffix(".svg")
        text = chart_markdown(figure, points, drawing=drawing.name, made=made)
        files = {path: text.encode(), drawing: picture(figure, "svg", log=log)}
    else:
        files = {path: picture(figure, format_, log=log)}
    for file, data in files.items():
        _write(file, data)
    return tuple(files)


def chart_markdown(
    figure: ChartFigure, points: Sequence[ChartPoint], *, drawing: str = "", made: str = ""
) -> str:
    """Title, the picture of that name with its description, unit and n, and the figures as a
    table."""
    shown = f"![{escaped(figure.alt)}]({drawing})" if drawing else escaped(figure.alt)
    doubts = "\n".join(f"- {escaped(doubt)}" for doubt in _doubts(points))
    parts = [f"# {escaped(figure.title)}", shown, escaped(figure.subtitle)]
    parts += [table(_HEAD, map(_row, points)), doubts, f"*{escaped(made)}*" if made else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def chart_page(figure: ChartFigure, points: Sequence[ChartPoint], *, made: str = "") -> str:
    """The chart and its figures as HTML."""
    (chart,) = drawn([figure])
    return environment().get_template("chart.html.j2").render(
        chart=chart, head=_HEAD, rows=[_row(point) for point in points], doubts=_doubts(points),
        made=made, **styled("page.css", asset("page.js")),
    )  # fmt: skip


def _row(point: ChartPoint) -> tuple[str, ...]:
    span = ""
    if point.low is not None and point.high is not None:
        span = f"{bare(point.metric, point.low)} – {bare(point.metric, point.high)}"
    direction = "" if point.direction == "total" else f", {point.direction}"
    return (
        f"{point.label}{direction if direction not in point.label else ''}",
        with_unit(point.metric, point.value),
        span,
        "not stated" if point.n is None else counted(point.n, point.counted.removesuffix("s")),
        point.where,
        f"yours: {point.runs}" if point.source == "measured" else point.words or "published",
    )


def _doubts(points: Sequence[ChartPoint]) -> tuple[str, ...]:
    """The doubts about the figures, without duplicates."""
    doubts = [f"{of.label}, {title(of.metric)}: {of.doubt}" for of in points if of.doubt]
    marks = {mark for point in points for mark in point.marks}
    return tuple(dict.fromkeys([*doubts, *(f"yours: {mark}" for mark in sorted(marks))]))
