"""What a matrix cost, by the formula of catalog/cost.py."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan

from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.store import schema
from diskbench.store.campaigns import save_campaign, spent_by
from diskbench.store.clock import iso
from diskbench.store.database import transaction
from diskbench.store.leases import Lease, insert_leases
from diskbench.store.machines import MachineRecord
from diskbench.store.run_row import run_row
from diskbench.store.upsert import insert_missing

NOW = datetime.now(UTC)
ASSUMED = 0.25


@pytest.mark.parametrize(("assumed", "unknown_usd"), [(None, 0.0), (ASSUMED, 2 * ASSUMED)])
def test_a_trial_costs_its_hours_or_what_its_cell_says_where_that_is_more(
    any_database, assumed, unknown_usd
):
    """Five trials of 2 h: one at work, three that are over, and an earlier attempt of no cell."""
    prices = {"at-work": 3.0, "over": 3.0, "dearer": 3.0, "unknown": None, "earlier": 3.0}
    ends = {"over": 5.0, "dearer": 7.5, "unknown": None}
    cells = [cell_row(0, state="measuring", trial_id="at-work"), cell_row(1)]
    for name, usd in ends.items():
        over = {"state": "done", "finished_at": iso(NOW), "cost_usd": usd}
        cells.append(cell_row(len(cells), trial_id=name, **over))
    save_campaign(any_database, campaign_row(), cells)
    with transaction(any_database) as connection:
        for name, price in prices.items():
            trial = {"trial_id": name, "campaign_id": CAMPAIGN, "replicate": 0}
            connection.execute(sa.insert(schema.trial).values(**trial))
            insert_leases(connection, [lease_of(name, 2).model_copy(update={"hourly_usd": price})])
    over, live = spent_by(any_database, CAMPAIGN, assumed)
    assert over == pytest.approx(6.0 + 7.5 + unknown_usd + 6.0, abs=0.01)
    assert live == {"at-work": pytest.approx(6.0, abs=0.01)}


RENTAL = Rental(scope=Scope(provider="aws"), spec=RentSpec(), offer="a machine")


def lease_of(lease_id, hours):
    """A lease of so many hours that was given back, without a known price."""
    began, ended = (iso(NOW - timedelta(hours=ago)) for ago in (100, 100 - hours))
    return Lease(
        lease_id=lease_id, provider="aws", created_at=began, state="released", released_at=ended
    )


def save_turn(connection, trial_id, machine_id):
    """A trial on a shared machine, with two runs."""
    trial = {"trial_id": trial_id, "campaign_id": CAMPAIGN, "replicate": 0}
    connection.execute(sa.insert(schema.trial).values(**trial))
    own = {"trial_id": trial_id, "campaign_id": CAMPAIGN, "machine_lease": machine_id}
    for index in range(2):
        run = run_row(make_plan((f"{trial_id}{index}",)), 0, "file:///e")
        insert_missing(connection, schema.run, [{**run, **own, "run_index": index}])


def test_shared_machines_cost_what_they_stood_idle(any_database):
    """Three machines of 60 h: one had no trial, one had two of 10 h, one a trial dearer than it."""
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    with transaction(any_database) as connection:
        for m, turns in enumerate(((), (10, 10), (70,))):
            machine_id = f"01kq8z6rhm{m:016d}"
            insert_leases(connection, [lease_of(machine_id, 60)])
            record = MachineRecord(
                lease_id=machine_id, campaign_id=CAMPAIGN, name=f"m{m}", trial_id="t", rental=RENTAL
            )
            insert_missing(connection, schema.machine, [record.model_dump(mode="json")])
            for t, hours in enumerate(turns):
                trial_id = f"01kq8z6rht{m:08d}{t:08d}"
                insert_leases(connection, [lease_of(trial_id, hours)])
                save_turn(connection, trial_id, machine_id)
    over, live = spent_by(any_database, CAMPAIGN, ASSUMED)
    assert (over, live) == (pytest.approx(ASSUMED * ((10 + 10 + 70) + 60 + 60 - 20), abs=0.01), {})


def test_a_matrix_without_trials_cost_nothing(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    assert spent_by(any_database, CAMPAIGN, None) == (0.0, {})
