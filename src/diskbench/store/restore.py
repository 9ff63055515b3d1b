"""Rows made again from the records that stand beside the runs (store/kept_rows.py).

A row that a database has counts for more than its record: only what is missing is added, and a
matrix that is over in the database is brought to what its record says. A matrix whose record does
not say that it ended is over in a database that is made of evidence, because no process works on it
there. Its cells have the ends that their trials' records contain, the others are `cancelled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import BaseModel
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import DiskbenchError, EvidenceDamaged, StoreUnavailable
from diskbench.model.campaign import CellRow
from diskbench.ports import EvidenceStore
from diskbench.store import kept_rows, schema
from diskbench.store.archive import parse_record
from diskbench.store.clock import ulid_time
from diskbench.store.database import transaction
from diskbench.store.database_errors import ABOUT_THE_ROWS
from diskbench.store.kept_rows import LeaseRecord, MatrixRecord, TrialRecord
from diskbench.store.leases import Lease
from diskbench.store.run_row import campaign_row
from diskbench.store.upsert import insert_missing, upsert

_RecordT = TypeVar("_RecordT", bound="BaseModel")
_LEFT = {
    "state": "cancelled",
    "error_kind": "NotRebuilt",
    "error": "not measured when this database was made from the evidence",
    "advice": "measure it in the database in which the matrix runs",
}


def restore(database: Engine, evidence: EvidenceStore) -> list[tuple[str, DiskbenchError]]:
    """Add the leases, timings, matrices, cells and machines in the records; returns the keys
    of records that cannot be read, and why. Raises StoreUnavailable for either store."""
    failed: list[tuple[str, DiskbenchError]] = []

    def each(
        folder: str,
        key_of: Callable[[str], str],
        kind: type[_RecordT],
        put: Callable[[Connection, _RecordT], None],
    ) -> None:
        for name in evidence.folders(folder):
            key = key_of(name)
            try:
                record = parse_record(kind, evidence.get(key), key)
                with transaction(database) as connection:
                    put(connection, record)
            except (KeyError, TypeError, ValueError) as error:
                failed.append((key, _unreadable(key, error)))
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, ABOUT_THE_ROWS):
                    raise
                failed.append((key, error))
            except DiskbenchError as error:
                failed.append((key, error))

    attempts: dict[tuple[str, int], CellRow] = {}

    def put_trial(connection: Connection, record: TrialRecord) -> None:
        _put_timing(connection, record)
        if record.cell is not None:
            cell = _cell(record.cell)
            place = (cell.campaign_id, cell.position)
            if place not in attempts or _reach(attempts[place]) < _reach(cell):
                attempts[place] = cell

    def put_matrix(connection: Connection, record: MatrixRecord) -> None:
        _put_matrix(connection, record, attempts)

    each(kept_rows.LEASES, kept_rows.lease_key, LeaseRecord, _put_lease)
    each(kept_rows.TRIALS, kept_rows.trial_key, TrialRecord, put_trial)
    each(kept_rows.MATRICES, kept_rows.matrix_key, MatrixRecord, put_matrix)
    return failed


def _unreadable(key: str, error: Exception) -> EvidenceDamaged:
    return EvidenceDamaged(
        f"evidence: {key} does not hold the rows that it should: {error}",
        advice="restore it from a copy of the store; the other records are not affected",
    )


def _put_lease(connection: Connection, record: LeaseRecord) -> None:
    known = {name: value for name, value in record.lease.items() if name in Lease.model_fields}
    row = Lease.model_validate(known).model_dump(mode="json")
    insert_missing(connection, schema.lease, [row])


def _put_timing(connection: Connection, record: TrialRecord) -> None:
    """The timing of a trial that has rows and no timing yet."""
    trial, timing = schema.trial, schema.timing
    of_trial = sa.select(trial.c.trial_id).where(trial.c.trial_id == record.trial_id)
    if connection.execute(of_trial).first() is None:
        return
    known = sa.select(timing.c.name).where(timing.c.trial_id == record.trial_id)
    if connection.execute(known).first() is not None:
        return
    rows = [
        {"trial_id": record.trial_id, "name": name, "position": position, "seconds": seconds}
        for position, (name, seconds) in enumerate(record.seconds.items())
    ]
    insert_missing(connection, schema.timing, rows)


def _put_matrix(
    connection: Connection, record: MatrixRecord, attempts: Mapping[tuple[str, int], CellRow]
) -> None:
    matrix = _of(schema.matrix, record.matrix)
    campaign_id = str(matrix["campaign_id"])
    state = connection.execute(
        sa.select(schema.matrix.c.state).where(schema.matrix.c.campaign_id == campaign_id)
    ).scalar_one_or_none()
    if state not in (None, "done"):
        return  # it runs here
    cells = [_cell(row) for row in record.cells]
    if matrix["state"] != "done":
        if state is not None:
            return
        cells = [_ended(cell, attempts.get((campaign_id, cell.position))) for cell in cells]
        ends = [cell.finished_at for cell in cells if cell.finished_at is not None]
        matrix |= {"state": "done", "finished_at": max(ends, default=matrix["created_at"])}
    insert_missing(connection, schema.campaign, [campaign_row(campaign_id)])
    upsert(connection, schema.matrix, [matrix])
    upsert(connection, schema.cell, [cell.model_dump(mode="json") for cell in cells])
    machines = [_of(schema.machine, row) for row in record.machines]
    lease = schema.lease.c.lease_id
    named = sa.select(lease).where(lease.in_([row["lease_id"] for row in machines]))
    known = set(connection.execute(named).scalars())
    upsert(connection, schema.machine, [row for row in machines if row["lease_id"] in known])


def _reach(cell: CellRow) -> tuple[int, bool]:
    """How far an attempt came: a cell that was stopped has its attempt again."""
    return cell.attempt, cell.finished_at is not None


def _ended(cell: CellRow, attempt: CellRow | None) -> CellRow:
    """The cell of a matrix that did not end, as far as its newest attempt is known."""
    newest = attempt if attempt is not None and attempt.attempt >= cell.attempt else cell
    if newest.finished_at is not None:
        return newest
    moment = newest.started_at or newest.queued_at or ulid_time(cell.campaign_id)
    return newest.model_copy(update={**_LEFT, "owner": None, "finished_at": moment})


def _cell(row: Mapping[str, Any]) -> CellRow:
    return CellRow.model_validate({k: v for k, v in row.items() if k in CellRow.model_fields})


def _of(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that this version knows, each with a value."""
    return {column.name: row.get(column.name) for column in table.c}
