"""The facts of one trial and its runs, before they become text (assemble/view.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diskbench.catalog.cost import TrialCost
from diskbench.model.expectation import DiskPrice
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement, StepAudit, Warning  # noqa: A004 - the field's word
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.model.verdict import Verdict
from diskbench.parallel import grouped
from diskbench.report.assemble.subject import Subject
from diskbench.report.assemble.words import row_id, utc_moment
from diskbench.units import format_duration_s, format_usd

LINKED = ("https://", "http://", "file://")
"""Schemes that become links; any other address stays text, above all `javascript:`."""


@dataclass(frozen=True)
class RunFacts:
    """One run: its state, start (`at`, UTC, ISO 8601; empty if unknown), error and advice, the URL
    of its evidence (empty if unknown), and whether its figures agree (`audit`, a line)."""

    run_id: str
    state: str
    at: str = ""
    error: str = ""
    advice: str = ""
    evidence: str = ""
    audit: str = ""

    @property
    def id(self) -> str:
        return row_id(self.run_id)

    @property
    def when(self) -> str:
        """Its start in words."""
        return utc_moment(self.at)

    @property
    def href(self) -> str:
        """Its evidence, if a browser can open it."""
        return self.evidence if self.evidence.startswith(LINKED) else ""


@dataclass(frozen=True)
class Facts:
    """One machine with one disk, and its runs in order.

    `machine` identifies trials on the same machine, which count as one sample (empty: a machine of
    its own). `place` is the region and zone of the machine. `versions` are names with versions:
    diskbench, fio, kernel, catalogue. `job` is the fio job text, `again` the command that repeats
    the measurement. `price` is the monthly price of the disk, `cost` the cost of the trial, as
    text. `notes` were made during planning.
    """

    trial_id: str
    subject: Subject
    runs: tuple[RunFacts, ...]
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

    @property
    def name(self) -> str:
        """The id in the ids of its rows: that of its only run, or else of the trial."""
        return self.runs[0].run_id if len(self.runs) == 1 else self.trial_id


def run_facts(row: Run, audits: Sequence[StepAudit]) -> RunFacts:
    """The facts of a run for a report; `audits` are those of its steps."""
    evidence = f"{row.evidence_url}/runs/{row.run_id}/" if row.evidence_url else ""
    audit = audit_line([audit for audit in audits if audit.run_id == row.run_id])
    at, error, advice = (text or "" for text in (row.when, row.error, row.advice))
    return RunFacts(row.run_id, row.state, at, error, advice, evidence, audit)


def versions_of(row: Run, plan: Plan | None) -> tuple[tuple[str, str], ...]:
    """What measured, and on what software."""
    digest = f" ({row.profile_digest[:12]})" if row.profile_digest else ""
    versions = {
        "diskbench": row.diskbench_version,
        "fio": (row.fio_version or "").removeprefix("fio-"),
        "kernel": row.kernel,
        "distribution": row.distribution,
        "profile": f"{row.profile}{digest}",
        "catalogue": plan.catalogue[:12] if plan and plan.catalogue else "",
    }
    return tuple((name, str(value)) for name, value in versions.items() if value)


def cost_line(cost: TrialCost) -> str:
    """The cost of a trial: `$0.0123 (12 min at $0.0612/h)`, transactions with their number."""
    if cost.unknown:
        known = f" (the rest {format_usd(cost.known_usd)})" if cost.known_usd else ""
        return f"cost unknown{known}: {cost.unknown_words()}"
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


AUDIT_FAILED = "audit failed:"
"""How a line of checks begins of which one failed."""


def audit_line(audits: Sequence[StepAudit]) -> str:
    """The checks that hold in all steps, those that fail and where, and those that could not be
    made; empty without a step."""
    pairs = [(check, audit.step) for audit in audits for check in audit.checks]
    good: list[str] = []
    unknown: list[str] = []
    wrong: list[str] = []
    for name, of in grouped(pairs, lambda pair: pair[0].name).items():
        bad = [(check, step) for check, step in of if check.holds is False]
        if bad:
            check, step = bad[0]
            more = f" (and {len(bad) - 1} more steps)" if len(bad) > 1 else ""
            wrong.append(f"{name} in step {step}: {check.message}{more}")
        else:
            (unknown if all(check.holds is None for check, _ in of) else good).append(name)
    parts = [f"{AUDIT_FAILED} {'; '.join(wrong)}"] if wrong else []
    if good:
        parts.append(f"{'' if wrong else 'audit '}passed: {', '.join(good)}")
    if unknown:
        parts.append(f"{'' if parts else 'audit '}not checked: {', '.join(unknown)}")
    return "; ".join(parts)
