"""A report as a file: HTML, a picture of its summary, Markdown or PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from diskbench.errors import InvalidValue
from diskbench.files import file_format, unknown_suffix, write_whole
from diskbench.report.charts.figure import picture
from diskbench.report.charts.summary import summary_picture
from diskbench.report.charts.vega import drawn_apart
from diskbench.report.page.markdown import markdown
from diskbench.report.page.page import page
from diskbench.report.page.pdf import pdf

if TYPE_CHECKING:
    from pathlib import Path

    from diskbench.report.assemble.report_view import Report
    from diskbench.report.assemble.trial_view import TrialView

Format = Literal["html", "svg", "png", "md", "pdf"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SCALE = 2.0


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
    data = rendered(report, format_, log=log)
    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def rendered(report: Report, format_: Format, *, log: bool | None = None) -> bytes:
    """The report in a format. Raises InvalidValue for a picture of many trials that have
    no common chart."""
    if format_ == "html":
        with drawn_apart():
            return page(report).encode()
    if format_ == "md":
        return markdown(report).encode()
    if format_ == "pdf":
        return pdf(report)
    if report.single is not None and not report.chart:
        return _summary(report.single, format_)
    if not report.over:
        raise InvalidValue(
            f"{len(report.trials)} trials have no chart in common",
            advice="name one of them, or write a page: -o report.html",
        )
    return picture(report.over[0], format_, log=log)


def _summary(view: TrialView, format_: Literal["svg", "png"]) -> bytes:
    """IOPS and latency of one trial as one picture."""
    import vl_convert

    subject = view.subject
    offer = subject.promised.offer if subject.promised else ""
    about = " · ".join(
        word for word in (offer, subject.machine, subject.target, subject.fio) if word
    )
    marks = f" [{', '.join(subject.marks)}]" if subject.marks else ""
    spec = summary_picture(f"{subject.title}{marks}", about, view.lines)
    if format_ == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
    return str(vl_convert.vegalite_to_svg(spec)).encode()
