"""How the files of a run lie in the evidence store.

    runs/<run_id>/plan.json
    runs/<run_id>/steps/<iii>-<name>[-r<round>]/<file>[.zst]
                                               /step.json       closes the step
    runs/<run_id>/manifest.json                                 closes the run

Files of more than 4 KiB are compressed. A closed folder never changes; one that a killed process
left open is written anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from diskbench.errors import EvidenceDamaged, StoreUnavailable
from diskbench.model.spec import Plan, Step
from diskbench.store.evidence import KeyTaken
from diskbench.store.manifest import FORMAT, FileRecord, Manifest, StepRecord

if TYPE_CHECKING:
    from pydantic import BaseModel

    from diskbench.ports import EvidenceStore

RUNS = "runs"
STEP_JSON = "step.json"
COMPRESS_ABOVE_BYTES = 4096
"""Smaller files stay readable as they are; compression would save less than a disk block."""
_LEVEL = 3
_RecordT = TypeVar("_RecordT", bound="BaseModel")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.+-]")


class NewerFormat(StoreUnavailable):
    """Evidence that a later diskbench wrote, in a format this one does not know."""


@dataclass(frozen=True)
class KeptStep:
    """One closed step: its record, and its files as they were fetched."""

    record: StepRecord
    files: Mapping[str, bytes]


def run_prefix(run_id: str) -> str:
    """Where everything of a run lies."""
    return f"{RUNS}/{run_id}"


def step_folder(step: Step) -> str:
    """The folder of a step under its run: `steps/003-randread-r2`."""
    name = _UNSAFE.sub("_", step.name)
    return f"steps/{step.index:03d}-{name}" + (f"-r{step.round}" if step.round else "")


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
    """The plan of a run; raises KeyError when there is none."""
    return Plan.model_validate_json(store.get(f"{run_prefix(run_id)}/plan.json"))


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
    files: Mapping[str, bytes],
    *,
    started_at: str,
    finished_at: str,
    stopped: bool = False,
) -> KeptStep:
    """Keep the files of a step and close its folder; returns what is kept.

    A folder closed earlier wins, with its times and files, so a step that is collected twice
    stays what it was; only the leavings of a stopped step give way to a whole one.
    """
    prefix = f"{run_prefix(run_id)}/{step_folder(step)}"
    closed = read_step(store, run_id, step_folder(step))
    if closed and (stopped or not closed.stopped):
        return KeptStep(closed, read_step_files(store, run_id, closed))
    if closed:
        store.delete(prefix)
    record = StepRecord(
        run_id=run_id,
        step=step,
        started_at=started_at,
        finished_at=finished_at,
        stopped=stopped,
        files={name: _record(name, data) for name, data in sorted(files.items())},
    )
    try:
        _put_files(store, prefix, record, files)
    except KeyTaken:  # a killed process left this folder open, with files of another attempt
        store.delete(prefix)
        _put_files(store, prefix, record, files)
    store.put(f"{prefix}/{STEP_JSON}", _json(record))
    return KeptStep(record, files)


def read_step(store: EvidenceStore, run_id: str, folder: str) -> StepRecord | None:
    """The record that closes a step's folder; None while it is open."""
    try:
        data = store.get(f"{run_prefix(run_id)}/{folder}/{STEP_JSON}")
    except KeyError:
        return None
    return _parse(StepRecord, data, f"{folder}/{STEP_JSON} of run {run_id}")


def read_step_files(store: EvidenceStore, run_id: str, record: StepRecord) -> dict[str, bytes]:
    """All files of a closed step, verified. Raises EvidenceDamaged naming the one that differs."""
    folder = f"{run_prefix(run_id)}/{step_folder(record.step)}"
    return {name: read_file(store, folder, name, file) for name, file in record.files.items()}


def read_file(store: EvidenceStore, folder: str, name: str, file: FileRecord) -> bytes:
    """One file, decompressed and verified. Raises EvidenceDamaged when it is not what was kept."""
    try:
        data = store.get(f"{folder}/{file.key}")
    except KeyError:
        raise EvidenceDamaged(
            f"evidence {store.url}: {folder}/{file.key} is missing",
            advice="restore it from a copy of the store; the other runs are not affected",
        ) from None
    if file.key.endswith(".zst"):
        data = _decompress(data, f"{folder}/{file.key}")
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise EvidenceDamaged(
            f"evidence {store.url}: {folder}/{file.key} is not what was kept (SHA-256 of {name})",
            advice="restore it from a copy of the store; the other runs are not affected",
        )
    return data


def write_manifest(store: EvidenceStore, manifest: Manifest) -> Manifest:
    """Close a run; one closed earlier wins and is returned."""
    try:
        store.put(f"{run_prefix(manifest.run_id)}/manifest.json", _json(manifest))
    except KeyTaken:
        earlier = read_manifest(store, manifest.run_id)
        assert earlier is not None
        return earlier
    return manifest


def read_manifest(store: EvidenceStore, run_id: str) -> Manifest | None:
    """The manifest of a run; None while the run is not finished."""
    try:
        data = store.get(f"{run_prefix(run_id)}/manifest.json")
    except KeyError:
        return None
    return _parse(Manifest, data, f"manifest.json of run {run_id}")


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


def _record(name: str, data: bytes, *, key: str | None = None) -> FileRecord:
    safe = "/".join(_UNSAFE.sub("_", part) for part in name.split("/"))
    stored = key or (f"{safe}.zst" if len(data) > COMPRESS_ABOVE_BYTES else safe)
    return FileRecord(key=stored, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _put_files(
    store: EvidenceStore, prefix: str, record: StepRecord, files: Mapping[str, bytes]
) -> None:
    for name, file in record.files.items():
        _put_file(store, prefix, file, files[name])


def put_original(store: EvidenceStore, prefix: str, name: str, data: bytes) -> FileRecord:
    """Keep an imported file beside the steps of its run."""
    file = _record(f"imported/{name}", data)
    _put_file(store, prefix, file, data)
    return file


def _put_file(store: EvidenceStore, prefix: str, file: FileRecord, data: bytes) -> None:
    store.put(f"{prefix}/{file.key}", _compress(data) if file.key.endswith(".zst") else data)


def _compress(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)


def _decompress(data: bytes, key: str) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise EvidenceDamaged(f"evidence {key} cannot be decompressed: {error}") from error


def _json(record: BaseModel) -> bytes:
    return record.model_dump_json(indent=1).encode()


def _plan_bytes(plan: Plan) -> bytes:
    return _json(plan)


def _parse(kind: type[_RecordT], data: bytes, what: str) -> _RecordT:
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        cause = error.errors()[0]
        if cause["loc"] == ("format",):
            raise NewerFormat(
                f"evidence: {what} has format {cause['input']}; this diskbench knows {FORMAT}",
                advice="it was written by a newer diskbench: upgrade this one",
            ) from error
        where = ".".join(str(part) for part in cause["loc"])
        raise EvidenceDamaged(f"evidence: {what} is damaged: {where}: {cause['msg']}") from error
