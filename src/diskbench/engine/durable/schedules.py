"""What DBOS keeps for diskbench: schedules (a cron expression, a timezone, and whether it is
paused), values as JSON, and workflows until a while after their end.

DBOS's scheduler only enqueues: at each due time it puts the workflow `occurrence` into the queue
`schedules`, to which only workers listen. (Every process that launches DBOS enqueues, even a plain
`diskbench run`; the workflow's id is made of schedule and time, so duplicates are dropped.) What an
occurrence leads to is decided in engine/schedule/runs.py.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, Serializer
from pydantic import BaseModel

from diskbench.store.database import database_time
from diskbench.store.database_errors import as_unavailable
from diskbench.store.dialects import iso

APPLICATION = "diskbench"
"""The name that owns workflows, queues and schedules in a database shared with other programs."""
QUEUE = "schedules"
"""Where due occurrences wait for a worker."""
POLL_S = 10.0
"""Seconds between a worker's checks for schedules that were added, changed, paused or removed."""
_QUEUE_POLL_S = 5.0
"""Seconds between a worker's looks for occurrences; DBOS fires them up to 10 s late itself."""
_WORKFLOW = "occurrence"

_arrived: Callable[[str, datetime], None] | None = None
KEPT = timedelta(minutes=10)
"""How long a workflow that ended is kept: a process that took a cell over asks DBOS ten times a
second whether it ended. Our choice."""


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


def keep_clock(engine: sa.Engine, clock: ScheduleClock) -> None:
    """Add or change a schedule; a paused schedule stays paused. The caller has checked the cron
    expression and the timezone (plan/cron.py)."""
    with as_unavailable(engine, before_work=True):  # perhaps no process has run here yet
        DBOS.migrate(engine.url.render_as_string(hide_password=False))
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
            paused=schedule["status"] == "PAUSED",
        )
        for schedule in known
    }


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


class JsonSerializer(Serializer):
    """Serializes to JSON. Models are written as their documents, which the reader validates;
    exceptions as type and text, the scheduled time that DBOS passes to a workflow as ISO 8601 with
    its offset."""

    def serialize(self, data: object) -> str:
        """`data` as JSON."""

        def as_document(value: object) -> object:
            if isinstance(value, BaseModel):
                return value.model_dump(mode="json")
            if isinstance(value, BaseException):
                return {"error": type(value).__name__, "text": str(value)}
            if isinstance(value, datetime):
                return value.isoformat()
            raise TypeError(f"{type(value).__name__} cannot cross a checkpoint: pass plain JSON")

        return json.dumps(data, default=as_document, separators=(",", ":"))

    def deserialize(cls, serialized_data: str) -> object:  # noqa: N805 - DBOS names it so
        """The value that `serialize` wrote."""
        return json.loads(serialized_data)

    def name(self) -> str:
        """The name that DBOS stores with each value."""
        return "diskbench_json"


def forget_ended(database: sa.Engine, *, kept: timedelta = KEPT) -> int:
    """Remove workflows of cells that ended longer than `kept` ago, the oldest first; returns how
    many. Safe in several processes at once. Raises StoreUnavailable."""
    with client_of(database) as client:
        ended = client.list_workflows(
            name="cell",
            status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
            completed_before=iso(database_time(database) - kept),
            application_name=APPLICATION,
            limit=500,
            load_input=False,
            load_output=False,
        )
        client.delete_workflows([workflow.workflow_id for workflow in ended])
    return len(ended)
