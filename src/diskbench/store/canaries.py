"""The canaries of a trial, read from the files of its first and its last run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.fio.recorded import Canary, parse_canary
from diskbench.store import schema
from diskbench.store.archive import read_manifest, run_prefix
from diskbench.store.content import read_file
from diskbench.store.database import transaction
from diskbench.store.evidence_place import directory_of_engine, whole_url
from diskbench.store.parsed_files import CANARIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.ports import EvidenceStore

BEFORE, AFTER = CANARIES
_AT_A_TIME = 500


@dataclass(frozen=True)
class TrialRuns:
    """The runs that hold a trial's canaries, their store, and the kind of machine."""

    trial_id: str
    first_run: str
    last_run: str
    evidence_url: str
    kind: tuple[str | None, ...]


def runs_of_trials(database: Engine, trial_ids: Sequence[str]) -> list[TrialRuns]:
    """The first and last finished run of each trial, imported ones left out."""
    run = schema.run
    columns = (
        run.c.trial_id, run.c.run_id, run.c.evidence_url, run.c.provider, run.c.instance_type,
        run.c.cpu_model,
    )  # fmt: skip
    rows_of: dict[str, list[Any]] = {}
    with transaction(database) as connection:
        for start in range(0, len(trial_ids), _AT_A_TIME):
            query = (
                sa.select(*columns)
                .where(
                    run.c.trial_id.in_(trial_ids[start : start + _AT_A_TIME]),
                    run.c.state == "done",
                    run.c.imported.is_not(True),
                )
                .order_by(run.c.trial_id, run.c.run_index)
            )
            for row in connection.execute(query):
                rows_of.setdefault(row.trial_id, []).append(row)
    directory = directory_of_engine(database)
    return [
        TrialRuns(
            trial_id=trial_id,
            first_run=rows[0].run_id,
            last_run=rows[-1].run_id,
            evidence_url=whole_url(rows[0].evidence_url, directory),
            kind=(rows[0].provider, rows[0].instance_type, rows[0].cpu_model),
        )
        for trial_id, rows in rows_of.items()
    ]


def canaries(
    evidence: EvidenceStore, first_run: str, last_run: str
) -> tuple[Canary | None, Canary | None]:
    """The canaries before and after a trial; None for a canary that was not stored, as for
    unfinished or imported runs. Raises EvidenceDamaged, StoreUnavailable."""
    return _canary(evidence, first_run, BEFORE), _canary(evidence, last_run, AFTER, last=True)


def _canary(
    evidence: EvidenceStore, run_id: str, name: str, *, last: bool = False
) -> Canary | None:
    manifest = read_manifest(evidence, run_id)
    holding = [step for step in manifest.steps if name in step.files] if manifest else []
    if not holding:
        return None
    step = holding[-1 if last else 0]
    folder = f"{run_prefix(run_id)}/{step.folder}"
    return parse_canary(read_file(evidence, folder, name, step.files[name]))
