"""The start of a matrix, whose rows are written before anything is rented; and which of its cells
changed their state since the last look."""

from collections.abc import Iterator

import sqlalchemy as sa

from diskbench.catalog.cost import refresh_command
from diskbench.engine.matrix.matrix_file import MatrixFile
from diskbench.engine.processes import living, new_id
from diskbench.engine.session import Session
from diskbench.errors import CostRefused, InvalidValue
from diskbench.model.campaign import ERROR_COLUMNS, FINAL, CellRow, CellState, error_columns
from diskbench.model.ids import short
from diskbench.model.matrix import Limits, MatrixCell
from diskbench.plan.matrix import expand
from diskbench.plan.outlook import BlockOutlook, MatrixOutlook
from diskbench.store.campaigns import CampaignRow, claim_campaign, load_cells, save_campaign
from diskbench.store.dialects import now
from diskbench.store.executors import list_executors
from diskbench.store.matrix_lock import locked


def check_outlook(seen: MatrixOutlook) -> None:
    """Refuse a matrix before anything is rented: InvalidValue where a block cannot be measured,
    CostRefused where it has a budget and an unknown price."""
    broken = [block for block in seen.blocks if block.problem is not None]
    if broken:
        lines = [f"{block.block}: {block.problem.message}" for block in broken if block.problem]
        raise InvalidValue(
            f"{len(broken)} of {len(seen.blocks)} blocks cannot be measured:\n  "
            + "\n  ".join(lines),
            advice="correct or exclude them, or add --keep-going to measure the others",
        )
    check_prices(seen)


def check_prices(seen: MatrixOutlook) -> None:
    """Refuse a budget that cannot be enforced: CostRefused naming the blocks without a price."""
    limits = seen.limits
    if limits.budget_usd is None or limits.assume_price_usd_per_hour is not None:
        return
    unpriced = {
        block.block: block.cost.unpriced_region
        for block in seen.blocks
        if block.cost is not None and block.cost.unknown
    }
    if unpriced:
        regions = filter(None, dict.fromkeys(unpriced.values()))
        commands = list(map(refresh_command, regions))
        assumed = "say what an hour costs: --assume-price USD, or assume_price in the matrix"
        raise CostRefused(
            f"budget {limits.budget_usd:g}: no price is known for {', '.join(unpriced)}",
            advice="; ".join([*commands, f"or {assumed}"]) if commands else assumed,
        )


def begin_campaign(
    database: sa.Engine,
    file: MatrixFile,
    seen: MatrixOutlook,
    *,
    own_queue: bool,
    schedule: str | None = None,
    scheduled_for: str | None = None,
    campaign_id: str | None = None,
) -> CampaignRow:
    """Write the rows of the matrix and of all its cells; no cell begins yet. `own_queue`: only the
    process that was started for the matrix measures its cells; else the workers that serve their
    routes do."""
    campaign_id = campaign_id or new_id()
    campaign = CampaignRow(
        campaign_id=campaign_id,
        name=seen.name,
        queue=f"matrix-{campaign_id}" if own_queue else None,
        limits=seen.limits,
        spec={"source": file.source, "text": file.text, "title": file.matrix.title},
        seed=seen.seed,
        order=seen.order,
        schedule=schedule,
        scheduled_for=scheduled_for,
    )
    blocks = {block.block: block for block in seen.blocks}
    cells = expand(file.matrix, seed=seen.seed)
    rows = [_new_row(campaign_id, cell, blocks[cell.block], seen.limits) for cell in cells]
    save_campaign(database, campaign, rows)
    return campaign


def check_running(campaign: CampaignRow) -> None:
    """Raise InvalidValue for a matrix that has ended."""
    if campaign.state == "done":
        raise InvalidValue(
            f"matrix {short(campaign.campaign_id)} has ended", advice="no cell is left to stop"
        )


def retry_cells(database: sa.Engine, campaign: CampaignRow) -> int:
    """Put every cell that ended without a result back to waiting; returns their number."""
    again = FINAL - {"done", "spared"}
    with locked(database, campaign.campaign_id) as held:
        chosen = [cell for cell in held.cells if cell.state in again]
        cleared = {**dict.fromkeys(_OF_AN_ATTEMPT), "state": "waiting", "attempt": 0}
        for cell in chosen:
            held.set_cell(cell.position, **cleared)
        if chosen:
            held.set_state("running")
    return len(chosen)


def claim_foreground(session: Session, campaign: CampaignRow) -> None:
    """Make this process the owner of the matrix. Raises InvalidValue when another live process owns
    it, when it is left to workers, or when it has ended."""
    check_resumable(session.database, campaign)
    if not claim_campaign(
        session.database, campaign.campaign_id, owner=session.executor_id, previous=campaign.owner
    ):
        raise _is_run(campaign)


def check_resumable(database: sa.Engine, campaign: CampaignRow) -> None:
    """Raise InvalidValue unless a process that is started now may run the matrix."""
    name = short(campaign.campaign_id)
    if campaign.state == "done":
        raise InvalidValue(
            f"matrix {name} has ended", advice=f"see it with 'diskbench matrix status {name}'"
        )
    if campaign.queue is None:
        raise InvalidValue(
            f"matrix {name} is left to workers", advice="start one with 'diskbench worker'"
        )
    if runs_now(database, campaign):
        raise _is_run(campaign)


def _is_run(campaign: CampaignRow) -> InvalidValue:
    return InvalidValue(
        f"matrix {short(campaign.campaign_id)} is being run by another process",
        advice=f"see it with 'diskbench matrix status --watch {short(campaign.campaign_id)}'",
    )


def runs_now(database: sa.Engine, campaign: CampaignRow) -> bool:
    """Whether a living process runs the matrix in its foreground."""
    return campaign.owner is not None and campaign.owner in living(list_executors(database))


_OF_AN_ATTEMPT = (
    "not_before", "owner", "cancel", "note", *ERROR_COLUMNS,
    "started_at", "finished_at",
)  # fmt: skip


def _new_row(campaign_id: str, cell: MatrixCell, block: BlockOutlook, limits: Limits) -> CellRow:
    cost = block.cost.total_or(limits.assume_price_usd_per_hour) if block.cost else None
    known = cost if cost is not None else (block.cost.known_usd if block.cost else None)
    row = CellRow(
        campaign_id=campaign_id,
        **dict(cell),
        expected_s=block.trial_s or None,
        hourly_usd=block.cost.hourly_usd if block.cost else None,
        cost_usd=known,
    )
    if block.problem is None:
        return row
    refused = {"state": "refused", "finished_at": now(), **error_columns(block.problem)}
    return row.model_copy(update=refused)


def changed_cells(
    database: sa.Engine, campaign_id: str, known: dict[int, CellState]
) -> Iterator[CellRow]:
    """The cells whose state is not the `known` one of their position, in order; their states are
    known afterwards. What is not known waits."""
    for cell in load_cells(database, campaign_id):
        if cell.state != known.get(cell.position, "waiting"):
            known[cell.position] = cell.state
            yield cell
