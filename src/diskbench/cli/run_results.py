"""What `run` and `resume` print at their end: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from diskbench.cli.messages import print_error, print_problem
from diskbench.cli.terminal import Show
from diskbench.engine.matrix.run_cells import TrialEnding
from diskbench.engine.session import Session
from diskbench.engine.trial.steps import judge_trial
from diskbench.files import write_whole
from diskbench.model.ids import short
from diskbench.model.result import StepAudit
from diskbench.model.run import Run
from diskbench.report.assemble.next_step import GO_ON, go_on
from diskbench.report.assemble.subject import names_of
from diskbench.report.assemble.threshold_lines import ThresholdLine
from diskbench.report.assemble.trial_facts import audit_line, trial_facts
from diskbench.report.assemble.trial_view import TrialView, trial_view
from diskbench.report.terminal.result_text import (
    audit_style,
    print_brief,
    print_brief_hosts,
    print_view,
)
from diskbench.report.terminal.screen import screen
from diskbench.results.exported_rows import rows_as_csv
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.stored_trial import ReadTrial, StoredTrial, read_trial, read_trials
from diskbench.store.document import results_document
from diskbench.store.export import json_text
from diskbench.store.query import find_runs
from diskbench.store.where import Filter


@dataclass(frozen=True)
class ReadRows:
    """The runs of a trial as they are in the database, and what database and evidence hold of
    them."""

    runs: Sequence[Run]
    ready: ReadTrial


def stored_trial(
    session: Session, trial_id: str, *, suspended: bool = False, read: ReadRows | None = None
) -> StoredTrial:
    """A trial that ended in this process, from its rows and its evidence; `read` holds them where
    they were read before. `suspended`: `diskbench resume` continues it. Raises StoreUnavailable."""
    if read is None:
        read = read_rows(session, find_runs(session.database, [Filter("trial_id", "=", trial_id)]))[
            trial_id
        ]
    run_evidence = EvidenceOfRuns(lambda _: session.evidence_of(trial_id))
    return read_trial(
        session.database,
        read.runs,
        run_evidence,
        session.books,
        ready=read.ready,
        suspended=suspended,
    )


def read_rows(session: Session, runs: Sequence[Run]) -> dict[str, ReadRows]:
    """What is stored of the trials of `runs`, by trial: of many with as many statements as of one.
    Raises StoreUnavailable."""
    runs_of: dict[str, list[Run]] = {}
    for run in runs:
        runs_of.setdefault(run.trial_id, []).append(run)
    trial_at = {run.evidence_url: run.trial_id for run in runs}
    run_evidence = EvidenceOfRuns(lambda url: session.evidence_of(trial_at[url]))
    ready = read_trials(session.database, runs_of, run_evidence)
    return {trial_id: ReadRows(rows, ready[trial_id]) for trial_id, rows in runs_of.items()}


def read_ended(session: Session, endings: Sequence[TrialEnding]) -> dict[str, ReadRows]:
    """`read_rows` of all trials that ended."""
    run_ids = [run_id for ending in endings for run_id in ending.plan.run_ids]
    return read_rows(session, find_runs(session.database, run_ids=run_ids))


class EndedTrials:
    """The trials that a command ran, which are read when the result of one is first asked for, and
    judged once."""

    def __init__(self, session: Session, endings: Sequence[TrialEnding]) -> None:
        self._session, self._endings = session, endings
        self._read: dict[str, ReadRows] | None = None
        self._stored: dict[str, StoredTrial] = {}
        self._views: dict[str, TrialView] = {}

    def stored(self, ending: TrialEnding) -> StoredTrial:
        """The trial as it is stored."""
        trial_id = ending.plan.trial_id
        if trial_id not in self._stored:
            if self._read is None:
                self._read = read_ended(self._session, self._endings)
            self._stored[trial_id] = stored_trial(
                self._session,
                trial_id,
                suspended=ending.end is None,
                read=self._read.get(trial_id),
            )
        return self._stored[trial_id]

    def is_judged(self, ending: TrialEnding) -> bool:
        """Whether its result was asked for, which judged it."""
        return ending.plan.trial_id in self._stored

    def view(self, ending: TrialEnding) -> TrialView:
        """The trial as every output format shows it."""
        trial_id = ending.plan.trial_id
        if trial_id not in self._views:
            self._views[trial_id] = trial_view(trial_facts(self.stored(ending)))
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


def _print_document(trials: Sequence[StoredTrial]) -> None:
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


def print_table(view: TrialView, audits: Sequence[StepAudit], *, verbose: bool) -> None:
    """One trial on stdout, in short or with everything about it."""
    console = screen()
    (print_view if verbose else print_brief)(view, console=console)
    line = audit_line(audits)
    if line and (verbose or "does not hold" in line):
        console.print(Text(line, audit_style(line)))
    console.print()
