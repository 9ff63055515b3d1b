"""Rows that do not follow from the files of a run, stored as records in the evidence store, so that
a database can be rebuilt from the evidence alone.

    leases/<lease_id>/lease.json          when something was rented or made, and given back
    trials/<trial_id>/trial.json          where the time of a trial went, and the cell it was for
    matrices/<campaign_id>/matrix.json    a matrix, its cells and its machines

Unlike the files of a run, these records hold a changing state and are overwritten when it changes.
The writer of a record reads the rows again afterwards, so that of two writers the later rows
remain.

Restoring them, a row that a database has counts for more than its record: only what is missing is
added, and a matrix that is over in the database is brought to what its record says. A matrix whose
record does not say that it ended is over in a database that is made of evidence, because no process
works on it there. Its cells have the ends that their trials' records contain, the others are
`cancelled`.
"""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from pydantic import Field
from sqlalchemy.engine import Connection, Engine

from diskbench.errors import DiskbenchError, EvidenceDamaged, KeyTaken, StoreUnavailable
from diskbench.model.campaign import CellRow
from diskbench.ports import EvidenceStore
from diskbench.store import schema
from diskbench.store.archive import parse_record, record_json
from diskbench.store.campaigns import matrix_cell_of_trial
from diskbench.store.database import transaction
from diskbench.store.database_errors import ABOUT_THE_ROWS
from diskbench.store.dialects import insert_missing, ulid_time, upsert
from diskbench.store.leases import Lease
from diskbench.store.manifest import FORMAT, Record
from diskbench.store.rows import load_timing

LEASES, TRIALS, MATRICES = "leases", "trials", "matrices"
_FILES = {LEASES: "lease.json", TRIALS: "trial.json", MATRICES: "matrix.json"}

_TRIES = 5
"""How often a record is written again because its rows changed meanwhile; our choice."""


class LeaseRecord(Record):
    """`lease.json`: the row of a lease (store/leases.py)."""

    format: Literal[1] = FORMAT
    lease: dict[str, Any]


class TimingRecord(Record):
    """`trial.json`. `seconds` are those of `results show --timing`, in their order; `cell` is the
    row of the trial's cell, None for a trial without a matrix."""

    format: Literal[1] = FORMAT
    trial_id: str
    seconds: dict[str, float] = Field(default_factory=dict)
    cell: dict[str, Any] | None = None


class MatrixRecord(Record):
    """`matrix.json`: the rows of a matrix, its cells in order, and the machines they shared."""

    format: Literal[1] = FORMAT
    matrix: dict[str, Any]
    cells: tuple[dict[str, Any], ...] = ()
    machines: tuple[dict[str, Any], ...] = ()


def record_key(folder: str, name: str) -> str:
    """The key of the record of a lease, trial or matrix."""
    return f"{folder}/{name}/{_FILES[folder]}"


def keep_lease(evidence: EvidenceStore, lease: Lease) -> None:
    """Write the record of a lease. Raises StoreUnavailable."""
    record = LeaseRecord(lease=lease.model_dump(mode="json"))
    evidence.replace(record_key(LEASES, lease.lease_id), record_json(record))


def keep_trial(
    database: Engine, evidence: EvidenceStore, trial_id: str, ending: CellRow | None = None
) -> None:
    """Write the record of an ended trial; its cell is `ending` (the row that is about to be saved),
    else the row in the database. Raises StoreUnavailable."""

    def read() -> bytes:
        cell = ending or matrix_cell_of_trial(database, trial_id)
        record = TimingRecord(
            trial_id=trial_id,
            seconds=load_timing(database, trial_id),
            cell=cell.model_dump(mode="json") if cell else None,
        )
        return record_json(record)

    _keep(evidence, record_key(TRIALS, trial_id), read)


def keep_begun_matrix(database: Engine, evidence: EvidenceStore, campaign_id: str) -> None:
    """Write the record of a matrix unless there is one: of the processes that serve it one builds
    it, the others ask for its key. Raises StoreUnavailable."""
    key = record_key(MATRICES, campaign_id)
    if key in evidence.list(f"{MATRICES}/{campaign_id}"):
        return
    with contextlib.suppress(KeyTaken):  # another process wrote it meanwhile, or its end
        evidence.put(key, _matrix_json(database, campaign_id, {}))


def keep_matrix(
    database: Engine,
    evidence: EvidenceStore,
    campaign_id: str,
    *,
    ending: Mapping[str, object] | None = None,
) -> None:
    """Write the record of a matrix from its rows; the columns of `ending`, which are about to be
    saved, replace those of its row. Raises StoreUnavailable."""
    record = partial(_matrix_json, database, campaign_id, ending or {})
    _keep(evidence, record_key(MATRICES, campaign_id), record)


