"""The one reader of a run's folder in the evidence store: from its files to all of its rows. An
import, a rebuild, and whoever asks what the evidence says of a run read it here."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from diskbench.errors import EvidenceDamaged, StepsMissing
from diskbench.fio.reported import FIO_REPORTS
from diskbench.importers.form import Imported, ImportedRun
from diskbench.importers.registry import read_imported
from diskbench.limits import IMPORT_BYTES
from diskbench.model.doubts import IMPORT
from diskbench.model.result import AuditCheck, StepAudit, StepResult
from diskbench.model.spec import Plan
from diskbench.ports import EvidenceStore
from diskbench.store import archive
from diskbench.store.audits import audited, doubted, run_audits
from diskbench.store.content import read_file
from diskbench.store.imported_report import original
from diskbench.store.manifest import ImportRecord, Manifest, StepEntry, StepRecord
from diskbench.store.parse_step import step_result
from diskbench.store.rows import ending
from diskbench.store.run_row import imported_run_row, run_row, trial_row


@dataclass(frozen=True)
class RunRows:
    """All rows of one run."""

    trial: dict[str, Any]
    run: dict[str, Any]
    steps: tuple[StepResult, ...]
    audits: tuple[StepAudit, ...] = ()
    """Of an imported run: whether the figures in its file agree with each other."""


def rows_of(evidence: EvidenceStore, manifest: Manifest, parsed: Imported | None = None) -> RunRows:
    """The rows of a finished run. `parsed` is what the file of an imported run holds, where that is
    known: a file may hold many runs. Raises EvidenceDamaged naming the file, StepsMissing naming
    all steps that are not in the store."""
    if manifest.imported:
        return _imported(evidence, manifest, manifest.imported, parsed)
    if manifest.plan is None:
        raise EvidenceDamaged(f"the manifest of run {manifest.run_id} names no plan")
    folder = archive.run_prefix(manifest.run_id)
    data = read_file(evidence, folder, "plan.json", manifest.plan)
    plan = archive.parse_record(Plan, data, f"{folder}/plan.json")
    row = run_row(plan, manifest.run_index, evidence.url) | ending(manifest.state, manifest.problem)
    row |= {"started_at": manifest.started_at, "finished_at": manifest.finished_at}
    row["measured_at"] = manifest.started_at or row["measured_at"]
    results = {
        entry.step_index: result
        for entry in manifest.steps
        if entry.has_rows and (result := _step(evidence, manifest, plan, entry)) is not None
    }
    results |= _beside(evidence, manifest, plan)
    if missing := _missing(manifest, results.keys()):
        raise StepsMissing(manifest.run_id, evidence.url, missing)
    steps = audited(evidence, manifest.run_id, [results[index] for index in sorted(results)])
    return RunRows(trial_row(plan), row, steps)


def _beside(evidence: EvidenceStore, manifest: Manifest, plan: Plan) -> dict[int, StepResult]:
    """The steps that the store had not, or not whole, when the manifest was written, and has
    now because they were copied back; by their index."""
    named = {entry.folder for entry in manifest.steps}
    results: dict[int, StepResult] = {}
    for folder in archive.step_folders(evidence, manifest.run_id):
        if folder in named:
            continue
        try:
            record = archive.read_step(evidence, manifest.run_id, folder)
        except EvidenceDamaged:
            continue  # it is missing, and said to be
        if record is not None and not record.stopped:
            results[record.step.index] = _result(evidence, manifest, plan, record)
    return results


def _missing(manifest: Manifest, have: Collection[int]) -> list[tuple[str, str]]:
    """The steps that the run measured and the store has not, and how that is known; `have` are the
    indexes of those that it has."""
    absent: dict[int | None, tuple[str, str]] = {
        entry.step_index: (entry.folder.partition("/")[2], "the manifest names it")
        for entry in manifest.steps
        if entry.has_rows
    }
    absent |= {step.step_index: (step.name, step.why) for step in manifest.missing}
    for text in manifest.damaged:
        folder, _, why = text.partition(": ")
        absent[archive.index_of(folder)] = (folder.partition("/")[2], why)
    indexes = sorted(index for index in absent if index is not None and index not in have)
    return [absent[index] for index in indexes]


def _step(
    evidence: EvidenceStore, manifest: Manifest, plan: Plan, entry: StepEntry
) -> StepResult | None:
    """The result of a step that the manifest names; None where its folder is gone or open."""
    run_id = manifest.run_id
    prefix = f"{archive.run_prefix(run_id)}/{entry.folder}"
    record = archive.read_step(evidence, run_id, entry.folder)
    if record is None:
        return None
    if archive.step_digest(evidence, run_id, entry.folder) != entry.sha256:
        raise EvidenceDamaged(f"evidence: {prefix}/step.json is not what the manifest names")
    return _result(evidence, manifest, plan, record)


def _result(
    evidence: EvidenceStore, manifest: Manifest, plan: Plan, record: StepRecord
) -> StepResult:
    run_id = manifest.run_id
    return step_result(
        record.step,
        run_id,
        archive.result_files(evidence, run_id, record),
        plan.facts,
        started_at=record.started_at,
        finished_at=record.finished_at,
    )


def _imported(
    evidence: EvidenceStore, manifest: Manifest, record: ImportRecord, parsed: Imported | None
) -> RunRows:
    """The rows of a run that somebody else measured, from its original."""
    if parsed is None:
        data, beside = original(evidence, manifest.run_id, record, limit=IMPORT_BYTES)
        parsed = read_imported(data, name=record.name, beside=beside, kind=record.kind)
    if not 0 <= record.index < len(parsed.runs):
        raise EvidenceDamaged(
            f"the manifest of run {manifest.run_id} is of run {record.index} of {record.name}, "
            f"which holds {len(parsed.runs)}"
        )
    run = parsed.runs[record.index]
    is_of_fio = parsed.kind in FIO_REPORTS
    audits = run_audits(evidence, manifest.run_id) if is_of_fio else _compared(manifest, run)
    trial: dict[str, Any] = dict.fromkeys(("plan", "rent", "scope"))
    trial |= {"trial_id": manifest.trial_id, "campaign_id": manifest.campaign_id}
    trial |= {"replicate": 0, "created_at": record.created_at}
    times = (run.started_at, run.finished_at)
    row = imported_run_row(manifest, record, parsed.facts, run.row, times, evidence.url)
    steps = doubted(_imported_steps(manifest, record, parsed, run), audits)
    return RunRows(trial, row, steps, tuple(audits))


def _imported_steps(
    manifest: Manifest, record: ImportRecord, parsed: Imported, run: ImportedRun
) -> list[StepResult]:
    started, finished = run.times
    unusual = (*parsed.notes, *run.notes)
    notes = tuple(IMPORT.warning(f"{record.name}: {note}") for note in unusual)
    return [
        StepResult(
            step_index=imported_step.step.index,
            step=imported_step.step.name,
            role=imported_step.step.role,
            round=imported_step.step.round,
            started_at=started,
            finished_at=finished,
            fio_exit=0,
            fio_version=parsed.tool_version,
            measurements=tuple(
                row.model_copy(update={"run_id": manifest.run_id})
                for row in imported_step.measurements
            ),
            warnings=(*(notes if imported_step is run.steps[0] else ()), *imported_step.warnings),
            seconds_in_fio=max((m.runtime_ns or 0 for m in imported_step.measurements), default=0)
            / 1e9,
        )
        for imported_step in run.steps
    ]


def _compared(manifest: Manifest, run: ImportedRun) -> tuple[StepAudit, ...]:
    """The steps of a run of another tool whose bytes, I/Os and block were compared."""
    holds = AuditCheck(name="bytes", holds=True, message="bytes are I/Os times block")
    return tuple(
        StepAudit(
            run_id=manifest.run_id, step_index=step.step.index, step=step.step.name, checks=(holds,)
        )
        for step in run.steps
        if step.compared
    )
