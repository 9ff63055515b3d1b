"""The rows of matrices and of their cells: their states, their owners, the wishes to stop them, and
what they cost.
`diskbench run` is a matrix of kind `run` with a cell for each of its trials. Nobody sees it as a
matrix: its rows say only who works on it and whether it should stop. A cell of it is deleted when
it has ended and everything of its trial is given back, and the matrix with its last cell. What was
measured is in the rows of trials and runs."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.catalog.cost import HOUR_S
from diskbench.errors import Interrupted, InvalidValue
from diskbench.model.base import Frozen
from diskbench.model.campaign import LIVE, CampaignState, CellRow, CellState, error_columns
from diskbench.model.ids import Known, meant
from diskbench.model.matrix import Limits
from diskbench.model.outcome import Problem
from diskbench.store import schema
from diskbench.store.database import change, database_time, fetch, fetch_as, transaction
from diskbench.store.dialects import insert_missing, present
from diskbench.store.leases import list_leases
from diskbench.store.machines import machine_leases, machine_turns


class CampaignRow(Frozen):
    """One started matrix. `queue` is the only queue of its cells; None: one queue per route, which
    workers listen to. `owner` is the process that runs it in the foreground, `spec` the matrix as
    it was read. `kind` is `run` for the matrix that `diskbench run` makes of its trials
    (see above), which no function for matrices returns except `load_campaign`."""

    campaign_id: str
    name: str
    state: CampaignState = "running"
    queue: str | None = None
    owner: str | None = None
    limits: Limits
    spec: dict[str, Any]
    seed: int | None = None
    order: str
    schedule: str | None = None
    scheduled_for: str | None = None
    created_at: str = ""
    finished_at: str | None = None
    kind: Literal["run"] | None = None

    @property
    def is_run(self) -> bool:
        """Whether it is the matrix of a run, which is deleted when its cells end."""
        return self.kind == "run"


def save_campaign(database: Engine, campaign: CampaignRow, cells: Sequence[CellRow]) -> None:
    """Write a matrix and all its cells, before anything is rented; idempotent."""
    with transaction(database) as connection:
        began = campaign.created_at or connection.execute(sa.select(present())).scalar_one()
        row = campaign.model_dump(mode="json") | {"created_at": began}
        insert_missing(connection, schema.matrix, [row])
        insert_missing(connection, schema.cell, [cell.model_dump(mode="json") for cell in cells])


def list_campaigns(
    database: Engine, *, states: Collection[CampaignState] | None = None
) -> list[CampaignRow]:
    """All matrices, or those in `states`, oldest first."""
    matrix = schema.matrix.c
    wanted = sa.true() if states is None else matrix.state.in_(sorted(states))
    return _campaigns(database, matrix.kind.is_(None), wanted)


def load_campaign(database: Engine, campaign_id: str) -> CampaignRow:
    """The matrix with this id, also that of a run."""
    (campaign,) = _campaigns(database, schema.matrix.c.campaign_id == campaign_id)
    return campaign


def find_matrix(database: Engine, campaign_id: str) -> CampaignRow | None:
    """The matrix with this id; None for that of a run, and where there is none."""
    matrix = schema.matrix.c
    found = _campaigns(database, matrix.campaign_id == campaign_id, matrix.kind.is_(None))
    return next(iter(found), None)


def _campaigns(database: Engine, *conditions: sa.ColumnElement[bool]) -> list[CampaignRow]:
    """The matrices that meet all `conditions`, oldest first."""
    query = sa.select(schema.matrix).where(*conditions).order_by(schema.matrix.c.campaign_id)
    return fetch_as(database, CampaignRow, query)


def find_campaign(database: Engine, name: str | None) -> CampaignRow:
    """The newest matrix named `name`, else the one whose id begins with `name` (model/ids.py); the
    newest of all for None. Raises UnknownName; InvalidValue where there is none, for an empty name
    and for a beginning that several ids share."""
    known = list_campaigns(database)
    if name is None:
        if known:
            return known[-1]
        advice = "start one with 'diskbench matrix run FILE'"
        raise InvalidValue("no matrix was started", advice=advice)
    named = [campaign for campaign in known if campaign.name == name]
    if named:
        return named[-1]
    by_id = {campaign.campaign_id: campaign for campaign in known}
    ids = [Known(key, "matrix", where=f"{one.name}, {one.state}") for key, one in by_id.items()]
    return by_id[meant(name, ids, "matrix", advice="see 'diskbench matrix status --all'").id]


def claim_campaign(database: Engine, campaign_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the process that runs a matrix in the foreground, if `previous` is it now
    (compare and swap)."""
    matrix = schema.matrix
    expected = matrix.c.owner.is_(None) if previous is None else matrix.c.owner == previous
    mine = matrix.c.campaign_id == campaign_id
    return change(database, sa.update(matrix).where(mine, expected).values(owner=owner)) == 1


