"""A whole report: its trials in groups, its charts, and the words over all of them, once."""

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
    """Trials of the same subject: replicates. `words` say what was asked for, `short` what of it
    other groups of the report did not ask for. `rows` are their results together, with the columns
    `shown`; `counted` says how many trials, runs and machines they are of."""

    words: str
    trials: tuple[TrialView, ...]
    short: str = ""
    rows: tuple[ResultRow, ...] = ()
    shown: frozenset[str] = frozenset()
    counted: str = ""

    @property
    def name(self) -> str:
        """What the group is called beside others."""
        return self.short or self.words

    @property
    def href(self) -> str:
        """What leads to its only trial on the same page; empty where it has several."""
        return f"#{self.trials[0].id}" if len(self.trials) == 1 else ""


@dataclass(frozen=True)
class Report:
    """All that was asked for, in words, with its charts: `over` the runs and trials, and `inside`
    one run, `inside_of`. `asked` are the words of whoever asked; `made` says when and by which
    version. `left_out` says what was not drawn or read, and why. `folded`: each of several trials
    has a section of its own. `published`: its readers did not measure it, so they get no next step.
    `common` is what all groups asked for, which their short names leave out. `chart` names the only
    chart that was asked for; empty: all."""

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

    @property
    def trials(self) -> tuple[TrialView, ...]:
        """Of all groups, in order."""
        return tuple(trial for group in self.groups for trial in group.trials)

    @property
    def single(self) -> TrialView | None:
        """The trial that the report is about; None of several."""
        trials = self.trials
        return trials[0] if len(trials) == 1 else None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return sum(len(trial.runs) for trial in self.trials)

    @property
    def title(self) -> str:
        """The title of its trial, or `7 trials with 12 runs: disk=gp2`."""
        if self.single is not None:
            return self.single.subject.title
        runs = f" with {counted(self.runs, 'run')}" if self.runs != len(self.trials) else ""
        asked = f": {self.asked}" if self.asked else ""
        return f"{counted(len(self.trials), 'trial')}{runs}{asked}"

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader must know of any of its trials: emulated, imported, unverified."""
        return tuple(dict.fromkeys(mark for trial in self.trials for mark in trial.subject.marks))

    @property
    def sentences(self) -> tuple[str, str]:
        """What was measured, and what came of it: of its trial, or of all of them."""
        return self.single.sentences if self.single is not None else many_sentences(self)

    @property
    def shown(self) -> frozenset[str]:
        """The columns of results that are not empty throughout."""
        return frozenset(name for group in self.groups for name in group.shown)

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions that the charts of one trial tell by colour; none without a choice."""
        seen = {line.direction for line in self.single.lines} if self.single else set()
        return tuple(name for name in DIRECTION_ORDER if name in seen) if len(seen) > 1 else ()

    @property
    def next(self) -> NextStep | None:
        """What its reader may do after it; None for readers who cannot."""
        return self.single.next_on_page if self.single and not self.published else None


def group_view(words: str, trials: Sequence[TrialView], short: str = "", number: int = 1) -> Group:
    """The group of trials with what they say together; `number` names its rows on a page."""
    facts = [trial.trial for trial in trials]
    machines = len({fact.machine or fact.trial_id for fact in facts})
    counts = (
        counted(len(trials), "trial"),
        counted(sum(len(trial.runs) for trial in trials), "run"),
        counted(machines, "machine"),
    )
    rows = result_rows(facts, of=f"group-{number}")
    return Group(words, tuple(trials), short, rows, shown_columns(rows), ", ".join(counts))
