"""`diskbench report`: what was measured as a page, a picture, Markdown or PDF."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from diskbench import __version__
from diskbench.catalog.published import load_published
from diskbench.cli.completion import Offer, named, offering
from diskbench.cli.selecting import selecting
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import option
from diskbench.engine.processes import is_abandoned
from diskbench.engine.published_outlook import published_outlook
from diskbench.errors import InvalidValue
from diskbench.report.assemble.stored_report import ReportReader, file_name, stored_report
from diskbench.report.charts.point import ChartPoint
from diskbench.report.charts.registry import CHARTS, LIST, chart_lines, find_chart
from diskbench.report.page.write_report import (
    FORMATS,
    Format,
    check_folder,
    format_of,
    write_chart,
    write_report,
)
from diskbench.report.published import draw as post_charts
from diskbench.report.published.own import own_trials
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import Selection, runs_of
from diskbench.units import counted

Axis = Literal["linear", "log"]


@offering
def _charts(_ctx: typer.Context, _incomplete: str) -> Iterable[Offer]:
    """The charts."""
    return named((LIST, *(chart.name for chart in CHARTS)))


@selecting
def report(
    asked: Selection,
    to: Annotated[
        list[Path] | None,
        option(
            "-o",
            "--to",
            "FILE",
            "The file to write; its suffix is the format (default: diskbench-RUN.html).",
        ),
    ] = None,
    format_: Annotated[
        Format | None, option("--format", "The format (default: by the suffix of FILE, else html).")
    ] = None,
    published: Annotated[
        str | None,
        option(
            "--post",
            "POST",
            "A chart of the figures of a post, with the runs of SELECTION, if any.",
        ),
    ] = None,
    chart: Annotated[
        str | None,
        option(
            "NAME",
            "Only this chart, of the runs or of the post; `list` shows all charts.",
            autocompletion=_charts,
        ),
    ] = None,
    axis: Annotated[
        Axis | None, option("The axis of the chart (default: chosen from the values).")
    ] = None,
    include_emulated: Annotated[
        bool,
        option(
            "--include-emulated",
            "Also draw emulated, imported and unverified runs in charts of published figures.",
        ),
    ] = False,
    quiet: Annotated[bool, option("--quiet", "-q", "Print no paths.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write a web page about runs: verdict, table, charts, provenance.

    Without a selection, the newest run is shown. A run is shown with its whole trial. Several
    trials of the same configuration are replicates.
    """
    log = None if axis is None else axis == "log"
    if published is not None:
        stores = database_url, evidence_url
        for path in report_published(
            published, chart, to or (), format_, asked, stores, log=log, emulated=include_emulated
        ):
            if not quiet:
                print(path.absolute())
        return
    if include_emulated:
        raise InvalidValue(
            "--include-emulated needs --post", advice="name the post: --post iaas-2018 --chart list"
        )
    if axis is not None and chart is None:
        how = "name it: --chart NAME; --chart list shows all"
        raise InvalidValue("--axis needs --chart NAME", advice=how)
    if chart == LIST:
        print("\n".join(chart_lines()))
        return
    if chart is not None:
        find_chart(chart)

    outputs = [(path, format_of(path, format_)) for path in to or ()]
    engine = database(database_url)
    runs = runs_of(engine, asked)
    if not outputs:
        kind = format_ or FORMATS[0]
        name = "-".join(["diskbench", file_name(runs, asked.names), *([chart] if chart else [])])
        outputs = [(Path(f"{name}.{kind}"), kind)]
    for path, _ in outputs:
        check_folder(path)
    reader = ReportReader(engine, evidence, evidence_url, partial(is_abandoned, engine))
    stored = stored_report(reader, runs, asked, chart=chart)
    for path, kind in outputs:
        write_report(path, stored, kind, log=log)
        if not quiet:
            print(path.absolute())


def report_published(
    post: str,
    chart: str | None,
    to: Sequence[Path],
    format_: Format | None,
    asked: Selection,
    stores: tuple[str | None, str | None],
    *,
    log: bool | None,
    emulated: bool,
) -> Iterator[Path]:
    """Draw one chart of a post, into files whose paths are returned; without a chart, or for
    `list`, print what there is. Runs are looked for only where some are asked for; the others of a
    run's trial come with it. `stores` are the URLs of database and evidence.

    Raises UnknownName for a post, chart or run, InvalidValue where a file cannot be written or no
    run can be laid over it.
    """
    if chart is None or chart == LIST:
        charts = post_charts.charts_of(post)
        width = max(len(one.name) for one in charts) + 2
        for one in charts:
            lead, rest = f"{one.name:<{width}}", " " * width
            print(textwrap.fill(one.words, 80, initial_indent=lead, subsequent_indent=rest))
        return
    chosen = post_charts.find_chart(post, chart)
    files = [(path, format_of(path, format_)) for path in to]
    if not files:
        kind = format_ or FORMATS[0]
        files = [(Path(f"{post}-{chart}.{kind}"), kind)]
    figures, books = load_published(), open_books()
    own: tuple[ChartPoint, ...] = ()
    if asked:
        database_url, evidence_url = stores
        engine = database(database_url)
        runs = runs_of(engine, asked)
        run_evidence = EvidenceOfRuns(evidence, evidence_url)
        own, left_out = own_trials(engine, runs, chosen, run_evidence, books, emulated)
        for words in left_out:
            print(f"not drawn: {words}", file=sys.stderr)
        if not own:
            trials = counted(len({run.trial_id for run in runs}), "trial")
            raise InvalidValue(
                f"{trials} cannot be drawn in {chosen.post}'s chart {chosen.name}",
                advice="the lines above say why; name no run to draw the published figures only",
            )

    outlook = partial(published_outlook, books=books)
    source = next(figure.post.words for figure in figures if figure.seed == chosen.post)
    made = f"Drawn by diskbench {__version__} from the figures of {source}"
    for path, kind in files:
        linked = kind == "html"
        figure = post_charts.draw(chosen, figures, outlook=outlook, own=own, linked=linked)
        points = post_charts.rows_of(chosen, figures, own, linked=linked)
        yield from write_chart(path, figure, points, kind, log=log, made=made)
