"""Many trials in two sentences: how much was measured, and how far the disks differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.report.assemble.large_blocks import in_large_blocks
from diskbench.report.terminal.compare_text import NO_INTERVAL

if TYPE_CHECKING:
    from diskbench.report.assemble.report_view import Report
    from diskbench.report.assemble.result_rows import ResultRow


_ALIKE = 1.2
"""Levels less than 20 % apart count as one, as everywhere else (MR-4's least cliff)."""


@dataclass(frozen=True)
class _Lasting:
    """The level that stands for one subject in a step: the lasting one, or a burst if no run
    outlasted it."""

    words: str
    row: ResultRow

    @property
    def iops(self) -> float:
        """The shown IOPS; 0 if the cell is not a number."""
        return _number(self.row.iops.text)

    @property
    def rate(self) -> str:
        """The rate in words, in MB/s for large blocks, else in IOPS: `3,000 IOPS in a burst`."""
        size = _number(self.row.mb_per_s.text) * 1e6
        large = in_large_blocks(self.iops, size)
        rate = f"{self.row.mb_per_s.text} MB/s" if large else f"{self.row.iops.text} IOPS"
        return f"{rate} in a burst" if self.row.burst else rate


def many_sentences(report: Report) -> tuple[str, str]:
    """How much was measured; then the slowest and the fastest group in the most common step."""
    return _counted(report), _apart(report)


def counted(count: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _counted(report: Report) -> str:
    trials = [trial.trial for trial in report.trials]
    machines = len({trial.machine or trial.trial_id for trial in trials})
    configurations = counted(len(report.groups), "configuration")
    trials_run = counted(len(trials), "trial")
    if report.runs != len(trials):
        trials_run += f" with {counted(report.runs, 'run')}"
    return f"{configurations} measured in {trials_run} on {counted(machines, 'machine')}."


def _apart(report: Report) -> str:
    steps: dict[str, list[_Lasting]] = {}
    for group in report.groups:
        # The level of a step that most runs stand for, which is the level they ended on.
        most_runs = sorted(group.rows, key=lambda row: row.stands)
        for step, row in {row.step: row for row in most_runs}.items():
            steps.setdefault(step, []).append(_Lasting(group.name, row))
    numbered = {step: [level for level in lasting if level.iops] for step, lasting in steps.items()}
    # Cached figures say nothing about a disk; they are used only if there are no others.
    trusted = {
        step: [level for level in lasting if level.row.trust != "no"]
        for step, lasting in numbered.items()
    }
    numbered = trusted if any(trusted.values()) else numbered
    step, lasting = max(numbered.items(), key=lambda item: len(item[1]), default=("", []))
    if not lasting:
        return ""
    least, most = min(lasting, key=_iops), max(lasting, key=_iops)
    if len(lasting) == 1 < len(report.groups):
        return "They have no step in common."
    if least is most:
        ratio = most.row.ratio
        beside = f", {ratio.text} of what was promised" if ratio.text[0].isdigit() else ""
        return f"{most.words} gave {most.rate} in {step}{beside} ({_sure(most.row)})."
    if most.iops < _ALIKE * least.iops:
        return (
            f"In {step} {'both' if len(lasting) == 2 else f'all {len(lasting)}'} gave about the "
            f"same: from {least.rate} "
            f"({least.words}) to {most.rate} ({most.words})."
        )
    times = f"{most.iops / least.iops:.1f}".removesuffix(".0")
    return (
        f"In {step} the fastest, {most.words}, gave {most.rate}: {times} times the "
        f"slowest, {least.words}, with {least.rate}."
    )


def _number(text: str) -> float:
    """The number in a cell; 0 if it is not one."""
    digits = text.replace(",", "")
    return float(digits) if digits.replace(".", "", 1).isdigit() else 0.0


def _iops(lasting: _Lasting) -> float:
    return lasting.iops


def _sure(row: ResultRow) -> str:
    small = row.iops.small
    if "%" in small:
        return f"interval {small}"
    return row.ratio.small or (f"{small} over all" if small else NO_INTERVAL.format(n=1))
