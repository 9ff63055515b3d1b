"""Leases: a row for the resources of a trial that must be given back, written before they exist.
And machines that cells of a matrix use in turn: which there are, and whose turn it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from diskbench.model.base import Frozen
from diskbench.model.campaign import LIVE
from diskbench.model.rental import Rental
from diskbench.store import schema
from diskbench.store.clock import present
from diskbench.store.database import one_statement, transaction
from diskbench.store.upsert import insert_missing

LeaseState = Literal["open", "released"]


class Lease(Frozen):
    """The lease of the resources rented or made for a trial; its id is the trial's.

    `address` is the host and `target` what was made on it; `expires_at` and `released_at` are UTC.
    `error` is why the last attempt to give it back failed.
    """

    lease_id: str
    provider: str
    account: str | None = None
    region: str | None = None
    endpoint: str | None = None
    address: str | None = None
    target: dict[str, Any] | None = None
    run_ids: tuple[str, ...] = ()
    created_at: str = ""
    expires_at: str | None = None
    hourly_usd: float | None = None
    state: LeaseState = "open"
    error: str | None = None
    released_at: str | None = None


def create_lease(database: Engine, lease: Lease) -> None:
    """Write the row of a new lease; an existing one is unchanged."""
    with transaction(database) as connection:
        insert_leases(connection, [lease])


def insert_leases(connection: Connection, leases: Sequence[Lease]) -> None:
    """`create_lease` for several leases, inside the caller's transaction. One lease alone may come
    without `created_at`: it gets the present time of the database's clock."""
    rows = [
        lease.model_dump(mode="json") | {"created_at": lease.created_at or present()}
        for lease in leases
    ]
    insert_missing(connection, schema.lease, rows)


def load_lease(database: Engine, lease_id: str) -> Lease | None:
    """The lease with this id; None when there is none."""
    with one_statement(database) as connection:
        rows = connection.execute(
            sa.select(schema.lease).where(schema.lease.c.lease_id == lease_id)
        ).mappings()
        row = rows.one_or_none()
    return Lease.model_validate(dict(row)) if row else None


def lease_and_time(database: Engine, lease_id: str) -> tuple[Lease | None, datetime]:
    """The lease with this id, None when there is none; and the database's present time, UTC."""
    always = sa.select(present().label("moment")).subquery()
    mine = schema.lease.c.lease_id == lease_id
    query = sa.select(always.c.moment, schema.lease).select_from(
        always.outerjoin(schema.lease, mine)
    )
    with one_statement(database) as connection:
        moment, *values = connection.execute(query).one()
    row = dict(zip(schema.lease.c.keys(), values, strict=True))
    lease = Lease.model_validate(row) if row["lease_id"] is not None else None
    return lease, datetime.fromisoformat(moment)


def extend_lease(database: Engine, lease_id: str, expires_at: str) -> None:
    """Move the expiry of an open lease."""
    _update(database, lease_id, expires_at=expires_at)


def note_lease_error(database: Engine, lease_id: str, error: str) -> None:
    """Save why an open lease could not be given back."""
    _update(database, lease_id, error=error)


def release_lease(database: Engine, lease_id: str, *, at: str | None = None) -> bool:
    """Mark an open lease as given back at `at` (default: now, by the database's clock), and return
    whether it was open. A released lease keeps its time."""
    return _update(database, lease_id, state="released", error=None, released_at=at or present())


def list_leases(database: Engine, *, state: LeaseState | None = None) -> Sequence[Lease]:
    """All leases, or those in `state`, oldest first."""
    query = sa.select(schema.lease).order_by(schema.lease.c.created_at, schema.lease.c.lease_id)
    if state is not None:
        query = query.where(schema.lease.c.state == state)
    with one_statement(database) as connection:
        rows = [dict(row) for row in connection.execute(query).mappings()]
    return [Lease.model_validate(row) for row in rows]


