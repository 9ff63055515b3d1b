"""Removing the raw logs of old runs: which runs are due, what must be kept, and the order of work.

Rows, fio's document, job files, facts, samples and records stay. The logs of a run go together, and
only when the second by second figures that are read from them are kept. The record is written
before the first log is deleted (store/pruned.py): a run that was interrupted in between is whole,
and pruning it again finishes.

Deleting runs: which may go, and their evidence before their rows.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, cast

from sqlalchemy.engine import Engine

from diskbench.errors import DiskbenchError, EvidenceDamaged, InvalidValue, StoreUnavailable
from diskbench.fio.logs import log_name
from diskbench.model.result import FINAL_STATES, AuditCheck
from diskbench.model.run import Run
from diskbench.ports import EvidenceStore
from diskbench.results.selection import Selection, chosen
from diskbench.store.archive import read_manifest, run_prefix
from diskbench.store.audits import run_audits
from diskbench.store.claims import unfinished_trials
from diskbench.store.derived import derived_key
from diskbench.store.frames import LATENCIES_FILE, SERIES_FILE, closed_steps, series_parquet
from diskbench.store.kept_rows import forget_matrix, forget_trial
from diskbench.store.leases import list_leases
from diskbench.store.log_latencies import latencies_parquet
from diskbench.store.manifest import FileRecord, Manifest, PrunedRun, PrunedStep, StepRecord
from diskbench.store.moments import iso
from diskbench.store.prune_marks import PruneMark, keep_marks, unpruned_runs
from diskbench.store.pruned import pruned_key, read_pruned
from diskbench.store.query import find_runs
from diskbench.store.rows import delete_runs, left_empty

_AT_ONCE = 4
_BATCH = 64
"""Runs that are begun before the caller gets the first of them, and may stop."""


@dataclass(frozen=True)
class RunPruning:
    """What pruning a run frees: its log files, and the bytes that its evidence store needs less; 0
    bytes for logs that stay because they take less than what would be kept in their place. `left`
    is why a run cannot be pruned. `whole`: the evidence of the run is there, and was examined."""

    run: Run
    logs: int = 0
    freed_bytes: int = 0
    left: str | None = None
    whole: bool = False


@dataclass(frozen=True)
class DueRun:
    """A run to prune. `logs` is how many logs stay, as an earlier prune counted; None: not counted
    yet."""

    run: Run
    logs: int | None = None


def due_runs(
    database: Engine, asked: Selection, keep_s: float, at: datetime, *, elsewhere: str | None = None
) -> Sequence[DueRun]:
    """The runs that were asked for (all where nothing was typed) and ended more than `keep_s`
    seconds before `at`, those of a trial together, without those in which an earlier prune left
    nothing to remove. `elsewhere` is the store to look into instead of each run's own. Raises
    UnknownName, InvalidValue."""
    runs = unpruned_runs(database, chosen(database, asked), elsewhere=elsewhere)
    unfinished = frozenset(unfinished_trials(database))
    return [DueRun(run, logs) for run, logs in runs if is_due(run, unfinished, keep_s, at)]


def is_due(run: Run, unfinished: Collection[str], keep_s: float, at: datetime) -> bool:
    """Whether a run ended more than `keep_s` seconds before `at`. A run of a trial that has not
    ended (`unfinished`: their ids) is not due, nor one without a time of its end; an import without
    one counts from when it was imported."""
    ended = run.finished_at or (run.created_at if run.imported else None)
    if ended is None or run.state not in FINAL_STATES or run.trial_id in unfinished:
        return False
    moment = datetime.fromisoformat(ended)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < at - timedelta(
        seconds=keep_s
    )


def prune(
    database: Engine,
    runs: Sequence[DueRun],
    store: EvidenceStore,
    *,
    at: datetime,
    dry_run: bool = False,
) -> Iterator[RunPruning]:
    """Prune runs whose evidence is in `store`, several at a time; yields what each frees, in order.
    Runs with nothing more to remove are noted in the database. `dry_run`: nothing is written or
    deleted. Raises StoreUnavailable."""

    def prune_due(due: DueRun) -> RunPruning:
        if due.logs is not None:
            return RunPruning(due.run, due.logs)
        return _prune_run(due.run, store, at, dry_run=dry_run)

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        for start in range(0, len(runs), _BATCH):
            done = list(pool.map(prune_due, runs[start : start + _BATCH]))
            if not dry_run:
                keep_marks(
                    database,
                    [
                        PruneMark(
                            pruning.run.run_id,
                            store.url,
                            0 if pruning.freed_bytes else pruning.logs,
                        )
                        for pruning in done
                        if pruning.whole
                    ],
                )
            yield from done


def _prune_run(run: Run, store: EvidenceStore, at: datetime, *, dry_run: bool) -> RunPruning:
    try:
        work = _work(store, run.run_id, at)
    except StoreUnavailable:
        raise
    except DiskbenchError as error:
        return RunPruning(run, left=error.message)
    if work.left is not None:
        return RunPruning(run, left=work.left)
    logs = sum("/steps/" in key for key in work.doomed)
    if work.freed_bytes <= 0:
        return RunPruning(run, logs, whole=work.whole)
    if not dry_run:
        _do(store, run.run_id, work)
    return RunPruning(run, logs, work.freed_bytes, whole=work.whole)


@dataclass(frozen=True)
class _Work:
    """What is to be written, and then deleted, each by key: bytes, and sizes in the store."""

    doomed: Mapping[str, int] = field(default_factory=dict)
    derived: Mapping[str, bytes] = field(default_factory=dict)
    record: PrunedRun | None = None
    """To be written; None where it is there."""
    left: str | None = None
    whole: bool = False
    """Whether the evidence of the run is there: of a store that is not mounted nothing is known."""

    @property
    def freed_bytes(self) -> int:
        """The bytes that the store needs less afterwards."""
        added = sum(map(len, self.derived.values()))
        if self.record is not None:
            added += len(_json(self.record))
        return sum(self.doomed.values()) - added


def _do(store: EvidenceStore, run_id: str, work: _Work) -> None:
    if work.record is not None:
        for key, data in work.derived.items():
            store.replace(key, data)
        store.replace(pruned_key(run_id), _json(work.record))
        store.settle()
    store.remove(work.doomed)


def _work(store: EvidenceStore, run_id: str, at: datetime) -> _Work:
    """What is to be done to prune a run; nothing is written. Raises what reading its evidence
    raises."""
    prefix = run_prefix(run_id)
    sizes = store.sizes(prefix)
    if pruned_key(run_id) in sizes:
        record = read_pruned(store, run_id)
        return _Work(_doomed(record, sizes), whole=True) if record else _Work()
    if not any(key.startswith(f"{prefix}/steps/") for key in sizes):
        return _Work(whole=f"{prefix}/manifest.json" in sizes)
    manifest = read_manifest(store, run_id)
    if manifest is None:
        return _Work(left="its evidence has no manifest.json")
    if manifest.imported is not None and log_name(PurePosixPath(manifest.imported.name).name):
        return _Work(
            left="it was imported without a report of fio; its rows are read from its logs"
        )
    return _of_closed(cast("EvidenceStore", _Unwritten(store)), manifest, sizes, at)


def _of_closed(
    store: EvidenceStore, manifest: Manifest, sizes: Mapping[str, int], at: datetime
) -> _Work:
    run_id, prefix = manifest.run_id, run_prefix(manifest.run_id)
    with_logs = [
        (folder, record, logs)
        for folder, record in closed_steps(store, run_id)
        if (logs := {name: file for name, file in record.files.items() if log_name(name)})
    ]
    checks = _log_checks(store, run_id) if with_logs else {}
    archived: dict[str, bytes] = {}
    steps: dict[str, PrunedStep] = {}
    for folder, record, logs in with_logs:
        for file in logs.values():
            key = f"{prefix}/{folder}/{file.key}"
            if key not in sizes:
                raise EvidenceDamaged(f"evidence {store.url}: {key} is missing")
        derived = _derived(store, run_id, folder, record)
        if sum(file.bytes for file in logs.values()) and not _row_count(derived[SERIES_FILE]):
            return _Work(left=f"no per-second series can be read from the logs of {folder}")
        files = {name: _file(folder, name, data) for name, data in derived.items()}
        archived |= {f"{prefix}/{files[name].key}": data for name, data in derived.items()}
        steps[folder] = PrunedStep(logs=logs, kept=files, audit=checks.get(record.step.index))
    pruned = PrunedRun(run_id=run_id, pruned_at=iso(at), steps=steps)
    return _Work(_doomed(pruned, sizes), archived, pruned, whole=True)


def _doomed(pruned: PrunedRun, sizes: Mapping[str, int]) -> dict[str, int]:
    """The existing ones of the logs that a record names, and of the caches of their derived
    files."""
    prefix = run_prefix(pruned.run_id)
    keys = [
        key
        for folder, step in pruned.steps.items()
        for key in (
            *(f"{prefix}/{folder}/{log.key}" for log in step.logs.values()),
            *(derived_key(pruned.run_id, folder, name) for name in step.kept),
        )
    ]
    return {key: sizes[key] for key in keys if key in sizes}


def _derived(
    store: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> dict[str, bytes]:
    """All that is ever read from the logs of a step, but for the audit."""
    return {
        SERIES_FILE: series_parquet(store, run_id, folder, record),
        LATENCIES_FILE: latencies_parquet(store, run_id, folder, record),
    }


def _log_checks(store: EvidenceStore, run_id: str) -> dict[int, AuditCheck]:
    """What the audit said of the logs of each step."""
    return {
        audit.step_index: check
        for audit in run_audits(store, run_id)
        for check in audit.checks
        if check.name == "logs"
    }


def _file(folder: str, name: str, data: bytes) -> FileRecord:
    key = f"pruned/{folder.rpartition('/')[2]}.{name}"
    return FileRecord(key=key, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _row_count(parquet: bytes) -> int:
    import polars as pl

    return pl.read_parquet(io.BytesIO(parquet)).height


def _json(record: PrunedRun) -> bytes:
    return record.model_dump_json().encode()


class _Unwritten:
    """A store in which nothing is cached while its evidence is examined."""

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    def put(self, key: str, _data: bytes) -> None:
        raise StoreUnavailable(f"evidence {self._store.url}: {key} is not written")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)


Runs = Mapping[str, Run]


def runs_to_delete(database: Engine, asked: Selection) -> Runs:
    """The rows, by run id, of the runs that were asked for.

    Raises UnknownName, and InvalidValue when nothing is named, when a run has not ended, and when
    its lease is still open.
    """
    if not asked:
        raise InvalidValue(
            "no run is selected", advice="select runs, or add --filter, --since or --until"
        )
    runs = {run.run_id: run for run in find_runs(database, chosen(database, asked))}
    active = set(unfinished_trials(database))
    leased = {lease.lease_id for lease in list_leases(database, state="open")}
    for run in runs.values():
        if run.trial_id in active and run.state not in FINAL_STATES:
            raise InvalidValue(
                f"run {run.run_id} is {run.state}",
                advice=f"stop it first: diskbench cancel {run.run_id}",
            )
    for run in runs.values():
        if run.trial_id in leased:  # gc needs its plan to know where to look
            raise InvalidValue(
                f"what run {run.run_id} put on its host was not given back yet",
                advice=f"give it back first: diskbench gc {run.trial_id}",
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
