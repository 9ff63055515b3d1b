"""What the commands of a running matrix share: drive it in this process, and show it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Literal

from diskbench.cli.events import emit_problem
from diskbench.cli.terminal import print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import sqlalchemy as sa
    from rich.console import RenderableType

    from diskbench.engine.matrix.matrix_file import MatrixFile
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.standing import MatrixStanding
    from diskbench.report.assemble.trial_view import TrialView
    from diskbench.store.campaigns import CampaignRow

Output = Literal["table", "json"]
NOT_GIVEN_BACK = 3
_ROWS = 20
"""Cells in the live table; our choice: it should stay on the screen."""


def with_money(file: MatrixFile, budget: float | None, assume_price: float | None) -> MatrixFile:
    """The matrix with the limits that were typed. Raises InvalidValue for what is no money."""
    import dataclasses

    from diskbench.errors import InvalidValue

    typed = {"budget_usd": budget, "assume_price_usd_per_hour": assume_price}
    change = {name: value for name, value in typed.items() if value is not None}
    for name, value in change.items():
        if not 0 < value < float("inf"):
            flag = "--budget" if name == "budget_usd" else "--assume-price"
            raise InvalidValue(
                f"{flag} {value:g} is not an amount of money",
                advice="write an amount in US dollars above 0",
            )
    limits = file.matrix.limits.model_copy(update=change)
    return dataclasses.replace(file, matrix=file.matrix.model_copy(update={"limits": limits}))


def with_conditions(file: MatrixFile, fail_if: Sequence[str]) -> MatrixFile:
    """The matrix with conditions for all cells that have none of their own."""
    import dataclasses

    if not fail_if:
        return file
    defaults = file.matrix.defaults.model_copy(update={"fail_if": tuple(fail_if)})
    return dataclasses.replace(file, matrix=file.matrix.model_copy(update={"defaults": defaults}))


def foreground(
    session: Session,
    campaign: CampaignRow,
    output: Output | None,
    *,
    quiet: bool,
    junit: Path | None = None,
) -> int:
    """Run a matrix in this process to its end, or until it is told to stop; the exit code. In the
    end it is printed as `output`; None leaves that to the caller. `junit` is the file for a JUnit
    report on all cells."""
    from diskbench.cli.failures import report
    from diskbench.cli.foreground import worst
    from diskbench.engine.matrix.campaign import claim_foreground
    from diskbench.engine.matrix.machine_reuse import let_idle_go
    from diskbench.engine.matrix.matrix_status import standing
    from diskbench.engine.matrix.worker import TICK_S, Worker
    from diskbench.engine.trial.interrupt import interruptible
    from diskbench.errors import StoreUnavailable
    from diskbench.store.campaigns import find_campaign

    name = campaign.campaign_id
    claim_foreground(session, campaign)
    assert campaign.queue is not None
    worker = Worker(session, serves=(campaign.queue,), own=name)
    shows_table = sys.stderr.isatty() and not quiet

    def stopping() -> None:
        print("stopping cleanly; press Ctrl-C again to stop at once", file=sys.stderr)

    def left() -> str:
        return f"resume:    diskbench matrix resume {name}\n  give back: diskbench gc"

    last: MatrixStanding | None = None

    def seen() -> MatrixStanding:
        nonlocal last
        try:
            last = standing(session.database, find_campaign(session.database, name))
        except StoreUnavailable:  # the worker reports it and waits
            if last is None:
                raise
        return last

    def goes_on() -> bool:
        worker.wake.wait(TICK_S)
        worker.wake.clear()
        worker.admits = not worker.stop.all_asked
        open_ones = worker.tick()
        if open_ones is None:
            return True
        if worker.stop.all_asked and not worker.holds_any():
            return False
        return bool(open_ones)

    try:
        with interruptible(worker.stop, stopping, left):
            worker.launch()
            worker.wake.set()
            shown_while(seen, goes_on, quiet=not shows_table, lines=not quiet)
            let_idle_go(session, name, all_of_them=True)
            worker.sweep()
        end = seen()
        if output is not None:
            print_standing(session.database, end, output)
        code = exit_code(session, end, stopped=worker.stop.all_asked)
        return worst([code, _judge(session, end, junit)])
    except Exception as error:  # noqa: BLE001 - reported, with how to go on
        code = report(error)
        print(f"  {left()}", file=sys.stderr)
        return code
    finally:
        worker.stop.leave()  # after an error, what still runs is suspended


def end_here(session: Session, campaign: CampaignRow) -> int:
    """End the cells of a cancelled matrix that no process works on; 3 when something could not be
    given back, else 0."""
    from diskbench.store.campaigns import find_campaign

    campaign = find_campaign(session.database, campaign.campaign_id)
    print(f"no process works on {campaign.campaign_id}: its cells are ended here", file=sys.stderr)
    code = foreground(session, campaign, "table", quiet=True)
    return code if code == NOT_GIVEN_BACK else 0


def exit_code(session: Session, last: MatrixStanding, *, stopped: bool) -> int:
    """0 every cell measured · 1 not every cell · 3 something is not given back · 130 stopped."""
    from diskbench.store.leases import leases_of_campaign
    from diskbench.store.machines import list_machines

    left = [
        lease.lease_id
        for lease in leases_of_campaign(session.database, last.campaign_id)
        if lease.state == "open"
    ]
    left += [machine.lease_id for machine in list_machines(session.database, last.campaign_id)]
    if left and last.state == "done":
        advice = f"try: diskbench gc {' '.join(left)}"
        emit_problem("NotGivenBack", f"not given back: {', '.join(left)}", advice, 3)
        return 3
    if stopped and last.state != "done":
        print(f"resume: diskbench matrix resume {last.campaign_id}", file=sys.stderr)
        return 130
    bad = {state for state in last.counts if state in ("failed", "refused", "cancelled")}
    return 1 if bad else 0


def shown_while(
    seen: Callable[[], MatrixStanding],
    goes_on: Callable[[], bool],
    *,
    quiet: bool,
    lines: bool = True,
) -> None:
    """Show the matrix for as long as `goes_on` says so: a live table on a terminal, else a line
    for every change of a cell's state."""
    if quiet:
        _in_lines(seen, goes_on, lines=lines)
        return
    from diskbench.report.terminal.matrix_table import matrix_table
    from diskbench.report.terminal.screen import live as live_on
    from diskbench.report.terminal.screen import screen

    console = screen(error=True)
    table = matrix_table(seen(), rows=_ROWS)
    with live_on(table, console=console, auto_refresh=False, transient=True) as live:
        while goes_on():
            live.update(matrix_table(seen(), rows=_ROWS), refresh=True)