def routes_of_trial(database: Engine, trial_id: str) -> set[str]:
    """The routes of the matrix of a trial; none of a trial without a matrix."""
    trial, cell = schema.trial, schema.cell
    query = sa.select(cell.c.route).join(trial, cell.c.campaign_id == trial.c.campaign_id)
    found = fetch(database, query.where(trial.c.trial_id == trial_id).distinct())
    return {route for (route,) in found}


def asked_to_stop(database: Engine, owner: str) -> frozenset[str]:
    """The trials of the process `owner` that somebody asked to stop."""
    cell, matrix = schema.cell, schema.matrix
    at_work = cell.c.owner == owner, cell.c.trial_id.is_not(None), cell.c.state.in_(sorted(LIVE))
    is_asked = sa.or_(cell.c.cancel.is_(True), matrix.c.state == "cancelling")
    query = sa.select(cell.c.trial_id).join(matrix, matrix.c.campaign_id == cell.c.campaign_id)
    asked = fetch(database, query.where(*at_work, is_asked))
    return frozenset(trial_id for (trial_id,) in asked)


def request_end(database: Engine, campaign_id: str) -> None:
    """Ask the processes that run a matrix to stop every cell, and admit no further cell."""
    mine = sa.update(schema.matrix).where(schema.matrix.c.campaign_id == campaign_id)
    change(database, mine.values(state="cancelling", finished_at=None))


def cancel_untaken_cell(database: Engine, row: CellRow) -> bool:
    """Cancel a cell that no process owns and whose attempt is still that of `row`; True if done."""
    cell, code = schema.cell, Interrupted.exit_code
    problem = Problem(kind="Cancelled", message="stopped by the user", exit_code=code)
    untaken = (
        *(cell.c[name] == getattr(row, name) for name in ("campaign_id", "position", "attempt")),
        cell.c.state.in_(("waiting", "queued")),
        cell.c.owner.is_(None),
    )
    ended = sa.update(cell).where(*untaken).values(state="cancelled", cancel=True)
    ended = ended.values(finished_at=present(), **error_columns(problem))
    return change(database, ended) == 1


def load_cells(database: Engine, campaign_id: str) -> list[CellRow]:
    """All cells of a matrix, in order."""
    cell = schema.cell.c
    return _find_cells(database, cell.campaign_id == campaign_id)


def cells_of_machine(database: Engine, campaign_id: str, name: str) -> list[CellRow]:
    """The cells of a matrix that share the machine of this name, in order."""
    cell = schema.cell.c
    return _find_cells(database, cell.campaign_id == campaign_id, cell.machine == name)


def cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """The cell whose newest attempt is `trial_id`; None for a trial of no matrix."""
    return next(iter(_find_cells(database, schema.cell.c.trial_id == trial_id)), None)


def matrix_cell_of_trial(database: Engine, trial_id: str) -> CellRow | None:
    """`cell_of_trial` where the cell is that of a matrix; None for the cell of a run."""
    cell = schema.cell.c
    return next(iter(_find_cells(database, cell.trial_id == trial_id, _of_matrix())), None)


