"""What `diskbench results show` prints for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlalchemy.engine import Engine

    from diskbench.catalog.cost import TrialCost
    from diskbench.errors import DiskbenchError
    from diskbench.model.audit import StepAudit
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import StepResult, Warning  # noqa: A004 - the noun
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.plan.as_disk import Hint
    from diskbench.ports import EvidenceStore


def print_runs(
    runs: Sequence[Run],
    steps: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
    *,
    phases: Sequence[StepPhases] = (),
    verdicts: Sequence[Verdict] = (),
    audits: Sequence[StepAudit] = (),
    cost: TrialCost | None = None,
    suspended: bool = False,
) -> None:
    """Runs of one trial, in order: their table, phases, verdicts and warnings, how each ended,
    where its evidence is, whether its figures agree, and what the trial cost.

    `plan` is None for imported runs; `cost` None where nothing was rented; `suspended` says that
    nobody works on them, and `diskbench resume` would.
    """
    from dataclasses import replace

    from rich.text import Text

    from diskbench.analysis.row_figures import courses_by_step, levelled_rows
    from diskbench.fio.warnings import run_warnings
    from diskbench.report.audit_text import audit_line, audit_style
    from diskbench.report.cost_text import cost_line
    from diskbench.report.dates import local_time
    from diskbench.report.screen import screen
    from diskbench.report.subject import SUSPENDED, subject_of_runs
    from diskbench.report.tables import print_result

    console = screen()
    results = [step for run in runs for step in steps[run.run_id]]
    courses = courses_by_step(phases)
    of_runs = [
        levelled_rows([row for s in steps[run.run_id] for row in s.measurements], courses)
        for run in runs
    ]
    rows = [row for of_run in of_runs for row in of_run]
    warnings = [warning for step in results for warning in step.warnings]
    warnings += run_warnings(of_runs)
    warnings += doubts_of(audits, warnings)
    subject = subject_of_runs(runs, plan)
    if suspended:
        subject = replace(subject, state=SUSPENDED)
    print_result(subject, rows, warnings, phases, verdicts, console=console)
    for run in runs:
        when = local_time(run.when)
        style = "dim" if run.state == "done" else "yellow"
        console.print(Text(f"run {run.run_id} {run.state}, {when}", style))
        if run.error:
            console.print(Text(f"  {run.error}", "red"))
        if run.advice:
            console.print(Text(f"  {run.advice}"))
        place = Text(f"  evidence: {run.evidence_url}/runs/{run.run_id}/", "dim")
        console.print(place, no_wrap=True, overflow="ignore", crop=False)
        if line := audit_line([one for one in audits if one.run_id == run.run_id]):
            console.print(Text(f"  {line}", audit_style(line)))
    if cost is not None:
        console.print(Text(f"cost  {cost_line(cost)}"))


def phases_of_runs(
    runs: Sequence[Run], plan: Plan | None, evidence_url: str | None = None
) -> list[StepPhases]:
    """The phases of all steps of the runs (rows) of one trial, in order, from the store that was
    typed, or the one that they were kept in."""
    from diskbench.cli.stores import evidence
    from diskbench.errors import DiskbenchError

    found: list[StepPhases] = []
    for run in runs:
        try:
            store = evidence(evidence_url or run.evidence_url)
        except DiskbenchError as error:
            _no_phases(run.run_id, error)
        else:
            found += phases_of(store, plan, [(run.run_id, run.number)])
    return found


def phases_of(
    store: EvidenceStore, plan: Plan | None, runs: Sequence[tuple[str, int]]
) -> list[StepPhases]:
    """The phases of all steps of runs, each named by its id and its number in the trial, from 1.

    A run whose evidence is gone or damaged has none, which costs a result only these.
    """
    from diskbench.engine.levels import read_phases

    return [one for run_id, number in runs for one in read_phases(store, run_id, plan, run=number)]


def audits_of_runs(runs: Sequence[Run], evidence_url: str | None = None) -> list[StepAudit]:
    """Whether the figures of the steps of runs (rows) agree, from the store that was typed, or the
    one that they were kept in. A run whose evidence is gone or damaged has none."""
    from diskbench.cli.stores import evidence
    from diskbench.errors import DiskbenchError

    found: list[StepAudit] = []
    for run in runs:
        try:
            store = evidence(evidence_url or run.evidence_url)
        except DiskbenchError as error:
            _no_audit(run.run_id, error)
        else:
            found += audits_of(store, [run.run_id])
    return found


def audits_of(store: EvidenceStore, run_ids: Sequence[str]) -> list[StepAudit]:
    """Whether the figures of the steps of runs in a store agree. A run whose evidence is gone or
    damaged has no audit, which is logged."""
    from diskbench.errors import DiskbenchError, UnknownName
    from diskbench.store.audits import run_audits

    found: list[StepAudit] = []
    for run_id in run_ids:
        try:
            found += run_audits(store, run_id)
        except UnknownName:  # nothing finished
            continue
        except DiskbenchError as error:
            _no_audit(run_id, error)
    return found


def doubts_of(audits: Sequence[StepAudit], told: Sequence[Warning]) -> list[Warning]:
    """What audits doubt beyond the warnings that are told already: rows that an older version made
    hold no doubts of the logs."""
    from diskbench.fio.audit import audit_warnings

    known = {(warning.code, warning.step, warning.message) for warning in told}
    doubts = [doubt for audit in audits for doubt in audit_warnings(audit.checks, audit.step)]
    return [doubt for doubt in doubts if (doubt.code, doubt.step, doubt.message) not in known]


def verdicts_on(
    database: Engine,
    runs: Sequence[Run],
    phases: Sequence[StepPhases],
    hint: Hint | None = None,
    evidence_url: str | None = None,
) -> tuple[Verdict, ...]:
    """The verdicts on the runs (rows) of one trial; none where their evidence cannot be opened.
    Raises InvalidValue, UserError for a hint that names no disk."""
    from diskbench.cli.stores import evidence
    from diskbench.engine.refreshed import open_books
    from diskbench.engine.verdicts import trial_verdicts
    from diskbench.errors import StoreUnavailable

    try:
        store = evidence(evidence_url or runs[0].evidence_url)
    except StoreUnavailable:
        return ()
    return trial_verdicts(database, store, runs, books=open_books(), phases=phases, hint=hint)


def _no_audit(run_id: str, error: DiskbenchError) -> None:
    import logging

    logging.getLogger(__name__).warning("no audit of run %s: %s", run_id, error.message)


def _no_phases(run_id: str, error: DiskbenchError) -> None:
    import logging

    logging.getLogger(__name__).warning("no phases of run %s: %s", run_id, error.message)


def trial_cost(database: Engine, plan: Plan | None) -> TrialCost | None:
    """What the lease of a trial has cost, with all its runs; None where nothing was rented, or
    where its lease is not known (a database made again from evidence has none)."""
    from datetime import UTC, datetime

    from diskbench.catalog.cost import TrialCost, cost_of_lease
    from diskbench.store.leases import load_lease
    from diskbench.store.rows import load_results

    lease = load_lease(database, plan.trial_id) if plan and plan.rental else None
    if plan is None or lease is None:
        return None
    steps = load_results(database, *plan.run_ids)
    rows = [row for found in steps.values() for step in found for row in step.measurements]
    cost = cost_of_lease(lease, rows, plan.rental, now=datetime.now(UTC))
    return TrialCost(
        **cost.model_dump(),
        trial_id=plan.trial_id,
        emulated=plan.emulated,
        ended=lease.released_at is not None,
    )


def print_timing(
    trial_id: str, seconds: Mapping[str, float], output: Literal["table", "json", "csv"]
) -> None:
    """Where the wall time of a trial went, and how much of it was beyond fio.

    `rent` and `release` are what its provider took. What is inside another span is indented.
    """
    import json
    import sys

    from diskbench.store.export import csv_text

    beyond = sum(s for name, s in seconds.items() if not _is_inside(name)) - seconds.get(_FIO, 0.0)
    if output == "json":
        print(json.dumps({"format": 1, "trial_id": trial_id, "seconds": dict(seconds)}))
    elif output == "csv":
        fields = ("trial_id", "name", "seconds")
        rows = [(trial_id, name, f"{s:.3f}") for name, s in seconds.items()]
        sys.stdout.write(csv_text([dict(zip(fields, row, strict=True)) for row in rows], fields))
    elif not seconds:
        print(f"of trial {trial_id} no timing was kept")
    else:
        for name, spent in seconds.items():
            print(f"{spent:10.3f} s  {'  ' if _is_inside(name) else ''}{name}")
        print(f"{beyond:10.3f} s  beyond fio")


_FIO = "fio itself"


def _is_inside(name: str) -> bool:
    """Whether a span lies within another: fio within `start and watch`, `begin` beside launching,
    and the parts of renting."""
    return name in (_FIO, "begin") or name.startswith("rent: ")