def any_expired(database: Engine) -> bool:
    """Whether an open lease has expired by the database's clock and no attempt to give it back has
    failed. Its trial may still be running."""
    lease = schema.lease
    query = sa.select(sa.literal(1)).where(
        lease.c.state == "open", lease.c.error.is_(None), lease.c.expires_at < present()
    )
    with one_statement(database) as connection:
        return connection.execute(query.limit(1)).first() is not None


def _update(database: Engine, lease_id: str, **values: object) -> bool:
    lease = schema.lease
    with one_statement(database) as connection:
        changed = connection.execute(
            sa.update(lease)
            .where(lease.c.lease_id == lease_id, lease.c.state == "open")
            .values(**values)
        )
        return changed.rowcount > 0


def leases_of_campaign(
    database: Engine, campaign_id: str, *, state: LeaseState | None = None
) -> list[Lease]:
    """The leases of all trials of a campaign, or those in `state`."""
    lease, trial = schema.lease, schema.trial
    query = (
        sa.select(lease)
        .join(trial, trial.c.trial_id == lease.c.lease_id)
        .where(trial.c.campaign_id == campaign_id)
    )
    if state is not None:
        query = query.where(lease.c.state == state)
    with one_statement(database) as connection:
        rows = [dict(row) for row in connection.execute(query).mappings()]
    return [Lease.model_validate(row) for row in rows]


MachineState = Literal["open", "ending"]


class MachineRecord(Frozen):
    """One machine; its lease is a row of its own with the same id.

    `name` is that of the cells that may use it. `turn` counts the trials that it was given to, from
    1, and `trial_id` is the last of them. `rental` is what it was made by; `zone` is known once a
    trial on it has ended. One that is `ending` is given to no further trial.
    """

    lease_id: str
    campaign_id: str
    name: str
    state: MachineState = "open"
    turn: int = 1
    trial_id: str
    zone: str | None = None
    rental: Rental


def save_machine(database: Engine, machine: MachineRecord, lease: Lease) -> None:
    """A new machine and its lease, before it is rented; twice is as once."""
    with transaction(database) as connection:
        insert_leases(connection, [lease])
        insert_missing(connection, schema.machine, [machine.model_dump(mode="json")])


def find_machine(database: Engine, lease_id: str) -> MachineRecord | None:
    """The machine of a lease; None for a lease of something else."""
    return _one_machine(database, schema.machine.c.lease_id == lease_id)


def machine_of_trial(database: Engine, trial_id: str) -> MachineRecord | None:
    """The machine that was given to a trial, and to none after it."""
    return _one_machine(database, schema.machine.c.trial_id == trial_id)


def free_machine(database: Engine, campaign_id: str, name: str) -> MachineRecord | None:
    """An open machine that cells of this name may use; None where there is none."""
    machine = schema.machine
    return _one_machine(
        database,
        sa.and_(
            machine.c.campaign_id == campaign_id,
            machine.c.name == name,
            machine.c.state == "open",
        ),
    )


def list_machines(database: Engine, campaign_id: str | None = None) -> list[MachineRecord]:
    """The machines, of one matrix or of all, whose leases are open."""
    machine, lease = schema.machine, schema.lease
    query = (
        sa.select(machine)
        .join(lease, lease.c.lease_id == machine.c.lease_id)
        .where(lease.c.state == "open")
        .order_by(machine.c.lease_id)
    )
    if campaign_id is not None:
        query = query.where(machine.c.campaign_id == campaign_id)
    with one_statement(database) as connection:
        return [_machine(row) for row in connection.execute(query).mappings()]


def give_machine(database: Engine, machine: MachineRecord, trial_id: str) -> MachineRecord | None:
    """The next turn on a machine (compare and swap); None when it is not to be had any more."""
    table = schema.machine
    with transaction(database) as connection:
        swapped = connection.execute(
            sa.update(table)
            .where(
                table.c.lease_id == machine.lease_id,
                table.c.state == "open",
                table.c.trial_id == machine.trial_id,
            )
            .values(trial_id=trial_id, turn=machine.turn + 1)
        )
    if swapped.rowcount != 1:
        return None
    return machine.model_copy(update={"trial_id": trial_id, "turn": machine.turn + 1})


