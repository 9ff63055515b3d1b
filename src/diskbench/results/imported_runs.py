"""Import of runs that others measured: stored as evidence and as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Engine

from diskbench.errors import DiskbenchError, FioOutputUnreadable
from diskbench.fio.logs import log_name
from diskbench.importers.fio_report import FIO_REPORTS
from diskbench.importers.form import Imported
from diskbench.model.result import AuditCheck, StepAudit
from diskbench.ports import EvidenceStore
from diskbench.store.audits import run_audits
from diskbench.store.clock import now
from diskbench.store.imports import (
    ImportSource,
    KeptRuns,
    keep_run,
    read_source,
    rows_of_import,
    run_ids,
)
from diskbench.store.manifest import Manifest
from diskbench.store.parallel_evidence import WINDOW, each, is_away
from diskbench.store.phases import run_phases
from diskbench.store.rebuild import RunRows, rows_of, write_runs
from diskbench.store.stored_series import read_series_ahead

_Read = tuple[ImportSource, Manifest, RunRows, tuple[StepAudit, ...], str]

_ROWS_AT_ONCE = 2000
"""Runs and steps in one transaction, which hold some 10 MB until then."""


@dataclass(frozen=True)
class ReadImport:
    """A run and the file that it came from. `measured_at` is the time of measurement, in ISO 8601
    and UTC; None where the file does not have it. `audits` say whether fio's own figures agree with
    each other; empty for other formats. `reports` says what else in the file counts as this run, or
    was left out."""

    source: ImportSource
    manifest: Manifest
    measured_at: str | None
    steps: int
    audits: tuple[StepAudit, ...] = ()
    reports: str = ""

    @property
    def has_logs(self) -> bool:
        files = self.manifest.imported.files if self.manifest.imported is not None else ()
        return any(map(log_name, files))


def imported(
    database: Engine,
    store: EvidenceStore,
    sources: Iterable[ImportSource],
    labels: Mapping[str, str],
    version: str,
) -> Iterator[ReadImport]:
    """Import the runs of the sources; `version` is ours. Some hundred runs at a time are stored:
    first their evidence, which is on the disk before any row refers to it, then all of their rows
    or none. Raises StoreUnavailable, FioOutputUnreadable."""
    known_runs, at = KeptRuns(store), now()

    def keep(run: _Found) -> _Read:
        manifest = keep_run(store, run.source, run.report, run.ids, run.index, labels, version, at)
        rows = _rows(store, run.source, manifest, run.report)
        reports = run.report.runs[run.index].reports
        return run.source, manifest, rows, _compared(manifest, run.report), reports

    batch: list[_Read] = []
    most = WINDOW if is_away(store) else 1
    for window in _windows(_found(sources, known_runs, at), most):
        batch += each(store, keep, window)
        if sum(1 + len(rows.steps) for _, _, rows, *_ in batch) >= _ROWS_AT_ONCE:
            yield from _written(database, store, batch)
            batch = []
    yield from _written(database, store, batch)


@dataclass(frozen=True)
class _Found:
    """The run number `index` of a source, whose runs get `ids`."""

    source: ImportSource
    report: Imported
    ids: tuple[str, ...]
    index: int


def _found(
    sources: Iterable[ImportSource], known_runs: KeptRuns, at: str
) -> Iterator[list[_Found]]:
    """The runs of each source; files are read one after the other."""
    for source in sources:
        report = read_source(source)
        ids = run_ids(known_runs, source, report, at)
        yield [_Found(source, report, ids, index) for index in range(len(ids))]


def _windows(of_sources: Iterable[list[_Found]], most: int) -> Iterator[list[_Found]]:
    """Groups of runs that are stored together: whole sources, until a group has `most` runs or
    would have a run twice."""
    window: dict[str, _Found] = {}
    for runs in of_sources:
        if len(window) >= most or any(run.ids[run.index] in window for run in runs):
            yield list(window.values())
            window = {}
        window |= {run.ids[run.index]: run for run in runs}
    if window:
        yield list(window.values())


def _rows(
    store: EvidenceStore, source: ImportSource, manifest: Manifest, report: Imported
) -> RunRows:
    """The rows of a run of a file that was just read."""
    if manifest.imported is not None and manifest.imported.name != source.name:
        return rows_of(store, manifest)  # imported before, under another name
    return RunRows(*rows_of_import(store, manifest, report))


def _written(
    database: Engine,
    store: EvidenceStore,
    batch: Sequence[_Read],
) -> Iterator[ReadImport]:
    if batch:
        store.settle()
        write_runs(database, [rows for _, _, rows, *_ in batch])

    def audited(run: _Read) -> tuple[StepAudit, ...]:
        _, manifest, _, compared, _ = run
        of_fio = manifest.imported is not None and manifest.imported.kind in FIO_REPORTS
        return tuple(run_audits(store, manifest.run_id)) if of_fio else compared

    audits = each(store, audited, batch)
    for (source, manifest, rows, _, reports), of_run in zip(batch, audits, strict=True):
        yield ReadImport(
            source=source,
            manifest=manifest,
            measured_at=rows.measured_at,
            steps=len(rows.steps),
            audits=of_run,
            reports=reports,
        )


def _compared(manifest: Manifest, report: Imported) -> tuple[StepAudit, ...]:
    """The steps of a run of another tool whose bytes, I/Os and block were compared."""
    index = manifest.imported.index if manifest.imported is not None else 0
    holds = AuditCheck(name="bytes", holds=True, message="bytes are I/Os times block")
    return tuple(
        StepAudit(
            run_id=manifest.run_id, step_index=step.step.index, step=step.step.name, checks=(holds,)
        )
        for step in report.runs[index].steps
        if step.compared
    )


def damaged_logs(
    store: EvidenceStore, run_ids: Sequence[str]
) -> list[tuple[str, FioOutputUnreadable]]:
    """Compute the series and phases of imported runs with logs, as our own runs do when they end,
    so that the first report need not. Returns the runs whose logs are damaged, each with its error;
    other unreadable evidence is reported by the command that reads it."""
    if not run_ids:
        return []
    read_series_ahead(store, run_ids)

    def fault_of(run_id: str) -> FioOutputUnreadable | None:
        try:
            run_phases(store, run_id)
        except FioOutputUnreadable as error:
            return error
        except DiskbenchError:
            pass
        return None

    faults = zip(run_ids, each(store, fault_of, run_ids), strict=True)
    return [(run_id, error) for run_id, error in faults if error is not None]
