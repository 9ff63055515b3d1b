"""`diskbench report`: what was measured as a page, a picture, Markdown or PDF."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.errors import InvalidValue
from diskbench.report.charts.registry import LIST, chart_lines, charts, find_chart
from diskbench.report.charts.vega import drawn_apart
from diskbench.report.page.write_report import (
    FORMATS,
    Format,
    check_folder,
    format_of,
    write_report,
)

Axis = Literal["linear", "log"]


def report(
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    to: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--to",
            metavar="FILE",
            help="The file to write; its suffix is the format (default: diskbench-RUN.html).",
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="The format (default: by the suffix of FILE, else html)."),
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(
            "--post",
            metavar="POST",
            help="A chart of a post's figures, together with the runs of SELECTION, if any.",
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(
            "--chart",
            metavar="NAME",
            help="Only this chart, of the runs or of the post; `list` shows what there is.",
            autocompletion=lambda incomplete: _names(incomplete),
        ),
    ] = None,
    axis: Annotated[
        Axis | None,
        typer.Option("--axis", help="The axis of its picture (default: chosen from the values)."),
    ] = None,
    include_emulated: Annotated[
        bool,
        typer.Option(
            "--include-emulated",
            help="Also draw emulated, imported and unverified runs in charts of published figures.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no paths.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write a page for a browser about runs: verdict, table, charts, provenance.

    Without a selection the newest. A run is shown with its whole trial. Several trials of one
    subject are replicates.
    """
    if published is not None:
        from diskbench.cli.report_published import report_published  # imports what draws

        report_published(
            published,
            chart,
            to or (),
            asked=asked(selection, filter_, since, until),
            format_=format_,
            axis=axis,
            include_emulated=include_emulated,
            quiet=quiet,
            database_url=database_url,
            evidence_url=evidence_url,
        )
        return
    if include_emulated:
        raise InvalidValue(
            "--include-emulated needs --post",
            advice="name the post: --post iaas-2018 --chart list",
        )
    if axis is not None and chart is None:
        raise InvalidValue(
            "--axis needs --chart NAME", advice="name it: --chart NAME; --chart list shows all"
        )

    if chart == LIST:
        print("\n".join(chart_lines()))
        return
    if chart is not None:
        find_chart(chart)

    from diskbench.engine.work import is_abandoned
    from diskbench.report.assemble.stored_report import ReportReader, file_name, stored_report
    from diskbench.results.selection import runs_of

    typed = asked(selection, filter_, since, until)
    outputs = [(path, format_of(path, format_)) for path in to or ()]
    engine = database(database_url)
    runs = runs_of(engine, typed)
    if not outputs:
        kind = format_ or FORMATS[0]
        name = "-".join(["diskbench", file_name(runs, typed.names), *([chart] if chart else [])])
        outputs = [(Path(f"{name}.{kind}"), kind)]
    for path, _ in outputs:
        check_folder(path)
    reader = ReportReader(engine, evidence, evidence_url, partial(is_abandoned, engine))
    draws_apart = any(kind == "html" for _, kind in outputs)
    with drawn_apart() if draws_apart else nullcontext():
        stored = stored_report(reader, runs, typed, chart=chart)
        for path, kind in outputs:
            write_report(path, stored, kind, log=None if axis is None else axis == "log")
            if not quiet:
                print(path.absolute())


def _names(beginning: str) -> list[str]:
    """The charts whose name begins so, for the shell's completion."""
    names = [LIST, *(chart.name for chart in charts())]
    return [name for name in names if name.startswith(beginning)]
