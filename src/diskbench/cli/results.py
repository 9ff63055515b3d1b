"""`diskbench results`: what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diskbench.cli import results_import, results_prune
from diskbench.cli.confirm import confirm
from diskbench.cli.letters import is_unicode
from diskbench.cli.results_import import AsDisk, AsMachine, MeasuredOn, Promised, hint
from diskbench.cli.results_set import hint_of_set, print_set
from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence, reading
from diskbench.cli.terminal import terminal_width
from diskbench.errors import InvalidValue
from diskbench.limits import COUNTER
from diskbench.report.terminal.screen import screen, unguarded
from diskbench.report.terminal.text_plot import Screen

if TYPE_CHECKING:
    from collections.abc import Iterable

app = typer.Typer(
    help="List, show, export, prune, delete, rebuild and import results.", no_args_is_help=True
)

Output = Literal["table", "json", "csv"]
Exported = Literal["csv", "json", "parquet", "prometheus", "openmetrics"]
Shown = Annotated[Output, typer.Option("--output", help="What to print on stdout.")]
_TABLE_LIMIT = 50


@app.command("list")
def list_(
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="List at most this many, newest first; 0 lists all (default: table 50, else all).",
        ),
    ] = None,
    wide: Annotated[
        bool,
        typer.Option("--wide", help="Print all columns, even if lines become long."),
    ] = False,
    output: Shown = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """List what was measured, newest first, the runs of a trial as one line.

    `--wide` has a line for each run with all columns, `--output json` and `csv` every field.
    """
    from diskbench.cli.results_list import print_runs, print_trials
    from diskbench.results.selection import chosen

    reader = reading(database_url)
    wanted = chosen(reader, asked(selection, filter_, since, until))
    most = _TABLE_LIMIT if limit is None and output == "table" and not wide else limit or None
    most = None if most is None else min(most, COUNTER)
    if output == "table" and not wide:
        print_trials(reader, wanted, most, database_url)
    else:
        print_runs(reader, wanted, most, output, database_url)


@app.command()
def show(
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Show this run only, without the other runs of its trial."),
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Show only how long each part of the trial took.")
    ] = False,
    plot: Annotated[
        bool | None,
        typer.Option(
            "--plot/--no-plot",
            help="Draw each step by the second, and its latency percentiles (default: on a "
            "terminal the steps in which the level fell).",
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="Of several trials: pool them although this fact differs; `all` ignores every "
            "fact.",
        ),
    ] = None,
    as_disk: AsDisk = None,
    as_machine: AsMachine = None,
    promise: Promised = None,
    measured_on: MeasuredOn = None,
    output: Shown = "table",
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="All figures, phases, warnings and evidence paths."),
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Show a run with the others on the same machine and disk: figures, verdict, next step.

    Without a selection the newest. Several trials, such as those of a matrix, are shown
    together: median and interval.
    """
    from diskbench.results.selection import run_or_set
    from diskbench.store.query import Filter, find_runs

    engine = database(database_url)
    typed = asked(selection, filter_, since, until)
    run, these = run_or_set(engine, typed)
    if these and not alone and not timing:
        print_set(
            engine, typed.words, these, pool=pool or (), output=output, evidence_url=evidence_url
        )
        return
    if timing:
        from diskbench.cli.results_show import print_timing
        from diskbench.store.timings import load_timing

        print_timing(run.trial_id, load_timing(engine, run.trial_id), output)
        return
    only = Filter("run_id", "=", run.run_id)
    these = [only if alone else Filter("trial_id", "=", run.trial_id)]
    runs = sorted(find_runs(engine, these), key=lambda run: run.run_index)
    if output == "csv":
        from diskbench.results.exported_rows import rows_as_csv

        store = evidence(evidence_url) if evidence_url else None
        sys.stdout.writelines(rows_as_csv(engine, these, evidence=store))
        return
    from diskbench.cli.results_show import print_document, print_runs
    from diskbench.engine.matrix.takeover import is_abandoned
    from diskbench.report.terminal.run_plots import print_plots
    from diskbench.results.refreshed_catalogue import open_books
    from diskbench.results.run_evidence import EvidenceOfRuns
    from diskbench.results.stored_trial import read_trial
    from diskbench.store.rows import find_plan

    labels = hint(as_disk, as_machine, promise, measured_on)
    plan = find_plan(engine, run.trial_id)
    if labels is not None and plan is not None and plan.expectation is not None:
        _say(
            "--as-disk, --as-machine and --promise are ignored: the plan of this run names its disk"
        )
    kept = EvidenceOfRuns(evidence, evidence_url)
    suspended = is_abandoned(engine, run.trial_id)
    trial = read_trial(engine, runs, kept, open_books(), hint=labels, suspended=suspended)
    if output == "json":
        print_document(trial)
        return
    pruned = {run.run_id: kept.pruned(run) for run in runs} if verbose else {}
    print_runs(trial, verbose=verbose, pruned=pruned)
    several = len(runs) > 1
    console = screen()
    drawn_on = Screen(
        width=terminal_width(),
        colour=console.is_terminal and not console.no_color and console.color_system is not None,
        unicode=is_unicode(console.encoding),
    )
    place = kept.store(run)
    print_plots(console, drawn_on, run, trial.phases, plan, place, plot=plot, several=several)
    if others := hint_of_set(engine, run):
        print(others)


