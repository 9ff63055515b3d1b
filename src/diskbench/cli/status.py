"""`diskbench status`: who works on what, what waits, and what is rented."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from diskbench.cli.stores import DatabaseUrl
from diskbench.cli.terminal import print_json


def status(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Only these runs, trials, cells or matrices: ids or their beginnings."),
    ] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
    ] = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Show workers, queues, running cells, and open leases with their age and cost so far."""
    from diskbench.cli.stores import database
    from diskbench.engine.matrix.fleet import fleet, narrowed
    from diskbench.engine.work import find_work

    engine = database(database_url)
    seen = fleet(engine)
    if ids:
        seen = narrowed(seen, find_work(engine, ids))
    if output == "json":
        print_json(seen.model_dump_json(indent=2))
        return
    from diskbench.report.terminal.fleet_table import fleet_table
    from diskbench.report.terminal.plain import print_trimmed
    from diskbench.report.terminal.screen import screen

    print_trimmed(screen(), fleet_table(seen))
