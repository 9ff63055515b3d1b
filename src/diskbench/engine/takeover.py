"""Trials whose process is gone: found, and won by compare-and-swap before they are touched."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.executor import abandoned
from diskbench.engine.lease import where
from diskbench.errors import DiskbenchError, InvalidValue, StoreUnavailable
from diskbench.model.ids import Known, meant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import sqlalchemy as sa

    from diskbench.engine.durable.cells import WorkflowState
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.spec import Plan

log = logging.getLogger(__name__)


def abandoned_plans(database: sa.Engine, ids: Sequence[str] | None) -> list[Plan]:
    """The plans of the abandoned trials, all of them or those that `ids` (of runs or trials) name.
    A trial of a matrix is none of them: its cell is gone on with as a whole.

    Raises UnknownName for an id that names no unfinished trial, InvalidValue for one whose process
    is alive, or that a matrix goes on with.
    """
    from diskbench.store.campaigns import trials_of_matrices
    from diskbench.store.claims import list_claims, list_executors
    from diskbench.store.rows import load_plan

    of_matrices = trials_of_matrices(database)
    claims = [c for c in list_claims(database) if ids or c.trial_id not in of_matrices]
    left = [claim.trial_id for claim in abandoned(claims, list_executors(database))]
    plans = {claim.trial_id: load_plan(database, claim.trial_id) for claim in claims}
    if not ids:
        return [plans[trial_id] for trial_id in left]
    named = dict.fromkeys(_unfinished(plans, name) for name in ids)
    wanted = [plans[trial_id] for trial_id in named]
    for plan in wanted:
        if plan.trial_id in of_matrices:
            raise _belongs_to_matrix(database, plan.trial_id)
        if plan.trial_id not in left:
            raise InvalidValue(
                f"{plan.trial_id} is being run by a live process",
                advice="see its progress with 'diskbench results list'; stop it with "
                f"'diskbench cancel {plan.trial_id}'",
            )
    return wanted


def is_abandoned(database: sa.Engine, trial_id: str) -> bool:
    """Whether `diskbench resume` would go on with the trial: unfinished, of no matrix, and its
    process is gone."""
    from diskbench.store.campaigns import trials_of_matrices
    from diskbench.store.claims import list_claims, list_executors

    left = [one for one in list_claims(database) if one.trial_id == trial_id]
    if not left or trial_id in trials_of_matrices(database):
        return False
    return bool(abandoned(left, list_executors(database)))


def unfinished_trial(database: sa.Engine, name: str, of_cells: Mapping[str, CellRow]) -> str:
    """The unfinished trial that an id means: one that has a plan, or one of a matrix's cells, which
    may have none yet. Raises UnknownName, InvalidValue (model/ids.py)."""
    from diskbench.store.claims import list_claims
    from diskbench.store.rows import load_plan

    plans = {c.trial_id: load_plan(database, c.trial_id) for c in list_claims(database)}
    cells = [
        Known(trial_id, "trial", where=cell.key)
        for trial_id, cell in of_cells.items()
        if trial_id not in plans
    ]
    return _unfinished(plans, name, cells)


def claim(session: Session, plan: Plan) -> bool:
    """Make this process the trial's owner and extend its lease where that can be done; False when
    another was faster. Raises InvalidValue for work that would outlast a machine whose end cannot
    be moved; the trial is left as it stands then."""
    from diskbench.engine.extend import check_lasts, extend
    from diskbench.store.claims import claim_trial, list_claims

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
        except DiskbenchError as error:  # its row says the end that nothing falls short of
            moved, failed = False, error
        if not moved:
            check_lasts(session, plan, failed)
        if failed is not None:
            log.warning("the lease of %s keeps its end: %s", trial_id, failed.message)
    return won


def is_left(cell: CellRow, standing: WorkflowState, alive: Collection[str]) -> bool:
    """Whether the process that had the cell is gone. One that died between taking it from its queue
    and saying so is known to the workflow engine alone; one that died between taking it over and
    going on left it in a queue of its own, which nobody listens to."""
    if standing.state == "PENDING":
        return (cell.owner or standing.executor) not in alive
    return standing.state == "ENQUEUED" and cell.owner is not None and cell.owner not in alive


def claim_with_cell(session: Session, trial_id: str) -> None:
    """The trial goes with its cell, which this process has just won; it may have no rows yet.
    Raises as `claim`."""
    from diskbench.store.claims import list_claims
    from diskbench.store.rows import find_plan

    plan = find_plan(session.database, trial_id)
    if plan is not None and any(c.trial_id == trial_id for c in list_claims(session.database)):
        claim(session, plan)


def _belongs_to_matrix(database: sa.Engine, trial_id: str) -> InvalidValue:
    from diskbench.store.campaigns import matrix_of_trial

    campaign = matrix_of_trial(database, trial_id)
    assert campaign is not None
    if campaign.queue is None:
        advice = "a worker goes on with it: diskbench worker"
    else:
        advice = f"diskbench matrix resume {campaign.campaign_id}"
    return InvalidValue(f"{trial_id} is a cell of matrix {campaign.name}", advice=advice)


def _unfinished(plans: Mapping[str, Plan], name: str, more: Sequence[Known] = ()) -> str:
    """The trial that a name means, of those of `plans` and `more`."""
    known = [
        Known(one, "trial" if one == trial_id else "run", where=where(plan), means=trial_id)
        for trial_id, plan in plans.items()
        for one in dict.fromkeys((trial_id, *plan.run_ids))
    ]
    return meant(
        name,
        [*known, *more],
        "unfinished run",
        advice="a finished run is shown by 'diskbench results show'",
    ).stands_for
