"""How a process claims a cell: from a queue, or from a process that died."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from diskbench.engine.matrix.executor import silent_s
from diskbench.engine.matrix.takeover import claim_with_cell
from diskbench.errors import InvalidValue, RentalFailed
from diskbench.model.outcome import Problem, problem_of
from diskbench.store.cells import claim_cell

if TYPE_CHECKING:
    from collections.abc import Collection

    from diskbench.engine.durable.cells import WorkflowState
    from diskbench.engine.matrix.cell_order import CellStations
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.store.campaigns import CampaignRow

log = logging.getLogger(__name__)


def pick_up(
    session: Session,
    campaign: CampaignRow,
    cell: CellRow,
    alive: Collection[str],
    *,
    may_take: bool,
) -> int:
    """Put an admitted cell into the queue of its matrix, or claim it and put it into the queue of
    this process. Returns the number of cells by which this process's load grew (0 or 1)."""
    from diskbench.engine.durable import cells, process

    assert cell.trial_id is not None
    if campaign.queue is not None:
        limits = campaign.limits
        per = limits.per.get(cell.partition) or limits.per.get(cell.cell.provider)
        rate = limits.calls_per_minute
        process.register(
            campaign.queue,
            per_partition=per or limits.max_parallel,
            per_minute=rate.get(cell.partition) or rate.get(cell.cell.provider),
            poll_s=0.2,
        )
        cells.enqueue(
            cell.trial_id,
            queue=campaign.queue,
            partition=cell.partition,
            priority=cell.position,
        )
        return 0
    me = session.executor_id
    if cell.owner != me:
        if not may_take or cell.owner in alive:
            return 0
        if not claim_cell(session.database, cell.trial_id, owner=me, previous=cell.owner):
            return 0
        log.info("took %s", cell.key, extra={"trial": cell.trial_id})
    cells.enqueue(cell.trial_id, queue=process.own_queue(me), priority=cell.position)
    return int(cell.owner != me)


def go_on_with(
    session: Session,
    stations: CellStations,
    cell: CellRow,
    standing: WorkflowState,
    alive: Collection[str],
) -> None:
    """Continue a cell whose process is dead, unless another process claims it first. A cell whose
    workflow ended without settling it is settled as broken, so that it does not stay open."""
    from diskbench.engine.durable import process

    assert cell.trial_id is not None
    me = session.executor_id
    if cell.owner not in (None, me) and cell.owner in alive:
        return
    if not claim_cell(session.database, cell.trial_id, owner=me, previous=cell.owner):
        return
    if standing.is_over:
        fault = f"a fault in diskbench ended its workflow: {standing.state}"
        problem = Problem(kind="Broken", message=fault)
        stations.settle(cell.trial_id, None, problem, rented=True)
        return
    lost = f"{silent_s(session.database, cell):.1f}"
    log.info("takes over %s", cell.key, extra={"trial": cell.trial_id, "lost_s": lost})
    try:
        claim_with_cell(session, cell.trial_id)
    except InvalidValue as error:  # its machine would end first: the next attempt gets a new one
        short = RentalFailed(error.message, advice="the cell is tried again on a new machine")
        stations.settle(cell.trial_id, None, problem_of(short), rented=True)
    process.move_here(cell.trial_id, me)
