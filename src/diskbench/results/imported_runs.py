"""Runs that others measured, taken in: kept as evidence, and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, FioOutputUnreadable
from diskbench.fio.logs import log_name
from diskbench.store.audits import run_audits
from diskbench.store.frames import read_series_ahead
from diskbench.store.imports import import_source
from diskbench.store.phases import run_phases
from diskbench.store.rebuild import rows_of, write_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.audit import StepAudit
    from diskbench.ports import EvidenceStore
    from diskbench.store.imports import ImportSource
    from diskbench.store.manifest import Manifest


@dataclass(frozen=True)
class ReadImport:
    """A run and the file that it came from. `dated`: the file tells when it was measured. `audits`
    say whether its figures agree, where they are fio's own."""

    source: ImportSource
    manifest: Manifest
    dated: bool
    audits: tuple[StepAudit, ...] = ()

    @property
    def has_logs(self) -> bool:
        """Whether fio's logs came with it."""
        files = self.manifest.imported.files if self.manifest.imported is not None else ()
        return any(map(log_name, files))


def imported(
    database: Engine,
    store: EvidenceStore,
    sources: Iterable[ImportSource],
    labels: Mapping[str, str],
    version: str,
) -> Iterator[ReadImport]:
    """The runs of the sources, each kept before the next is read. `version` is this program's.
    Raises StoreUnavailable, FioOutputUnreadable."""
    for source in sources:
        for manifest in import_source(store, source, labels=labels, version=version):
            rows = rows_of(store, manifest)
            write_run(database, rows)
            of_fio = manifest.imported is not None and manifest.imported.kind == "fio-json"
            yield ReadImport(
                source=source,
                manifest=manifest,
                dated=rows.measured_at is not None,
                audits=tuple(run_audits(store, manifest.run_id)) if of_fio else (),
            )


def damaged_logs(
    store: EvidenceStore, run_ids: Sequence[str]
) -> list[tuple[str, FioOutputUnreadable]]:
    """Make the series and phases of runs with logs, as runs of our own do when they end: else the
    first report on them would. Returns the runs whose logs are damaged, and how; what else cannot
    be read is told by whoever asks for it."""
    if not run_ids:
        return []
    read_series_ahead(store, run_ids)
    damaged = []
    for run_id in run_ids:
        try:
            run_phases(store, run_id)
        except FioOutputUnreadable as error:
            damaged.append((run_id, error))
        except DiskbenchError:
            continue
    return damaged
