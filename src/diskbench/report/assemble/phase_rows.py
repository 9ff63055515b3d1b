"""The phases of a trial's steps as rows of a table, and their stalls as sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.report.assemble.phase_lines import clock
from diskbench.report.assemble.result_rows import NONE
from diskbench.report.assemble.summary_many import counted
from diskbench.units import format_iops, format_mb_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from diskbench.model.phase import Phase, StepPhases


@dataclass(frozen=True)
class PhaseRow:
    """One phase of one step; `steady` is set only in the first row of a step."""

    step: str
    steady: str
    kind: str
    when: str
    iops: str
    mb_per_s: str


def phase_rows(steps: Sequence[StepPhases], run_ids: Sequence[str]) -> tuple[PhaseRow, ...]:
    """A row per phase, in order; with several runs the step's name includes the run's number."""
    return tuple(row for step in steps for row in _rows(step, run_ids))


def stall_notes(steps: Sequence[StepPhases]) -> tuple[str, ...]:
    """One sentence for each step that stalled: number of stalls, total time, first stall."""
    return tuple(
        f"{step.step}: {counted(len(step.stalls), 'stall')}, "
        f"{sum(stall.seconds for stall in step.stalls):.0f} s in all, "
        f"the first at {clock(step.stalls[0].start_s)}."
        for step in steps
        if step.stalls
    )


def _rows(step: StepPhases, run_ids: Sequence[str]) -> Iterator[PhaseRow]:
    several = len(run_ids) > 1 and step.run_id in run_ids
    run = f", run {run_ids.index(step.run_id) + 1}" if several else ""
    for number, phase in enumerate(step.phases):
        yield PhaseRow(
            step=f"{step.step}{run}",
            steady=step.steady.words() if number == 0 else "",
            kind=phase.kind,
            when=f"{clock(phase.start_s)}–{clock(phase.end_s)}",
            iops=_level(phase),
            mb_per_s=NONE if phase.bytes_per_s is None else format_mb_per_s(phase.bytes_per_s),
        )


def _level(phase: Phase) -> str:
    if phase.from_iops is not None and phase.to_iops is not None:
        return f"{format_iops(phase.from_iops)} → {format_iops(phase.to_iops)}"
    return NONE if phase.iops is None else format_iops(phase.iops)
