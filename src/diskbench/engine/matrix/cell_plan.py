"""The plan of a cell's attempt, written as rows before anything is rented."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ulid import ULID

from diskbench.engine.matrix.machine_reuse import placed
from diskbench.engine.trial.draft import check_rentable, draft_of
from diskbench.engine.trial.lease import save
from diskbench.engine.trial.prepare import plan_on_host
from diskbench.engine.trial.same_machine import queued_behind, without_canary_of_others
from diskbench.errors import DiskbenchError
from diskbench.hosts.ssh import host_at
from diskbench.plan.admit import zone_of
from diskbench.plan.trial import TrialIds
from diskbench.store.cells import live_cells
from diskbench.store.profile_file import find_profile
from diskbench.store.rows import find_plan

if TYPE_CHECKING:
    from diskbench.engine.session import Session
    from diskbench.model.campaign import CellRow
    from diskbench.model.spec import Cell, Plan


def plan_cell(session: Session, row: CellRow) -> Plan:
    """Plan the cell and write its rows; the plan is a draft where a machine is rented. Raises
    DiskbenchError."""
    assert row.trial_id is not None
    profile, books = find_profile(row.cell.profile), session.books
    names = TrialIds(row.campaign_id, row.trial_id, run_ids(row.trial_id, row.cell.runs))
    renter = session.providers.renter(row.cell.provider)
    if renter is None:
        host = host_at(row.cell.address or "")
        plan = plan_on_host(
            host, row.cell, profile, names, books, install_fio=False, parsed=session.parsed
        )
        try:
            others = _measured_now(session, row)
            plan, *_ = without_canary_of_others([queued_behind(plan, others), *others])
        except DiskbenchError:
            host.close()
            raise
        session.hosts[plan.trial_id] = host
    else:
        check_rentable(renter, row.cell, profile)

        def draft_in(zone: str | None) -> Plan:
            cell = _in_zone(row.cell, zone)
            return draft_of(cell, profile, renter.resolve(cell, books), names, books)

        zone = zone_of(row)
        shares = row.machine is not None
        plan = placed(session, row, draft_in, zone) if shares else draft_in(zone)
    save(session, [plan], owner=session.executor_id)
    return plan


def run_ids(trial_id: str, count: int) -> tuple[str, ...]:
    """The ids of a trial's runs: the same in every process that opens it, sorted in the order of
    the runs, with the time of the trial's id (a ULID has 48 bits of time and 80 random bits)."""
    time_of = ULID.from_str(trial_id.upper()).bytes[:6]
    chance = int.from_bytes(hashlib.sha256(trial_id.encode()).digest()[:9], "big") << 8
    return tuple(
        str(ULID(time_of + (chance + n).to_bytes(10, "big"))).lower() for n in range(count)
    )


def _measured_now(session: Session, row: CellRow) -> list[Plan]:
    """The plans of the matrix's other cells that are being measured now."""
    trials = [
        cell.trial_id
        for cell in live_cells(session.database)
        if cell.campaign_id == row.campaign_id and cell.trial_id not in (None, row.trial_id)
    ]
    plans = [find_plan(session.database, trial_id) for trial_id in trials if trial_id is not None]
    return [plan for plan in plans if plan is not None]


def _in_zone(cell: Cell, zone: str | None) -> Cell:
    """The cell with the zone in its rental; unchanged for None."""
    if zone is None or cell.rent is None:
        return cell
    return cell.model_copy(update={"rent": cell.rent.model_copy(update={"zone": zone})})
