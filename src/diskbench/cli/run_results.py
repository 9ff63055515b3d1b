"""What `run` and `resume` print at their end: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from diskbench.cli.messages import print_error, print_problem
from diskbench.cli.terminal import Output
from diskbench.engine.matrix.run_cells import TrialEnding
from diskbench.engine.session import Session
from diskbench.engine.trial.steps import judge_trial
from diskbench.files import write_whole
from diskbench.model.ids import short
from diskbench.model.result import StepAudit
from diskbench.model.run import Run
from diskbench.report.assemble.facts import audit_line
from diskbench.report.assemble.next_step import GO_ON, go_on
from diskbench.report.assemble.subject import names_of
from diskbench.report.assemble.threshold_lines import ThresholdLine
from diskbench.report.assemble.view import View, view_of
from diskbench.report.terminal.result_text import (
    audit_style,
    print_brief,
    print_brief_hosts,
    print_view,
)
from diskbench.report.terminal.screen import screen
from diskbench.results.exported_rows import rows_as_csv
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial import Trial, read_trials
from diskbench.store.document import results_document
from diskbench.store.export import json_text
from diskbench.store.query import find_runs


@dataclass(frozen=True)
class Show:
    """What the user wants to see."""

    output: Output = "table"
    quiet: bool = False
    timing: bool = False
    verbose: bool = False
    """Everything about the result, and the whole plan before it."""
    junit: Path | None = None
    """Where to write the steps as a JUnit report."""


def read_ended(
    session: Session, runs: Sequence[Run], is_suspended: Callable[[str], bool] = lambda _: False
) -> dict[str, Trial]:
    """The trials of `runs` that ended in this process, by id: of many with as many statements as of
    one. `is_suspended`: whether `diskbench resume` continues it. Raises StoreUnavailable."""
    runs_of: dict[str, list[Run]] = {}
    for run in runs:
        runs_of.setdefault(run.trial_id, []).append(run)
    trial_at = {run.evidence_url: run.trial_id for run in runs}
    evidence = EvidenceOfRuns(lambda url: session.evidence_of(trial_at[url]))
    return read_trials(
        session.database, runs_of, evidence, session.books, is_suspended=is_suspended
    )


class EndedTrials:
    """The trials that a command ran, which are read and judged when the result of one is first
    asked for."""

    def __init__(self, session: Session, endings: Sequence[TrialEnding]) -> None:
        self._session, self._endings = session, endings
        self._stored: dict[str, Trial] = {}
        self._views: dict[str, View] = {}

    def stored(self, ending: TrialEnding) -> Trial:
        """The trial as it is stored."""
        if not self._stored:
            run_ids = [run_id for ending in self._endings for run_id in ending.plan.run_ids]
            suspended = {ending.plan.trial_id for ending in self._endings if ending.end is None}
            runs = find_runs(self._session.database, run_ids=run_ids)
            self._stored = read_ended(self._session, runs, suspended.__contains__)
        return self._stored[ending.plan.trial_id]

    def is_judged(self, ending: TrialEnding) -> bool:
        """Whether its result was asked for, which judged it."""
        return ending.plan.trial_id in self._stored

    def view(self, ending: TrialEnding) -> View:
        """The trial as every output format shows it."""
        trial_id = ending.plan.trial_id
        if trial_id not in self._views:
            self._views[trial_id] = view_of(self.stored(ending))
        return self._views[trial_id]


def show_results(session: Session, endings: Sequence[TrialEnding], show: Show) -> int:
    """Show what was measured and what went wrong; returns 1 where the figures miss a condition of
    `--fail-if`, else 0."""
    trials = EndedTrials(session, endings)
    if show.output == "table":
        print_tables(session, endings, trials, show)
    elif show.output == "csv":
        run_ids = [run_id for ending in endings for run_id in ending.plan.run_ids]
        sys.stdout.writelines(rows_as_csv(session.database, run_ids=run_ids))
    else:
        _print_document([trials.stored(ending) for ending in endings])
    for ending in endings:
        print_problems(ending)
    missed = _judge(endings, trials, show)
    for ending in endings:
        if not trials.is_judged(ending):
            judge_trial(session, ending.plan.trial_id)
    if show.timing:
        for name, seconds in session.timing.seconds().items():
            print(f"{seconds:8.3f} s  {name}", file=sys.stderr)
    return missed


def _print_document(trials: Sequence[Trial]) -> None:
    """All runs as one JSON document."""
    document = results_document(
        [run for trial in trials for run in trial.runs],
        {run_id: steps for trial in trials for run_id, steps in trial.steps.items()},
        phases=[phases for trial in trials for phases in trial.phases],
        verdicts=[verdict for trial in trials for verdict in trial.verdicts],
        audits=[audit for trial in trials for audit in trial.audits],
    )
    print(json_text(document))


def print_problems(ending: TrialEnding) -> None:
    """Why a trial did not end well, on stderr, with what to do next."""
    name = f"{ending.plan.address}: " if ending.plan.address else ""
    printed = set()
    for run in ending.end.runs if ending.end else ():
        if run.problem and run.state != "cancelled" and run.problem not in printed:
            printed.add(run.problem)
            print_problem(run.problem, prefix=f"{name}run {run.run_id} {run.state}: ")
    if ending.suspended is not None:
        print_error(ending.suspended, prefix=name)
        print(f"  {GO_ON}: {go_on(ending.plan.trial_id)}", file=sys.stderr)
    if ending.not_released is not None:
        print_error(ending.not_released, prefix=name)


def _judge(endings: Sequence[TrialEnding], trials: EndedTrials, show: Show) -> int:
    """Say which conditions of `--fail-if` the figures miss, and write the JUnit report; returns
    the exit code that this means."""
    measured = [ending for ending in endings if ending.refused is None]
    if show.junit is None and not any(ending.plan.cell.fail_if for ending in measured):
        return 0

    views = [trials.view(ending) for ending in measured]
    names = names_of([ending.plan for ending in measured])
    if show.junit is not None:
        from diskbench.report.junit import junit_report  # imports an XML library

        named = zip(names, views, strict=True)
        suites = [" ".join(filter(None, (view.subject.profile, name))) for name, view in named]
        write_whole(show.junit, junit_report([*zip(suites, views, strict=True)]))
    return say_missed(zip(names, (view.missed for view in views), strict=True))


def say_missed(named: Iterable[tuple[str, Sequence[ThresholdLine]]]) -> int:
    """Say on stderr which conditions of `--fail-if` the figures of each subject miss; returns the
    exit code that this means."""
    code = 0
    for name, missed in named:
        for line in missed:
            condition = line.threshold.source.removeprefix("--fail-if ")
            subject = f"{name} " if name else ""
            print(f"failed {condition}: {subject}{line.finding}", file=sys.stderr)
            code = 1
    return code


def print_tables(
    session: Session, endings: Sequence[TrialEnding], trials: EndedTrials, show: Show
) -> None:
    """The trials that were measured: one in full, several side by side; all in full where the user
    wants to see everything."""
    measured = [ending for ending in endings if ending.refused is None]
    if len(measured) > 1:
        _print_hosts(measured, trials)
    for ending in measured if show.verbose or len(measured) == 1 else ():
        audits = trials.stored(ending).audits
        print_table(trials.view(ending), audits, verbose=show.verbose)
        if show.verbose and not show.quiet:
            store = session.evidence_of(ending.plan.trial_id)
            print(f"evidence: {store.url}/runs/{ending.plan.run_ids[-1]}/", file=sys.stderr)


def _print_hosts(measured: Sequence[TrialEnding], trials: EndedTrials) -> None:
    """Several machines side by side."""
    names = names_of([ending.plan for ending in measured])
    named = [(name, trials.view(ending)) for name, ending in zip(names, measured, strict=True)]
    console, asked = screen(), short(measured[0].plan.campaign_id)
    print_brief_hosts(named, asked, console=console)
    console.print()


def print_table(view: View, audits: Sequence[StepAudit], *, verbose: bool) -> None:
    """One trial on stdout, in short or with everything about it."""
    console = screen()
    (print_view if verbose else print_brief)(view, console=console)
    line = audit_line(audits)
    if line and (verbose or "does not hold" in line):
        console.print(Text(line, audit_style(line)))
    console.print()
