"""`diskbench results`: what was measured."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diskbench.cli import results_import, results_prune
from diskbench.cli.confirm import confirm
from diskbench.cli.results_import import AsDisk, AsMachine, MeasuredOn, Promised, hint
from diskbench.cli.selecting import Filters, Selections, Since, Until, asked
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.errors import InvalidValue
from diskbench.limits import COUNTER
from diskbench.report.terminal.streams import unguarded

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

    reader = database(database_url)
    filters = chosen(reader, asked(selection, filter_, since, until))
    most = _TABLE_LIMIT if limit is None and output == "table" and not wide else limit or None
    most = None if most is None else min(most, COUNTER)
    if output == "table" and not wide:
        print_trials(reader, filters, most, database_url)
    else:
        print_runs(reader, filters, most, output, database_url)


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
    from diskbench.cli.results_show import ShownAs, show_selection

    show_selection(
        database(database_url),
        asked(selection, filter_, since, until),
        ShownAs(
            output=output,
            verbose=verbose,
            alone=alone,
            timing=timing,
            plot=plot,
            pool=tuple(pool or ()),
            described=partial(hint, as_disk, as_machine, promise, measured_on),
        ),
        evidence_url,
    )


@app.command()
def export(
    selection: Selections = None,
    format_: Annotated[
        Exported | None,
        typer.Option(
            "--format", help="The format (default: by the suffix of FILE; csv without one)."
        ),
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
        reader = database(database_url)
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
    """Delete runs: their evidence and their rows. The id of a trial means all its runs.

    Evidence is deleted only in the store of the settings, or in the one that --evidence-url names.
    """
    from diskbench.results.pruning import delete_with_evidence, runs_to_delete
    from diskbench.store.evidence_place import check_named

    engine = database(database_url)
    doomed = runs_to_delete(engine, asked(selection, filter_, since, until))
    if not doomed:
        _say("no run matches; nothing was deleted")
        return
    store = None if keep_evidence else evidence(evidence_url)
    doomed_words = f"{len(doomed)} run{'s' * (len(doomed) != 1)}"
    if store is not None:
        if evidence_url is None:
            check_named(
                [run.evidence_url for run in doomed.values()],
                store.url,
                whether="delete it",
                advice="; --keep-evidence deletes only the rows",
            )
        doomed_words += f" and the evidence in {store.url}"
    if not yes:
        confirm(f"Delete {doomed_words} permanently?", whether=f"delete {doomed_words}")
    delete_with_evidence(engine, doomed, store)
    print(f"deleted {doomed_words}")


def _write(path: Path, data: Iterable[bytes]) -> None:
    from diskbench.files import write_pieces

    try:
        write_pieces(path, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)


results_prune.mount(app)
results_import.mount(app)
