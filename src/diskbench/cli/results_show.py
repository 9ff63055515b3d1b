"""What `diskbench results show` prints for a person."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from diskbench.report.assemble.trial_facts import trial_facts
from diskbench.report.assemble.trial_view import trial_view
from diskbench.report.terminal.audit_text import audit_style
from diskbench.report.terminal.brief_text import print_brief
from diskbench.report.terminal.screen import screen
from diskbench.report.terminal.tables import print_view
from diskbench.store.csv_rows import csv_text
from diskbench.store.document import results_document
from diskbench.store.export import json_text
from diskbench.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from diskbench.results.stored_trial import StoredTrial
    from diskbench.store.manifest import PrunedRun


def print_runs(
    trial: StoredTrial, *, verbose: bool, pruned: Mapping[str, PrunedRun | None]
) -> None:
    """The result of a trial in short, then each run that did not end well; with `verbose` all of
    it, how each run ended, where its evidence is and whether its figures agree. What the trial cost
    comes last."""
    console, view = screen(), trial_view(trial_facts(trial))
    (print_view if verbose else print_brief)(view, console=console)
    for run in view.runs:
        if not verbose and run.state == "done" and "does not hold" not in run.audit:
            continue
        style = "dim" if run.state == "done" else "yellow"
        console.print(Text(f"run {run.run_id} {run.state}, {run.when}", style))
        if run.error:
            console.print(Text(f"  {run.error}", "red"))
        if run.advice:
            console.print(Text(f"  {run.advice}"))
        place = Text(f"  evidence: {run.evidence}", "dim")
        console.print(place, no_wrap=True, overflow="ignore", crop=False)
        if record := pruned.get(run.run_id):
            console.print(Text(_pruned(record), "dim"))
        if run.audit:
            console.print(Text(f"  {run.audit}", audit_style(run.audit)))
    if view.trial.cost:
        console.print(Text(f"cost  {view.trial.cost}"))


def _pruned(record: PrunedRun) -> str:
    size = sum(log.bytes for step in record.steps.values() for log in step.logs.values())
    return (
        f"  pruned on {record.pruned_at[:10]}: {record.log_count} raw logs, "
        f"{format_bytes(size)} uncompressed"
    )


def print_document(trial: StoredTrial) -> None:
    """The runs of a trial as one JSON document, with what the trial cost."""
    costs = [] if trial.cost is None else [trial.cost]
    document = results_document(
        trial.runs, trial.steps, costs, trial.phases, trial.verdicts, trial.audits
    )
    print(json_text(document))


def print_timing(
    trial_id: str, seconds: Mapping[str, float], output: Literal["table", "json", "csv"]
) -> None:
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
        print(f"no timing of trial {trial_id} is stored")
    else:
        for name, spent in seconds.items():
            print(f"{spent:10.3f} s  {'  ' if _is_inside(name) else ''}{name}")
        print(f"{beyond:10.3f} s  outside fio")


_FIO = "fio itself"


def _is_inside(name: str) -> bool:
    """Whether a span lies within another: fio within `start and watch`, `begin` beside launching,
    and the parts of renting."""
    return name in (_FIO, "begin") or name.startswith("rent: ")
