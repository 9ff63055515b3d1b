"""End a run: write its manifest, then its row, so that no row claims more than the evidence.

The evidence is flushed to its disk between both: a row that says finished is committed, and after
a power failure its files are as whole as it is.
"""

import logging
from collections.abc import Sequence

from sqlalchemy.engine import Engine

from diskbench.errors import EvidenceDamaged
from diskbench.model.outcome import Problem
from diskbench.model.result import RunState, StepResult
from diskbench.model.spec import Plan
from diskbench.ports import EvidenceStore
from diskbench.store import archive
from diskbench.store.audits import audited
from diskbench.store.dialects import now
from diskbench.store.leases import load_lease
from diskbench.store.manifest import Manifest, MissingStep, StepEntry
from diskbench.store.parse_step import PARSER_VERSION
from diskbench.store.rows import end_run, run_began
from diskbench.store.run_row import marks, run_row
from diskbench.store.step_rows import load_results, save_step

log = logging.getLogger(__name__)


def finish_run(
    database: Engine,
    evidence: EvidenceStore,
    plan: Plan,
    run_index: int,
    state: RunState,
    problem: Problem | None,
    *,
    preparation: Sequence[str] = (),
) -> None:
    """Write the manifest and the final state of a run; an earlier manifest is kept."""
    run_id = plan.run_ids[run_index]
    steps = load_results(database, run_id)[run_id]
    try:
        manifest = archive.read_manifest(evidence, run_id)
    except EvidenceDamaged:
        manifest = None  # replaced by a new one; `write_manifest` keeps a copy of it
    if manifest is None:
        saved = [step.step_index for step in steps]
        entries, damaged = _entries(evidence, run_id, saved)
        existing = {entry.step_index for entry in entries} | set(map(archive.index_of, damaged))
        missing = tuple(
            MissingStep(
                step_index=index,
                name=archive.name_at(plan, index),
                why=f"{evidence.url} has no files of the step",
            )
            for index in saved
            if index not in existing
        )
        for step in missing:
            log.warning("step %s of run %s has rows, but %s", step.name, run_id, step.why)
        row = run_row(plan, run_index, evidence.url)
        lease = load_lease(database, plan.trial_id)
        manifest = archive.write_manifest(
            evidence,
            Manifest(
                run_id=run_id,
                run_index=run_index,
                trial_id=plan.trial_id,
                campaign_id=plan.campaign_id,
                state=state,
                problem=problem,
                started_at=run_began(database, run_id) or (steps[0].started_at if steps else None),
                finished_at=now(),
                diskbench_version=plan.diskbench_version,
                parser_version=PARSER_VERSION,
                fio_version=plan.facts.fio_version,
                cell=plan.cell,
                labels=dict(plan.cell.labels),
                preparation=tuple(preparation),
                marks=marks(row),
                lease=lease.model_dump(mode="json") if lease else None,
                plan=archive.plan_record(evidence, run_id, plan),
                steps=entries,
                damaged=damaged,
                missing=missing,
            ),
        )
    evidence.settle(archive.run_prefix(run_id))
    _audit(database, evidence, run_id, steps)
    end_run(
        database,
        run_id,
        manifest.state,
        manifest.problem,
        started_at=manifest.started_at,
        finished_at=manifest.finished_at,
    )


def _audit(
    database: Engine, evidence: EvidenceStore, run_id: str, steps: Sequence[StepResult]
) -> None:
    """Cache the audit of a run, and save its doubts with the rows."""
    for before, after in zip(steps, audited(evidence, run_id, steps), strict=True):
        if after is not before:
            save_step(database, run_id, after)


def _entries(
    evidence: EvidenceStore, run_id: str, saved: Sequence[int]
) -> tuple[tuple[StepEntry, ...], tuple[str, ...]]:
    """An entry for each closed folder (`saved` are the steps with rows), and a reason for each
    folder whose step.json cannot be read; such a folder does not keep the run from ending."""
    entries: list[StepEntry] = []
    damaged: list[str] = []
    for folder in archive.step_folders(evidence, run_id):
        try:
            record = archive.read_step(evidence, run_id, folder)
        except EvidenceDamaged as error:
            damaged.append(f"{folder}: {error.message}")
            continue
        if record is None:
            continue  # left open by a killed process; its files cannot be trusted
        entries.append(
            StepEntry(
                folder=folder,
                sha256=archive.step_digest(evidence, run_id, folder),
                step_index=record.step.index,
                step=record.step.name,
                round=record.step.round,
                started_at=record.started_at,
                finished_at=record.finished_at,
                has_rows=record.step.index in saved,
                files=record.files,
            )
        )
    return tuple(entries), tuple(damaged)
