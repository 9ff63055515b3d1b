"""One trial as a page that needs nothing but a browser, or as a picture.

Charts are drawn here (altair, vl-convert) and stand in the page as SVG whose colours are CSS
variables, so that the page follows the reader's light or dark mode without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import InvalidValue
from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
from diskbench.report.headline import headline
from diskbench.report.lines import Line, Spread, grouped_warnings, lines
from diskbench.report.next_step import next_step
from diskbench.report.phase_lines import MIXED, mixed_steps, phase_lines
from diskbench.report.seconds import StepSeconds
from diskbench.report.subject import Subject, unfinished_words
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.phase import StepPhases
    from diskbench.report.charts import Figure

PICTURES = (".svg", ".png")
KINDS = (".html", *PICTURES)
MOST_SERIES = 16
_SCALE = 2.0


@dataclass(frozen=True)
class Row:
    """One line of the page's table: each cell is the median, and lowest–highest of several runs."""

    step: str
    direction: str
    cells: tuple[tuple[str, str], ...]


def write_report(
    path: Path,
    subject: Subject,
    measurements: Sequence[Measurement],
    warnings: Sequence[Warning],
    seconds: Sequence[StepSeconds] = (),
    *,
    seconds_of: str = "",
    phases: Sequence[StepPhases] = (),
) -> None:
    """Write a page (.html) or a picture (.svg, .png) to `path`, by its ending.

    `seconds` are the series of one run, `seconds_of`, where the subject has several.
    Raises InvalidValue for another ending, or where the file cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise InvalidValue(
            f"{path}: cannot write a {kind or 'nameless'} file", advice=f"use {', '.join(KINDS)}"
        )
    if kind == ".html":
        shown = page(subject, measurements, warnings, seconds, seconds_of=seconds_of, phases=phases)
        data = shown.encode()
    else:
        data = picture(subject, measurements, kind)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def page(
    subject: Subject,
    measurements: Sequence[Measurement],
    warnings: Sequence[Warning],
    seconds: Sequence[StepSeconds] = (),
    *,
    seconds_of: str = "",
    phases: Sequence[StepPhases] = (),
) -> str:
    """The page as HTML. Everything that came from a user or a machine is escaped."""
    import jinja2

    found = lines(measurements)
    groups = grouped_warnings(warnings)
    source = files("diskbench.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    mixed = mixed_steps(phases)
    shown = [series for series in seconds if series.n > 1]
    return environment.from_string(source).render(
        subject=subject,
        unfinished=unfinished_words(subject, measurements),
        headline=headline(subject.promised, measurements, phases),
        when=_local(subject.when) if subject.when else "",
        runs=max((line.iops.n for line in found), default=0),
        rows=[_row(line, mixed=line.step in mixed) for line in found],
        phases=phase_lines(phases),
        directions=_directions(found, shown),
        charts=_charts(found),
        series=_series(shown[:MOST_SERIES]),
        seconds_of=seconds_of,
        more_series=max(0, len(shown) - MOST_SERIES),
        warnings=groups,
        closed_loop=any(line.role == "measure" for line in found),
        next=next_step(subject, found, groups, on_page=True),
    )


def picture(subject: Subject, measurements: Sequence[Measurement], kind: str) -> bytes:
    """IOPS and latency as one picture: `kind` is .svg or .png."""
    import vl_convert

    from diskbench.report.charts import summary_picture

    offer = subject.promised.offer if subject.promised else ""
    about = " · ".join(
        word for word in (offer, subject.machine, subject.target, subject.fio) if word
    )
    marks = f" [{', '.join(subject.marks)}]" if subject.marks else ""
    spec = summary_picture(f"{subject.title}{marks}", about, lines(measurements))
    if kind == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
    return str(vl_convert.vegalite_to_svg(spec)).encode()


@dataclass(frozen=True)
class Drawn:
    """A figure as the page shows it: words, and SVG."""

    title: str
    subtitle: str
    svg: str


def _charts(found: Sequence[Line]) -> list[Drawn]:
    if not found:
        return []
    from diskbench.report.charts import PAGE, iops_chart, latency_chart

    return [_drawn(chart(found, PAGE)) for chart in (iops_chart, latency_chart)]


def _series(seconds: Sequence[StepSeconds]) -> list[Drawn]:
    if not seconds:
        return []
    from diskbench.report.charts import PAGE, seconds_chart

    return [_drawn(seconds_chart(series, PAGE)) for series in seconds]


def _drawn(figure: Figure) -> Drawn:
    """The figure with its chart as SVG that may stand in the page; vega escapes the texts in it."""
    import vl_convert
    from markupsafe import Markup

    from diskbench.report.charts import PAGE, document

    svg = str(vl_convert.vegalite_to_svg(document(figure.drawing, PAGE)))
    # Made by vega from data, and vega escapes every text it draws.
    return Drawn(figure.title, figure.subtitle, Markup(svg))  # noqa: S704


def _row(line: Line, *, mixed: bool = False) -> Row:
    sync = line.direction == "sync"
    latencies = (line.mean_ns, line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
    name = line.step
    if line.rounds:
        name += f" (rounds {line.rounds[0]}–{line.rounds[1]})"
    rates = [_cell(line.iops, format_iops), _cell(line.bytes_per_s, format_mb_per_s)]
    if sync:
        rates[1] = ("–", "")
    elif mixed:
        rates = [(MIXED, "")] * 2
    return Row(
        step=name,
        direction=line.direction,
        cells=(
            *rates,
            *(_cell(one, format_latency_ns) for one in latencies),
            _cell(line.cpu, _percent),
        ),
    )


def _cell(spread: Spread | None, text: Callable[[float], str]) -> tuple[str, str]:
    """The median, and lowest–highest where there are several runs."""
    if spread is None:
        return "–", ""
    return text(spread.median), _range(text(spread.low), text(spread.high)) if spread.n > 1 else ""


def _range(low: str, high: str) -> str:
    """`2.50–6.40 ms`: the unit once where both have the same."""
    if low == high:
        return ""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low}–{high}"


def _percent(fraction: float) -> str:
    return f"{fraction:.0%}"


def _directions(found: Sequence[Line], seconds: Sequence[StepSeconds]) -> list[str]:
    seen = {line.direction for line in found} | {d for one in seconds for d in one.directions}
    return [name for name in ("read", "write", "trim", "mixed", "sync") if name in seen]


def _local(utc: str) -> str:
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")
