"""Several trials: in two sentences, and as a whole report with its charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from diskbench.report.assemble.lines import DIRECTION_ORDER
from diskbench.report.assemble.result_rows import ResultRow, result_rows, shown_columns
from diskbench.report.assemble.view import View
from diskbench.report.assemble.words import NO_INTERVAL
from diskbench.report.charts.figure import ChartFigure
from diskbench.units import counted, in_large_blocks

_ALIKE = 1.2
"""Levels less than 20 % apart count as one, as everywhere else (MR-4's least cliff)."""


def many_sentences(report: Report) -> tuple[str, str]:
    """How much was measured; then the slowest and the fastest group in the most common step."""
    configurations = counted(len(report.groups), "configuration")
    machines = counted(_machines(report.trials), "machine")
    return f"{configurations} measured in {report.counted} on {machines}.", _apart(report)


def _apart(report: Report) -> str:
    # IOPS of small blocks and MB/s of large ones cannot be compared.
    steps: dict[tuple[str, bool], list[tuple[Group, ResultRow]]] = {}
    for group in report.groups:
        # The level of a step that most runs stand for, which is the level they ended on.
        most_runs = sorted(group.rows, key=lambda row: row.stands)
        for step, row in {row.step: row for row in most_runs}.items():
            if row.rate:
                large = in_large_blocks(row.rate, row.bytes_per_s)
                steps.setdefault((step, large), []).append((group, row))
    # Cached figures say nothing about a disk; they are used only if there are no others.
    trusted = {step: [one for one in of if one[1].trust != "no"] for step, of in steps.items()}
    known = trusted if any(trusted.values()) else steps
    (step, _), lasting = max(known.items(), key=_decides, default=(("", False), []))
    if not lasting:
        return ""
    if len(lasting) == 1 < len(report.groups):
        return "They have no step in common."
    least, most = (pick(lasting, key=lambda one: one[1].rate) for pick in (min, max))
    (low, low_row), (high, high_row) = least, most
    slow, fast = _rate(low_row), _rate(high_row)
    if least is most:
        ratio = high_row.ratio
        beside = f", {ratio.text} of what was promised" if ratio.text[0].isdecimal() else ""
        small = high_row.iops.small
        sure = f"interval {small}" if "%" in small else ratio.small
        sure = sure or (f"{small} over all" if small else NO_INTERVAL.format(n=1))
        return f"{high.name} reached {fast} in {step}{beside} ({sure})."
    if high_row.rate < _ALIKE * low_row.rate:
        every = "both" if len(lasting) == 2 else f"all {len(lasting)}"
        same = f"from {slow} ({low.name}) to {fast} ({high.name})"
        return f"In {step} {every} reached about the same: {same}."
    times = f"{high_row.rate / low_row.rate:.1f}".removesuffix(".0")
    falls = (trial.fell for trial in low.trials if trial.fell)
    if fell := next((fell for fell in falls if fell.step == step), None):
        fastest = f"the fastest, {high.name}, reaches {fast}: {times} times as much."
        return f"After {fell.lasted}, {low.name} keeps {slow} in {step}; {fastest}"
    slowest = f"{times} times the slowest, {low.name}, with {slow}."
    return f"In {step} the fastest, {high.name}, reached {fast}: {slowest}"


def _decides(of: tuple[tuple[str, bool], list[tuple[Group, ResultRow]]]) -> tuple[int, bool, bool]:
    """Which step tells most about several disks: the one that most of them have; of these IOPS
    before throughput, and what lasts before a burst."""
    (_, large), rows = of
    return len(rows), not large, not any(row.burst for _, row in rows)


def _rate(row: ResultRow) -> str:
    """`3,000 IOPS in a burst`, in MB/s for large blocks."""
    large = in_large_blocks(row.rate, row.bytes_per_s)
    rate = f"{row.mb_per_s.text} MB/s" if large else f"{row.iops.text} IOPS"
    return f"{rate} in a burst" if row.burst else rate


@dataclass(frozen=True)
class Group:
    """Trials of the same subject: replicates. `words` describe the subject, `short` only what
    differs from other groups of the report; `number` names its rows on a page."""

    words: str
    trials: tuple[View, ...]
    short: str = ""
    number: int = 1

    @cached_property
    def rows(self) -> tuple[ResultRow, ...]:
        return result_rows(self.trials, of=f"group-{self.number}")

    @property
    def shown(self) -> frozenset[str]:
        return shown_columns(self.rows)

    @property
    def counted(self) -> str:
        """`3 trials, 3 runs, 2 machines`."""
        runs = sum(len(trial.runs) for trial in self.trials)
        counts = {"trial": len(self.trials), "run": runs, "machine": _machines(self.trials)}
        return ", ".join(counted(count, noun) for noun, count in counts.items())

    @property
    def name(self) -> str:
        return self.short or self.words

    @property
    def href(self) -> str:
        """The link to its only trial on the same page; empty if it has several."""
        return f"#{self.trials[0].id}" if len(self.trials) == 1 else ""


@dataclass(frozen=True)
class Report:
    """A report as text with its charts: `over` the runs and trials, and `inside` one run,
    `inside_of`. `asked` are the user's selection words; `made` says when and by which version.
    `left_out` says what was not drawn or read, and why. `folded`: each of several trials has its
    own section. `published`: the readers did not measure it, so they get no next step. `common` is
    the part of the subject that all groups share, which their short names leave out. `chart` names
    the only requested chart; empty: all. `matrix` is the name and title of the matrix that all
    trials belong to; empty: there is none."""

    asked: str
    groups: tuple[Group, ...]
    over: tuple[ChartFigure, ...] = ()
    inside: tuple[ChartFigure, ...] = ()
    inside_of: str = ""
    made: str = ""
    left_out: tuple[str, ...] = ()
    folded: bool = True
    published: bool = False
    common: str = ""
    chart: str = ""
    matrix: str = ""

    @property
    def trials(self) -> tuple[View, ...]:
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def single(self) -> View | None:
        trials = self.trials
        return trials[0] if len(trials) == 1 else None

    @property
    def runs(self) -> int:
        return sum(len(trial.runs) for trial in self.trials)

    @property
    def title(self) -> str:
        """The title of its trial; that of the matrix; or `7 trials with 12 runs: disk=gp2`."""
        if self.single is not None:
            return self.single.subject.title
        asked = f": {self.asked}" if self.asked else ""
        return self.matrix or f"{self.counted}{asked}"

    @property
    def counted(self) -> str:
        """`7 trials with 12 runs`."""
        runs = f" with {counted(self.runs, 'run')}" if self.runs != len(self.trials) else ""
        return f"{counted(len(self.trials), 'trial')}{runs}"

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks of all its trials: emulated, imported, unverified."""
        return tuple(dict.fromkeys(mark for trial in self.trials for mark in trial.subject.marks))

    @property
    def sentences(self) -> tuple[str, str]:
        """What was measured and the result, for the only trial or for all of them."""
        return self.single.sentences if self.single is not None else many_sentences(self)

    @property
    def shown(self) -> frozenset[str]:
        """The columns of the results that are not empty in all rows."""
        return frozenset(name for group in self.groups for name in group.shown)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that the charts of one trial distinguish by colour; empty if only one."""
        measured = {line.direction for line in self.single.lines} if self.single else set()
        return tuple(sorted(measured, key=DIRECTION_ORDER.index)) if len(measured) > 1 else ()

    @property
    def next(self) -> tuple[str, str] | None:
        """Reason and command of the next step; None for readers who cannot measure again."""
        return self.single.next_on_page if self.single and not self.published else None


def _machines(trials: Sequence[View]) -> int:
    """The number of machines: the independent samples."""
    return len({trial.machine or trial.trial_id for trial in trials})
