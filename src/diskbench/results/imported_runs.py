"""Import of runs that others measured: stored as evidence and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, FioOutputUnreadable
from diskbench.fio.logs import log_name
from diskbench.importers.fio_report import FIO_REPORTS
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
    """A run and the file that it came from. `measured_at` is the time of measurement, in ISO 8601
    and UTC; None where the file does not have it. `audits` say whether fio's own figures agree with
    each other; empty for other formats."""

    source: ImportSource
    manifest: Manifest
    measured_at: str | None
    steps: int
    audits: tuple[StepAudit, ...] = ()

    @property
    def has_logs(self) -> bool:
        """Whether fio's logs were imported with it."""
        files = self.manifest.imported.files if self.manifest.imported is not None else ()
        return any(map(log_name, files))


def imported(
    database: Engine,
    store: EvidenceStore,
    sources: Iterable[ImportSource],
    labels: Mapping[str, str],
    version: str,
) -> Iterator[ReadImport]:
    """Import the runs of the sources, each stored before the next is read; `version` is ours.
    Raises StoreUnavailable, FioOutputUnreadable."""
    for source in sources:
        for manifest in import_source(store, source, labels=labels, version=version):
            rows = rows_of(store, manifest)
            write_run(database, rows)
            of_fio = manifest.imported is not None and manifest.imported.kind in FIO_REPORTS
            yield ReadImport(
                source=source,
                manifest=manifest,
                measured_at=rows.measured_at,
                steps=len(rows.steps),
                audits=tuple(run_audits(store, manifest.run_id)) if of_fio else (),
            )


def damaged_logs(
    store: EvidenceStore, run_ids: Sequence[str]
) -> list[tuple[str, FioOutputUnreadable]]:
    """Compute the series and phases of imported runs with logs, as our own runs do when they end,
    so that the first report need not. Returns the runs whose logs are damaged, each with its error;
    other unreadable evidence is reported by the command that reads it."""
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
