"""Rows that do not follow from the files of a run, stored as records in the evidence store, so that
a database can be rebuilt from the evidence alone (store/restore.py).

    leases/<lease_id>/lease.json          when something was rented or made, and given back
    trials/<trial_id>/trial.json          where the time of a trial went, and the cell it was for
    matrices/<campaign_id>/matrix.json    a matrix, its cells and its machines

Unlike the files of a run, these records hold a changing state and are overwritten when it changes.
The writer of a record reads the rows again afterwards, so that of two writers the later rows
remain.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict
from sqlalchemy.engine import Engine

from diskbench.errors import KeyTaken
from diskbench.model.campaign import CellRow
from diskbench.ports import EvidenceStore
from diskbench.store import schema
from diskbench.store.cells import matrix_cell_of_trial
from diskbench.store.database import transaction
from diskbench.store.leases import Lease
from diskbench.store.timings import load_timing

LEASES, TRIALS, MATRICES = "leases", "trials", "matrices"
FORMAT: Literal[1] = 1
_TRIES = 5
"""How often a record is written again because its rows changed meanwhile; our choice."""
_CELLS_AT_ONCE = 500
"""Cells of a matrix that are read together; our choice."""
_NO_CELL = '\n "cells": []'
_FIRST_CELL = '\n "cells": ['
_AFTER_LAST_CELL = '\n ],\n "machines": []\n}'
"""Where the text of a record, which no value can look like, has its cells."""


class _Record(BaseModel):
    """Unknown fields are ignored when read, because a later diskbench only ever adds some."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class LeaseRecord(_Record):
    """`lease.json`: the row of a lease (store/leases.py)."""

    format: Literal[1] = FORMAT
    lease: dict[str, Any]


class TrialRecord(_Record):
    """`trial.json`. `seconds` are those of `results show --timing`, in their order; `cell` is the
    row of the trial's cell, None for a trial without a matrix."""

    format: Literal[1] = FORMAT
    trial_id: str
    seconds: dict[str, float] = {}
    cell: dict[str, Any] | None = None


class MatrixRecord(_Record):
    """`matrix.json`: the rows of a matrix, its cells in order, and the machines they shared."""

    format: Literal[1] = FORMAT
    matrix: dict[str, Any]
    cells: tuple[dict[str, Any], ...] = ()
    machines: tuple[dict[str, Any], ...] = ()


def lease_key(lease_id: str) -> str:
    """The key of the record of a lease."""
    return f"{LEASES}/{lease_id}/lease.json"


def trial_key(trial_id: str) -> str:
    """The key of the record of a trial."""
    return f"{TRIALS}/{trial_id}/trial.json"


def matrix_key(campaign_id: str) -> str:
    """The key of the record of a matrix."""
    return f"{MATRICES}/{campaign_id}/matrix.json"


def keep_lease(evidence: EvidenceStore, lease: Lease) -> None:
    """Write the record of a lease. Raises StoreUnavailable."""
    record = LeaseRecord(lease=lease.model_dump(mode="json"))
    evidence.replace(lease_key(lease.lease_id), _json(record))


def keep_trial(
    database: Engine, evidence: EvidenceStore, trial_id: str, ending: CellRow | None = None
) -> None:
    """Write the record of an ended trial; its cell is `ending` (the row that is about to be saved),
    else the row in the database. Raises StoreUnavailable."""

    def read() -> bytes:
        cell = ending or matrix_cell_of_trial(database, trial_id)
        record = TrialRecord(
            trial_id=trial_id,
            seconds=load_timing(database, trial_id),
            cell=cell.model_dump(mode="json") if cell else None,
        )
        return _json(record)

    _keep(evidence, trial_key(trial_id), read)


def keep_begun_matrix(database: Engine, evidence: EvidenceStore, campaign_id: str) -> None:
    """Write the record of a matrix unless there is one: of the processes that serve it one builds
    it, the others ask for its key. Raises StoreUnavailable."""
    key = matrix_key(campaign_id)
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
    _keep(
        evidence,
        matrix_key(campaign_id),
        lambda: _matrix_json(database, campaign_id, ending or {}),
    )


def _matrix_json(database: Engine, campaign_id: str, ending: Mapping[str, object]) -> bytes:
    """The record of a matrix from its rows. Cells are read and written page by page, so that no
    more than their text is in memory at once."""
    cells: list[str] = []
    with transaction(database) as connection:

        def rows(query: sa.Select[Any], table: sa.Table) -> tuple[dict[str, Any], ...]:
            mine = query.where(table.c.campaign_id == campaign_id)
            rows = connection.execute(mine.order_by(*table.primary_key.columns))
            return tuple(dict(row) for row in rows.mappings())

        (matrix,) = rows(sa.select(schema.matrix), schema.matrix)
        machines = rows(sa.select(schema.machine), schema.machine)
        cell, last = schema.cell, -1
        while page := rows(
            sa.select(cell).where(cell.c.position > last).limit(_CELLS_AT_ONCE), cell
        ):
            last = page[-1]["position"]
            of_page = MatrixRecord(matrix={}, cells=page).model_dump_json(indent=1)
            cells.append(of_page.partition(_FIRST_CELL)[2].removesuffix(_AFTER_LAST_CELL))
    record = MatrixRecord(matrix=matrix | dict(ending), machines=machines)
    before, none, after = record.model_dump_json(indent=1).partition(_NO_CELL)
    between = f"{_FIRST_CELL}{','.join(cells)}\n ]" if cells else none
    return f"{before}{between}{after}".encode()


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


def _json(record: _Record) -> bytes:
    return record.model_dump_json(indent=1).encode()
