"""Measurement rows and documents for other programs, in which no mean spans a cliff (MR-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from diskbench.analysis.row_figures import AFTER_CLIFF
from diskbench.results.cliff_safe_rows import levelled
from diskbench.results.phase_reader import courses_of
from diskbench.store.document import results_document
from diskbench.store.export import csv_text, json_text, measurement_fields, parquet_bytes
from diskbench.store.metrics_text import metrics_text
from diskbench.store.query import find_measurements, find_runs
from diskbench.store.rows import load_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.ports import EvidenceStore
    from diskbench.store.query import Filter

ExportFormat = Literal["csv", "json", "parquet", "prometheus", "openmetrics"]


def rows_as_csv(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    evidence: EvidenceStore | None = None,
) -> str:
    """CSV text of the rows that meet the filters, with a header. `evidence` is the store to read
    instead of each run's own."""
    return csv_text(*_rows(database, filters, run_ids, evidence))


def exported(
    database: Engine,
    kind: ExportFormat,
    filters: Sequence[Filter],
    evidence: EvidenceStore | None = None,
) -> bytes:
    """The bytes that `results export` writes of the runs that meet the filters."""
    if kind == "csv":
        return rows_as_csv(database, filters, evidence=evidence).encode()
    if kind == "parquet":
        return parquet_bytes(*_rows(database, filters, None, evidence))
    if kind == "prometheus" or kind == "openmetrics":
        rows, _ = _rows(database, filters, None, evidence)
        return metrics_text(rows, kind).encode()
    runs = find_runs(database, filters)
    steps = load_results(database, *(run.run_id for run in runs))
    measured = find_measurements(database, filters)
    courses = courses_of(database, measured, evidence).values()
    return json_text(results_document(runs, steps, courses=courses)).encode() + b"\n"


def _rows(
    database: Engine,
    filters: Sequence[Filter],
    run_ids: Sequence[str] | None,
    evidence: EvidenceStore | None,
) -> tuple[list[dict[str, Any]], list[str]]:
    measurements = find_measurements(database, filters, run_ids=run_ids)
    return levelled(database, measurements, evidence), [*measurement_fields(), AFTER_CLIFF]
