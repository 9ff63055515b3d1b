"""`diskbench cancel` and `diskbench matrix cancel`: ask what another process runs to stop."""

import sys
from typing import Annotated

import typer

from diskbench.cli.foreground import worst
from diskbench.cli.matrix_foreground import end_here
from diskbench.cli.selecting import ids
from diskbench.cli.sessions import opened
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl, database
from diskbench.cli.terminal import argument
from diskbench.engine.work import cancel as cancel_work


def cancel(
    ids: Annotated[
        list[str],
        argument(
            "ID",
            "Runs, trials, cells or matrices: ids, long or short, `last`, or a matrix's name.",
            autocompletion=ids,
        ),
    ],
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Stop a run, a cell or a matrix as Ctrl-C would: fio stops, finished steps are kept, the
    target is cleaned, and rented resources are given back.

    A cell of a matrix is marked as cancelled; the other cells continue. If no process works on a
    matrix, this command ends its cells.
    """
    lines, unattended = cancel_work(database(database_url), ids)
    for line in lines:
        print(line, file=sys.stderr)
    if unattended:
        session = opened(database_url, evidence_url, gives_back=False)
        raise typer.Exit(worst([end_here(session, campaign) for campaign in unattended]))
