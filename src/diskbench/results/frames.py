"""Polars frames of stored runs: measurement rows in which no mean spans a cliff (MR-3), and
verdicts, computed on each call. docs/api.md lists the columns.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

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
    texts, lists = pl.String, pl.List(pl.String)
    types = {"str": texts, "int": pl.Int64, "bool": pl.Boolean, "float": pl.Float64, "list": lists}
    schema = {column: types[kind] for column, kind in _VERDICT_COLUMNS.items()}
    return with_runs(pl.DataFrame(rows, schema=schema, orient="row"), database)


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


_VERDICT_COLUMNS = {
    "run_id": "str", "step_index": "int", "step": "str", "rounds": "int", "stretch": "int",
    "stands_for": "bool", "kind": "str", "start_s": "float", "end_s": "float", "iops": "float",
    "bytes_per_s": "float", "promised_iops": "float", "promised_low_iops": "float",
    "promised_high_iops": "float", "ratio": "float", "limiter": "str",
    "limiter_evidence": "list", "trust": "str", "reasons": "list", "sentence": "str",
}  # fmt: skip
"""The columns of `_verdict_rows` and their types."""
