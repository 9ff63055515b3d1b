"""Driving a running matrix in this process, which the commands of a matrix share."""

import sys
from collections.abc import Callable
from pathlib import Path

from diskbench.cli.foreground import continue_detached, worst
from diskbench.cli.matrix_display import (
    Output,
    print_changes_while,
    print_matrix_status,
    show_table_while,
)
from diskbench.cli.messages import emit_problem, report
from diskbench.cli.opened import close_at_end
from diskbench.cli.run_results import judge, read_ended
from diskbench.cli.sessions import opened
from diskbench.engine.matrix.campaign import begin_campaign, claim_foreground
from diskbench.engine.matrix.machine_reuse import let_idle_go
from diskbench.engine.matrix.matrix_file import MatrixFile, outlook_of, seed_of
from diskbench.engine.matrix.status import matrix_status
from diskbench.engine.matrix.worker import TICK_S, Worker
from diskbench.engine.session import Session
from diskbench.engine.trial.stop import on_signals, stop_then_leave
from diskbench.model.campaign import MatrixStatus
from diskbench.model.ids import short
from diskbench.plan.outlook import MatrixOutlook
from diskbench.providers.registry import Providers
from diskbench.report.assemble.view import view_of
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.campaigns import CampaignRow, find_campaign, load_campaign, load_cells
from diskbench.store.leases import list_leases
from diskbench.store.machines import list_machines
from diskbench.store.query import find_runs
from diskbench.store.rows import find_plans
from diskbench.store.where import Filter

NOT_GIVEN_BACK = 3


def begun(
    file: MatrixFile,
    check: Callable[[MatrixOutlook], None],
    database_url: str | None,
    evidence_url: str | None,
    *,
    seed: int | None = None,
    own_queue: bool = True,
) -> tuple[Session, CampaignRow, MatrixOutlook]:
    """Look at what a matrix would rent, `check` that, and save the matrix: of this process, or
    (`own_queue` is false) of workers. Raises what `check` raises."""
    books, providers = open_books(), Providers()
    close_at_end(providers.close)
    seed = seed_of(file.matrix, seed)
    outlook = outlook_of(file, books, seed=seed, offline=False, providers=providers)
    check(outlook)
    session = opened(database_url, evidence_url, books, providers)
    campaign = begin_campaign(session.database, file, outlook, own_queue=own_queue)
    return session, campaign, outlook


def foreground(
    session: Session,
    campaign: CampaignRow,
    output: Output | None,
    *,
    quiet: bool,
    junit: Path | None = None,
) -> int:
    """Run a matrix in this process to its end, or until it is asked to stop; the exit code. In the
    end it is printed as `output`; None leaves that to the caller. `junit` is the file for a JUnit
    report on all cells."""
    name = campaign.campaign_id
    claim_foreground(session, campaign)
    assert campaign.queue is not None
    worker = Worker(session, serves=(campaign.queue,), own=name)

    def stopping() -> None:
        print("stopping cleanly; press Ctrl-C again to stop at once", file=sys.stderr)

    def left() -> str:
        return f"resume:    diskbench matrix resume {name}\n  give back: diskbench gc"

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
        with on_signals(stop_then_leave(worker.stop, stopping, left)):
            worker.launch()
            worker.wake.set()
            if quiet:
                while goes_on():
                    pass
            else:  # a live table on a terminal, else a line for every change of a cell's state
                show_while = show_table_while if sys.stderr.isatty() else print_changes_while
                show_while(session.database, name, goes_on)
            let_idle_go(session, name, all_of_them=True)
            worker.sweep()
        end = matrix_status(session.database, load_campaign(session.database, name))
        if output is not None:
            print_matrix_status(session.database, end, output)
        code = exit_code(session, end, stopped=worker.stop.all_asked)
        return worst([code, _judge(session, name, junit)])
    except Exception as error:  # noqa: BLE001 - reported, with how to go on
        code = report(error)
        print(f"  {left()}", file=sys.stderr)
        return code
    finally:
        worker.stop.leave()  # after an error, what still runs is suspended


def end_here(session: Session, campaign: CampaignRow) -> int:
    """End the cells of a cancelled matrix that no process works on; 3 when something could not be
    given back, else 0."""
    campaign = find_campaign(session.database, campaign.campaign_id)
    name = short(campaign.campaign_id)
    print(f"no process is running {name}: this command ends its cells", file=sys.stderr)
    code = foreground(session, campaign, "table", quiet=True)
    return code if code == NOT_GIVEN_BACK else 0


def exit_code(session: Session, last: MatrixStatus, *, stopped: bool) -> int:
    """0 every cell measured · 1 not every cell · 3 something is not given back · 130 stopped."""
    database, name = session.database, last.campaign_id
    ids = [lease.lease_id for lease in list_leases(database, state="open", campaign_id=name)]
    ids += [machine.lease_id for machine in list_machines(database, name)]
    if ids and last.state == "done":
        advice = f"try: diskbench gc {' '.join(ids)}"
        emit_problem("NotGivenBack", f"not given back: {', '.join(ids)}", advice, 3)
        return 3
    if stopped and last.state != "done":
        print(f"resume: diskbench matrix resume {short(last.campaign_id)}", file=sys.stderr)
        return 130
    return 1 if last.counts.keys() & {"failed", "refused", "cancelled"} else 0


def _judge(session: Session, campaign_id: str, junit: Path | None) -> int:
    """Say which thresholds of their profile and of the user the figures of each cell miss, and
    write the JUnit report; the exit code that this means."""
    database = session.database
    cells = load_cells(database, campaign_id)
    done = [row for row in cells if row.state == "done"]
    # One plan a profile says whether it has thresholds: a plan is long, and cells are many.
    of_profile = {row.cell.profile: row.trial_id for row in done if row.trial_id}
    plans = find_plans(database, list(of_profile.values()))
    gated = {plan.profile.name for plan in plans.values() if plan.profile.thresholds}
    named = []
    for row in done:
        if junit is not None or row.cell.is_judged or row.cell.profile in gated:
            runs = find_runs(database, [Filter("trial_id", "=", row.trial_id or "")])
            named += [(row.key, view_of(trial)) for trial in read_ended(session, runs).values()]
    others = [row for row in cells if row.state != "done"]
    return judge(named, junit, [(r.key, r.state, r.error or "it has no result") for r in others])


def matrix_detached(session: Session, campaign: CampaignRow) -> None:
    """Hand the matrix to a process of its own; print its id."""
    name = campaign.campaign_id
    continue_detached(session, [name], session.evidence.url, name=name, of="matrix ")
