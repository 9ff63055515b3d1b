"""Measurement rows as other programs read them, where no mean spans a cliff (MR-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from diskbench.cli.file_format import file_format

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy.engine import Engine

    from diskbench.store.query import Filter

Format = Literal["csv", "json", "parquet"]


def rows_as_csv(
    database: Engine,
    filters: Sequence[Filter] = (),
    *,
    run_ids: Sequence[str] | None = None,
    evidence_url: str | None = None,
) -> str:
    """Rows that meet the filters, with a header."""
    from diskbench.store.export import csv_text

    rows, fields = _rows(database, filters, run_ids, evidence_url)
    return csv_text(rows, fields)


def export_format(typed: Format | None, to: Path | None) -> Format:
    """The format that was typed, or that the name of the file says, else CSV. Raises InvalidValue
    where these differ."""
    return (file_format(to, typed, get_args(Format)) if to else typed) or "csv"


def exported(
    database: Engine,
    kind: Format,
    filters: Sequence[Filter],
    named: Sequence[str],
    *,
    evidence_url: str | None = None,
) -> bytes:
    """What `results export` writes: of the runs that are `named` (selections, as `report` takes
    them), or of all, those that meet the filters.

    Raises UnknownName, InvalidValue.
    """
    from diskbench.engine.selection import runs_named
    from diskbench.store.export import json_text, parquet_bytes
    from diskbench.store.query import find_runs

    run_ids = runs_named(database, named) if named else None
    if kind == "json":
        from diskbench.cli.stores import evidence
        from diskbench.engine.levels import courses_of
        from diskbench.store.document import results_document
        from diskbench.store.query import find_measurements
        from diskbench.store.rows import load_results

        runs = find_runs(database, filters, run_ids=run_ids)
        steps = load_results(database, *(run.run_id for run in runs))
        rows = find_measurements(database, filters, run_ids=run_ids)
        store = evidence(evidence_url) if evidence_url else None
        courses = courses_of(database, rows, store).values()
        return json_text(results_document(runs, steps, courses=courses)).encode() + b"\n"
    if kind == "csv":
        return rows_as_csv(database, filters, run_ids=run_ids, evidence_url=evidence_url).encode()
    return parquet_bytes(*_rows(database, filters, run_ids, evidence_url))


def _rows(
    database: Engine,
    filters: Sequence[Filter],
    run_ids: Sequence[str] | None,
    evidence_url: str | None,
) -> tuple[list[dict[str, Any]], list[str]]:
    from diskbench.analysis.row_figures import AFTER_CLIFF
    from diskbench.cli.stores import evidence
    from diskbench.engine.levelled import levelled
    from diskbench.store.export import measurement_fields
    from diskbench.store.query import find_measurements

    found = find_measurements(database, filters, run_ids=run_ids)
    store = evidence(evidence_url) if evidence_url else None
    return levelled(database, found, store), [*measurement_fields(), AFTER_CLIFF]
