"""`diskbench status`: who works on what, what waits, and what is rented."""

from datetime import UTC, datetime
from typing import Annotated

from diskbench.cli.schedule import print_last
from diskbench.cli.selecting import ids
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import TableOrJson, argument, print_json
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
        argument(
            "ID",
            "Only these runs, trials, cells or matrices: ids, long or short, `last`, or a "
            "matrix's name.",
            autocompletion=ids,
        ),
    ] = None,
    output: TableOrJson = "table",
    database_url: DatabaseUrl = None,
) -> None:
    """Show workers, queues, running cells, open leases with their cost so far, and schedules.

    For each schedule it shows the next time, and the figures, cost and page of its last matrix.
    """
    engine = database(database_url)
    work = fleet(engine)
    if ids:
        work = narrowed(work, find_work(engine, ids))
    if output == "json":
        print_json(work.model_dump_json(indent=2))
        return
    print_trimmed(screen(), fleet_table(work))
    if ids or not list_schedules(engine):
        return
    print("\nSchedules")
    for schedule in schedule_statuses(engine, now=datetime.now(UTC), past=_OCCURRENCES):
        newest = schedule.model_copy(update={"occurrences": schedule.occurrences[:1]})
        for line in schedule_lines(newest):
            print(line)
        print_last(engine, schedule)
