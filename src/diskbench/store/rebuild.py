"""Making every row again from evidence alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.errors import DiskbenchError, EvidenceDamaged, InvalidValue, StoreUnavailable
from diskbench.store import archive, schema
from diskbench.store.content import read_file
from diskbench.store.database import transaction
from diskbench.store.imports import imported_rows
from diskbench.store.parse_step import step_result
from diskbench.store.rows import ending, write_step
from diskbench.store.run_row import campaign_row, run_row, trial_row
from diskbench.store.upsert import insert_missing, upsert

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.engine import Engine

    from diskbench.model.result import StepResult
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import Manifest, StepEntry


@dataclass(frozen=True)
class RunRows:
    """All rows of one run."""

    campaign: dict[str, Any]
    trial: dict[str, Any]
    run: dict[str, Any]
    steps: tuple[StepResult, ...]


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did: runs made again, runs without a manifest, runs that could not be read."""

    runs: tuple[str, ...]
    unfinished: tuple[str, ...]
    failed: tuple[tuple[str, DiskbenchError], ...]


def rebuild(
    database: Engine, evidence: EvidenceStore, *, on_run: Callable[[str], None] | None = None
) -> Rebuilt:
    """Make the rows of every finished run in `evidence` again, each run in one transaction.

    Rows of runs that are not in the store, or cannot be read from it, stay as they are: whatever is
    wrong with one of them costs the others nothing. Raises StoreUnavailable when the database
    fails, or the evidence store cannot be listed.
    """
    done: list[str] = []
    unfinished: list[str] = []
    failed: list[tuple[str, DiskbenchError]] = []
    for run_id in archive.list_runs(evidence):
        if on_run:
            on_run(run_id)
        try:
            manifest = archive.read_manifest(evidence, run_id)
            rows = None if manifest is None else rows_of(evidence, manifest)
        except Exception as error:  # noqa: BLE001 - whatever lies there, the other runs are made
            failed.append((run_id, _told(error)))
            continue
        if rows is None:
            unfinished.append(run_id)
            continue
        try:
            write_run(database, rows)
        except InvalidValue as error:  # text that no database keeps
            failed.append((run_id, error))
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, _ABOUT_THE_ROWS):
                raise
            failed.append((run_id, error))
        else:
            done.append(run_id)
    return Rebuilt(tuple(done), tuple(unfinished), tuple(failed))


_ABOUT_THE_ROWS = (sa.exc.DataError, sa.exc.IntegrityError)
"""What a database says of rows that it does not take, where the database itself is well."""


def _told(error: Exception) -> DiskbenchError:
    if isinstance(error, DiskbenchError):
        return error
    return EvidenceDamaged(f"its evidence cannot be read: {type(error).__name__}: {error}")


def rows_of(evidence: EvidenceStore, manifest: Manifest) -> RunRows:
    """The rows of a finished run. Raises EvidenceDamaged naming the file."""
    if manifest.imported:
        return RunRows(*imported_rows(evidence, manifest))
    if manifest.damaged:
        raise EvidenceDamaged(
            f"run {manifest.run_id} ended without steps whose records were damaged: "
            f"{'; '.join(manifest.damaged)}",
            advice="its rows in the database stay as they are",
        )
    plan = _plan(evidence, manifest)
    row = run_row(plan, manifest.run_index, evidence.url) | ending(manifest.state, manifest.problem)
    row |= {"started_at": manifest.started_at, "finished_at": manifest.finished_at}
    steps = tuple(
        _step(evidence, manifest, plan, entry) for entry in manifest.steps if entry.has_rows
    )
    return RunRows(campaign_row(plan.campaign_id), trial_row(plan), row, steps)


def write_run(database: Engine, rows: RunRows) -> None:
    """Put the rows of one run in place of those that are there."""
    run_id = rows.run["run_id"]
    with transaction(database) as connection:
        connection.execute(sa.delete(schema.run).where(schema.run.c.run_id == run_id))
        insert_missing(connection, schema.campaign, [rows.campaign])
        upsert(connection, schema.trial, [rows.trial])
        insert_missing(connection, schema.run, [rows.run])
        for step in rows.steps:
            write_step(connection, run_id, step)


def _plan(evidence: EvidenceStore, manifest: Manifest) -> Plan:
    from diskbench.model.spec import Plan

    if manifest.plan is None:
        raise EvidenceDamaged(f"the manifest of run {manifest.run_id} names no plan")
    folder = archive.run_prefix(manifest.run_id)
    data = read_file(evidence, folder, "plan.json", manifest.plan)
    return archive.parse_record(Plan, data, f"{folder}/plan.json")


def _step(evidence: EvidenceStore, manifest: Manifest, plan: Plan, entry: StepEntry) -> StepResult:
    run_id = manifest.run_id
    prefix = f"{archive.run_prefix(run_id)}/{entry.folder}"
    record = archive.read_step(evidence, run_id, entry.folder)
    if record is None or archive.step_digest(evidence, run_id, entry.folder) != entry.sha256:
        raise EvidenceDamaged(f"evidence: {prefix}/step.json is not what the manifest names")
    return step_result(
        record.step,
        run_id,
        archive.result_files(evidence, run_id, record),
        plan.facts,
        started_at=record.started_at,
        finished_at=record.finished_at,
    )
