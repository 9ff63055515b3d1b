"""Cached results of parsing evidence, stored beside it because parsing takes seconds.

Keys hold the version of the parser; all files under `derived/` may be deleted at any time.

Where `diskbench results prune` removed raw logs, a record says so, and what was derived from them
is evidence:

    runs/<run_id>/pruned.json                           which files, their sizes, checksums, when
    runs/<run_id>/pruned/<iii>-<name>.series-5.parquet  what was derived from them before
"""

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from diskbench.errors import EvidenceDamaged, StoreUnavailable
from diskbench.fio.logs import log_name
from diskbench.limits import IMPORT_BYTES
from diskbench.model.result import AuditCheck
from diskbench.parallel import all_of
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_record, run_prefix
from diskbench.store.content import PACKED, copy_as_kept, read_file
from diskbench.store.manifest import PrunedRun, StepRecord


def derived_folder(run_id: str) -> str:
    """The key prefix of all cached results of a run."""
    return f"{run_prefix(run_id)}/derived"


def derived_key(run_id: str, folder: str, name: str) -> str:
    """The key of a cached result of the step in `folder`; `name` holds its kind and version
    (`series-1.parquet`)."""
    return f"{derived_folder(run_id)}/{folder.rpartition('/')[2]}.{name}"


def keep(evidence: EvidenceStore, key: str, data: bytes) -> None:
    """Cache `data`. With a read-only store nothing is cached and the evidence is parsed each
    time."""
    with contextlib.suppress(StoreUnavailable):
        evidence.put(key, data)


def read_from_logs(
    evidence: EvidenceStore,
    run_id: str,
    folder: str,
    record: StepRecord,
    name: str,
    write: Callable[[Sequence[Path], Path], None],
    *,
    of_logs: Callable[[Sequence[str]], Sequence[str]] = lambda logs: logs,
) -> bytes:
    """The Parquet file that `write` makes from the logs of one closed step; from the cache under
    `name` where it is there, and where the logs were pruned what was kept in their place.

    `write` gets the logs, under fio's own names, and the target file; of all names of logs only
    those that `of_logs` chooses. Raises what `write` raises, and EvidenceDamaged for a log that is
    missing and was not pruned.
    """
    key = derived_key(run_id, folder, name)
    with contextlib.suppress(KeyError):
        return evidence.get(key, limit=IMPORT_BYTES)
    chosen = of_logs([log for log in record.files if log_name(log)])
    with tempfile.TemporaryDirectory(prefix="diskbench-logs-") as directory:

        def copied(log: str) -> Path:
            file = record.files[log]
            # The suffix of the key says whether the file is stored compressed.
            suffix = PACKED if file.key.endswith(PACKED) else ""
            path = Path(directory, Path(log).name + suffix)
            copy_as_kept(evidence, f"{run_prefix(run_id)}/{folder}", file, path)
            return path

        try:
            paths = all_of(copied, chosen)
        except EvidenceDamaged:
            if (stored := kept_instead(evidence, run_id, folder, name)) is None:
                raise
            return stored
        target = Path(directory, name)
        write(paths, target)
        data = target.read_bytes()
    keep(evidence, key, data)
    return data


PRUNED_JSON = "pruned.json"


def pruned_key(run_id: str) -> str:
    """The key of the record of a run."""
    return f"{run_prefix(run_id)}/{PRUNED_JSON}"


def read_pruned(evidence: EvidenceStore, run_id: str) -> PrunedRun | None:
    """The record of a run; None where nothing of it was pruned. Raises EvidenceDamaged."""
    return read_record(evidence, PrunedRun, run_id, PRUNED_JSON)


def kept_instead(evidence: EvidenceStore, run_id: str, folder: str, name: str) -> bytes | None:
    """What was derived from the pruned logs of the step in `folder`, for the derived file `name`
    (`series-5.parquet`): of another version where its logs were pruned by another diskbench. None
    where the step was not pruned. Raises EvidenceDamaged."""
    record = read_pruned(evidence, run_id)
    step = record.steps.get(folder) if record else None
    if step is None:
        return None
    kind = name.rpartition("-")[0]
    for known, file in step.kept.items():
        if known.rpartition("-")[0] == kind:
            return read_file(evidence, run_prefix(run_id), known, file, limit=IMPORT_BYTES)
    return None


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


def uncached(store: EvidenceStore) -> EvidenceStore:
    """The store, in which nothing is cached while its evidence is examined."""
    return cast("EvidenceStore", _Uncached(store))


class _Uncached:
    def __init__(self, store: EvidenceStore) -> None:
        self._store = store

    def put(self, key: str, _data: bytes) -> None:
        raise StoreUnavailable(f"evidence {self._store.url}: {key} is not written")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)
