"""What the trials of a matrix cost so far, summed by the database: a matrix may have thousands.

The formula is that of catalog/cost.py: hourly price × age of the lease.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from diskbench.store import schema
from diskbench.store.clock import present
from diskbench.store.database import one_statement, transaction

_HOUR_S = 3600.0


class unix_s(FunctionElement[float]):  # noqa: N801 - an SQL function, named as those of SQLAlchemy
    """A time in the format of rows in seconds since 1970."""

    type = sa.Double()
    inherit_cache = True


@compiles(unix_s, "sqlite")
def _unix_s_on_sqlite(element: unix_s, compiler: SQLCompiler, **named: object) -> str:
    return f"((julianday({compiler.process(element.clauses, **named)}) - 2440587.5) * 86400.0)"


@compiles(unix_s, "postgresql")
def _unix_s_on_postgresql(element: unix_s, compiler: SQLCompiler, **named: object) -> str:
    moment = f"({compiler.process(element.clauses, **named)})::timestamptz"
    return f"extract(epoch FROM {moment})::double precision"


def spent_on_trials(
    database: Engine, campaign_id: str, assumed_usd_per_hour: float | None
) -> tuple[float, dict[str, float]]:
    """The cost in US dollars of a matrix's trials without its running attempts, and that of each
    running attempt so far, by trial id. A trial that ended counts with the cost in its cell's row
    where that is more. Where no price is known, an hour costs the assumed one, else nothing."""
    lease, trial, cell = schema.lease, schema.trial, schema.cell
    usd = _usd_of(lease, assumed_usd_per_hour)
    known = sa.func.coalesce(cell.c.cost_usd, 0.0)
    is_newest = cell.c.trial_id.is_not(None)
    is_live = sa.and_(is_newest, cell.c.finished_at.is_(None))
    leases = (
        lease.join(trial, trial.c.trial_id == lease.c.lease_id)
        .outerjoin(
            cell, sa.and_(cell.c.trial_id == lease.c.lease_id, cell.c.campaign_id == campaign_id)
        )
    )  # fmt: skip
    mine = trial.c.campaign_id == campaign_id
    over = sa.func.sum(sa.case((sa.and_(is_newest, known > usd), known), else_=usd))
    with transaction(database) as connection:
        done = connection.execute(
            sa.select(sa.func.coalesce(over, 0.0)).select_from(leases).where(mine, ~is_live)
        ).scalar_one()
        live = connection.execute(
            sa.select(lease.c.lease_id, usd).select_from(leases).where(mine, is_live)
        ).all()
    return float(done), {trial_id: float(so_far) for trial_id, so_far in live}


def spent_on_idle_machines(
    database: Engine, campaign_id: str, assumed_usd_per_hour: float | None
) -> float:
    """The cost in US dollars of a matrix's shared machines while no trial used them: of each, its
    own cost without that of its trials."""
    lease, machine, run = schema.lease, schema.machine, schema.run
    usd = _usd_of(lease, assumed_usd_per_hour)
    machines = (
        sa.select(lease.c.lease_id, usd.label("usd"))
        .join(machine, machine.c.lease_id == lease.c.lease_id)
        .where(machine.c.campaign_id == campaign_id)
        .subquery()
    )
    turns = (
        sa.select(run.c.machine_lease, sa.func.sum(usd).label("usd"))
        .join(lease, lease.c.lease_id == run.c.trial_id)
        .where(
            run.c.campaign_id == campaign_id,
            run.c.machine_lease.is_not(None),
            run.c.run_index == 0,
        )
        .group_by(run.c.machine_lease)
        .subquery()
    )
    idle = machines.c.usd - sa.func.coalesce(turns.c.usd, 0.0)
    query = sa.select(
        sa.func.coalesce(sa.func.sum(sa.case((idle > 0.0, idle), else_=0.0)), 0.0)
    ).select_from(machines.outerjoin(turns, turns.c.machine_lease == machines.c.lease_id))
    with one_statement(database) as connection:
        return float(connection.execute(query).scalar_one())


def _usd_of(lease: sa.Table, assumed_usd_per_hour: float | None) -> sa.ColumnElement[float]:
    until = unix_s(sa.func.coalesce(lease.c.released_at, present()))
    age_s = until - unix_s(lease.c.created_at)
    hourly = sa.func.coalesce(lease.c.hourly_usd, assumed_usd_per_hour or 0.0)
    return sa.case((age_s > 0.0, hourly * age_s / _HOUR_S), else_=0.0)
