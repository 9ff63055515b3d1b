"""How the files of a run lie in the evidence store.

    runs/<run_id>/plan.json
    runs/<run_id>/steps/<iii>-<name>[-r<round>]/<file>[.zst]
                                               /step.json       closes the step
    runs/<run_id>/manifest.json                                 closes the run

Files of more than 4 KiB are compressed. A closed folder never changes; one that a killed process
left open, or whose step.json cannot be read, is written anew. No file of a host or of an import is
ever kept under the name of a record.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from diskbench.errors import (
    EvidenceDamaged,
    KeyTaken,
    NewerFormat,
)
from diskbench.model.record_names import RECORD_NAMES
from diskbench.model.spec import Plan, Step
from diskbench.store.content import PACKED, Content, put_content, read_ends, read_file
from diskbench.store.content import size_and_digest as _size_and_digest
from diskbench.store.manifest import FORMAT, FileRecord, Manifest, StepRecord
from diskbench.store.parse_step import END_BYTES, PARSED_FILES, PARSED_IN_PART

if TYPE_CHECKING:
    from pydantic import BaseModel

    from diskbench.ports import EvidenceStore

RUNS = "runs"
STEP_JSON = "step.json"
COMPRESS_ABOVE_BYTES = 4096
"""Smaller files stay readable as they are; compression would save less than a disk block."""
DAMAGED = ".damaged"
"""Stands behind the name of a record that could not be read and that a new one replaced."""
_RecordT = TypeVar("_RecordT", bound="BaseModel")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]")


@dataclass(frozen=True)
class KeptStep:
    """One closed step: its record, and those of its files that a result is made of."""

    record: StepRecord
    files: Mapping[str, bytes]


def run_prefix(run_id: str) -> str:
    """Where everything of a run lies."""
    return f"{RUNS}/{run_id}"


def step_folder(step: Step) -> str:
    """The folder of a step under its run: `steps/003-randread-r2`."""
    name = _UNSAFE.sub("_", step.name)
    return f"steps/{step.index:03d}-{name}" + (f"-r{step.round}" if step.round else "")


def index_of(folder: str) -> int | None:
    """The index of the step in a folder: 3 of `steps/003-randread-r2`; None of another name."""
    digits = folder.partition("steps/")[2].partition("-")[0]
    return int(digits) if digits.isdecimal() else None


def name_at(plan: Plan, index: int) -> str:
    """The folder under `steps/` of the step with an index in its run; rounds of a loop count on."""
    step = plan.steps[min(index, len(plan.steps) - 1)]
    if plan.loop is not None and index >= plan.loop.first:
        body = plan.steps[plan.loop.first :]
        number, position = divmod(index - plan.loop.first, len(body))
        step = body[position].model_copy(update={"index": index, "round": number + 1})
    return step_folder(step).partition("/")[2]


def write_plan(store: EvidenceStore, plan: Plan) -> None:
    """The plan, once for each of its runs, before they start.

    A plan of the same run that is there already stays, whatever version of diskbench wrote it and
    in whatever words. Only a draft's gives way, where the run has nothing else yet: its process was
    killed while it gave up renting. Raises KeyTaken for the plan of another trial.
    """
    for run_id in plan.run_ids:
        prefix = run_prefix(run_id)
        try:
            store.put(f"{prefix}/plan.json", _plan_bytes(plan))
        except KeyTaken:
            there = _plan_there(store, run_id)
            if there.get("trial_id") != plan.trial_id:
                raise
            if not _is_draft(there) or list(store.list(prefix)) != [f"{prefix}/plan.json"]:
                continue
            store.delete(prefix)
            store.put(f"{prefix}/plan.json", _plan_bytes(plan))


def _plan_there(store: EvidenceStore, run_id: str) -> dict[str, Any]:
    """The plan of a run as plain JSON: its fields may be those of another version. {} for what is
    no JSON object."""
    try:
        found = json.loads(store.get(f"{run_prefix(run_id)}/plan.json"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_draft(plan: Mapping[str, Any]) -> bool:
    """Whether a plan was written before its machine was acquired (`Plan.is_draft`)."""
    return plan.get("rental") is not None and plan.get("acquired") is None


def read_plan(store: EvidenceStore, run_id: str) -> Plan:
    """The plan of a run; raises KeyError when there is none, EvidenceDamaged for one that cannot
    be read."""
    data = store.get(f"{run_prefix(run_id)}/plan.json")
    return parse_record(Plan, data, f"plan.json of run {run_id}")


def plan_record(store: EvidenceStore, run_id: str, plan: Plan) -> FileRecord:
    """What the manifest says of plan.json as it lies in the store, whatever version wrote it."""
    try:
        data = store.get(f"{run_prefix(run_id)}/plan.json")
    except KeyError:
        data = _plan_bytes(plan)
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
) -> KeptStep:
    """Keep the files of a step and close its folder; returns what is kept.

    A folder closed earlier wins, with its times and files, so a step that is collected twice
    stays what it was; only the leavings of a stopped step, and a folder whose step.json cannot be
    read (`on_note` is told), give way to a whole one.
    """
    folder = step_folder(step)
    prefix = f"{run_prefix(run_id)}/{folder}"
    try:
        closed = read_step(store, run_id, folder)
    except EvidenceDamaged as error:
        on_note(f"{error.message}; its folder is written anew with the files of the host")
        store.delete(prefix)
        closed = None
    if closed and (stopped or not closed.stopped):
        return KeptStep(closed, result_files(store, run_id, closed))
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
        _put_files(store, prefix, record, files)
    except KeyTaken:  # a killed process left this folder open, with files of another attempt
        store.delete(prefix)
        _put_files(store, prefix, record, files)
    store.put(f"{prefix}/{STEP_JSON}", _json(record))
    return KeptStep(record, result_files(store, run_id, record))


def read_step(store: EvidenceStore, run_id: str, folder: str) -> StepRecord | None:
    """The record that closes a step's folder; None while it is open."""
    try:
        data = store.get(f"{run_prefix(run_id)}/{folder}/{STEP_JSON}")
    except KeyError:
        return None
    what = f"{folder}/{STEP_JSON} of run {run_id}"
    record = parse_record(StepRecord, data, what)
    if record.run_id != run_id or step_folder(record.step) != folder:
        raise EvidenceDamaged(
            f"evidence: {what} is that of {step_folder(record.step)} of run {record.run_id}",
            advice="restore it from a copy of the store; the other runs are not affected",
        )
    return record


