"""Removing the raw logs of old runs, and deleting runs: which may go, and the order of work.

Rows, fio's document, job files, facts, samples and records stay. The logs of a run go together, and
only when the second by second figures that are read from them are kept. The record is written
before the first log is deleted (store/derived.py): a run that was interrupted in between is whole,
and pruning it again finishes."""

import hashlib
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePosixPath

from sqlalchemy.engine import Engine

from diskbench.errors import DiskbenchError, EvidenceDamaged, InvalidValue, StoreUnavailable
from diskbench.fio.logs import log_name
from diskbench.model.ids import short
from diskbench.model.result import FINAL_STATES
from diskbench.model.run import Run
from diskbench.ports import EvidenceStore
from diskbench.results.selection import Selection, chosen
from diskbench.store import stored_series
from diskbench.store.archive import read_manifest, run_prefix
from diskbench.store.audits import run_audits
from diskbench.store.derived import derived_key, pruned_key, read_pruned, uncached
from diskbench.store.dialects import iso, moment_of
from diskbench.store.kept_rows import forget_matrix, forget_trial
from diskbench.store.leases import list_leases
from diskbench.store.manifest import FileRecord, PrunedRun, PrunedStep
from diskbench.store.query import find_runs
from diskbench.store.rows import delete_runs, left_empty, unfinished_trials
from diskbench.store.stored_series import LATENCIES_FILE, SERIES_FILE


@dataclass(frozen=True)
class RunPruning:
    """What pruning a run frees: its log files, and the bytes that its evidence store needs less; 0
    bytes for logs that stay because they take less than what would be kept in their place. `left`
    is why a run cannot be pruned."""

    run: Run
    logs: int = 0
    freed_bytes: int = 0
    left: str | None = None


def due_runs(database: Engine, asked: Selection, keep_s: float, at: datetime) -> list[Run]:
    """The runs that were asked for (all where nothing was typed) and ended more than `keep_s`
    seconds before `at`, those of a trial together. Raises UnknownName, InvalidValue."""
    unfinished = frozenset(unfinished_trials(database))
    runs = find_runs(database, chosen(database, asked))
    due = (run for run in runs if is_due(run, unfinished, keep_s, at))
    return sorted(due, key=lambda run: (run.trial_id, run.run_index))


def is_due(run: Run, unfinished: Collection[str], keep_s: float, at: datetime) -> bool:
    """Whether a run ended more than `keep_s` seconds before `at`. A run of a trial that has not
    ended (`unfinished`: their ids) is not due, nor one without a time of its end; an import without
    one counts from when it was imported."""
    ended = run.finished_at or (run.created_at if run.imported else None)
    if ended is None or run.state not in FINAL_STATES or run.trial_id in unfinished:
        return False
    return moment_of(ended) < at - timedelta(seconds=keep_s)


def prune(
    runs: Sequence[Run], store: EvidenceStore, *, at: datetime, dry_run: bool = False
) -> Iterator[RunPruning]:
    """Prune runs whose evidence is in `store`, one by one; yields what each frees. `dry_run`: no
    log is deleted, and no record written. Raises StoreUnavailable."""
    for run in runs:
        try:
            yield _prune_run(run, store, at, dry_run=dry_run)
        except StoreUnavailable:
            raise
        except DiskbenchError as error:
            yield RunPruning(run, left=error.message)


def _prune_run(run: Run, store: EvidenceStore, at: datetime, *, dry_run: bool) -> RunPruning:
    prefix, key = run_prefix(run.run_id), pruned_key(run.run_id)
    sizes, kept = store.sizes(prefix), dict[str, bytes]()
    record = read_pruned(store, run.run_id)
    if record is None:
        if not any(name.startswith(f"{prefix}/steps/") for name in sizes):
            return RunPruning(run)
        record, kept = _record(uncached(store), run.run_id, sizes, at)
        kept[key] = record.model_dump_json().encode()
    names: list[str] = []
    for folder, step in record.steps.items():
        names += (f"{prefix}/{folder}/{log.key}" for log in step.logs.values())
        names += (derived_key(run.run_id, folder, cached) for cached in step.kept)
    doomed = {name: sizes[name] for name in names if name in sizes}
    logs = sum("/steps/" in name for name in doomed)
    freed = sum(doomed.values()) - sum(map(len, kept.values()))
    if freed <= 0:
        return RunPruning(run, logs)
    if not dry_run:
        for name, data in kept.items():  # the record last: what it names is there
            store.replace(name, data)
        store.settle()
        store.remove(doomed)
    return RunPruning(run, logs, freed)


