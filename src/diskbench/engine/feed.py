"""Giving cells their turn: what the limits allow goes into the queues, once, whoever asks.

Any process may feed a matrix, and as often as it likes: the decision is made under a lock, and a
cell that was decided for but not yet queued, because its process died in between, is queued by the
next one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from diskbench.engine.session import new_id
from diskbench.engine.spend import spent_by
from diskbench.model.campaign import LIVE
from diskbench.plan.admit import Moment, admit, full

if TYPE_CHECKING:
    from collections.abc import Callable

    import sqlalchemy as sa

    from diskbench.model.campaign import CellRow
    from diskbench.model.outcome import Problem
    from diskbench.store.campaigns import CampaignRow, Locked

_PAGE = 100
"""Cells that wait and are looked at together; our choice."""


def feed(
    database: sa.Engine,
    campaign: CampaignRow,
    *,
    admits: bool = True,
    reaches: Callable[[CellRow], bool] = lambda _: True,
) -> CampaignRow:
    """Let cells begin that may, refuse those that never may, and end a matrix whose cells all
    ended. `admits` False begins none: the process is about to end. A cell gets its turn from a
    process that `reaches` it: else cells that nobody takes would have the places of all others.

    Returns the matrix as it stands then.
    """
    from diskbench.store.campaigns import load_cells, locked
    from diskbench.store.machines import list_machines

    over, live, limits = 0.0, dict[str, float](), campaign.limits
    if limits.budget_usd is not None:
        # Read before the lock is taken: it only grows, and the next turn sees it.
        before = load_cells(database, campaign.campaign_id)
        assumed = limits.assume_price_usd_per_hour
        over, live = spent_by(database, campaign.campaign_id, before, assumed)
    standing = {one.name for one in list_machines(database, campaign.campaign_id)}
    with locked(database, campaign.campaign_id) as held:
        if admits:
            _decide(held, standing, reaches, over, live)
        if held.is_over():
            held.set_state("done")
            return held.campaign.model_copy(update={"state": "done"})
        return held.campaign


def _decide(
    held: Locked,
    standing: set[str],
    reaches: Callable[[CellRow], bool],
    spent_usd: float,
    live_usd: dict[str, float],
) -> None:
    """Begin and refuse cells, looking at as many that wait as there are places for: a matrix may
    have thousands, and this is done each time that one ends."""
    limits, moment = held.campaign.limits, datetime.now(UTC)
    lately = (moment - timedelta(minutes=1)).isoformat(timespec="microseconds")
    around = held.under_way(since=lately, machines=standing)
    now = Moment(
        now=moment.isoformat(timespec="microseconds"),
        elapsed_s=_since(held.campaign.created_at),
        spent_usd=spent_usd,
        cancelling=held.campaign.state == "cancelling",
        machines=tuple(cell for cell in around if cell.machine in standing),
    )
    running = [_at_least(cell, live_usd) for cell in around if cell.state != "waiting"]
    after = -1
    while standing or now.cancelling or _live(running) < limits.max_parallel:
        nowhere = set[str]() if standing or now.cancelling else full(running, limits)
        page = held.waiting(after=after, most=_PAGE, but_in=nowhere)
        if not page:
            return
        after = page[-1].position
        waiting = {cell.position: cell for cell in page if now.cancelling or reaches(cell)}
        decision = admit([*running, *waiting.values()], limits, now)
        running += [_begin(held, waiting[position]) for position in decision.begin]
        for position, problem in decision.refuse:
            _refuse(held, position, problem)


def _live(cells: list[CellRow]) -> int:
    return sum(cell.state in LIVE for cell in cells)


def _begin(held: Locked, cell: CellRow) -> CellRow:
    from diskbench.store.clock import now

    values = {
        "state": "queued",
        "attempt": cell.attempt + 1,
        "trial_id": new_id(),
        "owner": None,
        "not_before": None,
        "note": None,
        "queued_at": now(),
    }
    held.set_cell(cell.position, **values)
    return cell.model_copy(update=values)


def _refuse(held: Locked, position: int, problem: Problem) -> None:
    from diskbench.store.clock import now

    held.set_cell(
        position,
        state="cancelled" if problem.kind == "Cancelled" else "refused",
        error_kind=problem.kind,
        error=problem.message,
        advice=problem.advice or None,
        finished_at=now(),
    )


def _at_least(cell: CellRow, live: dict[str, float]) -> CellRow:
    """The cell with what it really costs where that is more than was expected."""
    so_far = live.get(cell.trial_id or "", 0.0)
    if cell.state in LIVE and so_far > (cell.cost_usd or 0.0):
        return cell.model_copy(update={"cost_usd": so_far})
    return cell


def _since(created_at: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(created_at)).total_seconds()
