"""An occurrence of a schedule, from its due time to the matrix that it begins; and the thread of a
worker that begins those that are due.

Any worker records a due occurrence, once (`arrive`); any worker begins the occurrences that wait,
one at a time per schedule (`begin_next`). Both decide under the schedule's lock, and a matrix's id
follows from schedule and time, so that a repetition by two workers or after a crash has no effect.
"""

import dataclasses
import hashlib
import logging
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa
from ulid import ULID

from diskbench.catalog.books import Books
from diskbench.engine.durable import schedules
from diskbench.engine.durable.schedules import ScheduleClock
from diskbench.engine.matrix.campaign import begin_campaign, check_prices
from diskbench.engine.matrix.matrix_file import MatrixFile, outlook_of, read_matrix
from diskbench.engine.processes import living
from diskbench.errors import DiskbenchError, StoreUnavailable
from diskbench.model.ids import short
from diskbench.model.schedule import Occurrence, ScheduleRow
from diskbench.plan.cron import becomes, due
from diskbench.plan.outlook import BlockOutlook, MatrixOutlook, out_of_reach, with_expected
from diskbench.results.refreshed_catalogue import open_books
from diskbench.store.dialects import iso
from diskbench.store.executors import list_executors
from diskbench.store.schedules import (
    LockedSchedule,
    list_schedules,
    locked_schedule,
    queued_occurrences,
    set_watched,
)

log = logging.getLogger(__name__)

MOST_MISSED = 100
"""The most missed times that are recorded, the newest ones; our choice."""
_WRITTEN_EVERY = timedelta(minutes=5)
"""Interval between writes of the time up to which a schedule was watched, where none was missed."""
LOOK_EVERY_S = 10.0
"""Seconds between checks for occurrences that wait or were missed; our choice."""
HEARD_BY_NOW = timedelta(seconds=30)
"""DBOS fires up to 10 s late, by its own design; an occurrence that is later than this was missed.
"""


def arrive(
    database: sa.Engine, clock: ScheduleClock, at: datetime, *, now: datetime
) -> Occurrence | None:
    """Record that an occurrence is due, and its state; an existing record is left unchanged.

    Returns the stored occurrence, None when the schedule was removed.
    """
    with locked_schedule(database, clock.name) as held:
        if held is None:
            return None
        key = iso(at)
        known = held.occurrences(among=[key]).get(key)
        if known is not None:
            return known
        state, reason = becomes(
            held.row, clock.cron, clock.zone, at, now=now, paused=clock.paused, busy=_busy(held)
        )
        occurrence = Occurrence(
            schedule=clock.name, scheduled_for=key, state=state, reason=reason, recorded_at=iso(now)
        )
        held.record([occurrence])
        return occurrence


def catch_up(
    database: sa.Engine, clock: ScheduleClock, row: ScheduleRow, *, until: datetime, now: datetime
) -> list[Occurrence]:
    """Record the occurrences that were due up to `until` and missed, because no worker ran, the
    database was away or the machine slept. A paused schedule misses nothing."""
    since = datetime.fromisoformat(row.watched_until)
    if clock.paused or until <= since:
        return []
    missed = due(clock.cron, clock.zone, since, until, most=MOST_MISSED)
    recorded = [arrive(database, clock, at, now=now) for at in missed]
    if missed or until - since > _WRITTEN_EVERY:
        set_watched(database, row.name, iso(until))
    return [occurrence for occurrence in recorded if occurrence is not None]


def begin_next(
    database: sa.Engine, name: str, *, owner: str, alive: Collection[str]
) -> Occurrence | None:
    """Begin the oldest occurrence that waits, unless an earlier one of the schedule still runs or
    another live process begins one. Returns the updated occurrence, None where none was begun.

    Raises StoreUnavailable; the occurrence then waits for the next call.
    """
    with locked_schedule(database, name) as held:
        if held is None:
            return None
        waiting, running = list(held.occurrences().values()), held.open_campaign()
        if running is not None:
            # One may have been begun whose process died before it could record that.
            for one in waiting:
                if campaign_id_of(one.schedule, one.scheduled_for) == running:
                    change = {"owner": None, "state": "begun", "campaign_id": running}
                    held.change(one.scheduled_for, change)
                    return one.model_copy(update=change)
            return None
        if not waiting or {one.owner for one in waiting} - {None, owner} & set(alive):
            return None
        chosen, schedule = waiting[0], held.row
        held.change(chosen.scheduled_for, {"owner": owner})
    change = _begin(database, schedule, chosen)
    with locked_schedule(database, name) as held:
        if held is None:
            return None
        held.change(chosen.scheduled_for, {"owner": None, **change})
    return chosen.model_copy(update={"owner": None, **change})


