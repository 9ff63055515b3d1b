"""What a matrix is as a whole: how far its blocks are (what `until_ci` asks, MR-7), and what its
trials cost so far."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.engine import Engine

from diskbench.catalog.cost import HOUR_S
from diskbench.model.campaign import CellRow
from diskbench.store.cells import load_cells
from diskbench.store.database import database_time
from diskbench.store.leases import list_leases
from diskbench.store.machines import machine_leases, machine_turns


@dataclass(frozen=True)
class BlockEnds:
    """A block: its `cells`, how many of them are `unfinished`, and why its first spared one was
    spared; None where none was."""

    block: str
    cells: int
    unfinished: int
    spared: str | None


def block_ends(database: Engine, campaign_id: str) -> list[BlockEnds]:
    """The blocks of a matrix in the order of their first cells."""
    blocks: dict[str, list[CellRow]] = {}
    for cell in load_cells(database, campaign_id):
        blocks.setdefault(cell.block, []).append(cell)
    return [
        BlockEnds(
            block=block,
            cells=len(cells),
            unfinished=sum(cell.finished_at is None for cell in cells),
            spared=next((cell.error for cell in cells if cell.state == "spared"), None),
        )
        for block, cells in blocks.items()
    ]


def done_trials(database: Engine, campaign_id: str) -> frozenset[tuple[str, str]]:
    """The block and the trial of each cell of a matrix that is done."""
    return frozenset(
        (cell.block, cell.trial_id)
        for cell in load_cells(database, campaign_id)
        if cell.state == "done" and cell.trial_id is not None
    )


def spent_by(
    database: Engine, campaign_id: str, assumed_usd_per_hour: float | None
) -> tuple[float, dict[str, float]]:
    """The cost of a matrix in US dollars without its running attempts, and the cost so far of each
    running attempt, by trial id. A trial that ended counts with the cost in its cell's row where
    that is more; a machine that trials shared, with what it cost beside them. Where no price is
    known, an hour costs the assumed one, else nothing."""
    newest = {cell.trial_id: cell for cell in load_cells(database, campaign_id)}
    trials = list_leases(database, campaign_id=campaign_id)
    machines = machine_leases(database, campaign_id)
    turns = machine_turns(database, campaign_id) if machines else {}
    now, over, usd = database_time(database), 0.0, dict[str, float]()
    for lease in (*trials, *machines):
        hourly = assumed_usd_per_hour if lease.hourly_usd is None else lease.hourly_usd
        usd[lease.lease_id] = (hourly or 0.0) * lease.age_s(now) / HOUR_S
    live: dict[str, float] = {}
    for lease in trials:
        cell = newest.get(lease.lease_id)
        if cell is not None and cell.finished_at is None:
            live[lease.lease_id] = usd[lease.lease_id]
        else:
            over += max(usd[lease.lease_id], (cell.cost_usd or 0.0) if cell else 0.0)
    for machine in machines:
        used = sum(usd.get(trial_id, 0.0) for trial_id in turns.get(machine.lease_id, ()))
        over += max(usd[machine.lease_id] - used, 0.0)
    return over, live
