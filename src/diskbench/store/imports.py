"""Import measurements of others, in any format of importers/registry.py.

The originals are stored as evidence under an id that is derived from their bytes, so importing a
file twice gives one run; rows are marked `imported`. store/import_sources.py decides which logs
belong to which file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ulid import ULID

from diskbench.errors import EvidenceDamaged
from diskbench.importers.fio_report import FIO_REPORTS
from diskbench.importers.form import Imported, ImportedRun
from diskbench.importers.registry import read_imported
from diskbench.limits import IMPORT_BYTES
from diskbench.model.doubts import IMPORT
from diskbench.model.result import StepResult
from diskbench.ports import EvidenceStore
from diskbench.store import archive
from diskbench.store.audits import doubted, run_audits
from diskbench.store.clock import now
from diskbench.store.content import read_file
from diskbench.store.manifest import FileRecord, ImportRecord, Manifest
from diskbench.store.parallel_evidence import each
from diskbench.store.parse_step import FIO_JSON, PARSER_VERSION
from diskbench.store.run_row import imported_run_row

_ULID_TIME_BITS = 48
_ULID_DIGEST_DIGITS = 16
"""The digits of a ULID after its ten of time: exactly the 80 bits of the digest."""


class KeptRuns:
    """The runs in an evidence store by what their ids say of their bytes. The store is listed once,
    when the first run without a time asks."""

    def __init__(self, evidence: EvidenceStore) -> None:
        self._evidence = evidence
        self._by_digest: dict[str, str] | None = None

    def of_digest(self, tail: str) -> str | None:
        """The run whose id ends in the digits of a digest; None where there is none."""
        if self._by_digest is None:
            runs = archive.list_runs(self._evidence)
            self._by_digest = {run_id[-_ULID_DIGEST_DIGITS:]: run_id for run_id in reversed(runs)}
        return self._by_digest.get(tail)

    def add(self, run_id: str) -> None:
        """Note a run that is about to be stored."""
        if self._by_digest is not None:
            self._by_digest.setdefault(run_id[-_ULID_DIGEST_DIGITS:], run_id)


def run_ids(
    known_runs: KeptRuns, source: ImportSource, imported: Imported, at: str
) -> tuple[str, ...]:
    """The ids of the runs in a source that is imported at `at`."""
    return tuple(
        _run_id(known_runs, source, index, run, at) for index, run in enumerate(imported.runs)
    )


def _run_id(
    known_runs: KeptRuns, source: ImportSource, index: int, run: ImportedRun, at: str
) -> str:
    """A ULID from the time in the file and a digest of its bytes.

    A file without a time gets the time of the import, which differs at the next import. So an
    existing run with the same digest is reused: the same bytes remain one run.
    """
    digest = _digest(source, index)
    moment = run.started_at or run.finished_at
    if moment is None:
        tail = str(ULID.from_bytes(bytes(6) + digest))[-_ULID_DIGEST_DIGITS:].lower()
        if known := known_runs.of_digest(tail):
            return known
    milliseconds = int(datetime.fromisoformat(moment or at).timestamp() * 1000)
    in_range = min(max(milliseconds, 0), 2**_ULID_TIME_BITS - 1)
    run_id = str(ULID.from_bytes(in_range.to_bytes(6, "big") + digest)).lower()
    known_runs.add(run_id)
    return run_id


def _digest(source: ImportSource, index: int) -> bytes:
    """The 80 bits of an id that depend on the bytes alone."""
    digest = hashlib.sha256(f"{index}\n".encode() + source.data)
    for name, data in sorted(source.logs.items()):
        digest.update(f"\n{name}\n".encode() + hashlib.sha256(data).digest())
    return digest.digest()[:10]


@dataclass(frozen=True)
class ImportSource:
    """One file that holds runs (or the first of several logs), and the logs that belong to it.

    `steps` maps the name of a log to the index of its step, in a file of several steps.
    """

    name: str
    data: bytes
    logs: Mapping[str, bytes]
    steps: Mapping[str, int] = field(default_factory=dict)


def import_source(
    evidence: EvidenceStore,
    source: ImportSource,
    *,
    labels: Mapping[str, str],
    version: str,
    at: str | None = None,
    imported: Imported | None = None,
    known_runs: KeptRuns | None = None,
) -> tuple[Manifest, ...]:
    """Store a file as evidence; returns the manifest of each run in it, for `imported_rows`.

    `at` is the time of the import (default: now). It is the creation time of runs whose file holds
    no time, but never their time of measurement. A file that was imported before gives its existing
    manifests. `imported` is what `read_source` gave, where it was called; the sources of one
    import share `known_runs`. Raises InvalidValue.
    """
    imported = imported or read_source(source)
    at = at or now()
    ids = run_ids(known_runs or KeptRuns(evidence), source, imported, at)

    def keep(index: int) -> Manifest:
        return keep_run(evidence, source, imported, ids, index, labels, version, at)

    return tuple(each(evidence, keep, range(len(ids))))


def read_source(source: ImportSource) -> Imported:
    """The runs in a source, whose ids are not known yet. Raises InvalidValue."""
    return read_imported(source.data, name=source.name, run_id_of=lambda _: "")


ImportedRows = tuple[dict[str, Any], dict[str, Any], dict[str, Any], tuple[StepResult, ...]]
"""The campaign, trial and run row and the steps of a run."""


def imported_rows(evidence: EvidenceStore, manifest: Manifest) -> ImportedRows:
    """The rows of an imported run, from its evidence."""
    record = manifest.imported
    assert record is not None
    prefix = archive.run_prefix(manifest.run_id)
    if record.name not in record.files:
        raise EvidenceDamaged(f"the manifest of run {manifest.run_id} has no file {record.name!r}")
    data = read_file(evidence, prefix, record.name, record.files[record.name], limit=IMPORT_BYTES)
    imported = read_imported(data, name=record.name, run_id_of=lambda _: manifest.run_id)
    return rows_of_import(evidence, manifest, imported)


def rows_of_import(evidence: EvidenceStore, manifest: Manifest, imported: Imported) -> ImportedRows:
    """The rows of an imported run, from what its file holds: parsed once for all of its runs."""
    record = manifest.imported
    assert record is not None
    if not 0 <= record.index < len(imported.runs):
        raise EvidenceDamaged(
            f"the manifest of run {manifest.run_id} is of run {record.index} of {record.name}, "
            f"which holds {len(imported.runs)}"
        )
    run = imported.runs[record.index]
    campaign = {"campaign_id": manifest.campaign_id, "created_at": record.created_at}
    trial = {
        "trial_id": manifest.trial_id,
        "campaign_id": manifest.campaign_id,
        "replicate": 0,
        "created_at": record.created_at,
        "plan": None,
        "rent": None,
        "scope": None,
    }
    times = (run.started_at, run.finished_at)
    row = imported_run_row(manifest, record, imported.facts, times, evidence.url)
    return campaign, trial, row, tuple(_steps(evidence, manifest, record, imported, run))


def keep_run(
    evidence: EvidenceStore,
    source: ImportSource,
    imported: Imported,
    ids: Sequence[str],
    index: int,
    labels: Mapping[str, str],
    version: str,
    at: str,
) -> Manifest:
    """Store one run of a source as evidence, all `ids` of which are known; returns its manifest, or
    that of an earlier import. Raises KeyTaken, StoreUnavailable."""
    run_id, run = ids[index], imported.runs[index]
    earlier = archive.read_manifest(evidence, run_id)
    if earlier is not None:
        return earlier
    prefix = archive.run_prefix(run_id)
    # An undated run's folders are closed at the time of the import; its rows have no time at all.
    started, finished = _times(run)
    started, finished = started or at, finished or at
    files = {source.name: source.data, **source.logs}
    names = {name: name for name in files}
    if imported.kind == "fio-json":
        names[source.name] = FIO_JSON
    if len(run.steps) == 1:  # series and histograms find them where every step has them
        closed = archive.close_step(
            evidence,
            run_id,
            run.steps[0].step,
            {names[name]: data for name, data in files.items()},
            started_at=started,
            finished_at=finished,
        )
        folder = archive.step_folder(run.steps[0].step)
        records = {name: _under(folder, closed.files[names[name]]) for name in files}
    else:
        apart = {name: data for name, data in files.items() if name not in source.steps}
        records = archive.put_originals(evidence, prefix, apart)
        for place, imported_step in enumerate(run.steps):
            mine = {name: files[name] for name, at in source.steps.items() if at == place}
            if mine:
                closed = archive.close_step(
                    evidence,
                    run_id,
                    imported_step.step,
                    mine,
                    started_at=started,
                    finished_at=finished,
                )
                folder = archive.step_folder(imported_step.step)
                records |= {name: _under(folder, closed.files[name]) for name in mine}
    record = ImportRecord(
        kind=imported.kind,
        name=source.name,
        index=index,
        tool_version=imported.tool_version,
        created_at=run.started_at or run.finished_at or at,
        local_time=run.local_time,
        files=records,
    )
    return archive.write_manifest(
        evidence,
        Manifest(
            run_id=run_id,
            run_index=index,
            trial_id=ids[0],
            campaign_id=ids[0],
            state="done",
            started_at=run.started_at,
            finished_at=finished,
            diskbench_version=version,
            parser_version=PARSER_VERSION,
            fio_version=imported.tool_version if imported.kind in FIO_REPORTS else None,
            labels=dict(labels),
            marks={"emulated": False, "unverified": True, "imported": True},
            imported=record,
        ),
    )


def _steps(
    evidence: EvidenceStore,
    manifest: Manifest,
    record: ImportRecord,
    imported: Imported,
    run: ImportedRun,
) -> list[StepResult]:
    audits = run_audits(evidence, manifest.run_id) if imported.kind in FIO_REPORTS else ()
    started, finished = _times(run)
    unusual = (*imported.notes, *run.notes)
    notes = tuple(IMPORT.warning(f"{record.name}: {note}") for note in unusual)
    steps = [
        StepResult(
            step_index=imported_step.step.index,
            step=imported_step.step.name,
            role=imported_step.step.role,
            round=imported_step.step.round,
            started_at=started,
            finished_at=finished,
            fio_exit=0,
            fio_version=imported.tool_version,
            measurements=tuple(
                row.model_copy(update={"run_id": manifest.run_id})
                for row in imported_step.measurements
            ),
            warnings=(*(notes if imported_step is run.steps[0] else ()), *imported_step.warnings),
            seconds_in_fio=max((m.runtime_ns or 0 for m in imported_step.measurements), default=0)
            / 1e9,
        )
        for imported_step in run.steps
    ]
    return list(doubted(steps, audits))


def _times(run: ImportedRun) -> tuple[str | None, str | None]:
    """Begin and end, each replaced by the other where it is missing; None where the file has
    neither."""
    started = run.started_at or run.finished_at
    return started, run.finished_at or started


def _under(folder: str, file: FileRecord) -> FileRecord:
    return file.model_copy(update={"key": f"{folder}/{file.key}"})
