"""Rebuild all rows from the evidence alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.errors import (
    DiskbenchError,
    EvidenceDamaged,
    InvalidValue,
    StepsMissing,
    StoreUnavailable,
)
from diskbench.ports import EvidenceStore
from diskbench.store import archive, schema
from diskbench.store.database import transaction
from diskbench.store.database_errors import ABOUT_THE_ROWS
from diskbench.store.dialects import insert_missing, upsert
from diskbench.store.evidence_place import directory_of_engine, kept_url
from diskbench.store.kept_rows import restore
from diskbench.store.parallel_evidence import WINDOW, each, is_away
from diskbench.store.query import chunks
from diskbench.store.run_folder import RunRows, rows_of
from diskbench.store.step_rows import write_steps


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did: runs made again, runs without a manifest, runs that could not be read,
    each step that could not be found as (run, step, why), and records that could not be read."""

    runs: tuple[str, ...]
    unfinished: tuple[str, ...]
    failed: tuple[tuple[str, DiskbenchError], ...]
    missing: tuple[tuple[str, str, str], ...] = ()
    records: tuple[tuple[str, DiskbenchError], ...] = ()


def rebuild(database: Engine, evidence: EvidenceStore) -> Rebuilt:
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
    for run_id, rows in _read_all(evidence, archive.list_runs(evidence)):
        if isinstance(rows, Exception):
            error = rows
            if not isinstance(error, DiskbenchError):
                why = f"{type(error).__name__}: {error}"
                error = EvidenceDamaged(f"its evidence cannot be read: {why}")
            failed.append((run_id, error))
            if isinstance(error, StepsMissing):
                missing += [(run_id, step, why) for step, why in error.steps]
            continue
        if rows is None:
            unfinished.append(run_id)
            continue
        try:
            write_runs(database, [rows])
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
    evidence: EvidenceStore, run_ids: Sequence[str]
) -> Iterator[tuple[str, RunRows | Exception | None]]:
    """The rows of each run, or why they cannot be read; None of a run without a manifest."""

    def read(run_id: str) -> RunRows | Exception | None:
        try:
            manifest = archive.read_manifest(evidence, run_id)
            return None if manifest is None else rows_of(evidence, manifest)
        except Exception as error:  # noqa: BLE001 - whatever lies there, the other runs are made
            return error

    at_once = WINDOW if is_away(evidence) else 1
    for start in range(0, len(run_ids), at_once):
        window = run_ids[start : start + at_once]
        yield from zip(window, each(evidence, read, window), strict=True)


def write_runs(database: Engine, runs: Sequence[RunRows]) -> None:
    """Put the rows of runs in place of those that are there: all of them, or none."""
    steps = {rows.run["run_id"]: rows.steps for rows in runs}
    trials = {rows.trial["trial_id"]: rows.trial for rows in runs}
    directory = directory_of_engine(database)
    rows = [
        rows.run | {"evidence_url": kept_url(rows.run["evidence_url"], directory)} for rows in runs
    ]
    with transaction(database) as connection:
        for chunk in chunks(tuple(steps)):
            connection.execute(sa.delete(schema.run).where(schema.run.c.run_id.in_(chunk)))
        upsert(connection, schema.trial, list(trials.values()))
        insert_missing(connection, schema.run, rows)
        write_steps(connection, steps)
