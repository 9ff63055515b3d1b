"""`diskbench results show`: a trial, or what several trials say together."""

import json
import sys
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Annotated

from rich.text import Text

from diskbench.cli.lazy import gathering, options_of
from diskbench.cli.selecting import Pool, Shown, selecting
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database, evidence
from diskbench.cli.terminal import Output, is_unicode, option, print_json, terminal_width
from diskbench.engine.processes import is_abandoned
from diskbench.errors import InvalidValue
from diskbench.model.ids import short
from diskbench.plan.limit_path import Hint
from diskbench.report.assemble.subject import AUDIT_FAILED
from diskbench.report.assemble.view import view_of
from diskbench.report.terminal.compare_text import replicate_lines
from diskbench.report.terminal.plots import Screen, print_plots
from diskbench.report.terminal.result_text import audit_style, print_view
from diskbench.report.terminal.screen import screen
from diskbench.results.exported_rows import rows_as_csv
from diskbench.results.pool import facts_to_pool
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.replicate_set import replicates_of
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.selection import Selection, run_or_set
from diskbench.results.trial import Trial, read_trials
from diskbench.store.document import results_document
from diskbench.store.export import csv_text, json_text
from diskbench.store.figures import count_trials
from diskbench.store.manifest import PrunedRun
from diskbench.store.query import find_runs
from diskbench.store.rows import find_plan, load_timing
from diskbench.store.where import Filter
from diskbench.units import format_bytes


def hint(
    as_disk: Annotated[
        str | None,
        option(
            "CLOUD:TYPE:GIB",
            "Judge an imported run as one on this disk of the catalogue; may end in "
            ":iops=N, :throughput=N and :cache=readonly.",
        ),
    ] = None,
    as_machine: Annotated[
        str | None, option("TYPE", "The machine type that it was attached to: c4.xlarge.")
    ] = None,
    promise: Annotated[
        str | None,
        option(
            "iops=N,mb_per_s=N", "The rates that you expect of a disk that is not in the catalogue."
        ),
    ] = None,
    measured_on: Annotated[
        str | None,
        option(
            "DATE",
            "The day of the measurement, which chooses the limits in the catalogue: 2018-03-16.",
        ),
    ] = None,
) -> Hint | None:
    """What was typed of a disk that diskbench did not rent, checked; None where nothing was."""
    if as_disk is None and as_machine is None and promise is None and measured_on is None:
        return None
    day = measured_on
    if measured_on is not None:
        try:
            day = date.fromisoformat(measured_on.strip()).isoformat()
        except ValueError:
            raise InvalidValue(
                f"--measured-on {measured_on!r} is not a date",
                advice="write YYYY-MM-DD, for instance 2018-03-16",
            ) from None
    note = Hint(as_disk=as_disk, as_machine=as_machine, promise=promise, measured_on=day)
    if as_disk is None and as_machine is not None:
        raise InvalidValue(
            "--as-machine needs a disk: --as-disk or --promise", advice="say which with --as-disk"
        )
    note.limit_paths(open_books())
    return note


hinting = gathering("told", list(options_of(hint)))
"""Decorates a command: it has the options of `hint` in place of its argument `told`."""


