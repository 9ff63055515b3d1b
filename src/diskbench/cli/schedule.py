"""`diskbench schedule`: a matrix measured again and again, by workers, at the times of a cron
expression."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from diskbench.cli.matrix_typed import AssumePrice, with_money
from diskbench.cli.stores import DatabaseUrl, database
from diskbench.cli.terminal import print_json
from diskbench.errors import UnknownName

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.model.schedule import ScheduleStatus

app = typer.Typer(help="Measure a matrix regularly (nightly, weekly) with workers.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
Output = Annotated[
    Literal["table", "json"], typer.Option("--output", help="What to print on stdout.")
]


@app.command()
def add(
    name: Name,
    matrix: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A matrix file, or the name of a shipped one."),
    ],
    cron: Annotated[
        str,
        typer.Option(
            metavar="CRON",
            help="When: minute, hour, day, month, weekday ('30 3 * * 0': Sunday 03:30).",
        ),
    ],
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="The timezone of --cron, such as Europe/Berlin.")
    ] = "UTC",
    overlap: Annotated[
        Literal["skip", "queue"],
        typer.Option(help="What to do if its previous matrix is still running."),
    ] = "skip",
    backfill: Annotated[
        bool,
        typer.Option("--backfill", help="Also run the due times that no worker was there to run."),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="USD",
            help="Cost limit of each due time in US dollars (default: the file's).",
        ),
    ] = None,
    assume_price: AssumePrice = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Add a schedule for a matrix, or change an existing one."""
    from diskbench.engine.matrix.matrix_file import load_matrix
    from diskbench.engine.schedule.schedules import add_schedule

    file = with_money(load_matrix(matrix), budget, assume_price)
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


@app.command("list")
def list_schedules(output: Output = "table", database_url: DatabaseUrl = None) -> None:
    """List the schedules with next time and last outcome."""
    from diskbench.engine.schedule.schedules import schedule_statuses

    statuses = schedule_statuses(database(database_url), now=datetime.now(UTC))
    if not statuses and output == "table":
        print("there is no schedule; add one with 'diskbench schedule add'", file=sys.stderr)
    _print(statuses, output)


@app.command()
def show(name: Name, output: Output = "table", database_url: DatabaseUrl = None) -> None:
    """Show the next five times, the last twenty, and the last figures."""
    status = _one(database_url, name, upcoming=5, past=20)
    _print([status], output)
    if output == "table":
        print_last(database(database_url), status)


@app.command()
def pause(name: Name, database_url: DatabaseUrl = None) -> None:
    """Start nothing until it is resumed; a running matrix continues."""
    from diskbench.engine.schedule.schedules import pause_schedule

    pause_schedule(database(database_url), name)
    print(f"{name} is paused", file=sys.stderr)


@app.command()
def resume(name: Name, database_url: DatabaseUrl = None) -> None:
    """Start again at the next due time; skip missed times."""
    from diskbench.engine.schedule.schedules import resume_schedule

    resume_schedule(database(database_url), name, now=datetime.now(UTC))
    _print([_one(database_url, name)])


@app.command()
def remove(name: Name, database_url: DatabaseUrl = None) -> None:
    """Remove a schedule; keep its results and a running matrix."""
    from diskbench.engine.schedule.schedules import remove_schedule

    remove_schedule(database(database_url), name)
    print(f"{name} is removed", file=sys.stderr)


@app.command()
def trigger(name: Name, database_url: DatabaseUrl = None) -> None:
    """Start the matrix now, or after the running one.

    This works while the schedule is paused, too.
    """
    from diskbench.engine.schedule.schedules import trigger

    trigger(database(database_url), name, now=datetime.now(UTC))
    print(f"{name} starts when a worker is free and its last matrix has ended", file=sys.stderr)


@app.command()
def backfill(
    name: Name,
    start: Annotated[
        str,
        typer.Option(
            "--since", metavar="TIME", help="The first time: 2026-11-01 or 2026-11-01T03:30."
        ),
    ],
    end: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="TIME", help="The last time, in the same form (default: now)."
        ),
    ] = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Run missed, skipped or failed times now, one after the other."""
    from diskbench.engine.schedule.schedules import backfill

    times = backfill(database(database_url), name, start, end, now=datetime.now(UTC))
    for moment in times:
        print(moment.strftime("%a %Y-%m-%d %H:%M %Z"))
    waiting = f"{len(times)} wait for a worker" if times else "no time was missed"
    print(waiting, file=sys.stderr)


def _one(url: str | None, name: str, *, upcoming: int = 1, past: int = 1) -> ScheduleStatus:

    from diskbench.engine.schedule.schedules import schedule_statuses

    known = {
        status.name: status
        for status in schedule_statuses(
            database(url), now=datetime.now(UTC), upcoming_ones=upcoming, past=past
        )
    }
    if name not in known:
        raise UnknownName("schedule", name, known)
    return known[name]


def print_last(engine: sa.Engine, status: ScheduleStatus) -> None:
    """Print the newest matrix of a schedule that is over: figures, cost, and where its page is."""
    from diskbench.cli.matrix_display import print_matrix_status
    from diskbench.engine.matrix.status import look_at
    from diskbench.store.campaigns import find_campaign

    over = [
        occurrence.campaign_id
        for occurrence in status.occurrences
        if occurrence.campaign_state == "done"
    ]
    if over:
        print()
        print_matrix_status(look_at(engine, find_campaign(engine, over[0])), "table")


def _print(statuses: list[ScheduleStatus], output: str = "table") -> None:
    if output == "json":
        from diskbench.model.schedule import ScheduleDocument

        print_json(ScheduleDocument(schedules=tuple(statuses)).model_dump_json(indent=2))
        return
    from diskbench.report.terminal.status_text import schedule_lines

    for status in statuses:
        for line in schedule_lines(status):
            print(line)
