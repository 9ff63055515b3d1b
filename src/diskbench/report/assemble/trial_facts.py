"""The facts of one trial and its runs, before they become text (assemble/trial_view.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diskbench.catalog.cost import TrialCost
from diskbench.model.expectation import DiskPrice
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, StepAudit, Warning  # noqa: A004 - the field's word
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Verdict
from diskbench.report.assemble.next_step import run_again
from diskbench.report.assemble.subject import SUSPENDED, Subject, subject_of_runs
from diskbench.results.stored_trial import StoredTrial
from diskbench.units import format_duration_s, format_usd


@dataclass(frozen=True)
class RunNote:
    """One run: its state, start (UTC, ISO 8601; empty if unknown), error and advice, the URL of its
    evidence (empty if unknown), and whether its figures agree (`audit`, a line)."""

    run_id: str
    state: str
    when: str = ""
    error: str = ""
    advice: str = ""
    evidence: str = ""
    audit: str = ""


@dataclass(frozen=True)
class TrialFacts:
    """One machine with one disk, and its runs in order.

    `machine` identifies trials on the same machine, which count as one sample (empty: a machine of
    its own). `place` is the region and zone of the machine. `versions` are names with versions:
    diskbench, fio, kernel, catalogue. `job` is the fio job text, `again` the command that repeats
    the measurement. `price` is the monthly price of the disk, `cost` the cost of the trial, as
    text. `notes` were made during planning.
    """

    trial_id: str
    subject: Subject
    runs: tuple[RunNote, ...]
    measurements: tuple[Measurement, ...] = ()
    warnings: tuple[Warning, ...] = ()
    phases: tuple[StepPhases, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    place: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    machine: str = ""
    price: DiskPrice | None = None
    cost: str = ""
    job: str = ""
    again: str = ""


def trial_facts(stored: StoredTrial) -> TrialFacts:
    """The facts of a stored trial for a report."""
    first, plan = stored.runs[0], stored.plan
    subject = subject_of_runs(stored.runs, plan)
    if stored.suspended:
        subject = replace(subject, state=SUSPENDED)
    return TrialFacts(
        trial_id=stored.trial_id,
        subject=subject,
        runs=tuple(_note(row, stored) for row in stored.runs),
        measurements=stored.measurements,
        warnings=stored.doubts,
        phases=stored.phases,
        verdicts=stored.verdicts,
        labels=tuple(sorted((str(k), str(v)) for k, v in first.labels.items())),
        notes=plan.notes if plan else (),
        place=_place(first),
        versions=_versions(first, plan),
        machine=first.machine(rented=bool(plan and plan.cell.rent)),
        price=plan.expectation.price if plan and plan.expectation else None,
        cost=cost_line(stored.cost) if stored.cost is not None else "",
        job=_job(plan),
        again="" if first.imported else run_again(subject, subject.runs_planned),
    )


def _note(row: Run, stored: StoredTrial) -> RunNote:
    url = row.evidence_url
    return RunNote(
        run_id=row.run_id,
        state=row.state,
        when=row.when or "",
        error=row.error or "",
        advice=row.advice or "",
        evidence=f"{url}/runs/{row.run_id}/" if url else "",
        audit=audit_line([audit for audit in stored.audits if audit.run_id == row.run_id]),
    )


def _place(row: Run) -> str:
    words = (row.region, row.zone)
    return ", ".join(dict.fromkeys(str(word) for word in words if word))


def _versions(row: Run, plan: Plan | None) -> tuple[tuple[str, str], ...]:
    versions = {
        "diskbench": row.diskbench_version,
        "fio": (row.fio_version or "").removeprefix("fio-"),
        "kernel": row.kernel,
        "distribution": row.distribution,
        "profile": f"{row.profile} ({row.profile_digest[:12]})"
        if row.profile_digest
        else row.profile,
        "catalogue": plan.catalogue[:12] if plan and plan.catalogue else "",
    }
    return tuple((name, str(value)) for name, value in versions.items() if value)


def _job(plan: Plan | None) -> str:
    """The job files of all steps, each below the name of its step."""
    if plan is None:
        return ""
    return "\n".join(
        f"# step {step.index + 1}: {step.name}\n{step.job.strip()}\n" for step in plan.steps
    )


def cost_line(cost: TrialCost) -> str:
    """The cost of a trial: `$0.0123 (12 min at $0.0612/h)`, transactions with their number."""
    if cost.unknown:
        known = f", the rest {format_usd(cost.known_usd)}" if cost.known_usd else ""
        return f"not known of {', '.join(cost.unknown)}{known}"
    if not cost.total_usd:
        return "nothing"
    hourly = f"{format_duration_s(cost.seconds)} at {format_usd(cost.hourly_usd or 0)}/h"
    if cost.fixed_usd:
        hourly += f", {format_usd(cost.fixed_usd)} for the least time that is billed"
    if cost.transactions_usd:
        hourly += f", {format_usd(cost.transactions_usd)} for {cost.transactions:,.0f} transactions"
    so_far = "" if cost.ended else " so far"
    paid = "; emulated: nothing was paid" if cost.emulated else ""
    return f"{format_usd(cost.total_usd)}{so_far} ({hourly}){paid}"


def audit_line(audits: Sequence[StepAudit]) -> str:
    """The checks that hold in all steps, those that fail and where, and those that could not be
    made; empty without a step."""
    names = dict.fromkeys(check.name for audit in audits for check in audit.checks)
    good, unknown, wrong = [], [], []
    for name in names:
        pairs = [(a, check) for a in audits for check in a.checks if check.name == name]
        bad = [(a, check) for a, check in pairs if check.holds is False]
        if bad:
            first, check = bad[0]
            more = f" (and {len(bad) - 1} more steps)" if len(bad) > 1 else ""
            wrong.append(f"{name} of step {first.step} does not hold: {check.message}{more}")
        elif all(check.holds is None for _, check in pairs):
            unknown.append(name)
        else:
            good.append(name)
    parts = wrong
    if good:
        parts.append(f"{', '.join(good)} hold" + ("s" if len(good) == 1 else ""))
    if unknown:
        parts.append(f"not checked: {', '.join(unknown)}")
    return "audit: " + "; ".join(parts) if parts else ""