@selecting
@hinting
def show(
    asked: Selection,
    alone: Annotated[
        bool, option("--alone", "Show this run only, without the other runs of its trial.")
    ] = False,
    timing: Annotated[
        bool, option("--timing", "Show only how long each part of the trial took.")
    ] = False,
    plot: Annotated[
        bool | None,
        option(
            "--plot/--no-plot",
            "Draw each step second by second, with its latency percentiles (default: on a "
            "terminal, the steps whose level fell).",
        ),
    ] = None,
    pool: Pool = None,
    *,
    told: Mapping[str, str | None],
    output: Shown = "table",
    verbose: Annotated[
        bool, option("--verbose", "-v", "All figures, phases, warnings and evidence paths.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Show a run with the others on the same machine and disk: figures, verdict, next step.

    Without a selection, the newest run is shown. Several trials, such as those of a matrix, are
    shown together, with median and interval.
    """
    engine = database(database_url)
    run, filters = run_or_set(engine, asked)
    if timing:
        _print_timing(run.trial_id, load_timing(engine, run.trial_id), output)
        return
    is_set = bool(filters) and not alone
    if not is_set:
        only = Filter("run_id", "=", run.run_id)
        filters = [only if alone else Filter("trial_id", "=", run.trial_id)]
    store = evidence(evidence_url) if evidence_url and (is_set or output == "csv") else None
    if output == "csv":
        sys.stdout.writelines(rows_as_csv(engine, filters, evidence=store))
        return
    if is_set:
        named = facts_to_pool(pool or ())
        replicates = replicates_of(engine, filters, asked=asked.words, pool=named, evidence=store)
        if output == "json":
            print_json(replicates.model_dump_json(indent=2))
            return
        print(*replicate_lines(replicates, width=terminal_width()), sep="\n")
        return
    runs = sorted(find_runs(engine, filters), key=lambda run: run.run_index)
    note = hint(**told)
    plan = find_plan(engine, run.trial_id)
    if note is not None and plan is not None and plan.expectation is not None:
        ignored = "--as-disk, --as-machine and --promise are ignored"
        print(f"{ignored}: the plan of this run names its disk", file=sys.stderr)
    run_evidence = EvidenceOfRuns(evidence, evidence_url)
    of_trial = {run.trial_id: runs}
    is_suspended = partial(is_abandoned, engine)
    (trial,) = read_trials(
        engine, of_trial, run_evidence, open_books(), hint=note, is_suspended=is_suspended
    ).values()
    if output == "json":
        costs = [] if trial.cost is None else [trial.cost]
        of_runs = trial.runs, trial.steps, costs, trial.phases, trial.verdicts, trial.audits
        print(json_text(results_document(*of_runs)))
        return
    pruned = {run.run_id: run_evidence.pruned(run) for run in runs} if verbose else {}
    _print_runs(trial, verbose=verbose, pruned=pruned)
    console = screen()
    drawn_on = Screen(
        width=terminal_width(),
        colour=console.is_terminal and not console.no_color and console.color_system is not None,
        unicode=is_unicode(console.encoding),
    )
    print_plots(console, drawn_on, run, trial, run_evidence.store(run), plot=plot)
    if (count := count_trials(engine, run.campaign_id)) > 1:
        together = f"diskbench results show {short(run.campaign_id)}"
        print(f"one of {count} trials; together: {together}")


def _print_runs(trial: Trial, *, verbose: bool, pruned: Mapping[str, PrunedRun | None]) -> None:
    """The result of a trial in short, then each run that did not end well; with `verbose` all of
    it, how each run ended, where its evidence is and whether its figures agree. What the trial cost
    comes last."""
    console, view = screen(), view_of(trial)
    print_view(view, console=console, brief=not verbose)
    for run in view.runs:
        if not verbose and run.state == "done" and AUDIT_FAILED not in run.audit:
            continue
        style = "dim" if run.state == "done" else "yellow"
        console.print(Text(f"run {short(run.run_id)} {run.state}, {run.when}", style))
        if run.error:
            console.print(Text(f"  {run.error}", "red"))
        if run.advice:
            console.print(Text(f"  {run.advice}"))
        place = Text(f"  evidence: {run.evidence}", "dim")
        console.print(place, no_wrap=True, overflow="ignore", crop=False)
        if record := pruned.get(run.run_id):
            size = sum(log.bytes for step in record.steps.values() for log in step.logs.values())
            removed = f"{record.log_count} raw logs, {format_bytes(size)} uncompressed"
            console.print(Text(f"  pruned on {record.pruned_at[:10]}: {removed}", "dim"))
        if run.audit:
            console.print(Text(f"  {run.audit}", audit_style(run.audit)))
    if view.cost:
        console.print(Text(f"cost  {view.cost}"))


def _print_timing(trial_id: str, seconds: Mapping[str, float], output: Output) -> None:
    """Where the wall time of a trial went, and how much of it was outside fio.

    `rent` and `release` are what its provider took. What is inside another span is indented.
    """
    beyond = sum(s for name, s in seconds.items() if not _is_inside(name)) - seconds.get(_FIO, 0.0)
    if output == "json":
        print(json.dumps({"format": 1, "trial_id": trial_id, "seconds": dict(seconds)}))
    elif output == "csv":
        fields = ("trial_id", "name", "seconds")
        rows = [(trial_id, name, f"{s:.3f}") for name, s in seconds.items()]
        sys.stdout.write(csv_text([dict(zip(fields, row, strict=True)) for row in rows], fields))
    elif not seconds:
        print(f"no timing of trial {short(trial_id)} is stored")
    else:
        for name, spent in seconds.items():
            print(f"{spent:10.3f} s  {'  ' if _is_inside(name) else ''}{name}")
        print(f"{beyond:10.3f} s  outside fio")


_FIO = "fio itself"


def _is_inside(name: str) -> bool:
    """Whether a span lies within another: fio in `start and watch`, and the parts of renting."""
    return name == _FIO or name.startswith("rent: ")
