"""`diskbench results`: what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from diskbench.cli import results_import
from diskbench.cli.results_import import AsDisk, AsMachine, Promised, hint
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import table_width
from diskbench.limits import COUNTER
from diskbench.report.screen import unguarded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from diskbench.catalog.cost import TrialCost
    from diskbench.model.audit import StepAudit
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import StepResult
    from diskbench.model.verdict import Verdict
    from diskbench.store.query import Filter

app = typer.Typer(
    help="List, show, export, delete, rebuild and import results.", no_args_is_help=True
)

Output = Literal["table", "json", "csv"]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        "-f",
        metavar="FIELD=VALUE",
        help="Only runs that meet all: profile=quick, iops>3000, label.team=x, kernel~6.1.",
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Not before: 2026-11-21, 36h, 7d, 4w.")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Not after, in the same form.")]
Shown = Annotated[Output, typer.Option("--output", help="What to print on stdout.")]
_TABLE_LIMIT = 50


@app.command("list")
def list_(
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help="At most so many, newest first; 0: all (default: table 50, else all)."
        ),
    ] = None,
    output: Shown = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """List runs, newest first."""
    from diskbench.cli.stores import database
    from diskbench.store.export import csv_text, run_fields
    from diskbench.store.query import count_runs, find_runs

    wanted = _filters(filter_, since, until)
    most = _TABLE_LIMIT if limit is None and output == "table" else limit or None
    engine = database(database_url)
    runs = find_runs(engine, wanted, limit=None if most is None else min(most, COUNTER))
    if output == "json":
        _print_document(runs)
    elif output == "csv":
        sys.stdout.write(csv_text(runs, run_fields()))
    elif not runs:
        total = count_runs(engine) if wanted else 0
        _say(
            f"no run meets that, of {total:,} in all"
            if total
            else "no runs; 'diskbench run' makes one"
        )
    else:
        _print_runs(runs)
        if len(runs) == most and (total := count_runs(engine, wanted)) > len(runs):
            _say(f"the newest {len(runs)} of {total:,}; --limit 0 lists all")


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A run, trial or matrix by its id, the beginning of one, or `last`; a matrix's "
            "name; a label (KEY=VALUE) or dates (2026-11-01..2026-11-07).",
        ),
    ] = "last",
    alone: Annotated[
        bool, typer.Option("--alone", help="Without the other runs of its trial.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Only where the time of its trial went.")
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
            metavar="FACT", help="Of several trials: pool them though this differs, or `all`."
        ),
    ] = None,
    as_disk: AsDisk = None,
    as_machine: AsMachine = None,
    promise: Promised = None,
    output: Shown = "table",
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Show a run with the others on the same machine and disk: table, phases, verdict, warnings.

    Of several trials, as of a matrix, it is shown what they say together: median and interval.
    """
    from diskbench.cli.results_set import hint_of_set, print_set, run_or_set
    from diskbench.cli.stores import database
    from diskbench.store.query import Filter, find_runs

    engine = database(database_url)
    run, these = run_or_set(engine, name)
    if these and not alone and not timing:
        print_set(engine, name, these, pool=pool or (), output=output, evidence_url=evidence_url)
        return
    if timing:
        from diskbench.cli.results_show import print_timing
        from diskbench.store.timings import load_timing

        print_timing(run["trial_id"], load_timing(engine, run["trial_id"]), output)
        return
    field = "run_id" if alone else "trial_id"
    these = [Filter(field, "=", run[field])]
    runs = sorted(find_runs(engine, these), key=lambda one: one["run_index"])
    if output == "csv":
        from diskbench.cli.results_csv import rows_as_csv

        sys.stdout.write(rows_as_csv(engine, these, evidence_url=evidence_url))
        return
    from diskbench.cli.results_plots import print_plots
    from diskbench.cli.results_show import (
        audits_of_runs,
        phases_of_runs,
        print_runs,
        trial_cost,
        verdicts_on,
    )
    from diskbench.engine.takeover import is_abandoned
    from diskbench.store.rows import find_plan, load_results

    steps = load_results(engine, *(one["run_id"] for one in runs))
    plan = find_plan(engine, run["trial_id"])
    cost = trial_cost(engine, plan)
    phases = phases_of_runs(runs, plan, evidence_url)
    said = hint(as_disk, as_machine, promise)
    if said is not None and plan is not None and plan.expectation is not None:
        _say("what is said of the disk is left out: the plan of this run knows what it should get")
    verdicts = verdicts_on(engine, runs, phases, said, evidence_url)
    audits = audits_of_runs(runs, evidence_url)
    if output == "json":
        _print_document(runs, steps, [] if cost is None else [cost], phases, verdicts, audits)
    else:
        print_runs(
            runs,
            steps,
            plan,
            phases=phases,
            verdicts=verdicts,
            audits=audits,
            cost=cost,
            suspended=is_abandoned(engine, run["trial_id"]),
        )
        several = len(runs) > 1
        print_plots(run, phases, plan, plot=plot, several=several, evidence_url=evidence_url)
        if others := hint_of_set(engine, run):
            print(others)


