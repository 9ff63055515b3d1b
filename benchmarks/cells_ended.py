"""Ends cells of a queued matrix without measuring them, so that workers measure only its last ones.

One worker measures the first cells. Every further one gets the rows of a measured cell of its block
(or of another, where none of its block was measured) with ids of its own: trial, run, step,
measurements, lease, figure, and how its cell ended. They are written with the functions of the
store. Evidence is not copied, so only commands that read rows see these cells.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from benchmarks.cells_counts import states
from benchmarks.chaos import Process
from sqlalchemy.engine import Connection, Engine

from diskbench.engine.ids import new_id
from diskbench.engine.matrix.cell_plan import run_ids
from diskbench.model.campaign import CellRow
from diskbench.store import schema
from diskbench.store.campaigns import list_campaigns
from diskbench.store.cells import load_cells
from diskbench.store.database import open_database, transaction
from diskbench.store.matrix_lock import locked
from diskbench.store.result_tables import STAMP
from diskbench.store.upsert import insert_missing

MEASURED_FIRST = 10
"""Cells that are measured, whose rows are copied: as many as the matrix has blocks."""
_AT_ONCE = 250
"""Cells whose rows are written together."""
_OF_A_TRIAL = (schema.trial, schema.run, schema.timing)
_OF_A_RUN = (schema.step, schema.measurement, schema.warning, schema.headline)
_OF_AN_ENDING = ("state", "attempt", "cost_usd", "expected_s", "hourly_usd")
_TIMES = ("queued_at", "started_at", "finished_at")
_Rows = dict[sa.Table, list[dict[str, Any]]]


def end_first(process: Process, database_url: str, count: int, within_s: float) -> set[str]:
    """End the first cells of the queued matrix, `count` with those that are measured for it;
    returns the ids of the trials that are copies. Ends the program where the worker does not end
    within `within_s` seconds."""
    worker = process.start("worker", "--name", "first", "--concurrency", "2", "--drain")
    deadline = time.monotonic() + within_s
    try:
        while states(database_url)["done"] < MEASURED_FIRST:
            if time.monotonic() > deadline or worker.poll() is not None:
                sys.exit(f"the first cells did not end:\n{process.end_of_log()}")
            time.sleep(0.2)
    finally:
        worker.terminate()
        worker.wait(within_s)
    engine = open_database(database_url)
    try:
        return _copy(engine, count)
    finally:
        engine.dispose()


def _copy(engine: Engine, count: int) -> set[str]:
    (matrix,) = list_campaigns(engine)
    cells = load_cells(engine, matrix.campaign_id)
    ended = [cell for cell in cells if cell.state == "done"]
    waiting = [cell for cell in cells if cell.state == "waiting"][: max(0, count - len(ended))]
    templates = {cell.block: (cell, _rows_of(engine, cell)) for cell in ended}
    copies: dict[int, tuple[str, CellRow]] = {}
    for start in range(0, len(waiting), _AT_ONCE):
        with transaction(engine) as connection:
            rows: _Rows = {}
            for cell in waiting[start : start + _AT_ONCE]:
                template, template_rows = templates.get(cell.block, next(iter(templates.values())))
                trial_id = new_id()
                copies[cell.position] = (trial_id, template)
                for table, copied in _renamed(template_rows, template, trial_id).items():
                    rows.setdefault(table, []).extend(copied)
            for table, copied in rows.items():
                insert_missing(connection, table, copied)
    with locked(engine, matrix.campaign_id) as held:
        for position, (trial_id, template) in copies.items():
            fields = {name: getattr(template, name) for name in (*_OF_AN_ENDING, *_TIMES)}
            held.set_cell(position, **fields, trial_id=trial_id)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM (ANALYZE)")  # as PostgreSQL does by itself after a while
    return {trial_id for trial_id, _ in copies.values()}


def _rows_of(engine: Engine, cell: CellRow) -> _Rows:
    """All rows of the trial of a measured cell, in the order in which they can be written."""
    assert cell.trial_id is not None
    with engine.connect() as connection:
        rows = {schema.lease: _rows(connection, schema.lease, "lease_id", [cell.trial_id])}
        for table in _OF_A_TRIAL:
            rows[table] = _rows(connection, table, "trial_id", [cell.trial_id])
        names = [row["run_id"] for row in rows[schema.run]]
        for table in _OF_A_RUN:
            rows[table] = _rows(connection, table, "run_id", names)
    return rows


def _rows(
    connection: Connection, table: sa.Table, column: str, values: Sequence[str]
) -> list[dict[str, Any]]:
    query = sa.select(table).where(table.c[column].in_(values))
    return [dict(row) for row in connection.execute(query).mappings()]


def _renamed(rows: _Rows, template: CellRow, trial_id: str) -> _Rows:
    """The rows with the id of another trial, and of its runs, wherever they stand. A stamp is left
    out: the store makes one for each row."""
    assert template.trial_id is not None
    runs = [row["run_id"] for row in rows[schema.run]]
    renamed = {template.trial_id: trial_id}
    renamed |= dict(zip(runs, run_ids(trial_id, len(runs)), strict=True))
    text = json.dumps({table.name: of_table for table, of_table in rows.items()})
    for old, new in renamed.items():
        text = text.replace(old, new)
    document = json.loads(text)
    return {
        table: [
            {name: value for name, value in row.items() if name != STAMP}
            for row in document[table.name]
        ]
        for table in rows
    }
