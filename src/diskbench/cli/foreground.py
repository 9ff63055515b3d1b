"""What `run` and `resume` share: drive plans in this process, show them, end with an exit code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

import typer

from diskbench.cli.failures import print_error, print_problem
from diskbench.report.assemble.subject import SUSPENDED
from diskbench.report.terminal.screen import OwnText

if TYPE_CHECKING:
    from pathlib import Path

    from diskbench.engine.matrix.execute import TrialEnding
    from diskbench.engine.session import Session
    from diskbench.model.audit import StepAudit
    from diskbench.model.phase import StepPhases
    from diskbench.model.spec import Plan
    from diskbench.model.verdict import Verdict
    from diskbench.report.assemble.threshold_lines import ThresholdLine
    from diskbench.report.assemble.trial_view import TrialView
    from diskbench.report.terminal.progress import Progress

Output = Literal["table", "json", "csv"]
ViewOf = Callable[["TrialEnding"], "TrialView"]
"""A trial as every output format shows it, made when it is first asked for."""
_SEVERITY = (3, 130, 2, 1, 0)
"""Which exit code wins when several hosts end differently: what costs money or data first."""


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


def drive(
    session: Session,
    plans: Sequence[Plan],
    show: Show,
    *,
    begin: Callable[[], None] = lambda: None,
    take_over: bool = False,
) -> int:
    """Run `plans` to their end; returns the process's exit code.

    `begin` saves them; from then on Ctrl-C ends the runs in order, it no longer ends the process.

    Results go to stdout, everything else to stderr.
    """
    from diskbench.engine.matrix.execute import execute
    from diskbench.engine.trial.interrupt import interruptible
    from diskbench.engine.trial.lease import left_behind, where
    from diskbench.engine.trial.stop import Stop
    from diskbench.engine.trial.watch import RowWatcher

    stop = Stop(plan.trial_id for plan in plans)
    displays: list[Progress] = []

    def stopping() -> None:
        text = "stopping; press Ctrl-C again to stop at once"
        for display in displays:
            for plan in plans:
                display.note(plan.trial_id, text)
        if not displays:
            print(text, file=sys.stderr)

    def left() -> str:
        for display in displays:
            give_back_terminal(display)
        paths = "; ".join(f"{', '.join(left_behind(p))} on {where(p)}" for p in plans)
        ids = " ".join(p.trial_id for p in plans)
        give_back = f"  give back:  diskbench gc {ids}"
        return f"Left behind: {paths}\n  resume:     diskbench resume\n{give_back}"

    reports: list[TrialEnding] = []
    try:
        with interruptible(stop, stopping, left):
            begin()
            displays.append(_display(session, plans, quiet=show.quiet))
            watcher = RowWatcher(session.database, displays[0])
            try:
                reports = execute(session, plans, watcher, stop, take_over=take_over)
            finally:
                displays[0].close()
        return told(session, reports, show)
    except Exception as error:  # noqa: BLE001 - reported here, where the other trials' ends are known
        from diskbench.cli.failures import report

        return worst([report(error), *(ended.exit_code for ended in reports)])
    finally:
        stop.leave()  # after an error, what still runs is suspended


def _display(session: Session, plans: Sequence[Plan], *, quiet: bool) -> Progress:
    """The live display of running plans; finished steps are shown with their phases."""
    from diskbench.report.terminal.progress import open_progress
    from diskbench.store.rows import load_plan

    known = {plan.trial_id: plan for plan in plans}

    def course_of(trial_id: str, run_index: int, step: str) -> StepPhases | None:
        from diskbench.results.run_evidence import phases_of

        plan = (
            load_plan(session.database, trial_id) if known[trial_id].is_draft else known[trial_id]
        )
        known[trial_id] = plan
        run = (plan.run_ids[run_index], run_index + 1)
        phases = phases_of(session.evidence, plan, [run])
        return next((step_phases for step_phases in phases if step_phases.step == step), None)

    return open_progress(plans, quiet=quiet, stream=sys.stderr, course_of=course_of)


def told(session: Session, reports: Sequence[TrialEnding], show: Show) -> int:
    """Show what was measured and what went wrong; returns the process's exit code."""
    views: dict[str, TrialView] = {}

    def view_of(report: TrialEnding) -> TrialView:
        trial_id = report.plan.trial_id
        if trial_id not in views:
            views[trial_id] = _view(session, report)
        return views[trial_id]

    print_results(session, reports, view_of, show)
    for report in reports:
        print_problems(report)
    missed = _judge(reports, view_of, show)
    if show.timing:
        for name, seconds in session.timing.seconds().items():
            print(f"{seconds:8.3f} s  {name}", file=sys.stderr)
    return worst([*(report.exit_code for report in reports), missed])