@app.command()
def export(
    run_ids: Annotated[
        list[str] | None,
        typer.Argument(help="Only these runs: ids, beginnings of them, or `last`."),
    ] = None,
    format_: Annotated[
        Literal["csv", "json", "parquet"], typer.Option("--format", help="How to write the rows.")
    ] = "csv",
    to: Annotated[
        Path | None, typer.Option("-o", "--to", metavar="FILE", help="Where to (default: stdout).")
    ] = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Write measurement rows, each with the columns of its run; JSON as in `show`.

    The figures of a step with several levels are those of the level that lasts, and marked so.
    """
    from diskbench.cli.results_csv import exported
    from diskbench.cli.stores import database

    data = exported(
        database(database_url),
        format_,
        _filters(filter_, since, until),
        run_ids or (),
        evidence_url=evidence_url,
    )
    if to is None:
        sys.stdout.flush()
        binary = unguarded(sys.stdout).buffer
        binary.write(data)
        binary.flush()
    else:
        _write(to, data)


@app.command()
def delete(
    run_ids: Annotated[list[str] | None, typer.Argument(help="Ids, or beginnings of them.")] = None,
    filter_: Filters = None,
    since: Since = None,
    until: Until = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    keep_evidence: Annotated[
        bool, typer.Option("--keep-evidence", help="Delete rows only; `rebuild` brings them back.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Delete runs: their evidence and their rows."""
    from diskbench.cli.results_delete import delete_runs
    from diskbench.cli.stores import database, evidence

    delete_runs(
        database(database_url),
        None if keep_evidence else lambda kept_in: evidence(evidence_url or kept_in),
        tuple(run_ids or ()),
        _filters(filter_, since, until),
        yes=yes,
    )


def _filters(texts: Sequence[str] | None, since: str | None, until: str | None) -> list[Filter]:
    from diskbench.store.query import parse_filter

    bounds = [f"created_at>={since}"] * (since is not None) + [f"created_at<={until}"] * (
        until is not None
    )
    return [parse_filter(text) for text in [*(texts or ()), *bounds]]


def _print_document(
    runs: Sequence[dict[str, Any]],
    steps: Mapping[str, Sequence[StepResult]] | None = None,
    costs: Sequence[TrialCost] | None = None,
    phases: Sequence[StepPhases] | None = None,
    verdicts: Sequence[Verdict] | None = None,
    audits: Sequence[StepAudit] | None = None,
) -> None:
    from diskbench.store.document import results_document
    from diskbench.store.export import json_text

    print(json_text(results_document(runs, steps, costs, phases, verdicts, audits)))


def _print_runs(runs: Sequence[dict[str, Any]]) -> None:
    from diskbench.report.run_list import run_lines

    width = table_width()
    sys.stdout.writelines(f"{line}\n" for line in run_lines(runs, width=width))


def _write(path: Path, data: bytes) -> None:
    from diskbench.errors import InvalidValue
    from diskbench.whole_file import write_whole

    try:
        write_whole(path, data)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)


results_import.mount(app)
