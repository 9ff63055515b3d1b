"""Trials whose process is gone: found, and claimed by compare-and-swap before they continue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.matrix.campaign import check_resumable
from diskbench.engine.matrix.executor import abandoned
from diskbench.engine.trial.extend import check_lasts, extend
from diskbench.engine.work import find_work
from diskbench.errors import DiskbenchError, InvalidValue, StoreUnavailable
from diskbench.store.campaigns import trials_of_matrices
from diskbench.store.claims import claim_trial, list_claims, list_executors
from diskbench.store.rows import find_plan, load_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import sqlalchemy as sa

    from diskbench.engine.durable.cells import WorkflowState
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.spec import Plan
    from diskbench.store.campaigns import CampaignRow

log = logging.getLogger(__name__)


def abandoned_plans(database: sa.Engine) -> list[Plan]:
    """The plans of the trials that no process works on, oldest first. Trials of a matrix are left
    out, because `resume` continues their cells."""
    of_matrices = trials_of_matrices(database)
    claims = [claim for claim in list_claims(database) if claim.trial_id not in of_matrices]
    left = abandoned(claims, list_executors(database))
    return [load_plan(database, claim.trial_id) for claim in left]


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
    left = {plan.trial_id for plan in abandoned_plans(database)}
    for work in find_work(database, names):
        if work.campaign is not None:
            check_resumable(database, work.campaign)
            matrices[work.campaign.campaign_id] = work.campaign
        elif work.plan is not None and work.id in left:
            plans.append(work.plan)
        else:
            raise InvalidValue(
                f"{work.id} is being run by a live process",
                advice=f"see its progress with 'diskbench status {work.id}'; stop it with "
                f"'diskbench cancel {work.id}'",
            )
    return plans, list(matrices.values())


def is_abandoned(database: sa.Engine, trial_id: str) -> bool:
    """Whether `diskbench resume` would continue the trial: it is unfinished, outside a matrix, and
    its process is gone."""
    left = [row for row in list_claims(database) if row.trial_id == trial_id]
    if not left or trial_id in trials_of_matrices(database):
        return False
    return bool(abandoned(left, list_executors(database)))


def claim(session: Session, plan: Plan) -> bool:
    """Make this process the trial's owner and extend its lease where that is possible; False when
    another process claimed it first. Raises InvalidValue for work that would outlast a machine
    whose lease cannot be extended; the trial is then left unchanged."""
    trial_id = plan.trial_id
    previous = next((c.owner for c in list_claims(session.database) if c.trial_id == trial_id), "")
    if previous == "":
        return False
    won = claim_trial(session.database, trial_id, owner=session.executor_id, previous=previous)
    if won:
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
    return won


def is_left(cell: CellRow, standing: WorkflowState, alive: Collection[str]) -> bool:
    """Whether the process that had the cell is gone. A process that died between taking the cell
    from its queue and writing the cell's row is known to the workflow engine only; one that died
    between taking it over and continuing it left it in its own queue, which nobody reads."""
    if standing.state == "PENDING":
        return (cell.owner or standing.executor) not in alive
    return standing.state == "ENQUEUED" and cell.owner is not None and cell.owner not in alive


def claim_with_cell(session: Session, trial_id: str) -> None:
    """Claim the trial of a cell that this process has just claimed, where the trial has rows.
    Raises as `claim`."""
    plan = find_plan(session.database, trial_id)
    if plan is not None and any(c.trial_id == trial_id for c in list_claims(session.database)):
        claim(session, plan)
