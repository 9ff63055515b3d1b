"""What a matrix cost, by the formula of catalog/cost.py."""

import random
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan

from diskbench.catalog.cost import spent_usd
from diskbench.model.options import RentSpec
from diskbench.model.rental import Rental, Scope
from diskbench.store import schema
from diskbench.store.campaigns import save_campaign
from diskbench.store.database import transaction
from diskbench.store.leases import Lease, insert_leases
from diskbench.store.machines import MachineRecord
from diskbench.store.matrix_sums import spent_by
from diskbench.store.moments import iso
from diskbench.store.run_row import run_row
from diskbench.store.upsert import insert_missing

NOW = datetime.now(UTC)
ASSUMED = 0.25


def rows(seed):
    """Leases of trials, and cells: some trials are an earlier attempt of no cell's newest one."""
    dice = random.Random(seed)
    leases, cells = [], []
    for n in range(40):
        began = NOW - timedelta(seconds=dice.uniform(-60, 90_000))
        is_released = dice.random() < 0.7
        lease = Lease(
            lease_id=f"01kq8z6rhz{n:016d}",
            provider="aws",
            created_at=iso(began),
            hourly_usd=dice.choice((None, 0.0, 0.096, 3.1)),
            state="released" if is_released else "open",
            released_at=iso(began + timedelta(seconds=dice.uniform(0, 9_000)))
            if is_released
            else None,
        )
        leases.append(lease)
        if dice.random() < 0.8:
            is_over = dice.random() < 0.6
            cells.append(
                cell_row(
                    len(cells),
                    state="done" if is_over else "measuring",
                    trial_id=lease.lease_id,
                    cost_usd=dice.choice((None, 0.0, 5.0)),
                    finished_at=iso(NOW) if is_over else None,
                )
            )
    return leases, [*cells, cell_row(len(cells))]


def expected(leases, cells, assumed):
    """What the formula of the catalogue gives, lease by lease."""
    newest, over, live = {cell.trial_id: cell for cell in cells}, 0.0, {}
    for lease in leases:
        usd = spent_usd([lease], datetime.now(UTC), assume_price_usd_per_hour=assumed)
        cell = newest.get(lease.lease_id)
        if cell is not None and cell.finished_at is None:
            live[lease.lease_id] = usd
        else:
            over += usd if cell is None else max(usd, cell.cost_usd or 0.0)
    return over, live


@pytest.mark.parametrize("assumed", [None, ASSUMED])
@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_that_of_the_catalogue(any_database, seed, assumed):
    leases, cells = rows(seed)
    save_campaign(any_database, campaign_row(), cells)
    with transaction(any_database) as connection:
        for lease in leases:
            trial = {"trial_id": lease.lease_id, "campaign_id": CAMPAIGN, "replicate": 0}
            connection.execute(sa.insert(schema.trial).values(**trial))
            insert_leases(connection, [lease])
    over, live = spent_by(any_database, CAMPAIGN, assumed)
    of_all, of_live = expected(leases, cells, assumed)
    assert over == pytest.approx(of_all, abs=0.01)
    assert live == {one: pytest.approx(usd, abs=0.01) for one, usd in of_live.items()}
    assert live


RENTAL = Rental(scope=Scope(provider="aws"), spec=RentSpec(), offer="a machine")


def lease_of(lease_id, hours):
    """A lease of so many hours that was given back, without a known price."""
    return Lease(
        lease_id=lease_id,
        provider="aws",
        created_at=iso(NOW - timedelta(hours=100)),
        state="released",
        released_at=iso(NOW - timedelta(hours=100 - hours)),
    )


def save_turn(connection, trial_id, machine_id):
    """A trial on a shared machine, with two runs."""
    trial = {"trial_id": trial_id, "campaign_id": CAMPAIGN, "replicate": 0}
    connection.execute(sa.insert(schema.trial).values(**trial))
    for index in range(2):
        run = run_row(make_plan((f"{trial_id}{index}",)), 0, "file:///e") | {
            "trial_id": trial_id,
            "campaign_id": CAMPAIGN,
            "run_index": index,
            "machine_lease": machine_id,
        }
        insert_missing(connection, schema.run, [run])


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
    of_trials = 10 + 10 + 70
    assert (over, live) == (pytest.approx(ASSUMED * (of_trials + 60 + 60 - 20), abs=0.01), {})


def test_a_matrix_without_trials_cost_nothing(any_database):
    save_campaign(any_database, campaign_row(), [cell_row(0)])
    assert spent_by(any_database, CAMPAIGN, None) == (0.0, {})
