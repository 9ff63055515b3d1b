"""Schedules: the matrix of each, and its occurrences."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import check_known
from diskbench.model.campaign import CampaignState, CellState
from diskbench.model.schedule import Occurrence, ScheduleRow
from diskbench.store import schema
from diskbench.store.database import change, fetch, fetch_as, transaction
from diskbench.store.dialects import insert_missing, now, upsert


def save_schedule(database: Engine, row: ScheduleRow) -> None:
    """Write a schedule, or change the one of that name."""
    with transaction(database) as connection:
        upsert(connection, schema.schedule, [row.model_dump(mode="json")])


def list_schedules(database: Engine) -> list[ScheduleRow]:
    """All schedules, by name."""
    query = sa.select(schema.schedule).order_by(schema.schedule.c.name)
    return fetch_as(database, ScheduleRow, query)


def find_schedule(database: Engine, name: str) -> ScheduleRow:
    """The schedule of that name. Raises UnknownName."""
    known = {schedule.name: schedule for schedule in list_schedules(database)}
    check_known("schedule", name, known)
    return known[name]


def remove_schedule(database: Engine, name: str) -> None:
    """Remove a schedule and its occurrences; matrices that it began stay."""
    change(database, sa.delete(schema.schedule).where(schema.schedule.c.name == name))


def set_watched(database: Engine, name: str, until: str) -> None:
    """Due times up to `until` need not be looked at again."""
    table = schema.schedule
    change(database, sa.update(table).where(table.c.name == name).values(watched_until=until))


def occurrences_of(database: Engine, name: str, *, most: int) -> list[Occurrence]:
    """The newest occurrences of a schedule, the newest first."""
    table = schema.occurrence
    query = sa.select(table).where(table.c.schedule == name).limit(most)
    return fetch_as(database, Occurrence, query.order_by(table.c.scheduled_for.desc()))


def queued_occurrences(database: Engine) -> Counter[str]:
    """How many occurrences of each schedule wait to be begun; no entry where none does."""
    table = schema.occurrence.c
    query = sa.select(table.schedule).where(table.state == "queued")
    return Counter(name for (name,) in fetch(database, query))


def progress_of(
    database: Engine, campaign_ids: Sequence[str]
) -> dict[str, tuple[CampaignState, dict[CellState, int]]]:
    """The state of each of these matrices, and how many of its cells are in which."""
    matrix, cell = schema.matrix, schema.cell
    query = (
        sa.select(matrix.c.campaign_id, matrix.c.state, cell.c.state, sa.func.count())
        .join(cell, cell.c.campaign_id == matrix.c.campaign_id)
        .where(matrix.c.campaign_id.in_(campaign_ids))
        .group_by(matrix.c.campaign_id, matrix.c.state, cell.c.state)
    )
    progress: dict[str, tuple[CampaignState, dict[CellState, int]]] = {}
    for campaign_id, campaign_state, cell_state, count in fetch(database, query):
        progress.setdefault(campaign_id, (campaign_state, {}))[1][cell_state] = count
    return progress


class LockedSchedule:
    """A schedule whose occurrences no other process decides about while this is open."""

    def __init__(self, connection: Connection, row: ScheduleRow) -> None:
        self._connection, self.row = connection, row

    def occurrences(self, *, among: Collection[str] | None = None) -> dict[str, Occurrence]:
        """The occurrences that wait to be begun, oldest first, by their time; or those that were
        due at one of the times `among`."""
        table = schema.occurrence
        which = table.c.state == "queued" if among is None else table.c.scheduled_for.in_(among)
        query = sa.select(table).where(table.c.schedule == self.row.name, which)
        rows = self._connection.execute(query.order_by(table.c.scheduled_for)).mappings()
        return {row["scheduled_for"]: Occurrence.model_validate(dict(row)) for row in rows}

    def open_campaign(self) -> str | None:
        """The oldest matrix of this schedule that is not over."""
        matrix = schema.matrix
        mine = matrix.c.schedule == self.row.name, matrix.c.state != "done"
        oldest = sa.select(sa.func.min(matrix.c.campaign_id)).where(*mine)
        return self._connection.execute(oldest).scalar_one_or_none()

    def record(self, rows: Sequence[Occurrence]) -> None:
        """Add occurrences; those that are there already stay as they are."""
        columns = [column.name for column in schema.occurrence.columns]
        documents = [{name: getattr(row, name) for name in columns} for row in rows]
        insert_missing(self._connection, schema.occurrence, documents)

    def change(self, scheduled_for: str, values: Mapping[str, str | None]) -> None:
        """Change one occurrence."""
        table = schema.occurrence
        mine = table.c.schedule == self.row.name, table.c.scheduled_for == scheduled_for
        changed = {"recorded_at": now(), **values}
        self._connection.execute(sa.update(table).where(*mine).values(**changed))


@contextmanager
def locked_schedule(database: Engine, name: str) -> Iterator[LockedSchedule | None]:
    """Decide about a schedule alone; None if no schedule has that name (any more). The first
    thing done is a write, which locks the row on PostgreSQL and all of SQLite until the end."""
    table = schema.schedule
    mine = table.c.name == name
    with transaction(database) as connection:
        connection.execute(sa.update(table).where(mine).values(name=table.c.name))
        row = connection.execute(sa.select(table).where(mine)).mappings().one_or_none()
        yield LockedSchedule(connection, ScheduleRow.model_validate(dict(row))) if row else None
