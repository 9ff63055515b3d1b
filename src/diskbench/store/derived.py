"""What is read from the evidence once and kept beside it, because reading takes seconds.

Its keys name the version of what read it; whatever lies under `derived/` may be deleted at will.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.errors import StoreUnavailable
from diskbench.fio.logs import log_name
from diskbench.limits import IMPORT_BYTES
from diskbench.store.archive import run_prefix
from diskbench.store.content import copy_as_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import StepRecord


def derived_folder(run_id: str) -> str:
    """Where all that was read from a run lies."""
    return f"{run_prefix(run_id)}/derived"


def derived_key(run_id: str, folder: str, name: str) -> str:
    """Where what was read from the step in `folder` lies; `name` says what, and in which version
    (`series-1.parquet`)."""
    return f"{derived_folder(run_id)}/{folder.rpartition('/')[2]}.{name}"


def keep(evidence: EvidenceStore, key: str, data: bytes) -> None:
    """Keep it where the store takes it: one that may only be read will do, what was read is then
    read anew each time."""
    with contextlib.suppress(StoreUnavailable):
        evidence.put(key, data)


def read_from_logs(
    evidence: EvidenceStore,
    run_id: str,
    folder: str,
    record: StepRecord,
    name: str,
    write: Callable[[Sequence[Path], Path], None],
) -> pl.DataFrame:
    """What `write` makes of the logs of one closed step, as Parquet; what was kept as `name` is
    taken instead where it is there. `write` is given the logs, under the names fio gave them, and
    the file to make. Raises what it raises."""
    import polars as pl

    key = derived_key(run_id, folder, name)
    with contextlib.suppress(KeyError):
        return pl.read_parquet(evidence.get(key, limit=IMPORT_BYTES))
    with tempfile.TemporaryDirectory(prefix="diskbench-logs-") as directory:
        paths = []
        for log, file in record.files.items():
            if log_name(log):
                # The ending says how it is stored.
                suffix = ".zst" if file.key.endswith(".zst") else ""
                path = Path(directory, Path(log).name + suffix)
                copy_as_kept(evidence, f"{run_prefix(run_id)}/{folder}", file, path)
                paths.append(path)
        target = Path(directory, name)
        write(paths, target)
        data = target.read_bytes()
    keep(evidence, key, data)
    return pl.read_parquet(data)
