"""Import measurements of others, in any format of importers/registry.py: stored as evidence, and
then as rows, which are read from the evidence like those of a rebuild.

The originals are stored under an id that is derived from their bytes, so importing a file twice
gives one run; rows are marked `imported`. store/import_sources.py decides which logs belong to
which file.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy.engine import Engine
from ulid import ULID

from diskbench.errors import DiskbenchError, FioOutputUnreadable
from diskbench.fio.logs import log_name
from diskbench.fio.reported import FIO_REPORTS
from diskbench.importers.form import ImportedRun
from diskbench.model.result import StepAudit
from diskbench.ports import EvidenceStore
from diskbench.store import archive
from diskbench.store.dialects import now
from diskbench.store.import_sources import ImportSource
from diskbench.store.manifest import ImportRecord, Manifest
from diskbench.store.parallel_evidence import WINDOW, each, is_away
from diskbench.store.parse_step import FIO_JSON, PARSER_VERSION
from diskbench.store.phases import run_phases
from diskbench.store.rebuild import write_runs
from diskbench.store.run_folder import RunRows, rows_of

_ULID_TIME_BITS = 48
_ULID_DIGEST_DIGITS = 16
"""The digits of a ULID after its ten of time: exactly the 80 bits of the digest."""
_ROWS_AT_ONCE = 2000
"""Runs and steps in one transaction, which hold some 10 MB until then."""
_Known = tuple[ImportSource, tuple[str, ...]]
"""A source, and the ids that its runs get."""


@dataclass(frozen=True)
class ReadImport:
    """A run and the file that it came from. `measured_at` is the time of measurement, in ISO 8601
    and UTC; None where the file does not have it. `audits` say whether the figures in the file
    agree with each other. `reports` says what else in the file counts as this run, or was left
    out."""

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
    or none.

    The time of the import is the creation time of runs whose file holds no time, but never their
    time of measurement. A run that was imported before keeps its manifest, also under another name
    of its file. Raises StoreUnavailable, FioOutputUnreadable.
    """
    at = now()
    ids_of = _ids_at(store, at)

    def keep(known: _Known) -> list[tuple[ReadImport, RunRows]]:
        def keep_run(index: int) -> tuple[ReadImport, RunRows]:
            source = known[0]
            manifest = _keep_run(store, known, index, labels, version, at)
            record = manifest.imported
            same = (source.name, source.parsed.kind)
            is_same = record is not None and (record.name, record.kind) == same
            rows = rows_of(store, manifest, source.parsed if is_same else None)
            read = (rows.run["measured_at"], len(rows.steps), rows.audits)
            return ReadImport(source, manifest, *read, source.parsed.runs[index].reports), rows

        return each(store, keep_run, range(len(known[1])))

    batch: list[tuple[ReadImport, RunRows]] = []
    found = ((source, ids_of(source)) for source in sources)
    for window in _windows(found, WINDOW if is_away(store) else 1):
        batch += [run for runs in each(store, keep, window) for run in runs]
        if sum(1 + run.steps for run, _ in batch) >= _ROWS_AT_ONCE:
            yield from _written(database, store, batch)
            batch = []
    yield from _written(database, store, batch)


def _windows(found: Iterable[_Known], most: int) -> Iterator[list[_Known]]:
    """Groups of sources that are stored together: until a group has `most` runs or would have a run
    twice."""
    window, ids = list[_Known](), set[str]()
    for source, of_source in found:
        if window and (len(ids) >= most or not ids.isdisjoint(of_source)):
            yield window
            window, ids = [], set()
        window.append((source, of_source))
        ids.update(of_source)
    if window:
        yield window


def _written(
    database: Engine, store: EvidenceStore, batch: Sequence[tuple[ReadImport, RunRows]]
) -> Iterator[ReadImport]:
    if batch:
        store.settle()
        write_runs(database, [rows for _, rows in batch])
    yield from (run for run, _ in batch)


