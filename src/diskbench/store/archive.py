"""The layout of a run's files in the evidence store.

    runs/<run_id>/plan.json
    runs/<run_id>/steps/<iii>-<name>[-r<round>]/<file>[.zst]
                                               /step.json       closes the step
    runs/<run_id>/manifest.json                                 closes the run
    runs/<run_id>/metrics.json                                  what the cloud counted, read later

Files of more than 4 KiB are compressed. A closed folder never changes; a folder that a killed
process left open, or whose step.json cannot be read, is written again. No file of a host or of an
import is ever stored under the name of a record.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from diskbench.errors import EvidenceDamaged, KeyTaken, NewerFormat
from diskbench.model.metrics import METRICS, CloudMetrics
from diskbench.model.result import RECORD_NAMES
from diskbench.model.spec import Plan, Step
from diskbench.model.value_fault import value_faults
from diskbench.ports import EvidenceStore
from diskbench.store.content import PACKED, Content, put_content, read_ends, read_file
from diskbench.store.content import size_and_digest as _size_and_digest
from diskbench.store.manifest import FORMAT, FileRecord, Manifest, StepRecord
from diskbench.store.parallel_evidence import each
from diskbench.store.parse_step import END_BYTES, PARSED_FILES, PARSED_IN_PART

RUNS = "runs"
STEP_JSON = "step.json"
COMPRESS_ABOVE_BYTES = 4096
"""Smaller files are stored uncompressed: compression would save less than a disk block."""
DAMAGED = ".damaged"
"""Suffix of the copy of an unreadable record that a new record replaced."""
_RecordT = TypeVar("_RecordT", bound="BaseModel")
_RESTORE = "restore it from a copy of the store; the other runs are not affected"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]")
_LONGEST_NAME = 240
"""Characters of a folder or file beside what we add to them: file systems keep 255."""


def run_prefix(run_id: str) -> str:
    """The key prefix of all files of a run."""
    return f"{RUNS}/{run_id}"


def step_folder(step: Step) -> str:
    """The folder of a step under its run: `steps/003-randread-r2`."""
    name = _UNSAFE.sub("_", step.name)[:_LONGEST_NAME]
    return f"steps/{step.index:03d}-{name}" + (f"-r{step.round}" if step.round else "")


def index_of(folder: str) -> int | None:
    """The step index in a folder's name: 3 for `steps/003-randread-r2`; None for other names."""
    digits = folder.partition("steps/")[2].partition("-")[0]
    return int(digits) if digits.isdecimal() else None


def name_at(plan: Plan, index: int) -> str:
    """The folder under `steps/` of the step with this index, also in later rounds of a loop."""
    step = plan.steps[min(index, len(plan.steps) - 1)]
    if plan.loop is not None and index >= plan.loop.first:
        body = plan.steps[plan.loop.first :]
        number, position = divmod(index - plan.loop.first, len(body))
        step = body[position].model_copy(update={"index": index, "round": number + 1})
    return step_folder(step).partition("/")[2]


def write_plan(store: EvidenceStore, plan: Plan) -> None:
    """Write the plan for each of its runs, before they start.

    An existing plan of the same trial is kept, whichever version of diskbench wrote it. Only a
    draft is replaced, where the run has no other files: its process was killed while it gave up
    renting. Raises KeyTaken for the plan of another trial.
    """
    for run_id in plan.run_ids:
        prefix = run_prefix(run_id)
        try:
            store.put(f"{prefix}/plan.json", record_json(plan))
        except KeyTaken:
            there: Any = None  # plain JSON, since another version may have other fields
            with contextlib.suppress(ValueError):
                there = json.loads(store.get(f"{prefix}/plan.json"))
            if not isinstance(there, dict) or there.get("trial_id") != plan.trial_id:
                raise
            is_draft = there.get("rental") is not None and there.get("acquired") is None
            if not is_draft or list(store.list(prefix)) != [f"{prefix}/plan.json"]:
                continue
            store.delete(prefix)
            store.put(f"{prefix}/plan.json", record_json(plan))


def read_plan(store: EvidenceStore, run_id: str) -> Plan:
    """The plan of a run; raises KeyError when there is none, EvidenceDamaged for one that cannot
    be read."""
    data = store.get(f"{run_prefix(run_id)}/plan.json")
    return parse_record(Plan, data, f"plan.json of run {run_id}")


