"""A whole report: its trials in groups, its charts, and the text about all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.report.assemble.lines import DIRECTION_ORDER
from diskbench.report.assemble.result_rows import result_rows, shown_columns
from diskbench.report.assemble.summary_many import counted, many_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diskbench.report.assemble.next_step import NextStep
    from diskbench.report.assemble.result_rows import ResultRow
    from diskbench.report.assemble.trial_view import TrialView
    from diskbench.report.charts.figure import ChartFigure


@dataclass(frozen=True)
class Group:
    """Trials of the same subject: replicates. `words` describe the subject, `short` only what
    differs from other groups of the report. `rows` are their common results, with the columns
    `shown`; `counted` is the number of trials, runs and machines."""

    words: str
    trials: tuple[TrialView, ...]
    short: str = ""
    rows: tuple[ResultRow, ...] = ()
    shown: frozenset[str] = frozenset()
    counted: str = ""

    @property
    def name(self) -> str:
        """The name of the group beside others."""
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
    def trials(self) -> tuple[TrialView, ...]:
        """The trials of all groups, in order."""
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def single(self) -> TrialView | None:
        """The only trial of the report; None if there are several."""
        trials = self.trials
        return trials[0] if len(trials) == 1 else None

    @property
    def runs(self) -> int:
        """The number of runs."""
        return sum(len(trial.runs) for trial in self.trials)

    @property
    def title(self) -> str:
        """The title of its trial; that of the matrix; or `7 trials with 12 runs: disk=gp2`."""
        if self.single is not None:
            return self.single.subject.title
        if self.matrix:
            return self.matrix
        runs = f" with {counted(self.runs, 'run')}" if self.runs != len(self.trials) else ""
        asked = f": {self.asked}" if self.asked else ""
        return f"{counted(len(self.trials), 'trial')}{runs}{asked}"

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
        return (
            tuple(name for name in DIRECTION_ORDER if name in measured) if len(measured) > 1 else ()
        )

    @property
    def next(self) -> NextStep | None:
        """The proposed next step; None for readers who cannot measure again."""
        return self.single.next_on_page if self.single and not self.published else None


def group_view(words: str, trials: Sequence[TrialView], short: str = "", number: int = 1) -> Group:
    """The group of trials with their common results; `number` names its rows on a page."""
    facts = [trial.trial for trial in trials]
    machines = len({fact.machine or fact.trial_id for fact in facts})
    counts = (
        counted(len(trials), "trial"),
        counted(sum(len(trial.runs) for trial in trials), "run"),
        counted(machines, "machine"),
    )
    rows = result_rows(facts, of=f"group-{number}")
    return Group(words, tuple(trials), short, rows, shown_columns(rows), ", ".join(counts))
