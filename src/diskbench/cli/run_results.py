"""What `run` and `resume` print at their end: results to stdout, everything else to stderr."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from diskbench.cli.messages import print_error, print_problem
from diskbench.cli.run_command import Request
from diskbench.engine.matrix.cells import TrialEnding
from diskbench.engine.session import Session
from diskbench.engine.trial.steps import judge_trial
from diskbench.files import write_whole
from diskbench.model.ids import short
from diskbench.model.result import StepAudit
from diskbench.model.run import Run
from diskbench.model.spec import Plan
from diskbench.parallel import grouped
from diskbench.report.assemble.next_step import GO_ON, go_on
from diskbench.report.assemble.subject import AUDIT_FAILED, audit_line, namer
from diskbench.report.assemble.view import View, view_of
from diskbench.report.terminal import result_text
from diskbench.report.terminal.screen import screen
from diskbench.results.exported_rows import rows_as_csv
from diskbench.results.run_evidence import EvidenceOfRuns
from diskbench.results.trial import Trial, read_trials
from diskbench.store.document import results_document
from diskbench.store.export import json_text
from diskbench.store.query import find_runs


def read_ended(
    session: Session, runs: Sequence[Run], is_suspended: Callable[[str], bool] = lambda _: False
) -> dict[str, Trial]:
    """The trials of `runs` that ended in this process, by id: of many with as many statements as of
    one. `is_suspended`: whether `diskbench resume` continues it. Raises StoreUnavailable."""
    runs_of = grouped(runs, lambda run: run.trial_id)
    trial_at = {run.evidence_url: run.trial_id for run in runs}
    evidence = EvidenceOfRuns(lambda url: session.evidence_of(trial_at[url]))
    books = session.books
    return read_trials(session.database, runs_of, evidence, books, is_suspended=is_suspended)


def show_results(
    session: Session, endings: Sequence[tuple[Plan, TrialEnding]], show: Request
) -> int:
    """Show what was measured and what went wrong; returns 1 where the figures miss a condition of
    the user, else 0. Each trial is read, and judged by that, once."""
    measured = [(plan, ending) for plan, ending in endings if ending.problem is None]
    plans = [plan for plan, _ in measured]
    has_conditions = any(plan.conditions for plan in plans)
    read = {"json": endings, "table": measured, "csv": []}[show.output]
    if show.junit is not None or has_conditions:
        read = [*read, *(ended for ended in measured if ended not in read)]
    suspended = {plan.trial_id for plan, ending in read if ending.end is None}
    run_ids = [run_id for plan, _ in read for run_id in plan.run_ids]
    runs = find_runs(session.database, run_ids=run_ids) if run_ids else []
    trials = read_ended(session, runs, suspended.__contains__)
    known = [plan for plan in plans if plan.trial_id in trials]
    label = namer(known)
    shown = [(plan, label(plan), view_of(trials[plan.trial_id])) for plan in known]
    if show.output == "table":
        print_tables(session, shown, trials, show)
    elif show.output == "csv":
        all_ids = [run_id for plan, _ in endings for run_id in plan.run_ids]
        sys.stdout.writelines(rows_as_csv(session.database, run_ids=all_ids))
    else:
        _print_document([trials[plan.trial_id] for plan, _ in endings])
    for plan, ending in endings:
        print_problems(plan, ending)
    missed = judge([(name, view) for _, name, view in shown], show.junit)
    for plan, _ in endings:
        if plan.trial_id not in trials:
            judge_trial(session, plan.trial_id)
    if show.timing:
        for name, seconds in session.timing.seconds().items():
            print(f"{seconds:8.3f} s  {name}", file=sys.stderr)
    return missed


def _print_document(trials: Sequence[Trial]) -> None:
    document = results_document(
        [run for trial in trials for run in trial.runs],
        {run_id: steps for trial in trials for run_id, steps in trial.steps.items()},
        phases=[phases for trial in trials for phases in trial.phases],
        verdicts=[verdict for trial in trials for verdict in trial.verdicts],
        audits=[audit for trial in trials for audit in trial.audits],
    )
    print(json_text(document))


def print_problems(plan: Plan, ending: TrialEnding) -> None:
    """Why a trial did not end well, on stderr, with what to do next."""
    name = f"{plan.address}: " if plan.address else ""
    printed = set()
    for run in ending.end or ():
        if run.problem and run.state != "cancelled" and run.problem not in printed:
            printed.add(run.problem)
            print_problem(run.problem, prefix=f"{name}run {short(run.run_id)} {run.state}: ")
    if ending.suspended is not None:
        print_error(ending.suspended, prefix=name)
        print(f"  {GO_ON}: {go_on(plan.trial_id)}", file=sys.stderr)
    if ending.not_released is not None:
        print_error(ending.not_released, prefix=name)


def judge(
    named: Sequence[tuple[str, View]],
    junit: Path | None,
    without: Sequence[tuple[str, str, str]] = (),
) -> int:
    """Write the JUnit report, and say on stderr which thresholds of the profile and of the user
    the figures of each subject miss; returns the exit code that this means. `without`: name, state
    and reason of what has no figures."""
    if junit is not None:
        from diskbench.report.junit import junit_report  # imports an XML library

        write_whole(junit, junit_report(named, without))
    code = 0
    for name, view in named:
        for line in view.missed:
            subject = f"{name} " if name else ""
            if line.threshold.typed is None:  # of the profile
                text = line.text.removeprefix(f"{line.outcome}: ")
                print(f"failed: {subject}{text}", file=sys.stderr)
            else:
                print(f"failed {line.threshold.typed}: {subject}{line.finding}", file=sys.stderr)
            code = 1
    return code


def print_tables(
    session: Session,
    shown: Sequence[tuple[Plan, str, View]],
    trials: Mapping[str, Trial],
    show: Request,
) -> None:
    """The trials that were measured, named: one in full, several side by side; all in full where
    the user wants to see everything."""
    if len(shown) > 1:
        console, named = screen(), [(name, view) for _, name, view in shown]
        result_text.print_brief_hosts(named, short(shown[0][0].campaign_id), console=console)
        console.print()
    for plan, _, view in shown if show.verbose or len(shown) == 1 else ():
        print_table(view, trials[plan.trial_id].audits, verbose=show.verbose)
        if show.verbose and not show.quiet:
            store = session.evidence_of(plan.trial_id)
            print(f"evidence: {store.url}/runs/{plan.run_ids[-1]}/", file=sys.stderr)


def print_table(view: View, audits: Sequence[StepAudit], *, verbose: bool) -> None:
    """One trial on stdout, in short or with everything about it."""
    console = screen()
    result_text.print_view(view, console=console, brief=not verbose)
    line = audit_line(audits)
    if line and (verbose or AUDIT_FAILED in line):
        console.print(Text(line, result_text.audit_style(line)))
    console.print()