def plan_record(store: EvidenceStore, run_id: str, plan: Plan) -> FileRecord:
    """The manifest's record of plan.json as stored, whichever version wrote it."""
    try:
        data = store.get(f"{run_prefix(run_id)}/plan.json")
    except KeyError:
        data = record_json(plan)
    return _record("plan.json", data, key="plan.json")


def write_step_evidence(
    store: EvidenceStore,
    run_id: str,
    step: Step,
    files: Mapping[str, Content],
    *,
    started_at: str,
    finished_at: str,
    stopped: bool = False,
    on_note: Callable[[str], None] = lambda _: None,
) -> StepRecord:
    """Store the files of a step and close its folder; returns its record.

    A folder that is already closed is kept with its times and files, so collecting a step twice
    changes nothing. Only the partial files of a stopped step, and a folder whose step.json cannot
    be read (reported to `on_note`), are replaced.
    """
    folder = step_folder(step)
    prefix = f"{run_prefix(run_id)}/{folder}"
    try:
        closed = read_step(store, run_id, folder)
    except EvidenceDamaged as error:
        on_note(f"{error.message}; its folder is written again from the files of the host")
        store.delete(prefix)
        closed = None
    if closed and (stopped or not closed.stopped):
        return closed
    if closed:
        store.delete(prefix)
    record = StepRecord(
        run_id=run_id,
        step=step,
        started_at=started_at,
        finished_at=finished_at,
        stopped=stopped,
        files=_records(files),
    )
    try:
        _put_files(store, prefix, record.files, files)
    except KeyTaken:  # a killed process left this folder open, with files of another attempt
        store.delete(prefix)
        _put_files(store, prefix, record.files, files)
    store.put(f"{prefix}/{STEP_JSON}", record_json(record))
    return record


def read_step(store: EvidenceStore, run_id: str, folder: str) -> StepRecord | None:
    """The record that closes a step's folder; None while it is open."""
    try:
        data = store.get(f"{run_prefix(run_id)}/{folder}/{STEP_JSON}")
    except KeyError:
        return None
    step_file = f"{folder}/{STEP_JSON} of run {run_id}"
    record = parse_record(StepRecord, data, step_file)
    if record.run_id != run_id or step_folder(record.step) != folder:
        raise EvidenceDamaged(
            f"evidence: {step_file} is that of {step_folder(record.step)} of run {record.run_id}",
            advice=_RESTORE,
        )
    return record


def result_files(store: EvidenceStore, run_id: str, record: StepRecord) -> dict[str, bytes]:
    """The files of a closed step that its result is parsed from, verified; of long files in
    PARSED_IN_PART only both ends. Raises EvidenceDamaged, LimitExceeded."""
    folder = f"{run_prefix(run_id)}/{step_folder(record.step)}"

    def read(name: str) -> bytes:
        file = record.files[name]
        if name in PARSED_IN_PART and file.bytes > 2 * END_BYTES:
            return read_ends(store, folder, name, file, end_bytes=END_BYTES)
        return read_file(store, folder, name, file)

    names = [name for name in record.files if name in PARSED_FILES]
    return dict(zip(names, each(store, read, names), strict=True))


def write_manifest(store: EvidenceStore, manifest: Manifest) -> Manifest:
    """Close a run; an earlier manifest is kept and returned. A manifest that cannot be read is
    copied to a key that ends in DAMAGED and replaced."""
    key, data = f"{run_prefix(manifest.run_id)}/manifest.json", record_json(manifest)
    try:
        store.put(key, data)
    except KeyTaken:
        try:
            earlier = read_manifest(store, manifest.run_id)
        except EvidenceDamaged:
            with contextlib.suppress(KeyTaken):
                store.put(f"{key}{DAMAGED}", store.get(key))
            store.replace(key, data)
            return manifest
        assert earlier is not None
        return earlier
    return manifest


def read_manifest(store: EvidenceStore, run_id: str) -> Manifest | None:
    """The manifest of a run; None while the run is not finished. Raises as `read_record`."""
    return read_record(store, Manifest, run_id, "manifest.json")


def write_metrics(store: EvidenceStore, run_id: str, metrics: CloudMetrics) -> None:
    """Keep what the cloud counted of a run; a second look that saw more replaces the first."""
    store.replace(f"{run_prefix(run_id)}/{METRICS}", record_json(metrics))


def read_metrics(store: EvidenceStore, run_id: str) -> CloudMetrics | None:
    """What the cloud counted of a run; None where it was not asked, or told nothing. Raises
    EvidenceDamaged."""
    return read_record(store, CloudMetrics, run_id, METRICS)


