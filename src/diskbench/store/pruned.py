"""The record of raw logs that `diskbench results prune` removed, and what is read in their place.

    runs/<run_id>/pruned.json                           which files, their sizes, checksums, when
    runs/<run_id>/pruned/<iii>-<name>.series-5.parquet  what was derived from them before

The copies under `pruned/` are evidence, unlike the same files under `derived/`: nothing can make
them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import EvidenceDamaged
from diskbench.limits import IMPORT_BYTES
from diskbench.model.result import AuditCheck
from diskbench.store.archive import parse_record, run_prefix
from diskbench.store.content import read_file
from diskbench.store.manifest import PrunedRun

if TYPE_CHECKING:
    from diskbench.ports import EvidenceStore

PRUNED_JSON = "pruned.json"


def pruned_key(run_id: str) -> str:
    """The key of the record of a run."""
    return f"{run_prefix(run_id)}/{PRUNED_JSON}"


def read_pruned(evidence: EvidenceStore, run_id: str) -> PrunedRun | None:
    """The record of a run; None where nothing of it was pruned. Raises EvidenceDamaged."""
    try:
        data = evidence.get(pruned_key(run_id))
    except KeyError:
        return None
    record = parse_record(PrunedRun, data, f"{PRUNED_JSON} of run {run_id}")
    if record.run_id != run_id:
        raise EvidenceDamaged(
            f"evidence: {PRUNED_JSON} of run {run_id} says that it is of run {record.run_id!r}",
            advice="restore it from a copy of the store; the other runs are not affected",
        )
    return record


def kept_instead(evidence: EvidenceStore, run_id: str, folder: str, name: str) -> bytes | None:
    """What was derived from the pruned logs of the step in `folder`, for the derived file `name`
    (`series-5.parquet`): of another version where its logs were pruned by another diskbench. None
    where the step was not pruned. Raises EvidenceDamaged."""
    record = read_pruned(evidence, run_id)
    step = record.steps.get(folder) if record else None
    if step is None:
        return None
    kind = name.rpartition("-")[0]
    known = next((stored for stored in step.kept if stored.rpartition("-")[0] == kind), None)
    if known is None:
        return None
    return read_file(evidence, run_prefix(run_id), known, step.kept[known], limit=IMPORT_BYTES)


def audit_instead(evidence: EvidenceStore, run_id: str, folder: str) -> AuditCheck | None:
    """The check of the logs of the step in `folder`, as it was before they were pruned; None where
    they were not. Raises EvidenceDamaged."""
    record = read_pruned(evidence, run_id)
    step = record.steps.get(folder) if record else None
    if record is None or step is None:
        return None
    return step.audit or AuditCheck(
        name="logs", holds=None, message=f"the logs were pruned at {record.pruned_at}"
    )
