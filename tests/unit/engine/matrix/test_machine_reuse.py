"""Machines that cells of a matrix use in turn: given, kept, and given back."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.books import SHIPPED
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row

from diskbench.engine.cleanup.gc import is_reached, sweep
from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.cells import run_ids
from diskbench.engine.matrix.machine_reuse import BETWEEN, let_idle_go, placed
from diskbench.engine.trial.lease import save
from diskbench.engine.trial.planning import draft_of
from diskbench.errors import InvalidValue
from diskbench.model.matrix import Limits
from diskbench.model.options import RentSpec
from diskbench.model.rental import Acquired, Scope
from diskbench.model.spec import Cell, TargetSpec
from diskbench.plan.trial import TrialIds
from diskbench.providers.fake.cloud import VARIABLE, FakeProvider, plan_fault
from diskbench.store import campaigns, schema
from diskbench.store.dialects import now
from diskbench.store.leases import extend_lease, load_lease
from diskbench.store.machines import end_machine, give_machine, keep_machine, list_machines
from diskbench.store.profile_file import find_profile

MACHINE = "fake~1f0c3a"


def begin(session, count, **limits):
    """A matrix whose cells share a machine; the trials that have their turn."""
    target, rent = TargetSpec(kind="directory", path=""), RentSpec(disk="plain", size_gib=1)
    cell = Cell(provider="fake", target=target, rent=rent, profile="quick")
    of = {"provider": "fake", "partition": "fake", "machine": MACHINE, "cell": cell}
    rows = [cell_row(n, **of) for n in range(count)]
    campaigns.save_campaign(session.database, campaign_row(limits=Limits(**limits)), rows)
    return fed(session)


def fed(session):
    admit_cells(session.database, campaigns.find_campaign(session.database, CAMPAIGN))
    cells = campaigns.load_cells(session.database, CAMPAIGN)
    return [cell.trial_id for cell in cells if cell.state == "queued" and cell.trial_id]


def place(session, trial_id):
    """The draft of a cell on its machine, as a worker opens it."""
    row = campaigns.cell_of_trial(session.database, trial_id)
    zones: list[str | None] = []
    renter, profile = FakeProvider(), find_profile("quick")

    def draft_in(zone):
        zones.append(zone)
        names = TrialIds(CAMPAIGN, trial_id, run_ids(trial_id, 1))
        return draft_of(row.cell, profile, renter.resolve(row.cell, SHIPPED), names, SHIPPED)

    return placed(session, row, draft_in, None), zones


def end(session, trial_id, state="done"):
    campaigns.update_cell(session.database, trial_id, state=state, finished_at=now(), owner=None)


def after(session, trial_id, state="done"):
    """The cell that has its turn when another one ends."""
    end(session, trial_id, state)
    (following,) = fed(session)
    return following


def ends_soon(session, lease_id):
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat(timespec="microseconds")
    extend_lease(session.database, lease_id, soon)


def rent(lease_id):
    """Something in the fake cloud under the machine's lease."""
    resources = Path(os.environ[VARIABLE]) / "resources" / f"diskbench-{lease_id}-machine"
    resources.mkdir(parents=True)
    tags = {"diskbench-lease": lease_id, "diskbench-expires": 4e9, "zone": "fake-1a"}
    (resources / "tags.json").write_text(json.dumps(tags))


def left():
    return len(FakeProvider().found(Scope(provider="fake")))


def test_the_second_cell_has_its_turn_on_the_machine_of_the_first(session):
    (first,) = begin(session, 2)
    one, _ = place(session, first)
    assert one.machine.turn == 1
    assert one.lease_id != one.trial_id, "the machine outlives the trial"
    rent(one.lease_id)
    keep_machine(session.database, one.lease_id, "fake-1b")
    two, zones = place(session, after(session, first))
    assert (two.machine.lease_id, two.machine.turn) == (one.machine.lease_id, 2)
    assert zones == ["fake-1b"], "its disk is looked for where the machine is"
    assert any("independent samples" in note for note in two.notes)


def test_placed_twice_is_placed_once_and_its_costs_between_cells_are_spent_too(session):
    (first,) = begin(session, 1)
    assert place(session, first)[0] == place(session, first)[0]
    assert len(list_machines(session.database)) == 1
    plan, _ = place(session, first)
    save(session, [plan], owner=session.executor_id)
    for lease_id, hours in ((plan.lease_id, 3), (plan.trial_id, 2)):
        since = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="microseconds")
        with session.database.begin() as connection:
            mine = schema.lease.c.lease_id == lease_id
            change = sa.update(schema.lease).where(mine).values(hourly_usd=1.0, created_at=since)
            connection.execute(change)
    beside, live = campaigns.spent_by(session.database, CAMPAIGN, None)
    assert live == {first: pytest.approx(2.0, abs=0.01)}
    assert beside == pytest.approx(1.0, abs=0.01)


