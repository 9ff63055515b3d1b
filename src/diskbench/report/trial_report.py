"""What a report is made of: everything that is known of the trials that were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diskbench.model.expectation import DiskPrice
    from diskbench.model.phase import StepPhases
    from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
    from diskbench.model.verdict import Verdict
    from diskbench.report.charts.figure import Figure
    from diskbench.report.subject import Subject


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
class TrialReport:
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


@dataclass(frozen=True)
class Group:
    """Trials of the same subject: replicates. `words` say what was asked for, `short` what of it
    other groups of the report did not ask for."""

    words: str
    trials: tuple[TrialReport, ...]
    short: str = ""

    @property
    def name(self) -> str:
        """What the group is called beside others."""
        return self.short or self.words


@dataclass(frozen=True)
class Report:
    """All that was asked for, with its charts: `over` the runs and trials, and `inside` one run,
    `inside_of`. `asked` are the words of whoever asked; `made` says when and by which version.
    `left_out` tells what was not drawn or read, and why. `folded`: of several trials each is told
    by itself, too. `published`: its readers are others than who measured, and are told no next
    step. `common` is what all groups asked for, which their short names leave out."""

    asked: str
    groups: tuple[Group, ...]
    over: tuple[Figure, ...] = ()
    inside: tuple[Figure, ...] = ()
    inside_of: str = ""
    made: str = ""
    left_out: tuple[str, ...] = ()
    folded: bool = True
    published: bool = False
    common: str = ""

    @property
    def trials(self) -> tuple[TrialReport, ...]:
        """Of all groups, in order."""
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(len(trial.runs) for trial in self.trials)