def _in_lines(
    seen: Callable[[], MatrixStanding], goes_on: Callable[[], bool], *, lines: bool
) -> None:
    last_state: dict[int, str] = {}
    again = True
    while again:
        again = goes_on()
        if not lines:
            continue
        for cell in seen().cells:
            row = cell.row
            if last_state.get(row.position, "waiting") != row.state:
                why = f": {row.error}" if row.error and row.state != "done" else ""
                print(f"{row.key}: {row.state}{why}", file=sys.stderr, flush=True)
            last_state[row.position] = row.state


def _judge(session: Session, last: MatrixStanding, junit: Path | None) -> int:
    """Say which conditions of `--fail-if` the figures of each cell miss, and write the JUnit
    report; the exit code that this means."""
    from diskbench.cli.foreground import say_missed

    measured = [cell.row for cell in last.cells if cell.row.state == "done"]
    judged = [row for row in measured if junit is not None or row.cell.fail_if]
    named = [(row.key, _view(session, row)) for row in judged]
    if junit is not None:
        from diskbench.report.junit import junit_report
        from diskbench.whole_file import write_whole

        rows = (cell.row for cell in last.cells if cell.row.state != "done")
        without = [(row.key, row.state, row.error or "it has no result") for row in rows]
        write_whole(junit, junit_report(named, without))
    return say_missed((key, view.missed) for key, view in named)


def _view(session: Session, row: CellRow) -> TrialView:
    """A measured cell as every output format shows it."""
    from diskbench.cli.stores import evidence
    from diskbench.report.assemble.trial_facts import trial_facts
    from diskbench.report.assemble.trial_view import trial_view
    from diskbench.results.run_evidence import EvidenceOfRuns
    from diskbench.results.stored_trial import read_trial
    from diskbench.store.query import Filter, find_runs

    runs = find_runs(session.database, [Filter("trial_id", "=", row.trial_id or "")])
    return trial_view(
        trial_facts(read_trial(session.database, runs, EvidenceOfRuns(evidence), session.books))
    )


def print_standing(database: sa.Engine, last: MatrixStanding, output: Output) -> None:
    """The matrix on stdout, as a table or as one document; of one that is over its figures."""
    if output == "json":
        print_json(last.model_dump_json(indent=2))
        return
    from diskbench.report.terminal.matrix_table import matrix_table
    from diskbench.report.terminal.plain import print_trimmed
    from diskbench.report.terminal.screen import screen

    console = screen()
    if last.state == "done":
        print_trimmed(console, _end(database, last, console.width))
    else:
        print_trimmed(console, matrix_table(last))


def _end(database: sa.Engine, last: MatrixStanding, width: int) -> RenderableType:
    """A matrix that is over, with its figures, its replicates together."""
    from diskbench.report.assemble.beside import rows_of_replicates
    from diskbench.report.terminal.matrix_table import matrix_end
    from diskbench.results.replicate_set import replicates_of
    from diskbench.store.query import Filter

    if not last.counts.get("done"):
        return matrix_end(last, (), (), width=width)
    found = replicates_of(database, [Filter("campaign_id", "=", last.campaign_id)])
    return matrix_end(last, rows_of_replicates(found.lines), found.marks, width=width)


def in_background(session: Session, campaign: CampaignRow) -> None:
    """Hand the matrix to a process of its own that outlives this terminal; print its id."""
    from diskbench.cli.start import session_environment
    from diskbench.private import append_private, log_directory

    log = log_directory() / f"{campaign.campaign_id}.log"
    command = [sys.executable, "-m", "diskbench", "matrix", "resume", campaign.campaign_id]
    with append_private(log) as sink:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env=session_environment(session, session.evidence.url),
        )
    print(campaign.campaign_id)
    print(
        f"running in the background; progress: {log}\n"
        f"  see:  diskbench matrix status --watch {campaign.campaign_id}\n"
        f"  stop: diskbench matrix cancel {campaign.campaign_id}",
        file=sys.stderr,
    )