def test_a_machine_is_given_to_one_cell_at_a_time_and_one_that_ends_to_nobody(session):
    (first,) = begin(session, 5)
    plan, _ = place(session, first)
    left_s = load_lease(session.database, plan.lease_id).ends - datetime.now(UTC)
    assert left_s > 5 * (timedelta(seconds=2 * 600) + BETWEEN), "it expires after all its cells"
    (machine,) = list_machines(session.database)
    given = give_machine(session.database, machine, "second")
    assert give_machine(session.database, machine, "third") is None
    assert not end_machine(session.database, machine), "nor taken away from whoever has it"
    assert end_machine(session.database, given)
    assert give_machine(session.database, given, "third") is None


def test_a_machine_without_time_for_the_next_cell_is_given_back_for_a_new_one(session):
    (first,) = begin(session, 2)
    one, _ = place(session, first)
    rent(one.lease_id)
    ends_soon(session, one.lease_id)
    two, _ = place(session, after(session, first))
    assert two.lease_id != one.lease_id
    assert (left(), load_lease(session.database, one.lease_id).state) == (0, "released")


def test_a_machine_without_time_for_the_next_cell_is_kept_where_its_end_can_be_moved(session):
    (first,) = begin(session, 2)
    one, _ = place(session, first)
    rent(one.lease_id)
    acquired = Acquired(address="", directory="/tmp", size_bytes=1, emulated=True)
    save(session, [one.model_copy(update={"acquired": acquired})], owner=session.executor_id)
    ends_soon(session, one.lease_id)
    two, _ = place(session, after(session, first))
    assert (two.lease_id, two.machine.turn) == (one.lease_id, 2)
    until = load_lease(session.database, one.lease_id).ends
    assert until > datetime.now(UTC) + timedelta(hours=1)
    (found,) = FakeProvider().found(one.rental.scope)
    assert found.expires_at == pytest.approx(until.timestamp(), abs=1e-3)


def test_a_machine_that_went_away_between_two_cells_costs_the_next_one_no_attempt(session):
    (first,) = begin(session, 2)
    one, _ = place(session, first)
    two, _ = place(session, after(session, first))
    assert (two.lease_id != one.lease_id, two.machine.turn) == (True, 1)


class TestGivenBack:
    @pytest.fixture
    def plan(self, session):
        (first,) = begin(session, 2)
        plan, _ = place(session, first)
        rent(plan.lease_id)
        return plan

    def test_not_while_a_cell_works_on_it_or_waits_for_it(self, session, plan):
        campaigns.claim_cell(
            session.database, plan.trial_id, owner=session.executor_id, previous=None
        )
        with pytest.raises(InvalidValue, match="in use by a running process"):
            sweep(session, [plan.lease_id], dry_run=False)
        end(session, plan.trial_id)
        assert sweep(session, [], dry_run=False) == []
        let_idle_go(session, CAMPAIGN)
        assert left() == 1

    @pytest.mark.parametrize("swept", [True, False])
    def test_when_its_last_cell_is_over(self, session, plan, swept):
        end(session, after(session, plan.trial_id), "refused")
        if swept:
            (one,) = sweep(session, [], dry_run=False)
            assert (one.lease_id, one.outcome) == (plan.lease_id, "gave-back")
            assert one.reason == "no cell of its matrix needs it"
        else:
            let_idle_go(session, CAMPAIGN)
        assert (left(), list_machines(session.database)) == (0, [])

    def test_when_it_expired_whatever_waits_for_it(self, session, plan):
        extend_lease(session.database, plan.lease_id, "2026-01-01T00:00:00.000000+00:00")
        (swept,) = sweep(session, [], dry_run=False)
        assert "it expired" in swept.reason
        assert left() == 0

    def test_again_when_it_resisted_before(self, session, plan):
        plan_fault("release", "fake-1a", "access")
        end(session, plan.trial_id)
        let_idle_go(session, CAMPAIGN, all_of_them=True)
        assert left() == 1
        (second,) = fed(session)
        assert place(session, second)[0].lease_id != plan.lease_id, "nobody gets it any more"
        plan_fault("release", "fake-1a", None)
        (swept,) = sweep(session, [], dry_run=False)
        assert (swept.lease_id, swept.outcome, left()) == (plan.lease_id, "gave-back", 0)

    @pytest.mark.slow
    def test_by_a_worker_that_reaches_it(self, session, plan):
        lease = load_lease(session.database, plan.lease_id)
        assert is_reached(session.database, lease, ["fake"])
        assert not is_reached(session.database, lease, ["aws"])
        end(session, plan.trial_id)
        let_idle_go(session, CAMPAIGN, ["aws"], all_of_them=True)
        assert left() == 1
        let_idle_go(session, CAMPAIGN, all_of_them=True)
        assert left() == 0, "the process in the foreground leaves"