def _judge(reports: Sequence[TrialEnding], view_of: ViewOf, show: Show) -> int:
    """Say which conditions of `--fail-if` the figures miss, and write the JUnit report; returns
    the exit code that this means."""
    measured = [report for report in reports if report.refused is None]
    if show.junit is None and not any(report.plan.cell.fail_if for report in measured):
        return 0
    from diskbench.report.junit import junit_report
    from diskbench.report.terminal.progress import names_of
    from diskbench.whole_file import write_whole

    views = [view_of(report) for report in measured]
    names = names_of([report.plan for report in measured])
    if show.junit is not None:
        named = zip(names, views, strict=True)
        suites = [" ".join(filter(None, (v.subject.profile, n))) for n, v in named]
        write_whole(show.junit, junit_report([*zip(suites, views, strict=True)]))
    return say_missed(zip(names, (view.missed for view in views), strict=True))


def say_missed(named: Iterable[tuple[str, Sequence[ThresholdLine]]]) -> int:
    """Say on stderr which conditions of `--fail-if` the figures of each subject miss; returns the
    exit code that this means."""
    code = 0
    for name, missed in named:
        for line in missed:
            condition = line.threshold.source.removeprefix("--fail-if ")
            of = f"{name} " if name else ""
            print(f"failed {condition}: {of}{line.found}", file=sys.stderr)
            code = 1
    return code


def give_back_terminal(progress: Progress) -> None:
    """Close the display from a signal handler: in a thread, since whoever was interrupted may hold
    what closing needs, and for a second at most."""
    closing = threading.Thread(target=progress.close, daemon=True)
    closing.start()
    closing.join(1.0)
    if sys.stderr.isatty():
        sys.stderr.write(OwnText("\x1b[?25h\n"))  # the cursor, should closing not have come so far


def print_results(
    session: Session, reports: Sequence[TrialEnding], view_of: ViewOf, show: Show
) -> None:
    """What was measured, on stdout, in the form asked for."""
    from diskbench.store.rows import load_results

    run_ids = [run_id for report in reports for run_id in report.plan.run_ids]
    if show.output == "table":
        measured = [ending for ending in reports if ending.refused is None]
        if len(measured) > 1:
            _print_hosts(measured, view_of)
        for report in measured if show.verbose or len(measured) == 1 else ():
            audits = _audits(session, report.plan)
            _print_table(view_of(report), audits, verbose=show.verbose)
            if show.verbose and not show.quiet:
                store = session.evidence_of(report.plan.trial_id)
                kept = f"{store.url}/runs/{report.plan.run_ids[-1]}/"
                print(f"evidence: {kept}", file=sys.stderr)
    elif show.output == "csv":
        from diskbench.engine.trial.judge import judge_trial

        _print_csv(session, run_ids)
        for report in reports:
            judge_trial(session, report.plan.trial_id)
    else:
        from diskbench.store.document import results_document
        from diskbench.store.export import json_text
        from diskbench.store.query import find_run

        steps = load_results(session.database, *run_ids)
        runs = [find_run(session.database, run_id) for run_id in run_ids]
        phases = [
            step_phases for report in reports for step_phases in _phases(session, report.plan)
        ]
        judged = [
            verdict for report in reports for verdict in _verdicts(session, report.plan, phases)
        ]
        audits = [audit for report in reports for audit in _audits(session, report.plan)]
        print(
            json_text(results_document(runs, steps, phases=phases, verdicts=judged, audits=audits))
        )


def _print_hosts(measured: Sequence[TrialEnding], view_of: ViewOf) -> None:
    """Several machines side by side."""
    from diskbench.model.ids import short
    from diskbench.report.terminal.brief_text import print_brief_hosts
    from diskbench.report.terminal.progress import names_of
    from diskbench.report.terminal.screen import screen

    names = names_of([report.plan for report in measured])
    named = [(name, view_of(report)) for name, report in zip(names, measured, strict=True)]
    console, asked = screen(), short(measured[0].plan.campaign_id)
    print_brief_hosts(named, asked, console=console)
    console.print()


