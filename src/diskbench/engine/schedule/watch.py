"""The part of a worker that begins scheduled matrices: a thread of its own, because planning a
matrix calls clouds and may take long."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.durable import schedules
from diskbench.engine.matrix.executor import living
from diskbench.engine.schedule.scheduled_run import arrive, begin_next, catch_up
from diskbench.errors import DiskbenchError
from diskbench.store.claims import list_executors
from diskbench.store.schedules import list_schedules, schedules_with_queued

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa

    from diskbench.model.schedule import Occurrence

log = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0
"""Seconds between checks for occurrences that wait or were missed; our choice."""
HEARD_BY_NOW = timedelta(seconds=30)
"""DBOS fires up to 10 s late, by its own design; an occurrence that is later than this was missed.
"""


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

    def bind(self) -> None:
        """Register `heard` as the callback of DBOS; called before launch."""
        schedules.bind_schedules(self.heard)

    def start(self) -> None:
        """Start the thread, which runs as long as the process; called after launch."""
        threading.Thread(target=self._watch, name="schedules", daemon=True).start()

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
        for row in rows:
            if row.name in clocks:
                missed = catch_up(
                    self._database, clocks[row.name], row, until=now - HEARD_BY_NOW, now=now
                )
                for occurrence in missed:
                    _log(occurrence)
        all_begun = []
        for name in schedules_with_queued(self._database):
            alive = living(list_executors(self._database))
            begun = begin_next(self._database, name, owner=self._me, alive=alive)
            if begun is not None:
                _log(begun)
                all_begun.append(begun)
        if all_begun:
            self._begun()
        return all_begun

    def _watch(self) -> None:
        while True:
            self._wake.clear()
            try:
                self.look()
            except DiskbenchError as error:
                log.warning("schedules: %s", error.message)
            except Exception:  # a fault here must not end all schedules of this worker
                log.exception("schedules: a fault in diskbench")
            self._wake.wait(LOOK_EVERY_S)


def _log(occurrence: Occurrence | None) -> None:
    if occurrence is not None:
        why = f": {occurrence.reason}" if occurrence.reason else ""
        log.info(
            "schedule %s, %s: %s%s",
            occurrence.schedule,
            occurrence.scheduled_for,
            occurrence.state,
            why,
            extra={"campaign": occurrence.campaign_id} if occurrence.campaign_id else None,
        )
