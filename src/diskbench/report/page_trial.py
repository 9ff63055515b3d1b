"""One trial in the words of its page: everything that the template only has to set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from diskbench.analysis.shown import verdict_warnings
from diskbench.report.dates import NO_DATE
from diskbench.report.expectation_text import price_lines
from diskbench.report.lines import Line, Spread, WarningGroup, grouped_warnings, trial_lines
from diskbench.report.phase_lines import clock
from diskbench.report.plain_many import counted
from diskbench.report.plain_words import slowed, two_sentences
from diskbench.report.result_rows import (
    NONE,
    ResultRow,
    result_rows,
    shown_columns,
    trial_name,
)
from diskbench.report.row_ids import row_id
from diskbench.report.subject import Subject, unfinished_words
from diskbench.report.tables import runs_words
from diskbench.report.threshold_lines import threshold_lines
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.phase import Phase, StepPhases
    from diskbench.report.threshold_lines import ThresholdLine
    from diskbench.report.trial_report import RunNote, TrialReport

LINKED = ("https://", "http://", "file://")
"""Addresses that a browser opens; anything else stays text, a `javascript:` above all."""


@dataclass(frozen=True)
class FigureRow:
    """One step and direction: each cell is the median, and lowest–highest of several runs."""

    id: str
    step: str
    direction: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PhaseRow:
    """One phase of one step; `steady` stands at the first of a step."""

    step: str
    steady: str
    kind: str
    when: str
    iops: str
    mb_per_s: str


@dataclass(frozen=True)
class RunRow:
    """One run; `href` where a browser can open its evidence."""

    id: str
    run_id: str
    state: str
    when: str
    error: str
    advice: str
    evidence: str
    href: str
    audit: str = ""


@dataclass(frozen=True)
class TrialView:
    """What stands on the page of one trial. `alone`: the page is about nothing else."""

    id: str
    trial: TrialReport
    alone: bool
    summary: str
    sentences: tuple[str, str]
    unfinished: str
    when: str
    price: str
    shown: frozenset[str]
    rows: tuple[ResultRow, ...]
    slowed: tuple[str, ...]
    figures: tuple[FigureRow, ...]
    runs_n: int
    closed_loop: bool
    sync_latency: bool
    thresholds: tuple[ThresholdLine, ...]
    phases: tuple[PhaseRow, ...]
    phase_notes: tuple[str, ...]
    warnings: tuple[WarningGroup, ...]
    runs: tuple[RunRow, ...]

    @property
    def subject(self) -> Subject:
        """What the trial is about."""
        return self.trial.subject


def trial_view(trial: TrialReport, *, alone: bool) -> TrialView:
    """The trial in words."""
    found = trial_lines(trial)
    name = trial_name(trial)
    rows = result_rows([trial])
    return TrialView(
        id=row_id(trial.trial_id),
        trial=trial,
        alone=alone,
        summary=_summary(trial),
        sentences=two_sentences(trial),
        unfinished=unfinished_words(trial.subject, trial.measurements),
        when=_when(trial),
        price="; ".join(price_lines(trial.price)) if trial.price else "",
        shown=shown_columns(rows),
        rows=rows,
        slowed=slowed(trial),
        figures=tuple(_figures(line, name) for line in found),
        runs_n=max((line.runs for line in found), default=0),
        sync_latency=any(line.latency_of_sync for line in found),
        thresholds=threshold_lines(trial.subject.thresholds, found),
        closed_loop=any(line.role == "measure" for line in found),
        phases=tuple(row for one in trial.phases for row in _phases(one, trial)),
        phase_notes=tuple(_stalls(trial.phases)),
        warnings=grouped_warnings((*trial.warnings, *verdict_warnings(trial.verdicts))),
        runs=tuple(map(_run, trial.runs)),
    )


def local(utc: str) -> str:
    """A moment (UTC, ISO 8601) as the clock on the wall shows it, with its zone. Of no time it says
    so."""
    if not utc:
        return NO_DATE
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def _summary(trial: TrialReport) -> str:
    """`2026-11-21 10:00 UTC · 3 runs · 10.0.0.7: 2 × EPYC … · done`."""
    count = len(trial.runs)
    runs = f"run {trial.runs[0].run_id}" if count == 1 else counted(count, "run")
    labels = ", ".join(f"{key}={value}" for key, value in trial.labels)
    subject = trial.subject
    what = subject.title if "imported" in subject.marks else subject.machine.partition(":")[0]
    words = (_when(trial), runs, what, labels)
    state = subject.state if subject.state != "done" else ""
    return " · ".join(word for word in (*words, state, *subject.marks) if word)


def _when(trial: TrialReport) -> str:
    first, last = (local(one.when) for one in (trial.runs[0], trial.runs[-1]))
    return first if first == last else f"{first} to {last}"


def _figures(line: Line, name: str) -> FigureRow:
    sync = line.direction == "sync"
    latencies = (line.mean_ns, line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
    step = f"{line.step} ({line.level})" if line.level else line.step
    if line.iops.n < line.runs:
        step += f", {runs_words(line)}"
    if line.rounds:
        step += f" (rounds {line.rounds[0]}–{line.rounds[1]})"
    rates = [_cell(line.iops, format_iops), _cell(line.bytes_per_s, format_mb_per_s)]
    if sync:
        rates[1] = (NONE, "")
    return FigureRow(
        id=row_id(name, line.step, line.direction),
        step=step,
        direction=line.direction,
        cells=(
            *rates,
            *(_cell(one, format_latency_ns) for one in latencies),
            _cell(line.cpu, lambda share: f"{share:.0%}"),
        ),
    )


def _cell(spread: Spread | None, text: Callable[[float], str]) -> tuple[str, str]:
    """The median, and lowest–highest where there are several runs."""
    if spread is None:
        return NONE, ""
    return text(spread.median), _range(text(spread.low), text(spread.high)) if spread.n > 1 else ""


def _range(low: str, high: str) -> str:
    """`2.50–6.40 ms`: the unit once where both have the same."""
    if low == high:
        return ""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low}–{high}"


def _phases(found: StepPhases, trial: TrialReport) -> list[PhaseRow]:
    runs = [one.run_id for one in trial.runs]
    run = f", run {runs.index(found.run_id) + 1}" if len(runs) > 1 and found.run_id in runs else ""
    return [
        PhaseRow(
            step=f"{found.step}{run}",
            steady=found.steady.words() if number == 0 else "",
            kind=phase.kind,
            when=f"{clock(phase.start_s)}–{clock(phase.end_s)}",
            iops=_level(phase),
            mb_per_s=NONE if phase.bytes_per_s is None else format_mb_per_s(phase.bytes_per_s),
        )
        for number, phase in enumerate(found.phases)
    ]


def _level(phase: Phase) -> str:
    if phase.from_iops is not None and phase.to_iops is not None:
        return f"{format_iops(phase.from_iops)} → {format_iops(phase.to_iops)}"
    return NONE if phase.iops is None else format_iops(phase.iops)


def _stalls(found: Sequence[StepPhases]) -> list[str]:
    told = []
    for one in found:
        if one.stalls:
            total = sum(stall.seconds for stall in one.stalls)
            first = clock(one.stalls[0].start_s)
            count = counted(len(one.stalls), "stall")
            told.append(f"{one.step}: {count}, {total:.0f} s in all, the first at {first}.")
    return told


def _run(note: RunNote) -> RunRow:
    return RunRow(
        id=row_id(note.run_id),
        run_id=note.run_id,
        state=note.state,
        when=local(note.when),
        error=note.error,
        advice=note.advice,
        evidence=note.evidence,
        href=note.evidence if note.evidence.startswith(LINKED) else "",
        audit=note.audit,
    )