def _matrix_json(database: Engine, campaign_id: str, ending: Mapping[str, object]) -> bytes:
    """The record of a matrix from its rows."""
    with transaction(database) as connection:

        def rows(table: sa.Table) -> tuple[dict[str, Any], ...]:
            mine = sa.select(table).where(table.c.campaign_id == campaign_id)
            found = connection.execute(mine.order_by(*table.primary_key.columns))
            return tuple(dict(row) for row in found.mappings())

        (matrix,) = rows(schema.matrix)
        record = MatrixRecord(
            matrix=matrix | dict(ending), cells=rows(schema.cell), machines=rows(schema.machine)
        )
    return record_json(record)


def forget_trial(evidence: EvidenceStore, trial_id: str) -> None:
    """Delete the records, if any, of a trial whose runs are deleted."""
    evidence.delete(f"{LEASES}/{trial_id}")
    evidence.delete(f"{TRIALS}/{trial_id}")


def forget_matrix(evidence: EvidenceStore, campaign_id: str) -> None:
    """Delete the record, if any, of a matrix whose trials are all deleted."""
    evidence.delete(f"{MATRICES}/{campaign_id}")


def _keep(evidence: EvidenceStore, key: str, read: Callable[[], bytes]) -> None:
    record = read()
    for _ in range(_TRIES):
        evidence.replace(key, record)
        written, record = record, read()
        if record == written:
            return


_RecordT = TypeVar("_RecordT", bound=Record)
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
        folder: str, kind: type[_RecordT], put: Callable[[Connection, _RecordT], None]
    ) -> None:
        for name in evidence.folders(folder):
            key = record_key(folder, name)
            try:
                record = parse_record(kind, evidence.get(key), key)
                with transaction(database) as connection:
                    put(connection, record)
            except (KeyError, TypeError, ValueError) as error:
                unreadable = EvidenceDamaged(
                    f"evidence: {key} does not hold the rows that it should: {error}",
                    advice="restore it from a copy of the store; the other records are not "
                    "affected",
                )
                failed.append((key, unreadable))
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, ABOUT_THE_ROWS):
                    raise
                failed.append((key, error))
            except DiskbenchError as error:
                failed.append((key, error))

    attempts: dict[tuple[str, int], CellRow] = {}

    def put_lease(connection: Connection, record: LeaseRecord) -> None:
        known = {name: value for name, value in record.lease.items() if name in Lease.model_fields}
        row = Lease.model_validate(known).model_dump(mode="json")
        insert_missing(connection, schema.lease, [row])

    def put_trial(connection: Connection, record: TimingRecord) -> None:
        _put_timing(connection, record)
        if record.cell is not None:
            cell = _cell_row(record.cell)
            place = (cell.campaign_id, cell.position)
            if place not in attempts or _reach(attempts[place]) < _reach(cell):
                attempts[place] = cell

    each(LEASES, LeaseRecord, put_lease)
    each(TRIALS, TimingRecord, put_trial)
    each(MATRICES, MatrixRecord, partial(_put_matrix, attempts=attempts))
    return failed


def _put_timing(connection: Connection, record: TimingRecord) -> None:
    """The timing of a trial that has rows and no timing yet."""
    trial, timing = schema.trial, schema.timing
    of_trial = sa.select(trial.c.trial_id).where(trial.c.trial_id == record.trial_id)
    known = sa.select(timing.c.name).where(timing.c.trial_id == record.trial_id)
    has_trial = connection.execute(of_trial).first() is not None
    if not has_trial or connection.execute(known).first() is not None:
        return
    rows = [
        {"trial_id": record.trial_id, "name": name, "position": position, "seconds": seconds}
        for position, (name, seconds) in enumerate(record.seconds.items())
    ]
    insert_missing(connection, schema.timing, rows)


def _put_matrix(
    connection: Connection, record: MatrixRecord, attempts: Mapping[tuple[str, int], CellRow]
) -> None:
    matrix = _row_of(schema.matrix, record.matrix)
    campaign_id = str(matrix["campaign_id"])
    state = connection.execute(
        sa.select(schema.matrix.c.state).where(schema.matrix.c.campaign_id == campaign_id)
    ).scalar_one_or_none()
    if state not in (None, "done"):
        return  # it runs here
    cells = [_cell_row(row) for row in record.cells]
    if matrix["state"] != "done":
        if state is not None:
            return
        cells = [_ended(cell, attempts.get((campaign_id, cell.position))) for cell in cells]
        ends = [cell.finished_at for cell in cells if cell.finished_at is not None]
        matrix |= {"state": "done", "finished_at": max(ends, default=matrix["created_at"])}
    upsert(connection, schema.matrix, [matrix])
    upsert(connection, schema.cell, [cell.model_dump(mode="json") for cell in cells])
    machines = [_row_of(schema.machine, row) for row in record.machines]
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


def _cell_row(row: Mapping[str, Any]) -> CellRow:
    return CellRow.model_validate({k: v for k, v in row.items() if k in CellRow.model_fields})


def _row_of(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that this version knows, each with a value."""
    return {column.name: row.get(column.name) for column in table.c}
