"""Machines that cells of a matrix use in turn (`reuse_host`): assigned, kept, and released.

A machine has a lease of its own, whose tags all its disks carry. Cells with the same machine name
use it one after another (plan/admit.py), each with new disks. It is kept only after a cell that
ended well, and while another cell waits for it, so that no fault carries over to the next cell.
"""

from __future__ import annotations

import contextlib
import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from diskbench.engine.processes import new_id
from diskbench.engine.trial.lease import GRACE, ends_at, move_end
from diskbench.engine.trial.release import clean, let_go, mark_released
from diskbench.errors import DiskbenchError, InvalidValue
from diskbench.model.campaign import LIVE
from diskbench.model.spec import SharedMachine
from diskbench.parallel import all_of
from diskbench.plan.admit import EVERYWHERE, serves
from diskbench.plan.cost import longest_s
from diskbench.ports import ExtendsLeases, SwapsDisks
from diskbench.store.campaigns import cell_of_trial, cells_of_machine
from diskbench.store.database import database_time
from diskbench.store.dialects import iso
from diskbench.store.leases import Lease
from diskbench.store.machines import (
    MachineRecord,
    find_machine,
    free_machine,
    give_machine,
    keep_machine,
    list_machines,
    machine_of_trial,
    save_machine,
)
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import sqlalchemy as sa

    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.spec import Cell, Plan
    from diskbench.ports import Provider

log = logging.getLogger(__name__)
BETWEEN = timedelta(minutes=15)
"""Time that a turn may take beside its runs: new disks, waiting for a worker; our choice."""


def check_shared(renter: Provider, cell: Cell) -> None:
    """Refuse a cell that cannot share its machine; raises UserError."""
    if not isinstance(renter, SwapsDisks):
        raise InvalidValue(
            f"--provider {renter.name} cannot change the disks of a machine, as reuse_host needs",
            advice="leave reuse_host out",
            field="provider",
        )
    if cell.rent is not None and cell.rent.stripe:
        raise InvalidValue(
            "--stripe cannot be used with reuse_host: an array stays with its machine",
            advice="leave one of them out",
            field="stripe",
        )
    if cell.rent is not None and cell.rent.count > 1:
        raise InvalidValue(
            f"--count {cell.rent.count} cannot be used with reuse_host: a turn changes one disk",
            advice="leave one of them out",
            field="count",
        )
    renter.check_swap(cell)


def placed(
    session: Session, row: CellRow, draft_in: Callable[[str | None], Plan], zone: str | None
) -> Plan:
    """The draft of a cell on a shared machine: on the existing one where the cell may use it, else
    on a new one. `draft_in` plans for a zone. Idempotent.

    Raises as `draft_in`.
    """
    plan, machine = _given(session, row, draft_in, zone) or (draft_in(zone), None)
    machine = machine or _new(session.database, row, plan)
    shared = SharedMachine(lease_id=machine.lease_id, turn=machine.turn)
    note = (
        f"turn {machine.turn} on a machine that cells of the matrix share ({machine.lease_id}): "
        "figures of one machine are not independent samples"
    )
    return plan.model_copy(update={"machine": shared, "notes": (*plan.notes, note)})


def keeps_machine(session: Session, plan: Plan) -> bool:
    """Clean the machine of a trial that ended well, and keep it for the next cell that waits for
    it. False where no cell waits, or where the machine cannot be cleaned."""
    machine = find_machine(session.database, plan.lease_id)
    if (
        machine is None
        or (machine.state, machine.trial_id) != ("open", plan.trial_id)
        or all(cell.state != "waiting" for cell in _cells_sharing(session.database, machine))
    ):
        return False
    try:
        clean(session, plan)
    except DiskbenchError:
        return False
    assert plan.acquired is not None
    keep_machine(session.database, machine.lease_id, plan.acquired.facts.get("zone"))
    mark_released(session, plan.trial_id)
    return True


def why_over(database: sa.Engine, machine: MachineRecord) -> str | None:
    """Why no cell will use the machine any more; None while one may."""
    if machine.state == "ending":
        return "it was not given back before"
    is_needed = any(cell.finished_at is None for cell in _cells_sharing(database, machine))
    return None if is_needed else "no cell of its matrix needs it"


def _cells_sharing(database: sa.Engine, machine: MachineRecord) -> list[CellRow]:
    return cells_of_machine(database, machine.campaign_id, machine.name)


def machine_is_reached(
    database: sa.Engine, machine: MachineRecord, patterns: Collection[str]
) -> bool:
    """Whether a worker with these patterns reaches the machine: by the route of its cells."""
    routes = (cell.route for cell in _cells_sharing(database, machine))  # they have one
    return serves(patterns, next(routes, machine.rental.scope.provider))