def result_files(store: EvidenceStore, run_id: str, record: StepRecord) -> dict[str, bytes]:
    """The files of a closed step that a result is made of, verified; of those that may be long and
    need not be whole, the ends. Raises EvidenceDamaged, LimitExceeded."""
    folder = f"{run_prefix(run_id)}/{step_folder(record.step)}"
    return {
        name: read_ends(store, folder, name, file, end_bytes=END_BYTES)
        if name in PARSED_IN_PART and file.bytes > 2 * END_BYTES
        else read_file(store, folder, name, file)
        for name, file in record.files.items()
        if name in PARSED_FILES
    }


def read_step_files(store: EvidenceStore, run_id: str, record: StepRecord) -> dict[str, bytes]:
    """All files of a closed step, verified. Raises EvidenceDamaged naming the one that differs."""
    folder = f"{run_prefix(run_id)}/{step_folder(record.step)}"
    return {name: read_file(store, folder, name, file) for name, file in record.files.items()}


def write_manifest(store: EvidenceStore, manifest: Manifest) -> Manifest:
    """Close a run; one closed earlier wins and is returned. A manifest that cannot be read is kept
    beside the new one, under a name that ends in DAMAGED."""
    key, data = f"{run_prefix(manifest.run_id)}/manifest.json", _json(manifest)
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
    """The manifest of a run; None while the run is not finished. Raises EvidenceDamaged for one
    that cannot be read or is another run's."""
    try:
        data = store.get(f"{run_prefix(run_id)}/manifest.json")
    except KeyError:
        return None
    manifest = parse_record(Manifest, data, f"manifest.json of run {run_id}")
    if manifest.run_id != run_id:  # a run lies where its id says, and is read from nowhere else
        raise EvidenceDamaged(
            f"evidence: manifest.json of run {run_id} says that it is of run {manifest.run_id!r}",
            advice="restore it from a copy of the store; the other runs are not affected",
        )
    return manifest