def keep_machine(database: Engine, lease_id: str, zone: str | None) -> None:
    """Note where the machine is that waits for the next trial."""
    table = schema.machine
    with transaction(database) as connection:
        connection.execute(sa.update(table).where(table.c.lease_id == lease_id).values(zone=zone))


def end_machine(database: Engine, machine: MachineRecord) -> bool:
    """Give the machine to no further trial, unless that happened meanwhile; returns whether it
    ends."""
    table = schema.machine
    with transaction(database) as connection:
        swapped = connection.execute(
            sa.update(table)
            .where(
                table.c.lease_id == machine.lease_id,
                table.c.trial_id == machine.trial_id,
            )
            .values(state="ending")
        )
    return swapped.rowcount == 1


def route_of(database: Engine, machine: MachineRecord) -> str | None:
    """The route of the cells that use it: all have the same one."""
    cell = schema.cell
    query = sa.select(cell.c.route).where(
        cell.c.campaign_id == machine.campaign_id, cell.c.machine == machine.name
    )
    with one_statement(database) as connection:
        return connection.execute(query.limit(1)).scalar_one_or_none()


def is_wanted(database: Engine, machine: MachineRecord) -> bool:
    """Whether a cell waits for the machine, or works on it."""
    cell = schema.cell
    query = sa.select(sa.func.count()).where(
        cell.c.campaign_id == machine.campaign_id,
        cell.c.machine == machine.name,
        cell.c.finished_at.is_(None),
    )
    with one_statement(database) as connection:
        return _count(connection, query) > 0


def is_waited_for(database: Engine, machine: MachineRecord) -> bool:
    """Whether a cell waits for the machine."""
    cell = schema.cell
    query = sa.select(cell.c.position).where(
        cell.c.campaign_id == machine.campaign_id,
        cell.c.machine == machine.name,
        cell.c.state == "waiting",
    )
    with one_statement(database) as connection:
        return connection.execute(query.limit(1)).first() is not None


def work_left(
    database: Engine, campaign_id: str, machine: str, else_expected_s: float
) -> tuple[int, float]:
    """How many cells of a shared machine have not ended, and the seconds that they are expected to
    take; a cell without an expectation counts `else_expected_s`."""
    cell = schema.cell
    expected_s = sa.func.coalesce(sa.func.nullif(cell.c.expected_s, 0.0), else_expected_s)
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(expected_s), 0.0)).where(
        cell.c.campaign_id == campaign_id,
        cell.c.machine == machine,
        cell.c.finished_at.is_(None),
    )
    with one_statement(database) as connection:
        count, seconds = connection.execute(query).one()
    return int(count), float(seconds)


def is_used(database: Engine, machine: MachineRecord) -> bool:
    """Whether the cell that the machine was given to is under way."""
    cell = schema.cell
    query = sa.select(sa.func.count()).where(
        cell.c.trial_id == machine.trial_id, cell.c.state.in_(sorted(LIVE))
    )
    with one_statement(database) as connection:
        return _count(connection, query) > 0


def _count(connection: Connection, query: sa.Select[Any]) -> int:
    return int(connection.execute(query).scalar_one())


def _one_machine(database: Engine, condition: sa.ColumnElement[bool]) -> MachineRecord | None:
    query = sa.select(schema.machine).where(condition).order_by(schema.machine.c.lease_id.desc())
    with one_statement(database) as connection:
        row = connection.execute(query).mappings().first()
    return _machine(row) if row else None


def _machine(row: sa.RowMapping) -> MachineRecord:
    return MachineRecord.model_validate(dict(row))
