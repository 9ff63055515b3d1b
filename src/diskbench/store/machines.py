"""Machines that cells of a matrix use in turn: which there are, and whose turn it is."""

from typing import Literal

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from diskbench.model.base import Frozen
from diskbench.model.rental import Rental
from diskbench.parallel import grouped
from diskbench.store import schema
from diskbench.store.database import change, fetch, fetch_as, transaction
from diskbench.store.dialects import insert_missing
from diskbench.store.leases import Lease, insert_leases

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
    machine = schema.machine.c
    of_name = machine.campaign_id == campaign_id, machine.name == name
    return _one_machine(database, sa.and_(*of_name, machine.state == "open"))


def list_machines(database: Engine, campaign_id: str | None = None) -> list[MachineRecord]:
    """The machines, of one matrix or of all, whose leases are open."""
    machine, lease = schema.machine, schema.lease
    query = sa.select(machine).join(lease, lease.c.lease_id == machine.c.lease_id)
    query = query.where(lease.c.state == "open").order_by(machine.c.lease_id)
    if campaign_id is not None:
        query = query.where(machine.c.campaign_id == campaign_id)
    return fetch_as(database, MachineRecord, query)


def machine_leases(database: Engine, campaign_id: str) -> list[Lease]:
    """The leases of the machines of a matrix, also of those that were given back."""
    machine, lease = schema.machine, schema.lease
    query = sa.select(lease).join(machine, machine.c.lease_id == lease.c.lease_id)
    return fetch_as(database, Lease, query.where(machine.c.campaign_id == campaign_id))


def machine_turns(database: Engine, campaign_id: str) -> dict[str, list[str]]:
    """The trials of a matrix that had a turn on each machine, by its lease."""
    run = schema.run.c
    query = sa.select(run.machine_lease, run.trial_id).where(
        run.campaign_id == campaign_id, run.machine_lease.is_not(None), run.run_index == 0
    )
    of_machine = grouped(fetch(database, query), lambda row: str(row[0]))
    return {lease_id: [row[1] for row in rows] for lease_id, rows in of_machine.items()}


def give_machine(database: Engine, machine: MachineRecord, trial_id: str) -> MachineRecord | None:
    """The next turn on a machine (compare and swap); None when it is not to be had any more."""
    given: dict[str, str | int] = {"trial_id": trial_id, "turn": machine.turn + 1}
    is_given = _swap(database, machine, schema.machine.c.state == "open", **given)
    return machine.model_copy(update=given) if is_given else None


def keep_machine(database: Engine, lease_id: str, zone: str | None) -> None:
    """Note where the machine is that waits for the next trial."""
    table = schema.machine
    change(database, sa.update(table).where(table.c.lease_id == lease_id).values(zone=zone))


def end_machine(database: Engine, machine: MachineRecord) -> bool:
    """Give the machine to no further trial, unless that happened meanwhile; returns whether it
    ends."""
    return _swap(database, machine, state="ending")


def _swap(
    database: Engine, machine: MachineRecord, *where: sa.ColumnElement[bool], **values: str | int
) -> bool:
    """Change a machine that the same trial still has, as far as `where` holds; whether it was
    changed."""
    table = schema.machine
    mine = table.c.lease_id == machine.lease_id, table.c.trial_id == machine.trial_id
    return change(database, sa.update(table).where(*mine, *where).values(**values)) == 1


def _one_machine(database: Engine, condition: sa.ColumnElement[bool]) -> MachineRecord | None:
    query = sa.select(schema.machine).where(condition).order_by(schema.machine.c.lease_id.desc())
    return next(iter(fetch_as(database, MachineRecord, query.limit(1))), None)