def list_runs(store: EvidenceStore) -> Sequence[str]:
    """The ids of all runs that have evidence, sorted; finished or not."""
    return store.folders(RUNS)


def step_folders(store: EvidenceStore, run_id: str) -> Sequence[str]:
    """The folders of all steps of a run, closed or not, in order."""
    return [f"steps/{name}" for name in store.folders(f"{run_prefix(run_id)}/steps")]


def step_digest(store: EvidenceStore, run_id: str, folder: str) -> str:
    """The SHA-256 of a closed folder's step.json as it lies in the store: never of what is made of
    it, to which a later version may add fields. Raises KeyError while the folder is open."""
    data = store.get(f"{run_prefix(run_id)}/{folder}/{STEP_JSON}")
    return hashlib.sha256(data).hexdigest()


def _records(files: Mapping[str, Content]) -> dict[str, FileRecord]:
    """What is said of each file, under keys of their own: names that differ in letter case or in
    what no key may hold, and those of records, are told apart by a number."""
    taken, found = {*RECORD_NAMES}, dict[str, FileRecord]()
    for name, content in sorted(files.items()):
        record = _record(name, content)
        key, number = record.key, 1
        while key.casefold() in taken:
            number += 1
            folder, slash, last = record.key.rpartition("/")
            key = f"{folder}{slash}{number}-{last}"
        taken.add(key.casefold())
        found[name] = record.model_copy(update={"key": key})
    return found


def _record(name: str, content: Content, *, key: str | None = None) -> FileRecord:
    safe = "/".join(_UNSAFE.sub("_", part) for part in name.split("/"))
    size, digest = _size_and_digest(content)
    # The ending says that it is compressed: a file that comes with it is compressed once more.
    packed = size > COMPRESS_ABOVE_BYTES or safe.endswith(PACKED)
    return FileRecord(key=key or (f"{safe}{PACKED}" if packed else safe), bytes=size, sha256=digest)


def _put_files(
    store: EvidenceStore, prefix: str, record: StepRecord, files: Mapping[str, Content]
) -> None:
    for name, file in record.files.items():
        put_content(store, f"{prefix}/{file.key}", files[name])


def put_originals(
    store: EvidenceStore, prefix: str, files: Mapping[str, Content]
) -> dict[str, FileRecord]:
    """Keep imported files beside the steps of their run."""
    records = _records({f"imported/{name}": content for name, content in files.items()})
    found = {name: records[f"imported/{name}"] for name in files}
    for name, file in found.items():
        put_content(store, f"{prefix}/{file.key}", files[name])
    return found


def _json(record: BaseModel) -> bytes:
    return record.model_dump_json(indent=1).encode()


def _plan_bytes(plan: Plan) -> bytes:
    return _json(plan)


def parse_record(kind: type[_RecordT], data: bytes, what: str) -> _RecordT:
    """A record of ours. Raises EvidenceDamaged naming `what` and the field, NewerFormat for one
    that a later diskbench wrote."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        cause = error.errors()[0]
        told = cause["input"]
        if cause["loc"] == ("format",) and isinstance(told, int) and told > FORMAT:
            raise NewerFormat(
                f"evidence: {what} has format {told}; this diskbench knows {FORMAT}",
                advice="it was written by a newer diskbench: upgrade this one",
            ) from error
        where = ".".join(str(part) for part in cause["loc"])
        raise EvidenceDamaged(
            f"evidence: {what} is damaged: {where}: {cause['msg']}".replace(": : ", ": "),
            advice="restore it from a copy of the store; the other runs are not affected",
        ) from error
