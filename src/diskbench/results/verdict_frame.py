"""The verdicts on runs as a polars frame, judged when asked for; docs/api.md lists the columns."""

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
    """One row a stretch of each measured step, of all runs (oldest first) or of those named.

    Runs of a trial are judged beside each other, as `results show` does. A run whose evidence is
    gone is judged by its rows alone.
    """
    import polars as pl

    books = open_books()
    told: dict[str, list[Verdict]] = {}
    asked = find_runs(database, run_ids=run_ids)[::-1]
    for trial_id in dict.fromkeys(run.trial_id for run in asked):
        runs = find_runs(database, [Filter("trial_id", "=", trial_id)])
        for one in trial_verdicts(database, evidence, runs, books=books):
            told.setdefault(one.run_id, []).append(one)
    rows = [row for run in asked for one in told.get(run.run_id, ()) for row in _rows(one)]
    return with_runs(pl.DataFrame(rows, schema=_schema(), orient="row"), database)


def _rows(found: Verdict) -> Iterable[tuple[object, ...]]:
    reasons = [one.message for one in found.reasons]
    for number, one in enumerate(found.stretches):
        told = one.promised
        yield (
            found.run_id,
            found.step_index,
            found.step,
            found.rounds,
            number,
            number == found.main,
            one.kind,
            one.start_s,
            one.end_s,
            one.iops,
            one.bytes_per_s,
            told.iops if told else None,
            told.low_iops if told else None,
            told.high_iops if told else None,
            one.ratio,
            one.limiter.name,
            list(one.limiter.evidence),
            found.believe,
            reasons,
            found.sentence,
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
        "believe": pl.String,
        "reasons": pl.List(pl.String),
        "sentence": pl.String,
    }
