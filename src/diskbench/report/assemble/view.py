"""One trial as every output format shows it: terminal, page, Markdown, PDF, picture and site only
lay out a View; none of them selects, rounds or words anything by itself. What a View tells is made
when it is first asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from diskbench.analysis.shown import verdict_warnings
from diskbench.model.ids import short
from diskbench.parallel import grouped
from diskbench.report.assemble.lines import (
    MEDIAN,
    StepLine,
    WarningGroup,
    footnotes,
    grouped_warnings,
    lines,
)
from diskbench.report.assemble.next_step import next_step, run_again
from diskbench.report.assemble.phases import clock, phase_lines, phase_rows
from diskbench.report.assemble.result_rows import ResultRow, result_rows, shown_columns
from diskbench.report.assemble.subject import (
    SHARED,
    SUSPENDED,
    UNFINISHED,
    cost_line,
    price_lines,
    run_facts,
    subject_of_runs,
    versions_of,
)
from diskbench.report.assemble.summary import Facts
from diskbench.report.assemble.threshold_lines import ThresholdLine, sla_words, threshold_lines
from diskbench.report.assemble.words import NONE, row_id
from diskbench.results.trial import Trial
from diskbench.units import counted


@dataclass(frozen=True)
class View(Facts):
    """The content of one trial for all output formats: its facts, and what they tell."""

    @property
    def id(self) -> str:
        return row_id(self.trial_id)

    @property
    def disk(self) -> str:
        """The disk as a reader knows it: as it was offered, else the measured path or device, else
        the title of the result."""
        subject = self.subject
        return subject.offer or subject.target or subject.disk or subject.title

    @property
    def summary(self) -> str:
        """`2026-11-21 10:00 UTC · 3 runs · 10.0.0.7: 2 × EPYC … · done`."""
        count = len(self.runs)
        runs = f"run {short(self.runs[0].run_id)}" if count == 1 else counted(count, "run")
        labels = ", ".join(f"{key}={value}" for key, value in self.labels)
        subject = self.subject
        is_imported = "imported" in subject.marks
        machine = subject.title if is_imported else subject.machine.partition(":")[0]
        disk = self.disk if machine != subject.title else ""
        state = subject.state if subject.state != "done" else ""
        words = (self._when, disk, runs, machine, labels, state, *subject.marks)
        return " · ".join(word for word in words if word)

    @property
    def _when(self) -> str:
        """The start times of its runs; empty before the first."""
        if not self.runs:
            return ""
        first, last = self.runs[0].when, self.runs[-1].when
        return first if first == last else f"{first} to {last}"

    @property
    def facts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Names with their values: what was bought, where, when …"""
        subject = self.subject
        target = f"{subject.target}, {subject.disk}" if subject.target and subject.disk else ""
        state = subject.state if subject.state and subject.state != "done" else ""
        facts = (
            ("bought", (subject.offer,)),
            ("promised", (subject.promise,)),
            ("shared", (SHARED if subject.shared else "",)),
            ("price", tuple(price_lines(self.price)) if self.price else ()),
            ("where", (self.place,)),
            ("machine", (subject.machine,)),
            ("target", (target or subject.target,)),
            ("measured", (self._when, state) if state else (self._when,)),
            ("by", tuple(f"{name} {value}" for name, value in self.versions)),
            ("labels", tuple(f"{key} = {value}" for key, value in self.labels)),
            ("cost", (self.cost,)),
        )
        return tuple((name, values) for name, values in facts if any(values))

    @property
    def unfinished(self) -> str:
        """`interrupted: 1 of 8 steps measured`; empty for a finished result, or if unknown."""
        subject = self.subject
        word = UNFINISHED.get(subject.state or "")
        if word is None:
            return ""
        steps = {(row.run_id, row.step_index) for row in self.measurements if row.scope == "step"}
        if subject.steps_planned is None:
            return f"{word}: {counted(len(steps), 'step')} measured"
        planned = subject.steps_planned * max(1, len(subject.run_ids))
        return f"{word}: {len(steps)} of {planned} steps measured"

    @property
    def missing(self) -> str:
        """Why there is no figure."""
        imported = "the import has no summary, only a log of each second"
        why = imported if "imported" in self.subject.marks else "no measured step finished"
        return "" if self.lines else why

    @cached_property
    def lines(self) -> tuple[StepLine, ...]:
        """The figures by direction, as numbers."""
        return lines(self.measurements, self.phases, self.verdicts)

    def row_id(self, line: StepLine) -> str:
        """The id of a line's row on a page."""
        return row_id(self.name, line.step, line.direction)

    @property
    def footnotes(self) -> tuple[str, ...]:
        return footnotes(self.lines)

    @property
    def runs_n(self) -> int:
        return max((line.runs for line in self.lines), default=0)

    def lines_of_runs(self) -> Mapping[str, tuple[StepLine, ...]]:
        """The figures of each run alone, by its id; of the only run they are those of the trial.
        They are most of a view of many runs: they are made anew each time, and not kept."""
        if len(self.runs) == 1:
            return {self.runs[0].run_id: self.lines}
        rows = grouped(self.measurements, lambda row: row.run_id)
        phases = grouped(self.phases, lambda phase: phase.run_id)
        ids = [run.run_id for run in self.runs]
        return {run_id: lines(rows.get(run_id, ()), phases.get(run_id, ())) for run_id in ids}

    @cached_property
    def run_figures(self) -> Mapping[str, list[tuple[str, str]]]:
        """IOPS, and MB/s below them, of each run in each line of the trial, by its id; nothing of
        the only run."""
        figures = {}
        for run_id, own in self.lines_of_runs().items() if len(self.runs) > 1 else ():
            of = {(line.step, line.direction): line.words(MEDIAN) for line in own}
            rates = [of.get((line.step, line.direction), (NONE, NONE)) for line in self.lines]
            told = [(iops, "" if mb == NONE else f"{mb} MB/s") for iops, mb, *_ in rates]
            figures[run_id] = told
        return figures

    @cached_property
    def rows(self) -> tuple[ResultRow, ...]:
        return result_rows([self])

    @property
    def shown(self) -> frozenset[str]:
        return shown_columns(self.rows)

    @cached_property
    def thresholds(self) -> tuple[ThresholdLine, ...]:
        """Whether the figures meet what the profile and the user ask."""
        return threshold_lines(self.subject.thresholds, self.lines, self.verdicts, self.slas)

    @property
    def sla_lines(self) -> tuple[str, ...]:
        search = self.subject.search
        return tuple(sla_words(sla, search) for sla in self.slas) if search else ()

    @property
    def missed(self) -> tuple[ThresholdLine, ...]:
        """What the profile or the user asks for and the figures do not show: missed, or not
        measured."""
        return tuple(line for line in self.thresholds if line.outcome != "passed")

    @property
    def phase_rows(self) -> tuple[tuple[str, ...], ...]:
        ids = [run.run_id for run in self.runs]
        return tuple(row for step in self.phases for row in phase_rows(step, ids))

    @property
    def phase_notes(self) -> tuple[str, ...]:
        """A sentence for each step that stalled: how often, for how long, when first."""
        return tuple(
            f"{of.step}: {counted(len(of.stalls), 'stall')}, "
            f"{sum(stall.seconds for stall in of.stalls):.0f} s in all, "
            f"the first at {clock(of.stalls[0].start_s)}."
            for of in self.phases
            if of.stalls
        )

    @property
    def phase_lines(self) -> list[str]:
        return phase_lines(self.phases)

    @cached_property
    def warned(self) -> tuple[WarningGroup, ...]:
        return grouped_warnings(self.warnings)

    @cached_property
    def doubts(self) -> tuple[WarningGroup, ...]:
        """The same with what the verdicts alone found: for surfaces that have no table of
        verdicts."""
        return grouped_warnings((*self.warnings, *verdict_warnings(self.verdicts)))

    @property
    def next(self) -> tuple[str, str]:
        """The command worth typing after this in a terminal."""
        return next_step(self.subject, self.lines, self.warned, self.verdicts)

    @property
    def next_on_page(self) -> tuple[str, str]:
        """The one for a reader of a page."""
        return next_step(self.subject, self.lines, self.warned, self.verdicts, on_page=True)


def view_of(trial: Trial) -> View:
    """The view of a stored trial."""
    first, plan = trial.runs[0], trial.plan
    subject = subject_of_runs(trial.runs, plan)
    if trial.suspended:
        subject = replace(subject, state=SUSPENDED)
    return View(
        trial_id=trial.trial_id,
        subject=subject,
        runs=tuple(run_facts(row, trial.audits) for row in trial.runs),
        measurements=trial.measurements,
        warnings=trial.doubts,
        phases=trial.phases,
        verdicts=trial.verdicts,
        labels=tuple(sorted((str(k), str(v)) for k, v in first.labels.items())),
        notes=plan.notes if plan else (),
        place=", ".join(dict.fromkeys(word for word in (first.region, first.zone) if word)),
        versions=versions_of(first, plan),
        machine=first.machine(rented=bool(plan and plan.cell.rent)),
        price=plan.expectation.price if plan and plan.expectation else None,
        cost=cost_line(trial.cost) if trial.cost is not None else "",
        job="\n".join(
            f"# step {step.index + 1}: {step.name}\n{step.job.strip()}\n"
            for step in (plan.steps if plan else ())
        ),
        slas=tuple(trial.slas.values()),
        again="" if first.imported else run_again(subject, subject.runs_planned),
    )