def _ids_at(evidence: EvidenceStore, at: str) -> Callable[[ImportSource], tuple[str, ...]]:
    """A function that says the ids of the runs in a source that is imported at `at`: ULIDs from the
    time in the file and a digest of its bytes.
    A file without a time gets the time of the import, which differs at the next import. So an
    existing run with the same digest is reused: the same bytes remain one run."""

    @cache  # when the first run without a time asks
    def kept_by_digest() -> dict[str, str]:
        runs = reversed(archive.list_runs(evidence))
        return {run_id[-_ULID_DIGEST_DIGITS:]: run_id for run_id in runs}

    def id_of(digest: bytes, run: ImportedRun) -> str:
        moment, _ = run.times
        milliseconds = int(datetime.fromisoformat(moment or at).timestamp() * 1000)
        in_range = min(max(milliseconds, 0), 2**_ULID_TIME_BITS - 1)
        run_id = str(ULID.from_bytes(in_range.to_bytes(6, "big") + digest)).lower()
        known = kept_by_digest() if moment is None else {}
        return known.setdefault(run_id[-_ULID_DIGEST_DIGITS:], run_id)

    return lambda source: tuple(
        id_of(_digest(source, index), run) for index, run in enumerate(source.parsed.runs)
    )


def _digest(source: ImportSource, index: int) -> bytes:
    """The 80 bits of an id that depend on the bytes alone."""
    place = f"{source.parsed.kind} {index}" if source.is_further else f"{index}"
    digest = hashlib.sha256(f"{place}\n".encode() + source.data)
    for name, data in sorted(source.logs.items()):
        digest.update(f"\n{name}\n".encode() + hashlib.sha256(data).digest())
    return digest.digest()[:10]


def _keep_run(
    store: EvidenceStore, kept: _Known, index: int, labels: Mapping[str, str], version: str, at: str
) -> Manifest:
    """Store one run of a source as evidence; returns its manifest, or that of an earlier import.
    Raises KeyTaken, StoreUnavailable."""
    (source, ids), parsed = kept, kept[0].parsed
    run_id, run = ids[index], parsed.runs[index]
    earlier = archive.read_manifest(store, run_id)
    if earlier is not None:
        return earlier
    # An undated run's folders are closed at the time of the import; its rows have no time at all.
    started, finished = run.times
    started, finished = started or at, finished or at
    files = {source.name: source.data, **source.logs, **source.beside}
    is_single = len(run.steps) == 1
    places = {
        name: 0 if is_single and name not in source.beside else source.steps.get(name)
        for name in files
    }
    apart = {name: files[name] for name, place in places.items() if place is None}
    records = archive.put_originals(store, archive.run_prefix(run_id), apart)
    for place, imported_step in enumerate(run.steps):
        # The file of a single step is named so that it is found as in every other step.
        names = {
            name: FIO_JSON if name == source.name and parsed.kind == "fio-json" else name
            for name, at_step in places.items()
            if at_step == place
        }
        if not names:
            continue
        closed = archive.write_step_evidence(
            store,
            run_id,
            imported_step.step,
            {named: files[name] for name, named in names.items()},
            started_at=started,
            finished_at=finished,
        )
        folder = archive.step_folder(imported_step.step)
        for name, named in names.items():
            file = closed.files[named]
            records[name] = file.model_copy(update={"key": f"{folder}/{file.key}"})
    record = ImportRecord(
        kind=parsed.kind,
        name=source.name,
        index=index,
        tool_version=parsed.tool_version,
        created_at=at,
        local_time=run.local_time,
        job_file=source.job_file,
        files=records,
    )
    return archive.write_manifest(
        store,
        Manifest(
            run_id=run_id,
            run_index=index - run.first,
            trial_id=ids[run.first],
            campaign_id=ids[run.first],
            state="done",
            started_at=run.started_at,
            finished_at=finished,
            diskbench_version=version,
            parser_version=PARSER_VERSION,
            fio_version=parsed.tool_version if parsed.kind in FIO_REPORTS else None,
            labels={**run.labels, **labels},
            marks={"emulated": False, "unverified": True, "imported": True},
            imported=record,
        ),
    )


def damaged_logs(
    store: EvidenceStore, run_ids: Sequence[str]
) -> list[tuple[str, FioOutputUnreadable]]:
    """Compute the series and phases of imported runs with logs, as our own runs do when they end,
    so that the first report need not. Returns the runs whose logs are damaged, each with its error;
    other unreadable evidence is reported by the command that reads it."""

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
