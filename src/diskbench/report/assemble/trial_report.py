"""What is known of one trial and its runs, before it is put into words (assemble/trial_view.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.expectation import DiskPrice
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.subject import Subject


@dataclass(frozen=True)
class RunNote:
    """One run: its state, when it began (UTC, ISO 8601; empty where nobody knows), how it failed
    and what to do then, where its evidence lies (a URL; empty where that is not known), and whether
    its figures agree (`audit`, a line)."""

    run_id: str
    state: str
    when: str = ""
    error: str = ""
    advice: str = ""
    evidence: str = ""
    audit: str = ""


@dataclass(frozen=True)
class TrialFacts:
    """One machine with one disk, and its runs in their order.

    `machine` tells trials on one machine, which are one sample between them (empty: its own).
    `place` is where the machine stood (region, zone). `versions` are names with what they were:
    diskbench, fio, kernel, catalogue. `job` is what fio was given, `again` the command that
    measures the same again. `price` is that of a month of the disk, `cost` what the trial cost, in
    words. `notes` were made while it was planned.
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
