"""A stored trial as a report needs it: subject, runs, place, versions and command."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from diskbench.report.assemble.next_step import run_again
from diskbench.report.assemble.subject import SUSPENDED, subject_of_runs
from diskbench.report.assemble.trial_report import RunNote, TrialFacts
from diskbench.report.terminal.audit_text import audit_line
from diskbench.report.terminal.cost_text import cost_line

if TYPE_CHECKING:
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.results.stored_trial import StoredTrial


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
