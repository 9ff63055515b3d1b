"""Measurement rows and documents for other programs, in which no mean spans a cliff (MR-3).

Written run by run: what is in memory at a time is some hundred runs, however many are exported.
CSV of runs without long steps is written without SQLAlchemy and the models, whose import takes as
long as the rows of 10,000 runs: what only another format needs is imported where it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from diskbench.model.run import own_columns, run_columns
from diskbench.results.cliff_safe_rows import cliff_safe_rows
from diskbench.store.csv_rows import csv_lines, measured_header
from diskbench.store.query import find_measurements, find_run_ids
from diskbench.store.reader import chunks, runs_by_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import MeasuredRow
    from diskbench.ports import EvidenceStore
    from diskbench.store.query import Filter
    from diskbench.store.reader import Reader

ExportFormat = Literal["csv", "json", "parquet", "prometheus", "openmetrics"]


def rows_as_csv(
    database: Engine | Reader,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    evidence: EvidenceStore | None = None,
) -> Iterator[str]:
    """CSV text of the rows that meet the filters, line by line, with a header. `evidence` is the
    store to read instead of each run's own."""
    yield measured_header()
    yield from csv_lines(_rows(database, filters, run_ids, evidence))


def exported(
    database: Engine,
    kind: Literal["json", "parquet", "prometheus", "openmetrics"],
    filters: Sequence[Filter],
    evidence: EvidenceStore | None = None,
) -> Iterator[bytes]:
    """The bytes that `results export` writes of the runs that meet the filters, in pieces; of CSV
    see `rows_as_csv`."""
    if kind == "json":
        yield from _document(database, filters, evidence)
    elif kind == "parquet":
        from diskbench.store.export import parquet_pieces

        yield from parquet_pieces(_columns(database, filters, evidence))
    else:
        from diskbench.store.metrics_text import metrics_text

        yield metrics_text(_columns(database, filters, evidence), kind).encode()


def _rows(
    database: Engine | Reader,
    filters: Sequence[Filter],
    run_ids: Sequence[str] | None,
    evidence: EvidenceStore | None,
) -> Iterator[tuple[MeasuredRow, Mapping[str, Any]]]:
    """The rows that meet the filters, with what is changed of each; the runs oldest first."""
    for chunk in chunks(find_run_ids(database, filters, run_ids=run_ids, oldest_first=True)):
        measured = find_measurements(database, filters, run_ids=chunk)
        yield from cliff_safe_rows(database, measured, evidence)


def _columns(
    database: Engine, filters: Sequence[Filter], evidence: EvidenceStore | None
) -> Iterator[Mapping[str, Any]]:
    """The same rows by the names of their columns, with those of their runs."""
    for row, changes in _rows(database, filters, None, evidence):
        yield {**run_columns(row.run), **own_columns(row), **changes}


def _document(
    database: Engine, filters: Sequence[Filter], evidence: EvidenceStore | None
) -> Iterator[bytes]:
    """The results document, the newest run first."""
    from diskbench.results.phase_reader import courses_of
    from diskbench.store.document import results_document
    from diskbench.store.export import INDENTED_RUNS, json_lines, json_text
    from diskbench.store.step_rows import load_results

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
