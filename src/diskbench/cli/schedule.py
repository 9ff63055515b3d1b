"""`diskbench schedule`: a matrix measured again and again, by workers, at the times of a cron
expression."""

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Literal

import sqlalchemy as sa
import typer

from diskbench.cli import completion
from diskbench.cli.completion import Offer, named, offering
from diskbench.cli.matrix import AssumePrice, with_money
from diskbench.cli.matrix_display import print_matrix_status
from diskbench.cli.selecting import from_database
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import TableOrJson, argument, option, print_json
from diskbench.engine.matrix.matrix_file import load_matrix
from diskbench.engine.matrix.status import matrix_status
from diskbench.engine.schedule.schedules import (
    add_schedule,
    pause_schedule,
    remove_schedule,
    resume_schedule,
    schedule_statuses,
)
from diskbench.engine.schedule.schedules import backfill as make_up_for
from diskbench.engine.schedule.schedules import trigger as begin_now
from diskbench.errors import check_known
from diskbench.model.schedule import ScheduleDocument, ScheduleStatus
from diskbench.report.terminal.layout import hanging
from diskbench.report.terminal.status_text import schedule_lines
from diskbench.results.replicate_set import replicates_of
from diskbench.settings import load_settings
from diskbench.store.campaigns import find_campaign
from diskbench.store.schedules import list_schedules
from diskbench.store.where import Filter, any_of


@offering
def _schedules(ctx: typer.Context, _incomplete: str) -> Iterable[Offer]:
    """The schedules."""
    return named(row.name for row in from_database(ctx, list_schedules))


Name = Annotated[str, argument("NAME", "The schedule's name.", autocompletion=_schedules)]


def add(
    name: Name,
    matrix: Annotated[
        str,
        argument(
            "FILE",
            "A matrix file, or the name of a shipped one.",
            autocompletion=completion.matrices,
        ),
    ],
    cron: Annotated[
        str, option("CRON", "When: minute, hour, day, month, weekday ('30 3 * * 0': Sunday 03:30).")
    ],
    timezone: Annotated[
        str, option("ZONE", "The timezone of --cron, such as Europe/Berlin.")
    ] = "UTC",
    overlap: Annotated[
        Literal["skip", "queue"], option("What to do if its previous matrix is still running.")
    ] = "skip",
    backfill: Annotated[
        bool, option("--backfill", "Also run times that were missed because no worker ran.")
    ] = False,
    budget: Annotated[
        float | None,
        option("USD", "Cost limit of each start in US dollars (default: the file's)."),
    ] = None,
    assume_price: AssumePrice = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Add a schedule for a matrix, or change an existing one."""
    file = with_money(load_matrix(matrix, load_settings().tags), budget, assume_price)
    engine = database(database_url)
    is_new, unseen = add_schedule(
        engine,
        name,
        file,
        cron=cron,
        zone=timezone,
        overlap=overlap,
        backfill=backfill,
        budget_usd=budget,
        assume_price_usd_per_hour=assume_price,
        now=datetime.now(UTC),
    )
    for block_seen in unseen:
        assert block_seen.problem is not None
        print(f"not shown: {block_seen.block}: {block_seen.problem.message}", file=sys.stderr)
    print(
        f"{name} is {'added' if is_new else 'changed'}; workers start it when it is due",
        file=sys.stderr,
    )
    _print([_one(database_url, name)])


def list_(output: TableOrJson = "table", database_url: DatabaseUrl = None) -> None:
    """List the schedules with their next time and last outcome."""
    statuses = schedule_statuses(database(database_url), now=datetime.now(UTC))
    if not statuses and output == "table":
        print("there is no schedule; add one with 'diskbench schedule add'", file=sys.stderr)
    _print(statuses, output)


def show(name: Name, output: TableOrJson = "table", database_url: DatabaseUrl = None) -> None:
    """Show the next five times, the last twenty, and the last figures."""
    status = _one(database_url, name, upcoming=5, past=20)
    _print([status], output)
    if output == "table":
        print_last(database(database_url), status)


def pause(name: Name, database_url: DatabaseUrl = None) -> None:
    """Pause a schedule until it is resumed; a running matrix continues."""
    pause_schedule(database(database_url), name)
    print(f"{name} is paused", file=sys.stderr)


def resume(name: Name, database_url: DatabaseUrl = None) -> None:
    """Start again at the next due time; skip missed times."""
    resume_schedule(database(database_url), name, now=datetime.now(UTC))
    _print([_one(database_url, name)])


def remove(name: Name, database_url: DatabaseUrl = None) -> None:
    """Remove a schedule; keep its results and a running matrix."""
    remove_schedule(database(database_url), name)
    print(f"{name} is removed", file=sys.stderr)


def trigger(name: Name, database_url: DatabaseUrl = None) -> None:
    """Start the matrix now, or after the running one.

    This works while the schedule is paused, too.
    """
    begin_now(database(database_url), name, now=datetime.now(UTC))
    print(f"{name} starts when a worker is free and its last matrix has ended", file=sys.stderr)


def backfill(
    name: Name,
    start: Annotated[
        str, option("--since", "TIME", "The first time: 2026-11-01 or 2026-11-01T03:30.")
    ],
    end: Annotated[
        str | None, option("--until", "TIME", "The last time, in the same form (default: now).")
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run missed, skipped or failed times now, one after the other."""
    times = make_up_for(database(database_url), name, start, end, now=datetime.now(UTC))
    for moment in times:
        print(f"{moment:%a %Y-%m-%d %H:%M %Z}")
    print(f"{len(times)} wait for a worker" if times else "no time was missed", file=sys.stderr)


def _one(url: str | None, name: str, *, upcoming: int = 1, past: int = 1) -> ScheduleStatus:
    now, counts = datetime.now(UTC), {"upcoming_ones": upcoming, "past": past}
    known = {of.name: of for of in schedule_statuses(database(url), now=now, **counts)}
    check_known("schedule", name, known)
    return known[name]


def print_last(engine: sa.Engine, status: ScheduleStatus) -> None:
    """Print the newest matrix of a schedule that is over: figures, cost, and where its page is;
    and how many of its measurements kept the promise, where there are ten or more."""
    over = [one.campaign_id for one in status.occurrences if one.campaign_state == "done"]
    if over:
        print()
        last = matrix_status(engine, find_campaign(engine, over[0]))
        print_matrix_status(engine, last, "table")
        together = any_of([[Filter("campaign_id", "=", one)] for one in over if one])
        for line in replicates_of(engine, together, canaries=False).lines:
            if line.verdict is not None and (kept := line.verdict.kept) is not None:
                print(hanging(f"{line.block}, {line.step}: ", kept.words()))


def _print(statuses: list[ScheduleStatus], output: str = "table") -> None:
    if output == "json":
        print_json(ScheduleDocument(schedules=tuple(statuses)).model_dump_json(indent=2))
        return
    for status in statuses:
        for line in schedule_lines(status):
            print(line)
