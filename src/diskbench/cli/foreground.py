"""Drive plans in this process, show them, and end with an exit code (`run`, `resume`); or hand a
command to a process of its own, which outlives this terminal (`--detach`)."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

import typer

from diskbench.cli.messages import print_error, report
from diskbench.cli.run_command import Request
from diskbench.cli.run_results import show_results
from diskbench.cli.selecting import print_id
from diskbench.engine.durable.process import execute
from diskbench.engine.matrix.cells import TrialEnding
from diskbench.engine.session import Session
from diskbench.engine.trial.lease import save
from diskbench.engine.trial.planning import Prepared
from diskbench.engine.trial.release import left_behind, where
from diskbench.engine.trial.stop import Stop, on_signals, stop_then_leave
from diskbench.errors import ConnectionLost, DiskbenchError, Interrupted, ReleaseFailed
from diskbench.files import append_private, log_directory
from diskbench.model.ids import short
from diskbench.model.spec import Plan
from diskbench.plan.cost import check_cost, cost_of_plan
from diskbench.report.terminal.plan_text import print_plan
from diskbench.report.terminal.progress import Progress, open_progress
from diskbench.report.terminal.streams import OwnText

_SEVERITY = (3, 130, 2, 1, 0)
"""Which exit code wins when several hosts end differently: what costs money or data first."""


def measure(request: Request, session: Session, prepared: Prepared, evidence_url: str) -> NoReturn:
    """Everything from the plans on; ends the process with its exit code."""
    for cell, error in prepared.refused:
        several = len(prepared.refused) + len(prepared.plans) > 1
        print_error(error, prefix=f"{cell.address}: " if several and cell.address else "")
    refused = [error.exit_code for _, error in prepared.refused]
    if not prepared.plans:
        raise typer.Exit(worst(refused))
    if not request.quiet:
        print_plan(prepared.plans, stream=sys.stderr, brief=not request.verbose)
    if request.max_cost is not None:
        # With loops to their last round; nothing is saved or rented where that costs too much.
        costs = [cost_of_plan(plan, longest=True) for plan in prepared.plans]
        check_cost(costs, request.max_cost, request.assume_price)
    if request.detach:
        save(session, prepared.plans, owner=None)
        ids, name = [plan.trial_id for plan in prepared.plans], prepared.plans[0].campaign_id
        continue_detached(session, ids, evidence_url, name=name)
        raise typer.Exit(worst(refused))
    begin = partial(save, session, prepared.plans, owner=session.executor_id)
    code = drive(session, prepared.plans, request, begin=begin, refused=refused)
    if prepared.refused and not request.quiet:
        names = ", ".join(cell.address or "this machine" for cell, _ in prepared.refused)
        measured = f"{len(prepared.plans)} of {len(prepared.plans) + len(prepared.refused)}"
        print(f"{measured} hosts measured; not measured: {names}", file=sys.stderr)
    raise typer.Exit(code)


def drive(
    session: Session,
    plans: Sequence[Plan],
    show: Request,
    *,
    begin: Callable[[], None] = lambda: None,
    take_over: bool = False,
    refused: Sequence[int] = (),
) -> int:
    """Run `plans` to their end; returns the process's exit code.

    `begin` saves them; from then on Ctrl-C ends the runs in order, it no longer ends the process.
    Everything that they need is imported before, and nothing while fio runs. `refused` are the exit
    codes of what the command was asked for and does not run.

    Results go to stdout, everything else to stderr.
    """
    stop = Stop()
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
            # From a signal handler: in a thread, since the interrupted code may hold the lock that
            # closing needs, and for a second at most.
            closing = threading.Thread(target=display.close, daemon=True)
            closing.start()
            closing.join(1.0)
            if sys.stderr.isatty():  # the cursor, should closing not have come so far
                sys.stderr.write(OwnText("\x1b[?25h\n"))
        paths = "; ".join(f"{', '.join(left_behind(p))} on {where(p)}" for p in plans)
        ids = " ".join(p.trial_id for p in plans)
        give_back = f"  give back:  diskbench gc {ids}"
        return f"Left behind: {paths}\n  resume:     diskbench resume\n{give_back}"

    endings: list[tuple[Plan, TrialEnding]] = []
    try:
        with on_signals(stop_then_leave(stop, stopping, left)):
            begin()
            stream = None if show.quiet else sys.stderr
            displays.append(open_progress(plans, stream=stream, evidence=session.evidence))
            try:
                endings = execute(session, plans, displays[0], stop, take_over=take_over)
            finally:
                displays[0].close()
        missed = show_results(session, endings, show)
        return worst([*(exit_code(ending) for _, ending in endings), missed, *refused])
    except Exception as error:  # noqa: BLE001 - reported here, where the other trials' ends are known
        return worst([report(error), *(exit_code(ending) for _, ending in endings), *refused])
    finally:
        stop.leave()  # after an error, what still runs is suspended


def exit_code(ending: TrialEnding) -> int:
    """0 done · 1 failed · 2 environment · 3 not given back · 130 interrupted."""
    if ending.not_released is not None:
        return ReleaseFailed.exit_code
    if ending.problem is not None:
        return ending.problem.exit_code
    if isinstance(ending.suspended, ConnectionLost) and ending.stopped:
        return Interrupted.exit_code
    if ending.suspended is not None:
        return ending.suspended.exit_code if isinstance(ending.suspended, DiskbenchError) else 1
    states = {run.state for run in ending.end} if ending.end else {"failed"}
    if "interrupted" in states:
        return Interrupted.exit_code
    return 1 if states - {"done"} else 0


def worst(codes: Sequence[int]) -> int:
    """The most serious of `codes`; 0 if there are no codes."""
    return next((code for code in _SEVERITY if code in codes), 0)


def continue_detached(
    session: Session, ids: Sequence[str], evidence_url: str, *, name: str, of: str = ""
) -> None:
    """Start `diskbench resume` of these trials (or of the `matrix ` that it is `of`) on the stores
    of `session`, in a process of its own; print the ids, and the log, which is named `name`."""
    log = log_directory() / f"{name}.log"
    # The stores are in the environment: arguments can be read by every user of the machine.
    url = session.database.url.render_as_string(hide_password=False)
    stores = {"DISKBENCH_DATABASE_URL": url, "DISKBENCH_EVIDENCE_URL": evidence_url}
    with append_private(log) as sink:
        subprocess.Popen(
            [sys.executable, "-m", "diskbench", *of.split(), "resume", *ids],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env=os.environ | stores,
        )
    for id_ in ids:
        print_id(id_)
    print(
        f"running in the background; progress: {log}\n"
        f"  see:  diskbench {of}status {'--watch ' if of else ''}{short(ids[0])}\n"
        f"  stop: diskbench {of}cancel {short(ids[0])}",
        file=sys.stderr,
    )
