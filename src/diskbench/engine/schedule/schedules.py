"""Operations on schedules for the user: add, list, pause, resume, trigger, backfill, remove."""

import re
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from diskbench.engine.durable import schedules as clocks
from diskbench.engine.durable.schedules import ScheduleClock
from diskbench.engine.matrix.campaign import check_outlook
from diskbench.engine.matrix.matrix_file import MatrixFile, seed_of
from diskbench.engine.schedule.runs import matrix_of, reached_outlook
from diskbench.errors import InvalidValue
from diskbench.model.schedule import Occurrence, Overlap, ScheduleRow, ScheduleStatus
from diskbench.plan.cron import check_cron, check_zone, comes_again, due, upcoming
from diskbench.plan.outlook import BlockOutlook
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.dialects import iso
from diskbench.store.schedules import (
    find_schedule,
    list_schedules,
    locked_schedule,
    occurrences_of,
    progress_of,
    queued_occurrences,
    save_schedule,
    set_watched,
)
from diskbench.store.schedules import remove_schedule as remove_row

MOST_AT_ONCE: Final = 1000
"""The most occurrences of one backfill; more suggests a mistake in the dates; our choice."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LEFT_OUT = ("skipped", "failed")
_ASKED = "run later by hand"


def add_schedule(
    database: sa.Engine,
    name: str,
    file: MatrixFile,
    *,
    cron: str,
    zone: str,
    overlap: Overlap,
    backfill: bool,
    budget_usd: float | None,
    assume_price_usd_per_hour: float | None,
    now: datetime,
) -> tuple[bool, list[BlockOutlook]]:
    """Add a schedule for a matrix, or change the schedule of that name; times that were due before
    now are not considered.

    Returns whether the schedule is new, and the blocks whose provider could not be reached from
    here. Raises InvalidValue for a wrong name or cron expression or for a matrix that cannot be
    measured, UnknownName for a timezone, CostRefused for a budget that cannot be enforced.
    """
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r} is not a name of a schedule",
            advice="letters, digits, dots, dashes and underscores, such as weekly-gp2",
        )
    check_cron(cron)
    check_zone(zone)
    known = {schedule.name: schedule for schedule in list_schedules(database)}
    row = ScheduleRow(
        name=name,
        source=file.source,
        folder=file.folder,
        text=file.text,
        overlap=overlap,
        backfill=backfill,
        budget_usd=budget_usd,
        assume_price_usd_per_hour=assume_price_usd_per_hour,
        created_at=known[name].created_at if name in known else iso(now),
        updated_at=iso(now),
        watched_until=iso(now),
    )
    planned = matrix_of(row)
    seen, unseen = reached_outlook(planned, open_books(), seed=seed_of(planned.matrix))
    check_outlook(seen)
    clocks.keep_clock(database, ScheduleClock(name, cron.strip(), zone))
    save_schedule(database, row)
    return name not in known, unseen


def pause_schedule(database: sa.Engine, name: str) -> None:
    """Pause a schedule until it is resumed; a running matrix continues. Raises UnknownName."""
    row = find_schedule(database, name)
    with clocks.client_of(database) as client:
        client.pause_schedule(row.name)


def resume_schedule(database: sa.Engine, name: str, *, now: datetime) -> None:
    """Resume a schedule; times that were due during the pause are skipped. Raises UnknownName."""
    row = find_schedule(database, name)
    if _clock(database, name).paused:
        set_watched(database, row.name, iso(now))
    with clocks.client_of(database) as client:
        client.resume_schedule(row.name)


def remove_schedule(database: sa.Engine, name: str) -> None:
    """Delete a schedule and the records of its occurrences. Results stay, and a running matrix
    continues. Raises UnknownName."""
    row = find_schedule(database, name)
    remove_row(database, row.name)
    with clocks.client_of(database) as client:
        client.delete_schedule(row.name)  # an unknown name changes nothing


def trigger(database: sa.Engine, name: str, *, now: datetime) -> Occurrence:
    """Queue an occurrence for now, also while the schedule is paused; it begins after the one that
    runs. Raises UnknownName."""
    find_schedule(database, name)
    occurrence = _queued(name, iso(now), "triggered by hand", now)
    with locked_schedule(database, name) as held:
        if held is not None:
            held.record([occurrence])
    return occurrence


def backfill(
    database: sa.Engine, name: str, start: str, end: str | None, *, now: datetime
) -> list[datetime]:
    """Queue the occurrences that were due from `start` up to `end` (ISO dates or times; in the
    schedule's timezone where they name none) and were not begun; they run one after the other.

    Returns the times, in the schedule's timezone. Raises UnknownName, or InvalidValue for times
    that cannot be read, that are in the wrong order or in the future, or too many.
    """
    find_schedule(database, name)
    clock = _clock(database, name)
    first = _moment("--since", start, clock.zone)
    last = now if end is None else _moment("--until", end, clock.zone)
    if last > now:
        raise InvalidValue(
            f"--until {end} is in the future",
            advice="leave --until out: a worker starts that time when it is due",
        )
    if first > last:
        raise InvalidValue(
            f"--since {start} is after {'--until ' + end if end else 'now'}",
            advice="type the earlier time first",
        )
    just_before = datetime.fromtimestamp(first.timestamp() - 1e-3, UTC)
    missed = [
        moment
        for moment in due(clock.cron, clock.zone, just_before, last, most=MOST_AT_ONCE + 1)
        if not comes_again(clock.cron, moment)
    ]
    if len(missed) > MOST_AT_ONCE:
        raise InvalidValue(
            f"it was missed more than {MOST_AT_ONCE} times", advice="choose a shorter range"
        )
    by_key = {iso(moment): moment for moment in missed}
    with locked_schedule(database, name) as held:
        if held is None:
            return []
        known = held.occurrences(among=by_key)
        again = [key for key in by_key if key not in known or known[key].state in _LEFT_OUT]
        for key in again:
            if key in known:
                held.change(key, {"state": "queued", "reason": _ASKED, "campaign_id": None})
            else:
                held.record([_queued(name, key, _ASKED, now)])
    return [by_key[key] for key in again]


def _queued(name: str, at: str, reason: str, now: datetime) -> Occurrence:
    return Occurrence(
        schedule=name, scheduled_for=at, state="queued", reason=reason, recorded_at=iso(now)
    )


def _moment(flag: str, text: str, zone: str) -> datetime:
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidValue(
            f"{flag} {text!r} is not a time", advice="write 2026-11-01 or 2026-11-01T03:30"
        ) from error
    return read if read.tzinfo else read.replace(tzinfo=check_zone(zone))


def _clock(database: sa.Engine, name: str) -> ScheduleClock:
    clock = clocks.clocks(database).get(name)
    if clock is None:
        raise InvalidValue(
            f"schedule {name!r} was only half removed",
            advice=f"remove it with 'diskbench schedule remove {name}', or add it again",
        )
    return clock


def schedule_statuses(
    database: sa.Engine, *, now: datetime, upcoming_ones: int = 1, past: int = 1
) -> list[ScheduleStatus]:
    """The current state of every schedule: its next times, and its last occurrences."""
    rows = list_schedules(database)
    known = clocks.clocks(database) if rows else {}
    queued = queued_occurrences(database)

    def status(row: ScheduleRow, clock: ScheduleClock) -> ScheduleStatus:
        coming = [] if clock.paused else upcoming(clock.cron, clock.zone, now, upcoming_ones)
        occurrences = occurrences_of(database, row.name, most=past)
        begun = [occurrence.campaign_id for occurrence in occurrences if occurrence.campaign_id]
        progress = progress_of(database, begun)

        def followed(occurrence: Occurrence) -> Occurrence:
            state, counts = progress.get(occurrence.campaign_id or "", (None, {}))
            return occurrence.model_copy(update={"campaign_state": state, "counts": counts})

        return ScheduleStatus(
            **row.model_dump(exclude={"folder", "text", "watched_until"}),
            cron=clock.cron,
            timezone=clock.zone,
            paused=clock.paused,
            next=tuple(moment.isoformat() for moment in coming),
            waiting=queued[row.name],
            occurrences=tuple(map(followed, occurrences)),
        )

    return [status(row, known[row.name]) for row in rows if row.name in known]
