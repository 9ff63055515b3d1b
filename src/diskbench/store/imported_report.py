"""The files of a run that somebody else measured, as they lie in its evidence: the file with the
numbers, the job file beside it, and the steps of a report of fio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.errors import EvidenceDamaged
from diskbench.fio.reported import FIO_REPORTS, NO_JOB_FILE, FioOutput, JobFile
from diskbench.limits import PARSED_BYTES
from diskbench.model.spec import Step
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_manifest, run_prefix
from diskbench.store.content import read_file
from diskbench.store.manifest import ImportRecord

if TYPE_CHECKING:
    from diskbench.catalog.published import Published


def original(
    evidence: EvidenceStore, run_id: str, record: ImportRecord, *, limit: int = PARSED_BYTES
) -> tuple[bytes, JobFile]:
    """The bytes of the file that holds the numbers, and the job file that says what it leaves out.
    Raises EvidenceDamaged, LimitExceeded."""

    def file(name: str) -> bytes:
        if name not in record.files:
            raise EvidenceDamaged(f"the manifest of run {run_id} has no file {name!r}")
        return read_file(evidence, run_prefix(run_id), name, record.files[name], limit=limit)

    if record.job_file is None:
        return file(record.name), NO_JOB_FILE
    text = file(record.job_file).decode(errors="replace")
    return file(record.name), (record.job_file, text)


def _record(evidence: EvidenceStore, run_id: str, kinds: tuple[str, ...]) -> ImportRecord | None:
    """What the manifest says of an import of one of these kinds; None for any other run."""
    manifest = read_manifest(evidence, run_id)
    record = manifest.imported if manifest else None
    return record if record and record.kind in kinds else None


def published_figures(
    evidence: EvidenceStore, run_id: str
) -> tuple[tuple[Published, ...], tuple[Published, ...]]:
    """The published figures that a run is, and all of their post; empty for any other run."""
    if (record := _record(evidence, run_id, ("published",))) is None:
        return (), ()
    from diskbench.importers.post import read_post  # for imports alone

    data, _ = original(evidence, run_id, record)
    post = read_post(data, record.name)
    return post.runs[record.index].figures, post.figures


def imported_parts(evidence: EvidenceStore, run_id: str) -> tuple[tuple[Step, FioOutput], ...]:
    """The steps of a run that was imported from a report of fio; empty for any other run."""
    if (record := _record(evidence, run_id, FIO_REPORTS)) is None:
        return ()
    from diskbench.importers.fio_report import report_steps  # every form of fio, for imports alone

    data, beside = original(evidence, run_id, record)
    return report_steps(record.kind, data, record.index, where=record.name, beside=beside)