def let_idle_go(
    session: Session,
    campaign_id: str,
    patterns: Collection[str] = EVERYWHERE,
    *,
    all_of_them: bool = False,
) -> None:
    """Release the machines of a matrix that no cell needs any more, or with `all_of_them` all that
    no running cell uses, as far as a worker with these patterns reaches them. What cannot be
    released is left to the sweep."""

    def over(machine: MachineRecord) -> bool:
        if machine.state == "ending":  # being released, or left to the sweep
            return False
        if all_of_them:
            cell = cell_of_trial(session.database, machine.trial_id)
            return cell is None or cell.state not in LIVE
        return why_over(session.database, machine) is not None

    def go(machine: MachineRecord) -> None:
        try:
            let_go(session, machine)
        except DiskbenchError:
            return  # noted in its lease, which stays open

    idle = [
        machine
        for machine in list_machines(session.database, campaign_id)
        if over(machine) and machine_is_reached(session.database, machine, patterns)
    ]
    all_of(go, idle)


def _given(
    session: Session, row: CellRow, draft_in: Callable[[str | None], Plan], zone: str | None
) -> tuple[Plan, MachineRecord] | None:
    """The draft of this cell on an existing shared machine, and the machine, now assigned to the
    cell; None where no machine can be used."""
    assert row.trial_id is not None
    assert row.machine is not None
    database = session.database
    machine = machine_of_trial(database, row.trial_id) or free_machine(
        database, row.campaign_id, row.machine
    )
    if machine is None:
        return None
    mine = machine.trial_id == row.trial_id
    try:
        plan = draft_in(machine.zone or zone)
    except DiskbenchError:
        # The zone of this machine lacks the disk; the zone of a new machine may have it.
        if mine and machine.turn == 1:
            raise
        plan = None
    if plan is not None and mine:
        return plan, machine
    is_usable = plan is not None and _is_alike(session, machine, plan)
    if plan is not None and is_usable and _lasts(session, machine, row, plan):
        given = give_machine(database, machine, row.trial_id)
        if given is not None:
            return plan, given
    with contextlib.suppress(DiskbenchError):  # noted in its lease, which stays open for the sweep
        let_go(session, machine)
    return None


def _is_alike(session: Session, machine: MachineRecord, plan: Plan) -> bool:
    """Whether the machine has the scope, type and image that would be rented now, and its provider
    does not say that it is gone, for example since the previous cell."""
    rental, scope = machine.rental, machine.rental.scope
    names = ("scope", "instance_type", "image")
    if any(getattr(plan.rental, name, None) != getattr(rental, name) for name in names):
        return False
    renter = session.providers.renter(scope.provider)
    try:
        return renter is not None and renter.gone(machine.lease_id, scope) is None
    except DiskbenchError:
        return True  # the next use of the machine shows it


def _lasts(session: Session, machine: MachineRecord, row: CellRow, plan: Plan) -> bool:
    """Whether the machine's lease lasts until the trial has ended. A lease that is too short is
    extended for all cells that may share the machine, where the provider can do that."""
    database = session.database
    ends = ends_at(session, machine.lease_id)
    if ends is None:
        return False
    needed = timedelta(seconds=longest_s(plan)) + BETWEEN
    if database_time(database) + needed < ends:
        return True
    before = find_plan(database, machine.trial_id)  # through whom the machine is reached
    if before is None or before.is_draft or not isinstance(session.renter(before), ExtendsLeases):
        return False
    try:
        move_end(session, before, _expiry(database, row, plan))
    except DiskbenchError as error:
        log.warning(
            "the lease of machine %s could not be extended: %s", machine.lease_id, error.message
        )
        return False
    finally:
        session.disconnect(before)
    return True


def _new(database: sa.Engine, row: CellRow, plan: Plan) -> MachineRecord:
    """Write the rows of a new machine for the cell and those that will share it, before renting."""
    assert plan.rental is not None
    assert row.machine is not None
    scope = plan.rental.scope
    machine = MachineRecord(
        lease_id=new_id(),
        campaign_id=row.campaign_id,
        name=row.machine,
        trial_id=plan.trial_id,
        rental=plan.rental,
    )
    lease = Lease(
        lease_id=machine.lease_id,
        provider=scope.provider,
        account=scope.account,
        region=scope.region,
        endpoint=scope.endpoint,
        run_ids=plan.run_ids,
        expires_at=_expiry(database, row, plan),
        hourly_usd=plan.rental.hourly_usd,
    )
    save_machine(database, machine, lease)
    return machine


def _expiry(database: sa.Engine, row: CellRow, plan: Plan) -> str:
    """When the machine is to switch itself off (ISO 8601): after all cells that may share it, each
    counted with twice its expected time. A cell for which too little is left extends the lease, or
    gets a new machine where that is not possible."""
    assert row.machine is not None
    sharing = cells_of_machine(database, row.campaign_id, row.machine)
    expected_s = [cell.expected_s or plan.expected_s for cell in sharing if not cell.finished_at]
    seconds = 2 * max(sum(expected_s), longest_s(plan))
    seconds += len(expected_s) * BETWEEN.total_seconds()
    return iso(database_time(database) + timedelta(seconds=seconds) + GRACE)
