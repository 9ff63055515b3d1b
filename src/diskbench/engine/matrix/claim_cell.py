"""How a process takes a cell: by compare-and-swap on the owner in the cell's row.

The row decides alone. A cell whose owner is this process runs here; one without an owner, or whose
owner is dead, is taken by whoever swaps first. The workflow engine is told afterwards: a process
that dies in between left a cell that the next process takes in the same way.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.durable import cells, process
from diskbench.engine.matrix.executor import silent_s
from diskbench.engine.matrix.takeover import prolong
from diskbench.errors import InvalidValue, RentalFailed
from diskbench.model.outcome import Problem, problem_of
from diskbench.store.cells import claim_cell

if TYPE_CHECKING:
    from collections.abc import Collection

    from diskbench.engine.durable.cells import WorkflowState
    from diskbench.engine.matrix.cell_steps import LiveCells
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow

log = logging.getLogger(__name__)


def take(
    session: Session,
    stations: LiveCells,
    cell: CellRow,
    workflow: WorkflowState | None,
    alive: Collection[str],
) -> bool:
    """Take a cell that no live process owns and let it run here; False when another process owns
    it. `workflow` is None for a cell that has not begun. A cell whose workflow ended without
    settling it is settled as broken, so that it does not stay open."""
    assert cell.trial_id is not None
    me = session.executor_id
    if cell.owner != me:
        if cell.owner in alive:
            return False
        if not claim_cell(session.database, cell.trial_id, owner=me, previous=cell.owner):
            return False
        _say_taken(session, cell, begun=workflow is not None)
    elif workflow is None:
        _say_taken(session, cell, begun=False)
    if workflow is None:
        cells.start(cell.trial_id)
    elif workflow.is_over:
        settle_broken(stations, cell.trial_id, workflow)
    else:
        try:
            prolong(session, cell.trial_id)
        except InvalidValue as error:  # its machine would end first: it is tried again on a new one
            short = RentalFailed(error.message, advice="the cell is tried again on a new machine")
            stations.settle(cell.trial_id, None, problem_of(short))
        process.move_here(cell.trial_id, me)
    return True


def settle_broken(stations: LiveCells, trial_id: str, workflow: WorkflowState) -> None:
    """Settle a cell of this process whose workflow ended without doing so."""
    fault = f"a fault in diskbench ended its workflow: {workflow.state}"
    stations.settle(trial_id, None, Problem(kind="Broken", message=fault))


def _say_taken(session: Session, cell: CellRow, *, begun: bool) -> None:
    if begun:
        lost = f"{silent_s(session.database, cell):.1f}"
        log.info("takes over %s", cell.key, extra={"trial": cell.trial_id, "lost_s": lost})
    else:
        log.info("took %s", cell.key, extra={"trial": cell.trial_id})
