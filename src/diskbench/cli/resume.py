"""`diskbench resume`: go on with runs whose process is gone."""

import sys
from typing import Annotated

import typer

from diskbench.cli.foreground import drive, worst
from diskbench.cli.matrix_foreground import foreground
from diskbench.cli.messages import report
from diskbench.cli.run_command import Request
from diskbench.cli.selecting import ids
from diskbench.cli.sessions import opened, print_swept, sweep_code
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl
from diskbench.cli.terminal import Output, argument, option
from diskbench.engine.cleanup.gc import sweep
from diskbench.engine.trial.lease import check_lasts, go_on_in
from diskbench.engine.work import abandoned_plans, abandoned_work, claim
from diskbench.errors import DiskbenchError


def resume(
    ids: Annotated[
        list[str] | None,
        argument(
            "ID",
            "Runs, trials, cells or matrices: ids, long or short, `last`, or a matrix's "
            "name (default: all runs that were abandoned).",
            autocompletion=ids,
        ),
    ] = None,
    output: Annotated[Output, option("What to print on stdout.")] = "table",
    quiet: Annotated[bool, option("--quiet", "-q", "Print no plan and no progress.")] = False,
    timing: Annotated[
        bool, option("--timing", "Print at the end how long each part took.")
    ] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Resume runs and matrices whose process was killed; finished steps are not run again.

    A run keeps the evidence store that it began with. If you moved the whole store, name its new
    place with --evidence-url.
    """
    session = opened(database_url, evidence_url, gives_back=False)
    request = Request(output=output, quiet=quiet, timing=timing)
    refused, plans, database = [], [], session.database
    abandoned, matrices = abandoned_work(database, ids) if ids else (abandoned_plans(database), [])
    for plan in abandoned:
        try:
            if evidence_url is not None:
                go_on_in(session, plan)
            check_lasts(session, plan)
            plans += [plan] * claim(session, plan)
        except DiskbenchError as error:  # the others are resumed all the same
            refused.append(report(error))
    code = drive(session, plans, request, take_over=True) if plans else 0
    swept = [] if ids else sweep(session, [], dry_run=False)  # killed just before giving back
    print_swept(swept, stream=sys.stderr)
    if not (plans or matrices or swept or refused):
        print("nothing to resume: no run was abandoned", file=sys.stderr)
    form = None if output == "csv" else output
    codes = [foreground(session, matrix, form, quiet=quiet) for matrix in matrices]
    raise typer.Exit(worst([code, sweep_code(swept), *refused, *codes]))
