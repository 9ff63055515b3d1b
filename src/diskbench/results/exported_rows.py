"""Measurement rows and documents for other programs, in which no mean spans a cliff (MR-3).

Written run by run: what is in memory at a time is some hundred runs, however many are exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy.engine import Engine

from diskbench.analysis.row_figures import changed, counted, row_figures
from diskbench.model.run import (
    AFTER_CLIFF,
    MEASURED_FIELDS,
    RUN_FIELDS,
    MeasuredRow,
    own_columns,
    run_columns,
)
from diskbench.ports import EvidenceStore
from diskbench.results.phase_reader import courses_of, long_steps
from diskbench.store.document import results_document
from diskbench.store.export import (
    INDENTED_RUNS,
    csv_lines,
    json_lines,
    json_text,
    metrics_text,
    parquet_pieces,
)
from diskbench.store.query import chunks, find_measurements, find_run_ids, runs_by_id
from diskbench.store.step_rows import load_results
from diskbench.store.where import Filter

ExportFormat = Literal["csv", "json", "parquet", "prometheus", "openmetrics"]


def rows_as_csv(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    evidence: EvidenceStore | None = None,
) -> Iterator[str]:
    """CSV text of the rows that meet the filters, line by line, with a header. `evidence` is the
    store to read instead of each run's own."""
    fields = (*RUN_FIELDS, *MEASURED_FIELDS, AFTER_CLIFF)
    yield from csv_lines(_columns(database, filters, evidence, run_ids), fields)


def exported(
    database: Engine,
    kind: Literal["json", "parquet", "prometheus", "openmetrics"],
    filters: Sequence[Filter] = (),
    evidence: EvidenceStore | None = None,
    *,
    run_ids: Sequence[str] | None = None,
) -> Iterator[bytes]:
    """The bytes that `results export` writes of the runs that meet the filters, in pieces; of CSV
    see `rows_as_csv`. `run_ids` picks rows alone, and no document."""
    if kind == "json":
        yield from _document(database, filters, evidence)
    elif kind == "parquet":
        yield from parquet_pieces(_columns(database, filters, evidence, run_ids))
    else:
        yield metrics_text(_columns(database, filters, evidence), kind).encode()


def _columns(
    database: Engine,
    filters: Sequence[Filter],
    evidence: EvidenceStore | None,
    run_ids: Sequence[str] | None = None,
) -> Iterator[Mapping[str, Any]]:
    """The rows that meet the filters by the names of their columns, with those of their runs; the
    runs oldest first."""
    for chunk in chunks(find_run_ids(database, filters, run_ids=run_ids, oldest=True)):
        measured = find_measurements(database, filters, run_ids=chunk)
        for row, changes in cliff_safe_rows(database, measured, evidence):
            yield {**run_columns(row.run), **own_columns(row), **changes}


def _document(
    database: Engine, filters: Sequence[Filter], evidence: EvidenceStore | None
) -> Iterator[bytes]:
    """The results document, the newest run first."""

    run_ids = find_run_ids(database, filters)

    def parts() -> Iterator[Mapping[str, Any]]:
        for chunk in chunks(run_ids):
            runs = runs_by_id(database, chunk)
            courses = courses_of(database, find_measurements(database, run_ids=chunk), evidence)
            yield results_document(
                [runs[run_id] for run_id in chunk],
                load_results(database, *chunk),
                courses=courses.values(),
            )

    if len(run_ids) <= INDENTED_RUNS:
        empty = results_document([], {})
        yield json_text(next(parts(), empty)).encode()
    else:
        yield from (text.encode() for text in json_lines(parts()))
    yield b"\n"


_AS_COUNTED: Mapping[str, Any] = {AFTER_CLIFF: None}


def cliff_safe_rows(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> Iterator[tuple[MeasuredRow, Mapping[str, Any]]]:
    """Each row with the columns that are not as in the database: `after_cliff`, and the figures of
    a level.

    Where a step has several levels, IOPS and bytes a second of its rows are those of the level that
    the step's figure is taken from, divided by each row's share of the step's I/Os and bytes. A row
    whose own seconds contain a cliff gets no latencies, because fio's cover both sides. What fio
    counted (`ios`, `bytes`, `runtime_ns`) is unchanged.
    """
    long = long_steps(rows)
    if not long:
        yield from ((row, _AS_COUNTED) for row in rows)
        return
    courses = courses_of(database, long, evidence)
    figures = row_figures(counted(rows), courses) if courses else [None] * len(rows)
    for row, figure in zip(rows, figures, strict=True):
        if figure is None:
            yield row, _AS_COUNTED
        else:
            yield row, {**changed(own_columns(row), figure), AFTER_CLIFF: figure.kind}
