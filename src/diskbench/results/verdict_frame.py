"""The verdicts on runs as a polars frame, computed on each call; docs/api.md lists the columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from diskbench.results.refreshed_catalogue import open_books
from diskbench.results.verdicts import trial_verdicts
from diskbench.store.frames import with_runs
from diskbench.store.query import Filter, find_runs

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy.engine import Engine

    from diskbench.model.verdict import Verdict
    from diskbench.ports import EvidenceStore


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
        row for run in asked for verdict in by_run.get(run.run_id, ()) for row in _rows(verdict)
    ]
    return with_runs(pl.DataFrame(rows, schema=_schema(), orient="row"), database)


def _rows(verdict: Verdict) -> Iterable[tuple[object, ...]]:
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


def _schema() -> dict[str, Any]:
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
