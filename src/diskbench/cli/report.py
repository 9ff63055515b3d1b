"""`diskbench report`: what was measured as a page, a picture, Markdown or PDF."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diskbench.cli.report_published import Axis, report_published
from diskbench.cli.selecting import Filters
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.errors import InvalidValue
from diskbench.model.selection_keys import SELECTION_HELP
from diskbench.report.write_report import FORMATS, Format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.report.trial_report import Report, TrialReport


def report(
    selection: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SELECTION]…",
            help=f"What to show: {SELECTION_HELP}. Default: `last`.",
        ),
    ] = None,
    filter_: Filters = None,
    to: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--to",
            metavar="FILE",
            help="Where to, by its ending (default: diskbench-RUN.html).",
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="What to write, where the name of the file does not say it."),
    ] = None,
    published: Annotated[
        str | None,
        typer.Option(
            "--published",
            metavar="POST",
            help="A chart of a post's figures, with the runs of SELECTION (if any) laid over.",
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(
            "--chart", metavar="NAME", help="Which chart of the post; `list` shows what there is."
        ),
    ] = None,
    axis: Annotated[
        Axis | None,
        typer.Option("--axis", help="The axis of its picture (default: as the values ask for)."),
    ] = None,
    include_emulated: Annotated[
        bool,
        typer.Option(
            "--include-emulated",
            help="Lay emulated, imported and unverified runs over published figures, too.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print the paths.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Show runs on a page that needs nothing but a browser: verdict, table, charts, provenance.

    With a run its whole trial is shown. Several trials of one subject are replicates.
    """
    if published is not None:
        report_published(
            published,
            chart,
            to or (),
            asked=selection or (),
            filters=filter_ or (),
            wanted=format_,
            axis=axis,
            include_emulated=include_emulated,
            quiet=quiet,
            database_url=database_url,
            evidence_url=evidence_url,
        )
        return
    if chart is not None or axis is not None or include_emulated:
        raise InvalidValue(
            "--chart, --axis and --include-emulated are of published figures",
            advice="name the post: --published iaas-2018 --chart list",
        )
    from diskbench.cli.file_format import file_format
    from diskbench.cli.report_gather import runs_of
    from diskbench.cli.stores import database
    from diskbench.report.write_report import format_of, write_report

    asked = tuple(selection or ())
    wanted = [(path, file_format(path, format_, FORMATS) or format_of(path)) for path in to or ()]
    engine = database(database_url)
    runs = runs_of(engine, asked, filter_ or ())
    if not wanted:
        kind = format_ or FORMATS[0]
        wanted = [(Path(f"diskbench-{_name(runs, asked)}.{kind}"), kind)]
    for path, _ in wanted:
        if not path.absolute().parent.is_dir():
            raise InvalidValue(f"cannot write {path}: no such directory")
    told = _gathered(engine, evidence_url, runs, asked, tuple(filter_ or ()))
    for path, kind in wanted:
        write_report(path, told, kind)
        if not quiet:
            print(path.absolute())


def _gathered(
    engine: Engine,
    evidence_url: str | None,
    runs: Sequence[Run],
    asked: Sequence[str],
    filters: Sequence[str],
) -> Report:
    """All that the report tells."""
    from datetime import datetime

    from diskbench import __version__
    from diskbench.cli.report_gather import Gathered
    from diskbench.cli.report_inside import charts_inside
    from diskbench.cli.report_many import charts_of_many, read_ahead
    from diskbench.cli.report_over import charts_over
    from diskbench.report.trial_report import Report

    gathered = Gathered(engine, evidence_url)
    read_ahead(gathered, runs)
    groups = gathered.groups(runs)
    trials = [trial for group in groups for trial in group.trials]
    inside_of = _telling(runs, asked, trials[0])
    alone = len(trials) == 1
    inside, more = charts_inside(gathered, trials[0], inside_of) if alone else ((), 0)
    now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return Report(
        asked=" ".join([*asked, *filters]),
        groups=groups,
        over=(
            *charts_over(groups, runs, gathered.plans[inside_of.trial_id]),
            *(() if alone else charts_of_many(gathered, runs)),
        ),
        inside=inside,
        inside_of=str(inside_of.run_id),
        common=gathered.common,
        made=f"made {now} by diskbench {__version__}",
        left_out=(f"{more} more steps are not drawn second by second.",) if more else (),
    )


def _telling(runs: Sequence[Run], asked: Sequence[str], trial: TrialReport) -> Run:
    """The run that is shown from inside: the one that was named, else the one in which the disk
    fell, else the last."""
    from diskbench.report.plain_words import fall_of

    fell = fall_of(trial.verdicts)
    named = [run for run in runs if run.run_id in _named(runs, asked)]
    fallen = [run for run in runs if fell is not None and run.run_id == fell.run_id]
    return next(iter([*named, *fallen, runs[-1]]))


def _named(runs: Sequence[Run], asked: Sequence[str]) -> set[str]:
    """The runs of which somebody typed the id, or the beginning of it."""
    from diskbench.errors import UserError
    from diskbench.model.ids import Known, meant

    known = [Known(run.run_id, "run") for run in runs]
    found = set()
    for text in asked:
        with contextlib.suppress(UserError):  # a trial, a label, dates: no single run
            found.add(meant(text, known, "run").id)
    return found


def _name(runs: Sequence[Run], asked: Sequence[str]) -> str:
    """What a file is called that nobody named: the run that was asked for, or how many."""
    ids = [run.run_id for run in runs]
    typed = _named(runs, asked)
    named = next((one for one in ids if one in typed), ids[-1])
    if len({run.trial_id for run in runs}) == 1:
        return str(named)
    since = next((run.measured_at[:10] for run in runs if run.measured_at), "no-date")
    return f"{len(ids)}-runs-from-{since}"
