"""The facts of one trial and its runs, before they become text (assemble/trial_view.py)."""

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