def live_cells(database: Engine) -> list[CellRow]:
    """The cells of all matrices and runs that are queued or that a process has taken."""
    return _find_cells(database, schema.cell.c.state.in_(sorted(LIVE)))


def unfinished_cells(database: Engine) -> list[CellRow]:
    """The unfinished cells of all matrices, in the order of matrices and cells; those of runs are
    left out."""
    return _find_cells(database, schema.cell.c.finished_at.is_(None), _of_matrix())


def run_cells(database: Engine) -> list[CellRow]:
    """The cells of all runs that have not ended, oldest first."""
    return sorted(_find_cells(database, ~_of_matrix()), key=lambda cell: cell.trial_id or "")


def _find_cells(database: Engine, *conditions: sa.ColumnElement[bool]) -> list[CellRow]:
    """The cells that meet all `conditions`, in the order of matrices and cells."""
    cell = schema.cell.c
    query = sa.select(schema.cell).where(*conditions).order_by(cell.campaign_id, cell.position)
    return fetch_as(database, CellRow, query)


def _of_matrix() -> sa.ColumnElement[bool]:
    """The condition that a cell is not that of a run."""
    return schema.cell.c.campaign_id.not_in(_campaigns_of_runs())


def update_cell(
    database: Engine,
    trial_id: str,
    *,
    states: Collection[CellState] | None = None,
    **values: object,
) -> bool:
    """Change the cell whose newest attempt is `trial_id`, if it is in one of `states`; False where
    it is not, or no cell has that attempt any more. `cancel=True` asks its owner to stop it."""
    cell = schema.cell
    update = sa.update(cell).where(cell.c.trial_id == trial_id).values(**values)
    if states is not None:
        update = update.where(cell.c.state.in_(sorted(states)))
    return change(database, update) == 1


def claim_cell(database: Engine, trial_id: str, *, owner: str, previous: str | None) -> bool:
    """Make `owner` the owner of a cell if `previous` is it now (compare and swap); the cell has
    started when its first owner has it. True when `owner` owns the cell afterwards, also when it
    did before."""
    cell = schema.cell
    expected = cell.c.owner.is_(None) if previous is None else cell.c.owner == previous
    mine = cell.c.trial_id == trial_id, sa.or_(expected, cell.c.owner == owner)
    swap = sa.update(cell).where(*mine, cell.c.state.in_(sorted(LIVE)))
    started = sa.func.coalesce(cell.c.started_at, present())
    return change(database, swap.values(owner=owner, started_at=started)) == 1


RUN = "run"
"""The kind of the matrix of a run; None is that of a matrix."""


def is_of_matrix(connection: Connection, campaign_id: str) -> bool:
    """Whether a campaign is that of a matrix, whose cells are written before any trial."""
    kind = sa.select(schema.matrix.c.kind).where(schema.matrix.c.campaign_id == campaign_id)
    return bool(connection.execute(kind).scalars().all() == [None])


def end_run_cell(database: Engine, trial_id: str) -> None:
    """Delete the cell of a trial whose run has ended, and the run's matrix with its last cell; does
    nothing for the cell of a matrix."""
    cell, matrix = schema.cell, schema.matrix
    mine = cell.c.trial_id == trial_id, cell.c.campaign_id.in_(_campaigns_of_runs())
    with transaction(database) as connection:
        connection.execute(sa.delete(cell).where(*mine))
        other_cells = sa.select(cell.c.position).where(cell.c.campaign_id == matrix.c.campaign_id)
        connection.execute(sa.delete(matrix).where(matrix.c.kind == RUN, ~other_cells.exists()))


def _campaigns_of_runs() -> sa.Select[tuple[str]]:
    matrix = schema.matrix
    return sa.select(matrix.c.campaign_id).where(matrix.c.kind == RUN)


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
