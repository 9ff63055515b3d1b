"""Measurement rows, documents and frames of polars for other programs, in which no mean spans a
cliff (MR-3), and frames of verdicts, computed on each call. docs/api.md lists the columns. In
memory at a time are some hundred runs, however many are exported."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy.engine import Engine

from diskbench.analysis.row_figures import changed, row_figures
from diskbench.model.run import (
    AFTER_CLIFF,
    MEASURED_FIELDS,
    RUN_FIELDS,
    MeasuredRow,
    own_columns,
    run_columns,
)
from diskbench.model.verdict import Verdict
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.run_evidence import courses_of, long_steps
from diskbench.results.verdicts import trial_verdicts
from diskbench.store import export
from diskbench.store.document import results_document
from diskbench.store.frames import with_runs
from diskbench.store.query import chunks, find_measurements, find_run_ids, find_runs, runs_by_id
from diskbench.store.run_row import COLUMNS
from diskbench.store.step_rows import load_results
from diskbench.store.where import Filter

if TYPE_CHECKING:
    import polars as pl

ExportFormat = Literal["csv", "json", "parquet", "prometheus", "openmetrics", "benchstat"]
_AS_COUNTED: Mapping[str, Any] = {AFTER_CLIFF: None}


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
    yield from export.csv_lines(_columns(database, filters, evidence, run_ids), fields)


def exported(
    database: Engine,
    kind: ExportFormat,
    filters: Sequence[Filter] = (),
    evidence: EvidenceStore | None = None,
    *,
    run_ids: Sequence[str] | None = None,
) -> Iterator[bytes]:
    """The bytes that `results export` writes of the runs that meet the filters, in pieces.
    `run_ids` picks rows alone, and no document."""
    if kind == "csv":
        rows = rows_as_csv(database, filters, run_ids=run_ids, evidence=evidence)
        yield from (line.encode() for line in rows)
    elif kind == "json":
        yield from _document(database, filters, evidence)
    elif kind == "parquet":
        yield from export.parquet_pieces(_columns(database, filters, evidence, run_ids))
    elif kind == "benchstat":
        lines = export.benchstat_lines(_columns(database, filters, evidence))
        yield from (line.encode() for line in lines)
    else:
        yield export.metrics_text(_columns(database, filters, evidence), kind).encode()


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
            runs, steps = runs_by_id(database, chunk), load_results(database, *chunk)
            courses = courses_of(database, find_measurements(database, run_ids=chunk), evidence)
            yield results_document([runs[name] for name in chunk], steps, courses=courses.values())

    if len(run_ids) <= export.INDENTED_RUNS:
        yield export.json_text(next(parts(), results_document([], {}))).encode()
    else:
        yield from (text.encode() for text in export.json_lines(parts()))
    yield b"\n"


def cliff_safe_rows(
    database: Engine, rows: Sequence[MeasuredRow], evidence: EvidenceStore | None = None
) -> Iterator[tuple[MeasuredRow, Mapping[str, Any]]]:
    """Each row with the columns that are not as in the database: `after_cliff`, and the figures of
    a level. Where a step has several levels, IOPS and bytes a second of its rows are those of the
    level that the step's figure is taken from, divided by each row's share of the step's I/Os and
    bytes. A row whose own seconds contain a cliff gets no latencies, because fio's cover both
    sides. What fio counted (`ios`, `bytes`, `runtime_ns`) is unchanged."""
    long = long_steps(rows)
    if not long:
        yield from ((row, _AS_COUNTED) for row in rows)
        return
    courses = courses_of(database, long, evidence)
    figures = row_figures(rows, courses) if courses else [None] * len(rows)
    for row, figure in zip(rows, figures, strict=True):
        if figure is None:
            yield row, _AS_COUNTED
        else:
            yield row, {**changed(own_columns(row), figure), AFTER_CLIFF: figure.kind}


def cliff_safe_frame(
    database: Engine, *, run_ids: Sequence[str] | None = None, evidence: EvidenceStore | None = None
) -> pl.DataFrame:
    """One row per run, step, job and direction, with what was bought for its run; `scope`
    distinguishes rows of jobs from merged rows of steps. `after_cliff` is the kind of the level
    that the row's figures are taken from, where its step has several (None: the figures are as fio
    counted them). Seconds are read from `evidence`, or from each run's own store; the rows of a run
    whose evidence is gone stay as fio counted them. Raises StoreUnavailable."""
    import polars as pl

    pieces = exported(database, "parquet", evidence=evidence, run_ids=run_ids)
    frame = pl.read_parquet(io.BytesIO(b"".join(pieces)))
    columns = ("run_id", *MEASURED_FIELDS, *COLUMNS, AFTER_CLIFF)
    rows = frame.select(columns).sort("run_id", maintain_order=True)
    return rows.rename({"job_error": "error"})


def verdicts_frame(
    database: Engine, evidence: EvidenceStore, *, run_ids: Sequence[str] | None = None
) -> pl.DataFrame:
    """One row per stretch of each measured step, of all runs (oldest first) or of those named. The
    runs of a trial are judged together, as by `results show`. A run whose evidence is gone is
    judged by its rows alone."""
    import polars as pl

    books = open_books()
    asked = find_runs(database, run_ids=run_ids)[::-1]
    verdicts: list[Verdict] = []
    for trial_id in dict.fromkeys(run.trial_id for run in asked):
        runs = find_runs(database, [Filter("trial_id", "=", trial_id)])
        verdicts += trial_verdicts(database, evidence, runs, books=books)
    by_run = grouped(verdicts, lambda verdict: verdict.run_id)
    in_order = (verdict for run in asked for verdict in by_run.get(run.run_id, ()))
    rows = [row for verdict in in_order for row in _verdict_rows(verdict)]
    types: dict[str, Any] = {
        "str": pl.String, "int": pl.Int64, "bool": pl.Boolean, "float": pl.Float64,
        "list": pl.List(pl.String),
    }  # fmt: skip
    schema = {column: types[kind] for column, kind in _VERDICT_COLUMNS.items()}
    return with_runs(pl.DataFrame(rows, schema=schema, orient="row"), database)


def _verdict_rows(verdict: Verdict) -> Iterable[tuple[object, ...]]:
    of_step = verdict.run_id, verdict.step_index, verdict.step, verdict.rounds
    reasons = [reason.message for reason in verdict.reasons]
    judged = verdict.trust, reasons, verdict.sentence
    for number, of in enumerate(verdict.stretches):
        figures = of.kind, of.start_s, of.end_s, of.iops, of.bytes_per_s
        promise = of.promised
        bounds = (promise.iops, promise.low_iops, promise.high_iops) if promise else (None,) * 3
        limit = of.ratio, of.limiter.name, list(of.limiter.evidence)
        yield *of_step, number, number == verdict.main, *figures, *bounds, *limit, *judged


_VERDICT_COLUMNS = {
    "run_id": "str", "step_index": "int", "step": "str", "rounds": "int", "stretch": "int",
    "stands_for": "bool", "kind": "str", "start_s": "float", "end_s": "float", "iops": "float",
    "bytes_per_s": "float", "promised_iops": "float", "promised_low_iops": "float",
    "promised_high_iops": "float", "ratio": "float", "limiter": "str",
    "limiter_evidence": "list", "trust": "str", "reasons": "list", "sentence": "str",
}  # fmt: skip
"""The columns of `_verdict_rows` and their types."""