def _begin(database: sa.Engine, schedule: ScheduleRow, chosen: Occurrence) -> dict[str, str | None]:
    """Begin an occurrence. Returns the columns to write: begun with its matrix, or failed with the
    reason."""
    campaign_id = campaign_id_of(schedule.name, chosen.scheduled_for)
    try:
        file = matrix_of(schedule)
        # The file's seed; else one that follows from the occurrence, so that two workers that begin
        # it at once order its cells alike.
        drawn = int.from_bytes(hashlib.sha256(campaign_id.encode()).digest()[:4])
        seed = drawn if file.matrix.seed is None else file.matrix.seed
        seen, _ = reached_outlook(file, open_books(), seed=seed)
        check_prices(seen)
        begin_campaign(
            database,
            file,
            seen,
            own_queue=False,
            schedule=schedule.name,
            scheduled_for=chosen.scheduled_for,
            campaign_id=campaign_id,
        )
    except StoreUnavailable:
        raise
    except DiskbenchError as error:
        return {"state": "failed", "reason": str(error)}
    except Exception as error:  # or it would be tried again for ever
        log.exception("schedule %s: a fault in diskbench", schedule.name)
        return {"state": "failed", "reason": f"a fault in diskbench: {error!r}"}
    return {"state": "begun", "campaign_id": campaign_id}


def matrix_of(schedule: ScheduleRow) -> MatrixFile:
    """The stored matrix with the schedule's budget and assumed price, and with the schedule's name
    as a label of every row. Raises MatrixError."""
    file = read_matrix(schedule.text, schedule.source, Path(schedule.folder))
    money = schedule.model_dump(
        include={"budget_usd", "assume_price_usd_per_hour"}, exclude_none=True
    )
    limits = file.matrix.limits.model_copy(update=money)
    labels = {"schedule": schedule.name, **file.matrix.labels}
    matrix = file.matrix.model_copy(update={"limits": limits, "labels": labels})
    return dataclasses.replace(file, matrix=matrix)


def reached_outlook(
    file: MatrixFile, books: Books, *, seed: int
) -> tuple[MatrixOutlook, list[BlockOutlook]]:
    """The outlook of a matrix before it begins, and the blocks whose provider cannot be reached
    from here. These are planned from the catalogue, and retried when their cells begin: a schedule
    has no second try before its next time."""
    seen = outlook_of(file, books, seed=seed, offline=False)
    unseen = out_of_reach(seen)
    if unseen:
        seen = with_expected(seen, outlook_of(file, books, seed=seed, offline=True))
    return seen, unseen


def campaign_id_of(name: str, scheduled_for: str) -> str:
    """The id of the matrix of one occurrence: a ULID of the occurrence's time, whose random bits
    are a digest of schedule and time."""
    moment = datetime.fromisoformat(scheduled_for).astimezone(UTC)
    milliseconds = int(moment.timestamp() * 1000)
    drawn = hashlib.sha256(f"{name} {scheduled_for}".encode()).digest()[:10]
    return str(ULID.from_bytes(milliseconds.to_bytes(6) + drawn)).lower()


def _busy(held: LockedSchedule) -> str | None:
    running = held.open_campaign()
    if running is not None:
        return f"matrix {short(running)} was still running"
    if held.occurrences():
        return "an earlier due time was still waiting"
    return None


class ScheduleWatch:
    """Records due and missed occurrences, and begins those that wait."""

    def __init__(
        self,
        database: sa.Engine,
        executor_id: str,
        *,
        begun: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database, self._me = database, executor_id
        self._begun, self._now = begun, now
        self._wake = threading.Event()

    def start(self) -> None:
        """Start the thread, which runs as long as the process; called after launch."""

        def watch() -> None:
            while True:
                self._wake.clear()
                try:
                    self.look()
                except DiskbenchError as error:
                    log.warning("schedules: %s", error.message)
                except Exception:  # a fault here must not end all schedules of this worker
                    log.exception("schedules: a fault in diskbench")
                self._wake.wait(LOOK_EVERY_S)

        threading.Thread(target=watch, name="schedules", daemon=True).start()

    def heard(self, name: str, at: datetime) -> None:
        """Called by DBOS when the schedule `name` is due."""
        clock = schedules.clocks(self._database).get(name)
        if clock is not None:
            _log(arrive(self._database, clock, at, now=self._now()))
            self._wake.set()

    def look(self) -> list[Occurrence]:
        """Record missed occurrences and begin those that wait. Returns the occurrences that were
        begun, or that failed to begin."""
        rows = list_schedules(self._database)
        clocks = schedules.clocks(self._database) if rows else {}
        now = self._now()
        until = now - HEARD_BY_NOW
        for row in rows:
            if row.name in clocks:
                for missed in catch_up(self._database, clocks[row.name], row, until=until, now=now):
                    _log(missed)
        all_begun = []
        for name in sorted(queued_occurrences(self._database)):
            alive = living(list_executors(self._database))
            if begun := begin_next(self._database, name, owner=self._me, alive=alive):
                _log(begun)
                all_begun.append(begun)
        if all_begun:
            self._begun()
        return all_begun


def _log(occurrence: Occurrence | None) -> None:
    if occurrence is not None:
        why = f": {occurrence.reason}" if occurrence.reason else ""
        words = (occurrence.schedule, occurrence.scheduled_for, occurrence.state, why)
        extra = {"campaign": occurrence.campaign_id} if occurrence.campaign_id else None
        log.info("schedule %s, %s: %s%s", *words, extra=extra)