def read_record(
    store: EvidenceStore, kind: type[_RecordT], run_id: str, name: str
) -> _RecordT | None:
    """The record `name` of a run; None where there is none. Raises EvidenceDamaged for one that
    cannot be read or is another run's: a run is only ever stored and read under its own id."""
    try:
        data = store.get(f"{run_prefix(run_id)}/{name}")
    except KeyError:
        return None
    record = parse_record(kind, data, f"{name} of run {run_id}")
    if (other := getattr(record, "run_id", run_id)) != run_id:
        raise EvidenceDamaged(
            f"evidence: {name} of run {run_id} says that it is of run {other!r}", advice=_RESTORE
        )
    return record


def list_runs(store: EvidenceStore) -> Sequence[str]:
    """The ids of all runs that have evidence, sorted; finished or not."""
    return store.folders(RUNS)


def step_folders(store: EvidenceStore, run_id: str) -> Sequence[str]:
    """The folders of all steps of a run, closed or not, in order."""
    return [f"steps/{name}" for name in store.folders(f"{run_prefix(run_id)}/steps")]


def step_digest(store: EvidenceStore, run_id: str, folder: str) -> str:
    """The SHA-256 of the stored bytes of a closed folder's step.json, not of the parsed record, to
    which a later version may add fields. Raises KeyError while the folder is open."""
    data = store.get(f"{run_prefix(run_id)}/{folder}/{STEP_JSON}")
    return hashlib.sha256(data).hexdigest()


def _records(files: Mapping[str, Content]) -> dict[str, FileRecord]:
    """The record of each file, with a unique key: a number is added where two names differ only in
    letter case or in characters that no key may hold, or where a name is that of a record."""
    taken, records = {*RECORD_NAMES}, dict[str, FileRecord]()
    for name, content in sorted(files.items()):
        record = _record(name, content)
        key, number = record.key, 1
        while key.casefold() in taken:
            number += 1
            folder, slash, last = record.key.rpartition("/")
            key = f"{folder}{slash}{number}-{last}"
        taken.add(key.casefold())
        records[name] = record.model_copy(update={"key": key})
    return records


def _record(name: str, content: Content, *, key: str | None = None) -> FileRecord:
    parts = (_UNSAFE.sub("_", part) for part in name.split("/"))
    # A long name keeps its end, which says what it is of; `_records` keeps names apart.
    short = _LONGEST_NAME // 2
    safe = "/".join(
        part if len(part) <= _LONGEST_NAME else part[:short] + part[-100:] for part in parts
    )
    size, digest = _size_and_digest(content)
    # The suffix marks compressed keys, so a file whose own name ends so is compressed once more.
    packed = size > COMPRESS_ABOVE_BYTES or safe.endswith(PACKED)
    return FileRecord(key=key or (f"{safe}{PACKED}" if packed else safe), bytes=size, sha256=digest)


def _put_files(
    store: EvidenceStore, at: str, records: Mapping[str, FileRecord], files: Mapping[str, Content]
) -> None:
    def put(name: str) -> None:
        put_content(store, f"{at}/{records[name].key}", files[name])

    each(store, put, list(records))


def put_originals(
    store: EvidenceStore, prefix: str, files: Mapping[str, Content]
) -> dict[str, FileRecord]:
    """Store imported files beside the steps of their run."""
    records = _records({f"imported/{name}": content for name, content in files.items()})
    originals = {name: records[f"imported/{name}"] for name in files}
    _put_files(store, prefix, originals, files)
    return originals


def record_json(record: BaseModel) -> bytes:
    """A record as it is stored."""
    return record.model_dump_json(indent=1).encode()


def parse_record(kind: type[_RecordT], data: bytes, record_file: str) -> _RecordT:
    """Parse a record of diskbench. Raises EvidenceDamaged naming `record_file` and the field,
    NewerFormat for a record that a later diskbench wrote."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        cause = error.errors()[0]
        version = cause["input"]
        if cause["loc"] == ("format",) and isinstance(version, int) and version > FORMAT:
            raise NewerFormat(
                f"evidence: {record_file} has format {version}; this diskbench knows {FORMAT}",
                advice="it was written by a newer diskbench: upgrade this one",
            ) from error
        raise EvidenceDamaged(
            f"evidence: {record_file} is damaged: {value_faults(error, 'file')}",
            advice="restore it from a copy of the store; the other runs are not affected",
        ) from error
