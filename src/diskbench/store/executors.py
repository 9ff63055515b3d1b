"""The live processes that may own cells: a row each, deleted when the process ends. The owner of a
trial is in the row of its cell (campaigns.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.store import schema
from diskbench.store.database import change, database_time, fetch, transaction
from diskbench.store.dialects import iso, present, upsert


@dataclass(frozen=True)
class Executor:
    """A process that may own trials. `process_started` distinguishes processes with the same pid.

    `queues` are the patterns that a worker serves, None for any other process; `concurrency` is the
    number of cells that it runs at once, None: as many as matrices allow; `secret_id` identifies
    its secret.
    """

    executor_id: str
    hostname: str
    pid: int
    process_started: str
    beat_at: str
    started_at: str | None = None
    version: str | None = None
    name: str | None = None
    queues: list[str] | None = None
    concurrency: int | None = None
    draining: bool | None = None
    secret_id: str | None = None
    seen_at: str | None = None
    """The database's time when the row was read; None for a row that was not read."""

    def silent_s(self) -> float:
        """Seconds since the last beat when the row was read, both by the database's clock."""
        if self.seen_at is None:
            return 0.0
        gone = datetime.fromisoformat(self.seen_at) - datetime.fromisoformat(self.beat_at)
        return gone.total_seconds()


def register_executor(
    database: Engine,
    executor_id: str,
    *,
    hostname: str,
    pid: int,
    process_started: str,
    version: str | None = None,
) -> None:
    """Register this process as alive and able to own trials."""
    moment = iso(database_time(database))
    row = {"executor_id": executor_id, "hostname": hostname, "pid": pid, "version": version}
    row |= {"process_started": process_started, "beat_at": moment, "started_at": moment}
    with transaction(database) as connection:
        upsert(connection, schema.executor, [row])


def describe_executor(database: Engine, executor_id: str, **values: object) -> None:
    """Set columns of a registered process: its `name`, `queues`, `concurrency`, and so on."""
    mine = schema.executor.c.executor_id == executor_id
    change(database, sa.update(schema.executor).where(mine).values(**values))


def beat(database: Engine, executor_id: str) -> bool:
    """Record that this process is still alive; False when it was declared dead and removed."""
    mine = schema.executor.c.executor_id == executor_id
    return change(database, sa.update(schema.executor).where(mine).values(beat_at=present())) == 1


def list_executors(database: Engine) -> Sequence[Executor]:
    """All processes that are registered, alive or silent."""
    names = [name for name in Executor.__dataclass_fields__ if name != "seen_at"]
    columns = [schema.executor.c[name] for name in names]
    query = sa.select(*columns, present()).order_by(schema.executor.c.executor_id)
    return [Executor(*row) for row in fetch(database, query)]


def remove_executor(database: Engine, executor_id: str) -> None:
    """Delete the row of a process that ended or is dead."""
    change(database, sa.delete(schema.executor).where(schema.executor.c.executor_id == executor_id))
