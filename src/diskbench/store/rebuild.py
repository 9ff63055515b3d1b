"""Rebuild all rows from the evidence alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.errors import (
    DiskbenchError,
    EvidenceDamaged,
    InvalidValue,
    StepsMissing,
    StoreUnavailable,
)
from diskbench.model.result import StepResult
from diskbench.model.spec import Plan
from diskbench.ports import EvidenceStore
from diskbench.store import archive, schema
from diskbench.store.audits import audited
from diskbench.store.content import read_file
from diskbench.store.database import transaction
from diskbench.store.database_errors import ABOUT_THE_ROWS
from diskbench.store.evidence_place import directory_of_engine, kept_url
from diskbench.store.imports import imported_rows
from diskbench.store.kept_rows import restore
from diskbench.store.manifest import Manifest, StepEntry, StepRecord
from diskbench.store.parallel_evidence import WINDOW, ReadOnce, each, is_away
from diskbench.store.parse_step import step_result
from diskbench.store.rows import ending
from diskbench.store.run_row import campaign_row, run_row, trial_row
from diskbench.store.step_rows import write_steps
from diskbench.store.upsert import insert_missing, upsert

_AT_ONCE = 500


@dataclass(frozen=True)
class RunRows:
    """All rows of one run."""

    campaign: dict[str, Any]
    trial: dict[str, Any]
    run: dict[str, Any]
    steps: tuple[StepResult, ...]

    @property
    def measured_at(self) -> str | None:
        """When the run was measured; None if that is unknown."""
        at: str | None = self.run["measured_at"]
        return at


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did: runs made again, runs without a manifest, runs that could not be read,
    each step that could not be found as (run, step, why), and records that could not be read."""

    runs: tuple[str, ...]
    unfinished: tuple[str, ...]
    failed: tuple[tuple[str, DiskbenchError], ...]
    missing: tuple[tuple[str, str, str], ...] = ()
    records: tuple[tuple[str, DiskbenchError], ...] = ()


def rebuild(
    database: Engine, evidence: EvidenceStore, *, on_run: Callable[[str], None] | None = None
) -> Rebuilt:
    """Make the rows of every finished run in `evidence` again, each run in one transaction, and
    then those that its records contain (store/kept_rows.py).

    Rows of runs that are not in the store, or cannot be read from it, stay as they are: whatever is
    wrong with one of them costs the others nothing. Raises StoreUnavailable when the database
    fails, or the evidence store cannot be listed.
    """
    done: list[str] = []
    unfinished: list[str] = []
    failed: list[tuple[str, DiskbenchError]] = []
    missing: list[tuple[str, str, str]] = []
    for run_id, rows in _read_all(evidence, archive.list_runs(evidence), on_run):
        if isinstance(rows, Exception):
            failed.append((run_id, _as_diskbench_error(rows)))
            if isinstance(rows, StepsMissing):
                missing += [(run_id, step, why) for step, why in rows.steps]
            continue
        if rows is None:
            unfinished.append(run_id)
            continue
        try:
            write_run(database, rows)
        except InvalidValue as error:  # text that no database keeps
            failed.append((run_id, error))
        except StoreUnavailable as error:
            if not isinstance(error.__cause__, ABOUT_THE_ROWS):
                raise
            failed.append((run_id, error))
        else:
            done.append(run_id)
    records = restore(database, evidence)
    return Rebuilt(tuple(done), tuple(unfinished), tuple(failed), tuple(missing), tuple(records))


def _read_all(
    evidence: EvidenceStore, run_ids: Sequence[str], on_run: Callable[[str], None] | None
) -> Iterator[tuple[str, RunRows | Exception | None]]:
    """The rows of each run, or why they cannot be read; None of a run without a manifest."""

    def read(run_id: str) -> RunRows | Exception | None:
        once = cast("EvidenceStore", ReadOnce(evidence))
        try:
            manifest = archive.read_manifest(once, run_id)
            return None if manifest is None else rows_of(once, manifest)
        except Exception as error:  # noqa: BLE001 - whatever lies there, the other runs are made
            return error

    at_once = WINDOW if is_away(evidence) else 1
    for start in range(0, len(run_ids), at_once):
        window = run_ids[start : start + at_once]
        for run_id in window:
            if on_run:
                on_run(run_id)
        yield from zip(window, each(evidence, read, window), strict=True)


def _as_diskbench_error(error: Exception) -> DiskbenchError:
    if isinstance(error, DiskbenchError):
        return error
    return EvidenceDamaged(f"its evidence cannot be read: {type(error).__name__}: {error}")


