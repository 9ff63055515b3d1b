"""Schedules as DBOS keeps them: a cron expression, a timezone, and whether it is paused.

DBOS's scheduler only enqueues: at each due time it puts the workflow `occurrence` into the queue
`schedules`, to which only workers listen. (Every process that launches DBOS enqueues, even a plain
`diskbench run`; the workflow's id is made of schedule and time, so duplicates are dropped.)
What an occurrence leads to is decided in engine/schedule/scheduled_run.py.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dbos import DBOS, DBOSClient

from diskbench.engine.durable.serializer import JsonSerializer
from diskbench.store.database_errors import as_unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import sqlalchemy as sa

APPLICATION = "diskbench"
"""The name that owns workflows, queues and schedules in a database shared with other programs."""
QUEUE = "schedules"
"""Where due occurrences wait for a worker."""
POLL_S = 10.0
"""Seconds between a worker's checks for schedules that were added, changed, paused or removed."""
_QUEUE_POLL_S = 5.0
"""Seconds between a worker's looks for occurrences; DBOS fires them up to 10 s late itself."""
_WORKFLOW = "occurrence"
_PAUSED = "PAUSED"

_arrived: Callable[[str, datetime], None] | None = None


@dataclass(frozen=True)
class ScheduleClock:
    """The times at which a schedule is due: `cron` in the timezone `zone`; none while paused."""

    name: str
    cron: str
    zone: str
    paused: bool = False


def bind_schedules(arrived: Callable[[str, datetime], None]) -> None:
    """Set the function that this process calls when an occurrence is due; called once, before
    launch."""
    global _arrived
    _arrived = arrived


@DBOS.step(name="arrive")
def _arrive(name: str, due: str) -> None:
    if _arrived is None:
        raise RuntimeError("bind_schedules() was not called before the workflow ran")
    _arrived(name, datetime.fromisoformat(due))


@DBOS.workflow(name=_WORKFLOW)
def occurrence(due: str, name: str) -> None:
    """One due time of the schedule `name`; `due` is ISO 8601 with the offset of its timezone."""
    _arrive(name, due)


def listen() -> None:
    """Register the queue of occurrences; called after launch."""
    DBOS.register_queue(QUEUE, polling_interval_sec=_QUEUE_POLL_S, on_conflict="always_update")


def make_room(engine: sa.Engine) -> None:
    """Create DBOS's own tables where no process has run in this database yet."""
    with as_unavailable(engine, before_work=True):
        DBOS.migrate(engine.url.render_as_string(hide_password=False))


def keep_clock(engine: sa.Engine, clock: ScheduleClock) -> None:
    """Add or change a schedule; a paused schedule stays paused. The caller has checked the cron
    expression and the timezone (plan/cron.py)."""
    with client_of(engine) as client:
        client.apply_schedules(
            [
                {
                    "schedule_name": clock.name,
                    "workflow_name": _WORKFLOW,
                    "schedule": clock.cron,
                    "cron_timezone": clock.zone,
                    "context": clock.name,
                    "queue_name": QUEUE,
                }
            ]
        )


def clocks(engine: sa.Engine) -> dict[str, ScheduleClock]:
    """All schedules by name."""
    with client_of(engine) as client:
        known: list[Any] = list(client.list_schedules(workflow_name=_WORKFLOW))
    return {
        schedule["schedule_name"]: ScheduleClock(
            name=schedule["schedule_name"],
            cron=schedule["schedule"],
            zone=schedule["cron_timezone"] or "UTC",
            paused=schedule["status"] == _PAUSED,
        )
        for schedule in known
    }


def pause_clock(engine: sa.Engine, name: str) -> None:
    """Pause a schedule until it is resumed."""
    with client_of(engine) as client:
        client.pause_schedule(name)


def resume_clock(engine: sa.Engine, name: str) -> None:
    """Resume a paused schedule."""
    with client_of(engine) as client:
        client.resume_schedule(name)


def forget_clock(engine: sa.Engine, name: str) -> None:
    """Remove a schedule; an unknown name changes nothing."""
    with client_of(engine) as client:
        client.delete_schedule(name)


@contextmanager
def client_of(engine: sa.Engine) -> Iterator[DBOSClient]:
    """DBOS's client, which has no threads and needs no launch. Raises StoreUnavailable."""
    with as_unavailable(engine):
        client = DBOSClient(
            system_database_engine=engine,
            serializer=JsonSerializer(),
            application_name=APPLICATION,
            lazy=True,  # its first statement finds a database that is away
            retry_connection_errors=False,
        )
        try:
            yield client
        finally:
            client.destroy()
