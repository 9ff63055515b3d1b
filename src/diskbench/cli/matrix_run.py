"""`diskbench matrix run|status|cancel|resume|retry`: a matrix at work."""

import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from diskbench.cli import cancel as trial_cancel
from diskbench.cli import completion
from diskbench.cli.lazy import gathering
from diskbench.cli.matrix import AssumePrice, Seed, with_defaults, with_money
from diskbench.cli.matrix_display import print_matrix_status, show_table_while
from diskbench.cli.matrix_foreground import begun, foreground, matrix_detached
from diskbench.cli.run_command import check_judges, parameter_of
from diskbench.cli.selecting import begun_matrices, print_id
from diskbench.cli.sessions import opened
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.stores import database as opened_database
from diskbench.cli.terminal import TableOrJson, argument, option
from diskbench.engine.matrix.campaign import check_outlook, check_prices, check_running, retry_cells
from diskbench.engine.matrix.matrix_file import load_matrix
from diskbench.engine.matrix.status import matrix_status
from diskbench.errors import InvalidValue
from diskbench.model.ids import short
from diskbench.model.matrix import CellFields
from diskbench.model.options import options_of_model
from diskbench.report.terminal.status_text import matrix_line
from diskbench.settings import load_settings
from diskbench.store.campaigns import find_campaign, list_campaigns, load_campaign
from diskbench.units import counted

Which = Annotated[
    str | None,
    argument(
        "MATRIX",
        "The matrix's name or id, or `last` (default: the newest).",
        autocompletion=begun_matrices,
    ),
]
Quiet = Annotated[bool, option("--quiet", "-q", "Print no plan and no progress.")]


_OF_CELLS = [
    parameter_of(option, option.of_cells, in_panel=False)
    for option in options_of_model(CellFields)
    if option.of_cells
]


@gathering("defaults", _OF_CELLS)
def run(
    matrix: Annotated[
        str,
        argument(
            "FILE|NAME",
            "A matrix file, or the name of a shipped one.",
            autocompletion=completion.matrices,
        ),
    ],
    detach: Annotated[
        bool, option("--detach", "Run in the background; print the matrix's id.")
    ] = False,
    queue: Annotated[
        bool, option("--queue", "Leave the cells to workers ('diskbench worker').")
    ] = False,
    keep_going: Annotated[
        bool, option("--keep-going", "Leave out cells that cannot be measured.")
    ] = False,
    budget: Annotated[
        float | None, option("USD", "Limit of the cost in US dollars, instead of the file's.")
    ] = None,
    assume_price: AssumePrice = None,
    defaults: dict[str, Any] | None = None,
    junit: Annotated[
        Path | None, option("FILE", "Write the steps of all cells as a JUnit report, for CI.")
    ] = None,
    seed: Seed = None,
    output: TableOrJson = "table",
    quiet: Quiet = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Measure every cell of a matrix.

    After Ctrl-C, 'diskbench matrix resume' continues it.
    """
    if detach or queue:
        check_judges(
            {**(defaults or {}), "junit": junit},
            "needs the finished matrix, but this command ends earlier",
            "leave out --detach and --queue",
        )
    file = load_matrix(matrix, load_settings().tags)
    file = with_defaults(with_money(file, budget, assume_price), defaults or {})
    check, urls = check_prices if keep_going else check_outlook, (database_url, evidence_url)
    session, campaign, outlook = begun(file, check, *urls, seed=seed, own_queue=not queue)
    if queue:
        left = f"{counted(len(outlook.cells), 'cell')} left to workers"
        print_id(campaign.campaign_id)
        see = f"diskbench matrix status {short(campaign.campaign_id)}"
        print(f"{left}; see: {see}", file=sys.stderr)
        raise typer.Exit(0)
    if detach:
        matrix_detached(session, campaign)
        raise typer.Exit(0)
    raise typer.Exit(foreground(session, campaign, output, quiet=quiet, junit=junit))


def resume(
    matrix: Which = None,
    output: TableOrJson = "table",
    quiet: Quiet = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Resume a matrix whose process ended; keep finished cells."""
    session = opened(database_url, evidence_url)
    campaign = find_campaign(session.database, matrix)
    raise typer.Exit(foreground(session, campaign, output, quiet=quiet))


def status(
    matrix: Which = None,
    watch: Annotated[bool, option("--watch", "Update until the matrix ends.")] = False,
    every: Annotated[bool, option("--all", "Print one line for each matrix.")] = False,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Show the state of every cell, the cost and the expected end."""
    database = opened_database(database_url)
    if every:
        for campaign in list_campaigns(database):
            totals = matrix_status(database, campaign, cells=False, until=False)
            print(f"{short(campaign.campaign_id)}  {campaign.name}  {matrix_line(totals)}")
        return
    campaign = find_campaign(database, matrix)
    if watch:
        pause, id_ = threading.Event(), campaign.campaign_id

        def goes_on() -> bool:
            return not pause.wait(1.0) and load_campaign(database, id_).state != "done"

        show_table_while(database, id_, goes_on)
    campaign = load_campaign(database, campaign.campaign_id)
    print_matrix_status(database, matrix_status(database, campaign), output)


def retry(
    matrix: Which = None,
    failed: Annotated[bool, option("--failed", "Select every cell without a result.")] = False,
    output: TableOrJson = "table",
    quiet: Quiet = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Measure failed, refused and cancelled cells again."""
    if not failed:
        raise InvalidValue("no cells were selected", advice="add --failed")
    session = opened(database_url, evidence_url)
    campaign = find_campaign(session.database, matrix)
    count = retry_cells(session.database, campaign)
    if not count:
        print("every cell has a result", file=sys.stderr)
        raise typer.Exit(0)
    print(f"{counted(count, 'cell')} will be measured again", file=sys.stderr)
    campaign = find_campaign(session.database, campaign.campaign_id)
    if campaign.queue is None:
        raise typer.Exit(0)
    raise typer.Exit(foreground(session, campaign, output, quiet=quiet))


def cancel(
    matrix: Which = None, database_url: DatabaseUrl = None, evidence_url: EvidenceUrl = None
) -> None:
    """Stop all cells of a matrix and give everything back."""
    campaign = find_campaign(opened_database(database_url), matrix)
    check_running(campaign)
    trial_cancel.cancel([campaign.campaign_id], database_url, evidence_url)