def rows_of(evidence: EvidenceStore, manifest: Manifest) -> RunRows:
    """The rows of a finished run. Raises EvidenceDamaged naming the file, StepsMissing naming all
    steps that are not in the store."""
    if manifest.imported:
        return RunRows(*imported_rows(evidence, manifest))
    plan = _plan(evidence, manifest)
    row = run_row(plan, manifest.run_index, evidence.url) | ending(manifest.state, manifest.problem)
    row |= {"started_at": manifest.started_at, "finished_at": manifest.finished_at}
    row["measured_at"] = manifest.started_at or row["measured_at"]
    results = {
        entry.step_index: result
        for entry in manifest.steps
        if entry.has_rows and (result := _step(evidence, manifest, plan, entry)) is not None
    }
    results |= _beside(evidence, manifest, plan)
    if missing := _missing(manifest, plan, results.keys()):
        raise StepsMissing(manifest.run_id, evidence.url, missing)
    steps = audited(evidence, manifest.run_id, [results[index] for index in sorted(results)])
    return RunRows(campaign_row(plan.campaign_id), trial_row(plan), row, steps)


def write_run(database: Engine, rows: RunRows) -> None:
    """Put the rows of one run in place of those that are there."""
    write_runs(database, [rows])


def write_runs(database: Engine, runs: Sequence[RunRows]) -> None:
    """Put the rows of runs in place of those that are there: all of them, or none."""
    steps = {rows.run["run_id"]: rows.steps for rows in runs}
    campaigns = {rows.campaign["campaign_id"]: rows.campaign for rows in runs}
    trials = {rows.trial["trial_id"]: rows.trial for rows in runs}
    directory = directory_of_engine(database)
    rows = [
        rows.run | {"evidence_url": kept_url(rows.run["evidence_url"], directory)} for rows in runs
    ]
    with transaction(database) as connection:
        ids = tuple(steps)
        for start in range(0, len(ids), _AT_ONCE):
            chunk = ids[start : start + _AT_ONCE]
            connection.execute(sa.delete(schema.run).where(schema.run.c.run_id.in_(chunk)))
        insert_missing(connection, schema.campaign, list(campaigns.values()))
        upsert(connection, schema.trial, list(trials.values()))
        insert_missing(connection, schema.run, rows)
        write_steps(connection, steps)


def _plan(evidence: EvidenceStore, manifest: Manifest) -> Plan:
    if manifest.plan is None:
        raise EvidenceDamaged(f"the manifest of run {manifest.run_id} names no plan")
    folder = archive.run_prefix(manifest.run_id)
    data = read_file(evidence, folder, "plan.json", manifest.plan)
    return archive.parse_record(Plan, data, f"{folder}/plan.json")


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


def _missing(manifest: Manifest, plan: Plan, have: Collection[int]) -> list[tuple[str, str]]:
    """The steps that the run measured and the store has not, and how that is known; `have` are the
    indexes of those that it has."""
    absent: dict[int, tuple[str, str]] = {
        entry.step_index: (entry.folder.partition("/")[2], "the manifest names it")
        for entry in manifest.steps
        if entry.has_rows and entry.step_index not in have
    }
    absent |= {
        missing_step.step_index: (missing_step.name, missing_step.why)
        for missing_step in manifest.missing
        if missing_step.step_index not in have
    }
    for text in manifest.damaged:
        folder, _, why = text.partition(": ")
        index = archive.index_of(folder)
        if index is not None and index not in have:
            absent[index] = (folder.partition("/")[2], why)
    last = max([*have, *absent], default=-1)
    for index in range(last):
        if index not in have and index not in absent:
            absent[index] = (archive.name_at(plan, index), "a later step of the run is there")
    if manifest.state == "done":
        for index in range(last + 1, _least_steps(plan, last + 1)):
            absent[index] = (
                archive.name_at(plan, index),
                "the run is done, and its plan has the step",
            )
    return [absent[index] for index in sorted(absent)]


def _least_steps(plan: Plan, have: int) -> int:
    """How many steps a run that is done has at least, if it has `have`: all rounds that it began
    are whole, and the fewest were made."""
    if plan.loop is None:
        return len(plan.steps)
    body = len(plan.steps) - plan.loop.first
    rounds = max(math.ceil(max(have - plan.loop.first, 0) / body), 1)
    return plan.loop.first + rounds * body


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
