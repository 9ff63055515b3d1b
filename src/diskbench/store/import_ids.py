"""The ids of imported runs, derived from their bytes: importing a file twice gives one run."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

from ulid import ULID

from diskbench.importers.form import Imported, ImportedRun
from diskbench.ports import EvidenceStore
from diskbench.store import archive

if TYPE_CHECKING:
    from diskbench.store.imports import ImportSource

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
