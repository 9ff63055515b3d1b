"""Release of a machine that cells of a matrix share, with all its disks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.engine.trial.keep_records import mark_released
from diskbench.errors import DiskbenchError
from diskbench.store.leases import load_lease, note_lease_error
from diskbench.store.machines import end_machine, find_machine, machine_of_trial
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    import sqlalchemy as sa

    from diskbench.engine.session import Session
    from diskbench.model.spec import Plan
    from diskbench.store.machines import MachineRecord


def let_go(session: Session, machine: MachineRecord) -> None:
    """Release a machine with all its disks, unless another trial was assigned to it meanwhile.
    Raises ReleaseFailed naming what is left; its lease then stays open."""
    lease = load_lease(session.database, machine.lease_id)
    released = lease is not None and lease.state == "released"
    if released or not end_machine(session.database, machine):
        return
    scope = machine.rental.scope
    renter = session.providers.renter(scope.provider)
    assert renter is not None
    made = recorded(session.database, machine.lease_id)
    try:
        renter.release(machine.lease_id, scope, made=made)
    except DiskbenchError as error:
        note_lease_error(session.database, machine.lease_id, error.message)
        raise
    mark_released(session, machine.lease_id)


def recorded(database: sa.Engine, lease_id: str) -> tuple[str, ...]:
    """Kinds and ids of all resources that were made for a lease, recorded when its machine was
    acquired (Acquired.made); empty where it was not acquired."""
    machine = find_machine(database, lease_id)
    plan = find_plan(database, lease_id if machine is None else machine.trial_id)
    return plan.acquired.made if plan is not None and plan.acquired is not None else ()


def let_go_after(session: Session, plan: Plan) -> None:
    """Release the shared machine of a trial, unless another trial uses it by now."""
    machine = machine_of_trial(session.database, plan.trial_id)
    if machine is not None:
        let_go(session, machine)
