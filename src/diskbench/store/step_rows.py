"""The rows of a run's steps: results and measurements."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.base import Frozen
from diskbench.model.result import Measurement, StepResult, Warning  # noqa: A004
from diskbench.parallel import grouped
from diskbench.store import schema
from diskbench.store.database import one_statement, transaction
from diskbench.store.dialects import insert_missing, upsert
from diskbench.store.query import chunks

Row = Mapping[str, Any]


def save_step(database: Engine, run_id: str, result: StepResult) -> None:
    """All rows of one finished step, in place of any that its index had."""
    of_step = {"run_id": run_id, "step_index": result.step_index}
    with transaction(database) as connection:
        for table in (schema.measurement, schema.warning):
            connection.execute(sa.delete(table).filter_by(**of_step))
        write_steps(connection, {run_id: (result,)})


def write_steps(connection: Connection, runs: Mapping[str, Sequence[StepResult]]) -> None:
    """The rows of the steps of runs, by their ids, inside the caller's transaction. None of the
    steps has measurements or warnings yet."""
    steps = [(run_id, result) for run_id, results in runs.items() for result in results]
    own = [
        {"run_id": run_id, **result.model_dump(exclude={"measurements", "warnings"})}
        for run_id, result in steps
    ]
    upsert(connection, schema.step, own)
    for table, field in ((schema.measurement, "measurements"), (schema.warning, "warnings")):
        rows = [
            row.model_dump()
            | {"run_id": run_id, "step_index": result.step_index, "position": position}
            for run_id, result in steps
            for position, row in enumerate(getattr(result, field))
        ]
        insert_missing(connection, table, rows)


def load_results(database: Engine, *run_ids: str) -> dict[str, tuple[StepResult, ...]]:
    """The finished steps of each run, in order, as they were saved."""
    results: dict[str, tuple[StepResult, ...]] = {}
    with one_statement(database) as connection:
        for chunk in chunks(run_ids):
            rows = [
                _by_run(connection, table, chunk)
                for table in (schema.step, schema.measurement, schema.warning)
            ]
            for run_id in chunk:
                results[run_id] = _results(*(by_run.get(run_id, []) for by_run in rows))
    return results


def _results(
    steps: Sequence[Row], measurements: Sequence[Row], warnings: Sequence[Row]
) -> tuple[StepResult, ...]:
    index = itemgetter("step_index")
    measured, doubts = grouped(measurements, index), grouped(warnings, index)
    return tuple(
        StepResult(
            **_fields(StepResult, step),
            # As they were checked when they were written: a thousand runs are read at a time.
            measurements=tuple(
                Measurement.model_construct(**_fields(Measurement, row))
                for row in measured.get(index(step), ())
            ),
            warnings=tuple(Warning(**_fields(Warning, row)) for row in doubts.get(index(step), ())),
        )
        for step in steps
    )


def _fields(noun: type[Frozen], row: Row) -> dict[str, Any]:
    return {name: row[name] for name in noun.model_fields if name in row}


def _by_run(
    connection: Connection, table: sa.Table, run_ids: Sequence[str]
) -> dict[str, list[Row]]:
    """The rows of several runs, those of each in the order in which they were made."""
    names = ("step_index", "position") if "position" in table.c else ("step_index",)
    query = sa.select(table).where(table.c.run_id.in_(run_ids))
    rows = connection.execute(query.order_by(*(table.c[name] for name in names))).mappings()
    return grouped(map(dict, rows), itemgetter("run_id"))
