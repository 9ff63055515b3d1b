"""Measurement rows and documents for other programs, in which no mean spans a cliff (MR-3).

Written run by run: what is in memory at a time is some hundred runs, however many are exported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from diskbench.analysis.row_figures import AFTER_CLIFF
from diskbench.model.run import run_columns
from diskbench.results.cliff_safe_rows import levelled_rows
from diskbench.results.phase_reader import courses_of
from diskbench.store.document import results_document
from diskbench.store.export import (
    INDENTED_RUNS,
    csv_header,
    csv_lines,
    json_lines,
    json_text,
    measurement_fields,
    parquet_pieces,
    run_fields,
)
from diskbench.store.metrics_text import metrics_text
from diskbench.store.query import find_measurements, find_run_ids
from diskbench.store.reader import chunks, runs_by_id
from diskbench.store.rows import load_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.run import Run
    from diskbench.ports import EvidenceStore
    from diskbench.store.query import Filter

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
    names = [*measurement_fields(), AFTER_CLIFF]
    yield csv_header(names)
    yield from csv_lines(
        _rows(database, filters, run_ids, evidence), run_fields(), names[len(run_fields()) :]
    )


def exported(
    database: Engine,
    kind: ExportFormat,
    filters: Sequence[Filter],
    evidence: EvidenceStore | None = None,
) -> Iterator[bytes]:
    """The bytes that `results export` writes of the runs that meet the filters, in pieces."""
    if kind == "json":
        yield from _document(database, filters, evidence)
        return
    if kind == "csv":
        yield from (line.encode() for line in rows_as_csv(database, filters, evidence=evidence))
        return
    rows = (run_columns(run) | own for run, own in _rows(database, filters, None, evidence))
    if kind == "parquet":
        yield from parquet_pieces(rows, [*measurement_fields(), AFTER_CLIFF])
    else:
        yield metrics_text(rows, kind).encode()


def _rows(
    database: Engine,
    filters: Sequence[Filter],
    run_ids: Sequence[str] | None,
    evidence: EvidenceStore | None,
) -> Iterator[tuple[Run, dict[str, Any]]]:
    """The rows that meet the filters, each with its run; the runs oldest first."""
    for chunk in chunks(find_run_ids(database, filters, run_ids=run_ids, oldest_first=True)):
        measured = find_measurements(database, filters, run_ids=chunk)
        yield from levelled_rows(database, measured, evidence)


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
