"""`diskbench report --published POST --chart NAME`: charts of posts, with own runs laid over."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from diskbench.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.catalog.published import Published
    from diskbench.catalog.published_match import Match
    from diskbench.model.expectation import PlanExpectation
    from diskbench.model.run import Mark, Run
    from diskbench.model.verdict import Verdict
    from diskbench.report.published_charts import PostChart
    from diskbench.report.published_draw import Own
    from diskbench.report.write_report import Format

LIST = "list"
Axis = Literal["linear", "log"]
_MARKS: tuple[Mark, ...] = ("emulated", "imported", "unverified")


def report_published(
    post: str,
    chart: str | None,
    to: Sequence[Path],
    *,
    asked: Sequence[str] = (),
    filters: Sequence[str] = (),
    wanted: Format | None = None,
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
    from diskbench import __version__
    from diskbench.catalog.published import load_published
    from diskbench.cli.file_format import file_format
    from diskbench.engine.published_outlook import published_outlook
    from diskbench.engine.refreshed import open_books
    from diskbench.report.chart_file import write_chart
    from diskbench.report.charts import PAGE, PICTURE
    from diskbench.report.published_charts import find_chart
    from diskbench.report.published_draw import Own, draw, rows_of
    from diskbench.report.write_report import FORMATS, format_of

    if chart is None or chart == LIST:
        _print_charts(post)
        return
    found = find_chart(post, chart)
    files = [(path, file_format(path, wanted, FORMATS) or format_of(path)) for path in to]
    if not files:
        kind: Format = wanted or "html"
        files = [(Path(f"{post}-{chart}.{kind}"), kind)]
    own = Own()
    if asked or filters:
        from diskbench.cli.report_gather import runs_of
        from diskbench.cli.stores import database

        engine = database(database_url)
        runs = runs_of(engine, asked, filters)
        own = _own(engine, runs, found, evidence_url, include_emulated=include_emulated)
    figures, books = load_published(), open_books()

    def outlook(one: Published, runs: int) -> PlanExpectation | None:
        return published_outlook(one, books, runs)

    made = f"Drawn by diskbench {__version__} from the figures of {_post_words(found)}"
    for path, kind in files:
        linked = kind == "html"
        palette = PAGE if linked else PICTURE
        figure = draw(found, figures, palette, outlook=outlook, own=own, linked=linked)
        points = rows_of(found, figures, own, linked=linked)
        log = None if axis is None else axis == "log"
        for written in write_chart(path, figure, points, kind, log=log, made=made):
            if not quiet:
                print(written.absolute())


def _post_words(chart: PostChart) -> str:
    from diskbench.catalog.published import load_published

    return next(one.post.words for one in load_published() if one.seed == chart.post)


def _print_charts(post: str) -> None:
    from diskbench.report.published_charts import charts_of

    found = charts_of(post)
    width = max(len(one.name) for one in found)
    for one in found:
        lead = f"{one.name:<{width}}  "
        for line in textwrap.wrap(
            one.words, 80, initial_indent=lead, subsequent_indent=" " * len(lead)
        ):
            print(line)


def _own(
    engine: Engine,
    runs: Sequence[Run],
    chart: PostChart,
    evidence_url: str | None,
    *,
    include_emulated: bool,
) -> Own:
    """The trials of the runs that may be laid over the chart. Raises InvalidValue for none."""
    from diskbench.analysis.row_figures import courses_by_step, levelled_rows
    from diskbench.catalog.published import load_published
    from diskbench.catalog.published_match import match
    from diskbench.cli.results_show import phases_of_runs, verdicts_on
    from diskbench.plan.published import asked_of
    from diskbench.report.own_points import Trial, own_of
    from diskbench.report.plain_many import counted
    from diskbench.store.rows import find_plan, load_results

    by_trial: dict[str, list[Run]] = {}
    for run in runs:
        by_trial.setdefault(run.trial_id, []).append(run)
    figures = chart.of(load_published())
    taken, why = [], dict[str, None]()
    for trial_id, of_trial in by_trial.items():
        marks = tuple(mark for mark in _MARKS if any(run.has(mark) for run in of_trial))
        first = of_trial[0]
        if marks and not include_emulated:
            why[
                f"{first.run_id} is {', '.join(marks)}: it says nothing about a cloud's "
                "disk; --include-emulated lays it over all the same"
            ] = None
            continue
        plan = find_plan(engine, trial_id)
        asked = asked_of(first, plan)
        matched = match(asked, figures)
        if not matched.figures:
            why[_why_not(first.run_id, match(asked, load_published()))] = None
            continue
        results = load_results(engine, *(run.run_id for run in of_trial))
        phases = tuple(phases_of_runs(of_trial, plan, evidence_url))
        verdicts = verdicts_on(engine, of_trial, phases, evidence_url=evidence_url)
        taken.append(
            Trial(
                figures=matched.figures,
                runs=tuple(of_trial),
                plan=plan,
                measurements={
                    run_id: levelled_rows(
                        [row for step in steps for row in step.measurements],
                        courses_by_step(phases),
                    )
                    for run_id, steps in results.items()
                },
                phases=phases,
                marks=marks,
                doubts=_doubts(verdicts),
            )
        )
    for words in why:
        print(f"not laid over: {words}", file=sys.stderr)
    own = own_of(taken)
    if not own.points:
        trials = counted(len(by_trial), "trial")
        raise InvalidValue(
            f"none of {trials} can be laid over {chart.post}'s chart {chart.name}",
            advice="the lines above say why; without runs the published figures are drawn alone",
        )
    return own


def _doubts(verdicts: Sequence[Verdict]) -> dict[tuple[str, str], str]:
    """Why steps of runs are not believed, in words behind which `doubtful` goes without saying."""
    from diskbench.model.verdict import believe_words

    return {
        (one.run_id, one.step): believe_words(one.believe, one.reasons).removeprefix("doubtful: ")
        for one in verdicts
        if one.believe != "yes"
    }


def _why_not(run_id: str, matched: Match) -> str:
    """Why a trial lies over nothing of a chart: its disk is on other charts, or on none."""
    from diskbench.catalog.published_match import group

    if matched.figures:
        disks = ", ".join(dict.fromkeys(group(one) for one in matched.figures))
        return f"{run_id} matches {disks}, which this chart does not show"
    near = "; ".join(f"{one.name}: {one.words}" for one in matched.nearest[:1])
    return f"{run_id}: {matched.why_not}{f' ({near})' if near else ''}"