@app.command()
def export(
    selection: Selections = None,
    format_: Annotated[
        Exported | None,
        typer.Option("--format", help="The format (default: by the suffix of FILE, else csv)."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("-o", "--to", metavar="FILE", help="The file to write (default: stdout)."),
    ] = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write measurement rows as CSV or Parquet, each with its run's columns; JSON as in `show`.

    `prometheus` and `openmetrics` are the figures of steps as gauges, of the newest run of each
    disk. The figures of a step with several levels are those of the level that lasts.
    """
    from diskbench.cli.results_csv import export_format
    from diskbench.results.exported_rows import exported, rows_as_csv
    from diskbench.results.selection import chosen

    kind = export_format(format_, to)
    typed = asked(selection, filter_, since, until)
    store = evidence(evidence_url) if evidence_url else None
    data: Iterable[bytes]
    if kind == "csv":
        reader = reading(database_url)
        lines = rows_as_csv(reader, chosen(reader, typed), evidence=store)
        data = (line.encode() for line in lines)
    else:
        engine = database(database_url)
        data = exported(engine, kind, chosen(engine, typed), store)
    if to is None:
        sys.stdout.flush()
        binary = unguarded(sys.stdout).buffer
        binary.writelines(data)
        binary.flush()
    else:
        _write(to, data)


@app.command()
def delete(
    selection: Selections = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    keep_evidence: Annotated[
        bool, typer.Option("--keep-evidence", help="Delete rows only; `rebuild` brings them back.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Delete runs: their evidence and their rows. The id of a trial means all its runs."""
    from diskbench.results.run_deletion import delete_with_evidence, runs_to_delete

    engine = database(database_url)
    doomed = runs_to_delete(engine, asked(selection, filter_, since, until))
    if not doomed:
        _say("no run matches; nothing was deleted")
        return
    what = f"{len(doomed)} run{'s' * (len(doomed) != 1)}{'' if keep_evidence else ' and evidence'}"
    if not yes:
        confirm(f"Delete {what} permanently?", whether=f"delete {what}")
    delete_with_evidence(
        engine, doomed, None if keep_evidence else lambda url: evidence(evidence_url or url)
    )
    print(f"deleted {what}")


def _write(path: Path, data: Iterable[bytes]) -> None:
    from diskbench.whole_file import write_pieces

    try:
        write_pieces(path, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)


results_prune.mount(app)
results_import.mount(app)