def _record(
    store: EvidenceStore, run_id: str, sizes: Mapping[str, int], at: datetime
) -> tuple[PrunedRun, dict[str, bytes]]:
    """The record of the logs of a run, and what is kept in their place, by key: all that is ever
    read from them. Raises EvidenceDamaged where something of it is not there or cannot be read."""
    import polars as pl

    prefix, manifest = run_prefix(run_id), read_manifest(store, run_id)
    if manifest is None:
        raise EvidenceDamaged("its evidence has no manifest.json")
    if manifest.imported is not None and log_name(PurePosixPath(manifest.imported.name).name):
        why = "it was imported without a report of fio; its rows are read from its logs"
        raise EvidenceDamaged(why)
    kept: dict[str, bytes] = {}
    steps: dict[str, PrunedStep] = {}
    audits = {audit.step_index: audit.checks for audit in run_audits(store, run_id)}
    for folder, record in stored_series.closed_steps(store, run_id):
        logs = {name: file for name, file in record.files.items() if log_name(name)}
        for file in logs.values():
            if (missing := f"{prefix}/{folder}/{file.key}") not in sizes:
                raise EvidenceDamaged(f"evidence {store.url}: {missing} is missing")
        if not logs:
            continue
        derived = {
            SERIES_FILE: stored_series.series_parquet(store, run_id, folder, record),
            LATENCIES_FILE: stored_series.latencies_parquet(store, run_id, folder, record),
        }
        rows = pl.read_parquet(io.BytesIO(derived[SERIES_FILE])).height
        if not rows and any(file.bytes for file in logs.values()):
            raise EvidenceDamaged(f"no per-second series can be read from the logs of {folder}")
        files = {}
        for name, data in derived.items():
            key, digest = f"pruned/{folder.rpartition('/')[2]}.{name}", hashlib.sha256(data)
            files[name] = FileRecord(key=key, bytes=len(data), sha256=digest.hexdigest())
            kept[f"{prefix}/{key}"] = data
        checks = audits.get(record.step.index, ())
        audit = next((check for check in checks if check.name == "logs"), None)
        steps[folder] = PrunedStep(logs=logs, kept=files, audit=audit)
    return PrunedRun(run_id=run_id, pruned_at=iso(at), steps=steps), kept


Runs = Mapping[str, Run]


def runs_to_delete(database: Engine, asked: Selection) -> Runs:
    """The rows, by run id, of the runs that were asked for. Raises UnknownName, and InvalidValue
    when nothing is named, when a run has not ended, and when its lease is still open."""
    if not asked:
        advice = "select runs, or add --filter, --since or --until"
        raise InvalidValue("no run is selected", advice=advice)
    runs = {run.run_id: run for run in find_runs(database, chosen(database, asked))}
    active = set(unfinished_trials(database))
    leased = {lease.lease_id for lease in list_leases(database, state="open")}
    for run in runs.values():
        if run.trial_id in active and run.state not in FINAL_STATES:
            advice = f"stop it first: diskbench cancel {short(run.run_id)}"
            raise InvalidValue(f"run {short(run.run_id)} is {run.state}", advice=advice)
    for run in runs.values():
        if run.trial_id in leased:  # gc needs its plan to know where to look
            why = f"what run {short(run.run_id)} put on its host was not given back yet"
            raise InvalidValue(
                why, advice=f"give it back first: diskbench gc {short(run.trial_id)}"
            )
    return runs


def delete_with_evidence(database: Engine, runs: Runs, store: EvidenceStore | None) -> None:
    """Delete runs, their evidence first, so that a deletion that fails half-way can be repeated;
    also the records of trials and matrices that are left without any run. None keeps the evidence.
    Raises StoreUnavailable."""
    if store is not None:
        for run_id in runs:
            store.delete(run_prefix(run_id))
        trials, campaigns = left_empty(database, tuple(runs))
        for trial_id in trials:
            forget_trial(store, trial_id)
        for campaign_id in campaigns:
            forget_matrix(store, campaign_id)
    delete_runs(database, tuple(runs))
