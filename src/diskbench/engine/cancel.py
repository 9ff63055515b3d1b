"""`diskbench cancel`: store a request to stop, which the process that runs the work reads, or end a
cell that no process has taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diskbench.engine.matrix.campaign import check_running, runs_now
from diskbench.engine.matrix.executor import living
from diskbench.engine.work import find_work
from diskbench.errors import InvalidValue
from diskbench.model.ids import short
from diskbench.store.campaigns import cancel_untaken_cell, request_cancel, request_end
from diskbench.store.claims import list_executors

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

    from diskbench.engine.work import OngoingWork
    from diskbench.store.campaigns import CampaignRow


@dataclass(frozen=True)
class Asked:
    """One line per thing that was asked to stop; and the matrices that no process works on, whose
    cells the caller has to end."""

    lines: tuple[str, ...] = ()
    unattended: tuple[CampaignRow, ...] = ()


def cancel(database: sa.Engine, names: Sequence[str]) -> Asked:
    """Stop the runs, trials, cells and matrices that `names` mean (engine/work.py). A cell is not
    tried again, and the other cells of its matrix go on.

    Raises UnknownName, and InvalidValue for a name that fits several, for a run whose process is
    gone, and for a matrix that has ended; in these cases nothing was asked to stop.
    """
    chosen = find_work(database, names)
    alive = living(list_executors(database))
    for work in chosen:
        if work.plan is not None and work.owner not in alive:
            name = short(work.id)
            raise InvalidValue(
                f"the process that ran {name} has died, so no process would read the request",
                advice=f"resume with 'diskbench resume {name}', or end it with "
                f"'diskbench gc {name}'",
            )
    lines = tuple(_asked(database, work) for work in chosen)
    matrices = [work.campaign for work in chosen if work.campaign is not None and work.cell is None]
    left = (
        campaign
        for campaign in matrices
        if campaign.queue is not None and not runs_now(database, campaign)
    )
    return Asked(lines, tuple(left))


def _asked(database: sa.Engine, work: OngoingWork) -> str:
    if work.cell is not None:
        name = f"{short(work.id)} ({work.cell.key})"
        if cancel_untaken_cell(database, work.cell):
            return f"{name} will not be measured"
        request_cancel(database, work.id)
        return f"{name} was asked to stop; the other cells of its matrix continue"
    if work.campaign is not None:
        check_running(work.campaign)
        request_end(database, work.campaign.campaign_id)
    else:
        request_cancel(database, work.id)
    return f"{short(work.id)} was asked to stop"
