"""Polars frames of stored runs: measurement rows in which no mean spans a cliff (MR-3), and
verdicts, computed on each call. docs/api.md lists the columns.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import Engine

from diskbench.model.run import AFTER_CLIFF, MEASURED_FIELDS
from diskbench.model.verdict import Verdict
from diskbench.ports import EvidenceStore
from diskbench.results.exported_rows import exported
from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.verdicts import trial_verdicts
from diskbench.store.frames import with_runs
from diskbench.store.query import find_runs
from diskbench.store.run_row import COLUMNS
from diskbench.store.where import Filter

if TYPE_CHECKING:
    import polars as pl


def cliff_safe_frame(
    database: Engine,
    *,
    run_ids: Sequence[str] | None = None,
    evidence: EvidenceStore | None = None,
) -> pl.DataFrame:
    """One row per run, step, job and direction, with what was bought for its run; `scope`
    distinguishes rows of jobs from merged rows of steps. `after_cliff` is the kind of the level
    that the row's figures are taken from, where its step has several (None: the figures are as fio
    counted them).

    Seconds are read from `evidence`, or from each run's own store; the rows of a run whose evidence
    is gone stay as fio counted them. Raises StoreUnavailable.
    """
    import polars as pl

    pieces = exported(database, "parquet", evidence=evidence, run_ids=run_ids)
    frame = pl.read_parquet(io.BytesIO(b"".join(pieces)))
    columns = ("run_id", *MEASURED_FIELDS, *COLUMNS, AFTER_CLIFF)
    rows = frame.select(columns).sort("run_id", maintain_order=True)
    return rows.rename({"job_error": "error"})


def verdicts_frame(
    database: Engine, evidence: EvidenceStore, *, run_ids: Sequence[str] | None = None
) -> pl.DataFrame:
    """One row per stretch of each measured step, of all runs (oldest first) or of those named.

    The runs of a trial are judged together, as by `results show`. A run whose evidence is gone is
    judged by its rows alone.
    """
    import polars as pl

    books = open_books()
    by_run: dict[str, list[Verdict]] = {}
    asked = find_runs(database, run_ids=run_ids)[::-1]
    for trial_id in dict.fromkeys(run.trial_id for run in asked):
        runs = find_runs(database, [Filter("trial_id", "=", trial_id)])
        for verdict in trial_verdicts(database, evidence, runs, books=books):
            by_run.setdefault(verdict.run_id, []).append(verdict)
    rows = [
        row
        for run in asked
        for verdict in by_run.get(run.run_id, ())
        for row in _verdict_rows(verdict)
    ]
    return with_runs(pl.DataFrame(rows, schema=_verdict_schema(), orient="row"), database)


def _verdict_rows(verdict: Verdict) -> Iterable[tuple[object, ...]]:
    reasons = [reason.message for reason in verdict.reasons]
    for number, stretch in enumerate(verdict.stretches):
        promised = stretch.promised
        yield (
            verdict.run_id,
            verdict.step_index,
            verdict.step,
            verdict.rounds,
            number,
            number == verdict.main,
            stretch.kind,
            stretch.start_s,
            stretch.end_s,
            stretch.iops,
            stretch.bytes_per_s,
            promised.iops if promised else None,
            promised.low_iops if promised else None,
            promised.high_iops if promised else None,
            stretch.ratio,
            stretch.limiter.name,
            list(stretch.limiter.evidence),
            verdict.trust,
            reasons,
            verdict.sentence,
        )


def _verdict_schema() -> dict[str, Any]:
    import polars as pl

    return {
        "run_id": pl.String,
        "step_index": pl.Int64,
        "step": pl.String,
        "rounds": pl.Int64,
        "stretch": pl.Int64,
        "stands_for": pl.Boolean,
        "kind": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "iops": pl.Float64,
        "bytes_per_s": pl.Float64,
        "promised_iops": pl.Float64,
        "promised_low_iops": pl.Float64,
        "promised_high_iops": pl.Float64,
        "ratio": pl.Float64,
        "limiter": pl.String,
        "limiter_evidence": pl.List(pl.String),
        "trust": pl.String,
        "reasons": pl.List(pl.String),
        "sentence": pl.String,
    }
