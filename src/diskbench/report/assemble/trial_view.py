"""One trial as every output format shows it: figures, doubts, promise and text, assembled once.

Terminal, page, Markdown, PDF, picture and site only lay out a TrialView; none of them selects,
rounds or words anything by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from diskbench.analysis.shown import verdict_warnings
from diskbench.model.ids import short
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement
from diskbench.report.assemble.lines import (
    Spread,
    StepLine,
    WarningGroup,
    footnotes,
    grouped_warnings,
    lines,
    runs_words,
)
from diskbench.report.assemble.next_step import NextStep, next_step
from diskbench.report.assemble.phases import PhaseRow, phase_lines, phase_rows, stall_notes
from diskbench.report.assemble.result_rows import ResultRow, result_rows, shown_columns, trial_name
from diskbench.report.assemble.subject import SHARED, Subject, unfinished_words
from diskbench.report.assemble.summary import (
    LastingFall,
    fall_of,
    headline,
    slowed,
    trust_sentence,
    two_sentences,
)
from diskbench.report.assemble.threshold_lines import ThresholdLine, threshold_lines
from diskbench.report.assemble.trial_facts import RunNote, TrialFacts
from diskbench.report.assemble.words import NONE, counted, price_lines, row_id, utc_moment
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

LINKED = ("https://", "http://", "file://")
"""Schemes that become links; any other address stays text, above all `javascript:`."""


@dataclass(frozen=True)
class FigureRow:
    """One step and direction: each cell is the median, and lowest–highest of several runs."""

    id: str
    step: str
    direction: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunRow(RunNote):
    """One run with the id of its row; `href` is set if a browser can open its evidence. `figures`
    are its own IOPS and MB/s, one cell for each of the trial's `lines`; empty for the only run of a
    trial."""

    id: str = ""
    href: str = ""
    figures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TrialView:
    """The content of one trial for all output formats.

    `disk` names it beside others. `facts` are names with their values (what was bought, where, when
    …). `sentences` say what was bought and what it gave; `trust` which steps to doubt, `headline`
    what was seen of burst and baseline, `slowed` why it slowed down. `lines` are the figures by
    direction, as numbers, and `figures` the same in words; `rows` hold measured beside promised,
    with the columns `shown`. `missing` says why there is no figure. `next` is the command worth
    typing after this in a terminal, `next_on_page` the one for a reader of a page. `doubts` are the
    `warnings` with what the verdicts alone found: for surfaces that have no table of verdicts.
    `run_lines` are the figures of each run alone, by its id; empty beside other trials.
    """

    id: str
    trial: TrialFacts
    disk: str
    summary: str
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    sentences: tuple[str, str]
    trust: str
    headline: str
    unfinished: str
    missing: str
    lines: tuple[StepLine, ...]
    figures: tuple[FigureRow, ...]
    notes: tuple[str, ...]
    runs_n: int
    rows: tuple[ResultRow, ...]
    shown: frozenset[str]
    thresholds: tuple[ThresholdLine, ...]
    fell: LastingFall | None
    slowed: tuple[str, ...]
    phases: tuple[PhaseRow, ...]
    phase_notes: tuple[str, ...]
    phase_lines: tuple[str, ...]
    warnings: tuple[WarningGroup, ...]
    doubts: tuple[WarningGroup, ...]
    runs: tuple[RunRow, ...]
    next: NextStep
    next_on_page: NextStep
    run_lines: Mapping[str, tuple[StepLine, ...]]

    @property
    def missed(self) -> tuple[ThresholdLine, ...]:
        """What `--fail-if` asked for and the figures do not show: missed, or not measured."""
        return tuple(
            line
            for line in self.thresholds
            if line.threshold in self.subject.fail_if and line.outcome != "passed"
        )

    @property
    def subject(self) -> Subject:
        """The subject of the trial."""
        return self.trial.subject


def trial_view(trial: TrialFacts) -> TrialView:
    """The trial as every output format shows it."""
    subject = trial.subject
    steps = lines(trial.measurements, trial.phases, trial.verdicts)
    warnings = grouped_warnings(trial.warnings)
    run_lines = _run_lines(trial, steps)
    rows = result_rows([trial])
    return TrialView(
        id=row_id(trial.trial_id),
        trial=trial,
        disk=_disk(trial),
        summary=_summary(trial),
        facts=tuple((name, values) for name, values in _facts(trial) if any(values)),
        sentences=two_sentences(trial),
        trust=trust_sentence(trial.verdicts),
        headline=headline(subject.promised, trial.measurements, trial.phases),
        unfinished=unfinished_words(subject, trial.measurements),
        missing=_missing(trial) if not steps else "",
        lines=steps,
        figures=tuple(_figures(line, trial_name(trial)) for line in steps),
        notes=footnotes(steps),
        runs_n=max((line.runs for line in steps), default=0),
        rows=rows,
        shown=shown_columns(rows),
        thresholds=threshold_lines(subject.thresholds, steps, trial.verdicts),
        fell=fall_of(trial.verdicts),
        slowed=slowed(trial),
        phases=phase_rows(trial.phases, [run.run_id for run in trial.runs]),
        phase_notes=stall_notes(trial.phases),
        phase_lines=tuple(phase_lines(trial.phases)),
        warnings=warnings,
        doubts=grouped_warnings((*trial.warnings, *verdict_warnings(trial.verdicts))),
        runs=tuple(_run(run, steps, run_lines) for run in trial.runs),
        next=next_step(subject, steps, warnings, trial.verdicts),
        next_on_page=next_step(subject, steps, warnings, trial.verdicts, on_page=True),
        run_lines=run_lines,
    )


def _facts(trial: TrialFacts) -> tuple[tuple[str, tuple[str, ...]], ...]:
    subject, promised = trial.subject, trial.subject.promised
    target = f"{subject.target}, {subject.disk}" if subject.target and subject.disk else ""
    state = subject.state if subject.state and subject.state != "done" else ""
    return (
        ("bought", (promised.offer,) if promised else ()),
        ("promised", (promised.promise,) if promised else ()),
        ("shared", (SHARED,) if promised and promised.shared else ()),
        ("price", tuple(price_lines(trial.price)) if trial.price else ()),
        ("where", (trial.place,)),
        ("machine", (subject.machine,)),
        ("target", (target or subject.target,)),
        ("measured", (_when(trial), state) if state else (_when(trial),)),
        ("by", tuple(f"{name} {value}" for name, value in trial.versions)),
        ("labels", tuple(f"{key} = {value}" for key, value in trial.labels)),
        ("cost", (trial.cost,)),
    )


def _missing(trial: TrialFacts) -> str:
    if "imported" in trial.subject.marks:
        return "the import has no summary, only a log of each second"
    return "no measured step finished"


def _summary(trial: TrialFacts) -> str:
    """`2026-11-21 10:00 UTC · 3 runs · 10.0.0.7: 2 × EPYC … · done`."""
    count = len(trial.runs)
    runs = f"run {short(trial.runs[0].run_id)}" if count == 1 else counted(count, "run")
    labels = ", ".join(f"{key}={value}" for key, value in trial.labels)
    subject = trial.subject
    machine = subject.title if "imported" in subject.marks else subject.machine.partition(":")[0]
    words = (_when(trial), _disk(trial) if machine != subject.title else "", runs, machine, labels)
    state = subject.state if subject.state != "done" else ""
    return " · ".join(word for word in (*words, state, *subject.marks) if word)


def _disk(trial: TrialFacts) -> str:
    """The disk as a reader knows it: as it was offered, else the measured path or device, else the
    title of the result."""
    subject = trial.subject
    offered = subject.promised.offer if subject.promised else ""
    return offered or subject.target or subject.disk or subject.title


def _when(trial: TrialFacts) -> str:
    """The start times of its runs; empty before the first."""
    if not trial.runs:
        return ""
    first, last = (utc_moment(run.when) for run in (trial.runs[0], trial.runs[-1]))
    return first if first == last else f"{first} to {last}"


def _figures(line: StepLine, name: str) -> FigureRow:
    latencies = (line.mean_ns, line.p50_ns, line.p99_ns, line.p99_9_ns, line.max_ns)
    step = f"{line.step} ({line.level})" if line.level else line.step
    if line.n < line.runs:
        step += f", {runs_words(line)}"
    if line.rounds:
        step += f" (rounds {line.rounds[0]}–{line.rounds[1]})"
    speed = None if line.direction == "sync" else line.bytes_per_s
    return FigureRow(
        id=row_id(name, line.step, line.direction),
        step=step,
        direction=line.direction,
        cells=(
            _cell(line.iops, format_iops),
            _cell(speed, format_mb_per_s),
            *(_cell(latency, format_latency_ns) for latency in latencies),
            _cell(line.cpu, lambda share: f"{share:.0%}"),
        ),
    )


def _cell(spread: Spread | None, text: Callable[[float], str]) -> tuple[str, str]:
    """The median, and lowest–highest for several runs."""
    if spread is None:
        return NONE, ""
    return text(spread.median), _range(text(spread.low), text(spread.high)) if spread.n > 1 else ""


def _range(low: str, high: str) -> str:
    """`2.50–6.40 ms`: the unit appears once if both have the same."""
    if low == high:
        return ""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low}–{high}"


def _run_lines(
    trial: TrialFacts, steps: tuple[StepLine, ...]
) -> Mapping[str, tuple[StepLine, ...]]:
    """The figures of each run alone, by its id; of the only run they are those of the trial."""
    if len(trial.runs) == 1:
        return {trial.runs[0].run_id: steps}
    rows: dict[str, list[Measurement]] = {}
    phases: dict[str, list[StepPhases]] = {}
    for row in trial.measurements:
        rows.setdefault(row.run_id, []).append(row)
    for phase in trial.phases:
        phases.setdefault(phase.run_id, []).append(phase)
    ids = [run.run_id for run in trial.runs]
    return {run_id: lines(rows.get(run_id, ()), phases.get(run_id, ())) for run_id in ids}


def _run_figures(own: Sequence[StepLine], steps: Sequence[StepLine]) -> tuple[tuple[str, str], ...]:
    """IOPS, and MB/s below them, of one run in each line of its trial."""
    of = {(line.step, line.direction): line for line in own}
    cells = []
    for step in steps:
        line = of.get((step.step, step.direction))
        iops = _cell(line.iops, format_iops)[0] if line else NONE
        speed = line.bytes_per_s if line and line.direction != "sync" else None
        cells.append((iops, f"{format_mb_per_s(speed.median)} MB/s" if speed else ""))
    return tuple(cells)


def _run(
    note: RunNote, steps: Sequence[StepLine], run_lines: Mapping[str, tuple[StepLine, ...]]
) -> RunRow:
    figures = _run_figures(run_lines[note.run_id], steps) if len(run_lines) > 1 else ()
    return RunRow(
        **vars(replace(note, when=utc_moment(note.when))),
        id=row_id(note.run_id),
        href=note.evidence if note.evidence.startswith(LINKED) else "",
        figures=figures,
    )
