"""Trials and cells whose process is gone: found, and claimed by compare-and-swap before they
continue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.matrix.campaign import check_resumable
from diskbench.engine.matrix.executor import living
from diskbench.engine.trial.lease import check_lasts, extend
from diskbench.engine.work import find_work
from diskbench.errors import DiskbenchError, InvalidValue, StoreUnavailable
from diskbench.model.ids import short
from diskbench.store.cells import cell_of_trial, claim_cell, run_cells
from diskbench.store.claims import is_unfinished, list_executors
from diskbench.store.rows import find_plan, load_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.spec import Plan
    from diskbench.store.campaigns import CampaignRow

log = logging.getLogger(__name__)


def abandoned_plans(database: sa.Engine) -> list[Plan]:
    """The plans of the runs' trials that no process works on, oldest first. Trials of a matrix are
    left out, because `resume` continues their cells."""
    return [
        load_plan(database, cell.trial_id) for cell in _abandoned_cells(database) if cell.trial_id
    ]


def abandoned_work(
    database: sa.Engine, names: Sequence[str]
) -> tuple[list[Plan], list[CampaignRow]]:
    """The trials and the matrices to resume that `names` mean (engine/work.py); a cell means its
    matrix.

    Raises UnknownName, and InvalidValue for a name that fits several, for what a living process
    works on, and for a matrix that is left to workers.
    """
    plans: list[Plan] = []
    matrices: dict[str, CampaignRow] = {}
    left = {cell.trial_id for cell in _abandoned_cells(database)}
    for work in find_work(database, names):
        if work.campaign is not None:
            check_resumable(database, work.campaign)
            matrices[work.campaign.campaign_id] = work.campaign
        elif work.plan is not None and work.id in left:
            plans.append(work.plan)
        else:
            raise InvalidValue(
                f"{short(work.id)} is run by a process that is alive",
                advice=f"see its progress with 'diskbench status {short(work.id)}'; stop it with "
                f"'diskbench cancel {short(work.id)}'",
            )
    return plans, list(matrices.values())


def is_abandoned(database: sa.Engine, trial_id: str) -> bool:
    """Whether `diskbench resume` would continue the trial: it is unfinished, outside a matrix, and
    its process is gone."""
    if not is_unfinished(database, trial_id):
        return False
    return any(cell.trial_id == trial_id for cell in _abandoned_cells(database))


def _abandoned_cells(database: sa.Engine) -> list[CellRow]:
    cells = run_cells(database)
    alive = living(list_executors(database)) if cells else set()
    return [cell for cell in cells if cell.owner not in alive]


def claim(session: Session, plan: Plan) -> bool:
    """Make this process the owner of an abandoned trial and extend its lease where that is
    possible; False when another process claimed it first. Raises as `prolong`."""
    database, trial_id = session.database, plan.trial_id
    cell = cell_of_trial(database, trial_id)
    if cell is None:
        return False
    won = claim_cell(database, trial_id, owner=session.executor_id, previous=cell.owner)
    if won:
        prolong(session, trial_id)
    return won


def prolong(session: Session, trial_id: str) -> None:
    """Extend the lease of a trial that this process has just claimed, where the trial has begun.
    Raises InvalidValue for work that would outlast a machine whose lease cannot be extended; the
    trial is then left unchanged."""
    plan = find_plan(session.database, trial_id)
    if plan is None or not is_unfinished(session.database, trial_id):
        return
    try:
        moved, failed = extend(session, plan), None
    except StoreUnavailable:
        raise
    except DiskbenchError as error:  # the end in its row holds at least that long everywhere
        moved, failed = False, error
    if not moved:
        check_lasts(session, plan, failed)
    if failed is not None:
        log.warning("the lease of %s keeps its end: %s", trial_id, failed.message)
