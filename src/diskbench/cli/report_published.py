"""`diskbench report --post POST --chart NAME`: charts of posts, with own runs laid over."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench import __version__
from diskbench.catalog.published import load_published
from diskbench.cli.stores import database, evidence
from diskbench.engine.published_outlook import published_outlook
from diskbench.errors import InvalidValue
from diskbench.report.assemble.words import counted
from diskbench.report.charts.palette import PAGE, PICTURE
from diskbench.report.page.write_report import format_of, write_chart
from diskbench.report.published.charts import charts_of, find_chart
from diskbench.report.published.draw import OwnTrials, draw, rows_of
from diskbench.report.published.own import own_trials
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.catalog.post_file import Published
    from diskbench.cli.report import Axis
    from diskbench.model.expectation import PlanExpectation
    from diskbench.report.page.write_report import Format
    from diskbench.report.published.charts import PostChart
    from diskbench.results.selection import Selection

LIST = "list"


def report_published(
    post: str,
    chart: str | None,
    to: Sequence[Path],
    *,
    asked: Selection,
    format_: Format | None = None,
    axis: Axis | None = None,
    include_emulated: bool = False,
    quiet: bool = False,
    database_url: str | None = None,
    evidence_url: str | None = None,
) -> None:
    """Draw one chart of a post and print where it is; without a chart, or for `list`, print what
    there is. Runs are looked for only where some are asked for; the others of a run's trial come
    with it.

    Raises UnknownName for a post, chart or run, InvalidValue where a file cannot be written or no
    run can be laid over it.
    """
    if chart is None or chart == LIST:
        _print_charts(post)
        return
    chosen = find_chart(post, chart)
    files = [(path, format_of(path, format_)) for path in to]
    if not files:
        kind: Format = format_ or "html"
        files = [(Path(f"{post}-{chart}.{kind}"), kind)]
    figures, books = load_published(), open_books()
    own = OwnTrials()
    if asked:
        engine = database(database_url)
        runs = runs_of(engine, asked)
        run_evidence = EvidenceOfRuns(evidence, evidence_url)
        own, left_out = own_trials(engine, runs, chosen, run_evidence, books, include_emulated)
        for words in left_out:
            print(f"not drawn: {words}", file=sys.stderr)
        if not own.points:
            trials = counted(len({run.trial_id for run in runs}), "trial")
            raise InvalidValue(
                f"{trials} cannot be drawn in {chosen.post}'s chart {chosen.name}",
                advice="the lines above say why; name no run to draw the published figures only",
            )

    def outlook(figure: Published, runs: int) -> PlanExpectation | None:
        return published_outlook(figure, books, runs)

    made = f"Drawn by diskbench {__version__} from the figures of {_post_words(chosen)}"
    for path, kind in files:
        linked = kind == "html"
        palette = PAGE if linked else PICTURE
        figure = draw(chosen, figures, palette, outlook=outlook, own=own, linked=linked)
        points = rows_of(chosen, figures, own, linked=linked)
        log = None if axis is None else axis == "log"
        for written in write_chart(path, figure, points, kind, log=log, made=made):
            if not quiet:
                print(written.absolute())


def _post_words(chart: PostChart) -> str:
    return next(
        published.post.words for published in load_published() if published.seed == chart.post
    )


def _print_charts(post: str) -> None:
    charts = charts_of(post)
    width = max(len(chart.name) for chart in charts)
    for chart in charts:
        lead = f"{chart.name:<{width}}  "
        for line in textwrap.wrap(
            chart.words, 80, initial_indent=lead, subsequent_indent=" " * len(lead)
        ):
            print(line)
