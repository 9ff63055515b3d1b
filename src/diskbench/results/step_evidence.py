"""The steps of a run as its evidence describes them: job, fio's output, and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.fio.samples import parse_samples
from diskbench.importers.fio_report import FIO_REPORTS, job_text, report_of, split_steps
from diskbench.store.archive import (
    read_manifest,
    read_step,
    result_files,
    run_prefix,
    step_folders,
)
from diskbench.store.content import read_file
from diskbench.store.outputs import read_output
from diskbench.store.parse_step import FIO_JSON, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diskbench.fio.reported import FioOutput
    from diskbench.model.samples import SampleSummary
    from diskbench.model.spec import Step
    from diskbench.ports import EvidenceStore


@dataclass(frozen=True)
class StepEvidence:
    """One step as it ran, with its rates resolved (an imported step has the options in fio's JSON),
    fio's output, and the samples taken beside it; None where these were not kept."""

    step: Step
    output: FioOutput | None = None
    samples: SampleSummary | None = None


def read_steps(evidence: EvidenceStore, run_id: str) -> tuple[StepEvidence, ...]:
    """The steps of a run in order. Raises UnknownName for a run without evidence, EvidenceDamaged
    and FioOutputUnreadable for files that were changed or cannot be parsed."""
    manifest = read_manifest(evidence, run_id)
    record = manifest.imported if manifest else None
    if record is not None and record.kind in FIO_REPORTS:
        data = read_file(evidence, run_prefix(run_id), record.name, record.files[record.name])
        return tuple(
            StepEvidence(step.model_copy(update={"job": job_text(part)}), part)
            for step, part in split_steps(
                report_of(record.kind, data, record.index, where=record.name)
            )
        )
    steps = tuple(_closed(evidence, run_id))
    if not steps and manifest is None:
        raise UnknownName("run", run_id, (), advice=f"{evidence.url} has no finished step of it")
    return steps


def _closed(evidence: EvidenceStore, run_id: str) -> Iterator[StepEvidence]:
    for folder in step_folders(evidence, run_id):
        record = read_step(evidence, run_id, folder)
        if record is None:
            continue
        files = result_files(evidence, run_id, record)
        output, samples = files.get(FIO_JSON), files.get(SAMPLES)
        yield StepEvidence(
            record.step,
            _parsed(output, f"{folder}/{FIO_JSON}") if output else None,
            parse_samples(samples) if samples else None,
        )


def _parsed(data: bytes, where: str) -> FioOutput | None:
    try:
        return read_output(data, where=where)
    except DiskbenchError:
        return None  # a failed step, which has no rows either
