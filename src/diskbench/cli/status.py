"""`diskbench status`: who works on what, what waits, and what is rented."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import sqlalchemy as sa
import typer

from diskbench.cli.schedule import print_last
from diskbench.cli.selecting import ids
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import TableOrJson, print_json
from diskbench.engine.matrix.status import fleet, narrowed
from diskbench.engine.schedule.schedules import schedule_statuses
from diskbench.engine.work import find_work
from diskbench.report.terminal.screen import print_trimmed, screen
from diskbench.report.terminal.status_text import fleet_table, schedule_lines
from diskbench.store.schedules import list_schedules

_OCCURRENCES = 20
"""How many times of a schedule are looked through for one whose matrix is over; our choice."""


def status(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            autocompletion=ids,
            help="Only these runs, trials, cells or matrices: ids, long or short, `last`, or a "
            "matrix's name.",
        ),
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Show workers, queues, running cells, open leases with their cost so far, and schedules.

    Of each schedule it shows the next time and the figures, cost and page of its last matrix.
    """
    engine = database(database_url)
    work = fleet(engine)
    if ids:
        work = narrowed(work, find_work(engine, ids))
    if output == "json":
        print_json(work.model_dump_json(indent=2))
        return
    print_trimmed(screen(), fleet_table(work))
    if not ids:
        _print_schedules(engine)


def _print_schedules(engine: sa.Engine) -> None:
    if not list_schedules(engine):
        return

    print("\nSchedules")
    for status in schedule_statuses(engine, now=datetime.now(UTC), past=_OCCURRENCES):
        newest = status.model_copy(update={"occurrences": status.occurrences[:1]})
        for line in schedule_lines(newest):
            print(line)
        print_last(engine, status)