def _phases(session: Session, plan: Plan) -> list[StepPhases]:
    """The phases of the trial's steps of a minute or more; shorter steps need no series."""
    from diskbench.results.run_evidence import phases_of

    runs = [(run_id, number) for number, run_id in enumerate(plan.run_ids, 1)]
    return phases_of(session.evidence_of(plan.trial_id), plan, runs)


def _audits(session: Session, plan: Plan) -> list[StepAudit]:
    """The audits of the trial's steps, cached when each run ended."""
    from diskbench.results.run_evidence import audits_of

    return audits_of(session.evidence_of(plan.trial_id), plan.run_ids)


def _verdicts(session: Session, plan: Plan, phases: Sequence[StepPhases]) -> Sequence[Verdict]:
    from diskbench.results.verdicts import trial_verdicts
    from diskbench.store.query import Filter, find_runs

    runs = find_runs(session.database, [Filter("trial_id", "=", plan.trial_id)])
    own = [step_phases for step_phases in phases if step_phases.run_id in plan.run_ids]
    books, evidence = session.books, session.evidence_of(plan.trial_id)
    return trial_verdicts(session.database, evidence, runs, books=books, phases=own)


def _state(report: TrialEnding) -> str:
    """How the trial's runs ended, taken together."""
    if report.end is None:
        return SUSPENDED
    states = [run.state for run in report.end.runs]
    return next((state for state in states if state != "done"), "done")


def _view(session: Session, report: TrialEnding) -> TrialView:
    """The trial as every output format shows it."""
    from dataclasses import replace

    from diskbench.analysis.row_figures import courses_by_step, levelled_rows
    from diskbench.fio.run_spread import run_warnings
    from diskbench.report.assemble.subject import subject_of_plan
    from diskbench.report.assemble.trial_report import TrialFacts
    from diskbench.report.assemble.trial_view import trial_view
    from diskbench.store.rows import load_results

    plan = report.plan
    steps = load_results(session.database, *plan.run_ids)
    runs = [steps[run_id] for run_id in plan.run_ids]
    phases = _phases(session, plan)
    courses = courses_by_step(phases)
    rows = [
        levelled_rows([row for result in run for row in result.measurements], courses)
        for run in runs
    ]
    warnings = [warning for run in runs for result in run for warning in result.warnings]
    return trial_view(
        TrialFacts(
            trial_id=plan.trial_id,
            subject=replace(subject_of_plan(plan), state=_state(report)),
            runs=(),
            measurements=tuple(row for run in rows for row in run),
            warnings=(*warnings, *run_warnings(rows)),
            phases=tuple(phases),
            verdicts=tuple(_verdicts(session, plan, phases)),
        )
    )


def _print_table(view: TrialView, audits: Sequence[StepAudit], *, verbose: bool) -> None:
    from rich.text import Text

    from diskbench.report.terminal.audit_text import audit_line, audit_style
    from diskbench.report.terminal.brief_text import print_brief
    from diskbench.report.terminal.screen import screen
    from diskbench.report.terminal.tables import print_view

    console = screen()
    (print_view if verbose else print_brief)(view, console=console)
    line = audit_line(audits)
    if line and (verbose or "does not hold" in line):
        console.print(Text(line, audit_style(line)))
    console.print()


def _print_csv(session: Session, run_ids: Sequence[str]) -> None:
    from diskbench.results.exported_rows import rows_as_csv

    sys.stdout.write(rows_as_csv(session.database, run_ids=run_ids))


def print_problems(report: TrialEnding) -> None:
    """Why a trial did not end well, on stderr, with what to do next."""
    name = f"{report.plan.address}: " if report.plan.address else ""
    printed = set()
    for run in report.end.runs if report.end else ():
        if run.problem and run.state != "cancelled" and run.problem not in printed:
            printed.add(run.problem)
            print_problem(run.problem, prefix=f"{name}run {run.run_id} {run.state}: ")
    if report.suspended is not None:
        from diskbench.report.assemble.next_step import GO_ON, go_on

        print_error(report.suspended, prefix=name)
        print(
            f"  {GO_ON}: {go_on(report.plan.trial_id)}",
            file=sys.stderr,
        )
    if report.not_released is not None:
        print_error(report.not_released, prefix=name)


def worst(codes: Sequence[int]) -> int:
    """The exit code that tells the most serious of `codes`; 0 for none."""
    return next((code for code in _SEVERITY if code in codes), 0)


def leave(code: int) -> NoReturn:
    """End the command with an exit code; what it opened is closed (cli/opened.py)."""
    raise typer.Exit(code)
