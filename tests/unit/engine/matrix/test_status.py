"""What `diskbench status` shows, and when a matrix should end."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import TRIAL_ID, make_plan, save_plan

from diskbench.engine.matrix.admission import admit_cells
from diskbench.engine.matrix.campaign import retry_cells
from diskbench.engine.matrix.status import fleet, matrix_status
from diskbench.engine.processes import enrol
from diskbench.model.matrix import Limits
from diskbench.report.terminal.status_text import fleet_table, matrix_line
from diskbench.store.campaigns import (
    claim_campaign,
    claim_cell,
    find_campaign,
    load_campaign,
    load_cells,
    request_end,
    save_campaign,
    update_cell,
)
from diskbench.store.dialects import iso
from diskbench.store.executors import describe_executor, register_executor
from diskbench.store.leases import Lease, create_lease
from diskbench.store.machines import MachineRecord
from diskbench.store.rows import save_progress


@pytest.fixture
def busy(database):
    """A worker of AWS with a cell of AWS; others wait, two of them for a site without a worker."""
    now = datetime.now(UTC)
    enrol(database, "e1")
    told = {"name": "a-worker-with-quite-a-long-name", "queues": ["aws/*"], "concurrency": 4}
    describe_executor(database, "e1", **told)
    site = {"provider": "vsphere", "partition": "vsphere/dc", "route": "vsphere/site-a"}
    mine = {"key": "aws/us-east-1/m5.large/gp2-20GiB/default#0", "state": "measuring"}
    mine |= {"trial_id": TRIAL_ID, "owner": "e1", "started_at": iso(now - timedelta(minutes=3))}
    ways = (mine, {"state": "queued", "trial_id": "t2"}, {}, site, site)
    cells = [cell_row(n, **of) for n, of in enumerate(ways)]
    over = cell_row(5, state="done", finished_at=iso(now))
    save_campaign(database, campaign_row(), [*cells, over])
    plan = make_plan()
    save_plan(database, plan, "file:///evidence", owner="e1")
    tick = {"elapsed_s": 12.0, "read_iops": 0.0, "write_iops": 3000.0}
    save_progress(database, plan.run_ids[0], step_index=0, step="write", tick=tick)
    since = {"created_at": iso(now - timedelta(hours=2)), "hourly_usd": 0.25}
    place = {"lease_id": "01kq8z6rj0aaaaaaaaaaaaaaa9", "provider": "aws", "region": "us-east-1"}
    create_lease(database, Lease(**place, **since))
    return database


def test_workers_queues_cells_and_leases_are_seen(busy):
    seen = fleet(busy)
    (worker,) = seen.workers
    assert (worker.alive, worker.running, worker.queues) == (True, 1, ("aws/*",))
    counts = {one.route: (one.waiting, one.queued, one.running, one.workers) for one in seen.queues}
    assert counts == {"aws": (1, 1, 1, 1), "vsphere/site-a": (2, 0, 0, 0)}
    (cell,) = seen.cells
    assert cell.doing == "write at 12 s: 3,000 IOPS"
    assert cell.age_s == pytest.approx(180, abs=60)
    (lease,) = seen.leases
    assert lease.usd == pytest.approx(0.50, rel=0.05)
    assert not lease.in_use
    assert seen.usd == lease.usd


def test_a_dead_worker_is_shown_with_what_it_left(busy):
    register_executor(busy, "e1", hostname="elsewhere", pid=7, process_started="x/1/2")
    describe_executor(busy, "e1", beat_at=iso(datetime.now(UTC) - timedelta(minutes=5)))
    seen = fleet(busy)
    assert [worker.alive for worker in seen.workers] == [False]
    assert ([cell.worker for cell in seen.cells], seen.queues[0].workers) == ([None], 0)
    assert "dead" in shown(seen)


def test_a_run_without_a_matrix_is_seen_with_its_process(database):
    enrol(database, "e1")
    save_plan(database, make_plan(), "file:///evidence", owner="e1")
    seen = fleet(database)
    (cell,) = seen.cells
    assert (cell.name, cell.matrix, cell.state) == ("ssh/quick", None, "measuring")
    (process,) = seen.workers
    assert process.queues is None
    assert seen.queues == ()


def shown(seen, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(fleet_table(seen))
    return console.file.getvalue()


def test_the_table_fits_eighty_columns_and_says_what_waits_in_vain(busy):
    text = shown(fleet(busy))
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "2 cells wait for a worker that serves vsphere/site-a" in text
    assert "lease aaaaaaa9:" in text, "what is given to gc is whole"
    assert "$0.50 so far" in text
    assert "no process uses lease" in text


def test_an_empty_house_says_so(database):
    text = shown(fleet(database))
    assert "diskbench worker" in text
    assert "nothing runs" in text
    assert "nothing is rented" in text


@pytest.mark.parametrize(("queues", "is_worked_on"), [(["aws"], True), (["gcp"], False)])
def test_a_matrix_left_to_workers_is_worked_on_where_one_reaches_it(database, queues, is_worked_on):
    save_campaign(database, campaign_row(), [cell_row(0)])
    enrol(database, "e1")
    describe_executor(database, "e1", queues=queues)
    seen = matrix_status(database, find_campaign(database, None))
    assert seen.worked_on is is_worked_on
    assert ("diskbench worker" in matrix_line(seen)) is not is_worked_on


@pytest.mark.parametrize(("unknown", "is_known"), [(None, True), (30, False)])
def test_the_end_follows_from_the_time_of_every_cell(database, unknown, is_known):
    cells = [cell_row(n, expected_s=None if n == unknown else 600.0) for n in range(40)]
    save_campaign(database, campaign_row(limits=Limits(max_parallel=4)), cells)
    end = matrix_status(database, load_campaign(database, CAMPAIGN)).expected_end
    assert (end is not None) is is_known
    if end is not None:
        seconds = (datetime.fromisoformat(end) - datetime.now(UTC)).total_seconds()
        assert seconds == pytest.approx(10 * 600, abs=60)


@pytest.fixture
def begun(database):
    """Begins a matrix with these cells, and gives it its first turn."""

    def begin(cells, **limits):
        save_campaign(database, campaign_row(limits=Limits(**limits)), cells)
        return admit_cells(database, load_campaign(database, CAMPAIGN))

    return begin


def states(database):
    return [cell.state for cell in load_cells(database, CAMPAIGN)]


def again(database, **changes):
    return admit_cells(database, find_campaign(database, CAMPAIGN), **changes)


def test_cells_that_may_begin_are_queued_once_under_a_trial_of_their_own(database, begun):
    begun([cell_row(n) for n in range(3)], max_parallel=2)
    cells = load_cells(database, CAMPAIGN)
    assert [cell.state for cell in cells] == ["queued", "queued", "waiting"]
    assert [cell.attempt for cell in cells] == [1, 1, 0]
    assert len({cell.trial_id for cell in cells[:2]}) == 2
    again(database)
    assert load_cells(database, CAMPAIGN) == cells
    update_cell(database, cells[0].trial_id, state="done")
    _, count = again(database)
    assert (count, states(database)) == (1, ["done", "queued", "queued"])


def test_what_is_cancelled_before_its_turn_ends_the_matrix_and_needs_no_room(database, begun):
    begun([cell_row(n) for n in range(2)], max_parallel=1)
    request_end(database, CAMPAIGN)
    again(database, room=0)
    assert states(database) == ["queued", "cancelled"]
    (first, _) = load_cells(database, CAMPAIGN)
    now = "2026-11-21T12:00:00.000000+00:00"
    update_cell(database, first.trial_id, state="cancelled", finished_at=now)
    again(database)
    assert find_campaign(database, CAMPAIGN).state == "done"


def test_cells_without_a_result_get_their_turn_again(database, begun):
    begun([cell_row(0, cost_usd=9.0), cell_row(1, cost_usd=1.0)], budget=5.0)
    assert states(database) == ["refused", "queued"]
    assert retry_cells(database, find_campaign(database, CAMPAIGN)) == 1
    first, _ = load_cells(database, CAMPAIGN)
    assert (first.state, first.error, first.attempt) == ("waiting", None, 0)


def test_a_cell_keeps_the_time_of_its_first_owner_and_its_end_ends_the_matrix(database, begun):
    begun([cell_row(0)])
    (cell,) = load_cells(database, CAMPAIGN)
    assert cell.started_at is None
    claim_cell(database, cell.trial_id, owner="me", previous=None)
    (mine,) = load_cells(database, CAMPAIGN)
    assert mine.started_at is not None
    claim_cell(database, cell.trial_id, owner="you", previous="me")
    assert load_cells(database, CAMPAIGN)[0].started_at == mine.started_at
    now = "2026-11-21T12:00:00.000000+00:00"
    update_cell(database, cell.trial_id, state="done", finished_at=now)
    assert again(database) is not None
    assert find_campaign(database, CAMPAIGN).state == "done"


def test_a_process_begins_the_cells_that_it_has_room_for(database):
    campaign = campaign_row(limits=Limits(max_parallel=6))
    save_campaign(database, campaign, [cell_row(n) for n in range(9)])
    assert [again(database, room=room)[1] for room in (2, 0, 8)] == [2, 0, 4]
    assert states(database) == ["queued"] * 6 + ["waiting"] * 3


@pytest.mark.parametrize("changes", [{"reaches": lambda _: False}, {"admits": False}])
def test_a_process_that_does_not_reach_a_cell_or_is_about_to_end_leaves_it(database, changes):
    save_campaign(database, campaign_row(), [cell_row(0)])
    assert again(database, **changes)[1] == 0
    assert states(database) == ["waiting"]
    assert claim_campaign(database, CAMPAIGN, owner="me", previous=None)
    assert not claim_campaign(database, CAMPAIGN, owner="you", previous=None), "only one wins"


def test_an_idle_shared_machine_takes_a_cell_though_every_place_is_taken_by_machines(database):
    cells = [cell_row(n, machine=f"m{n % 4}") for n in range(8)]
    cells[0] = cells[0].model_copy(update={"state": "measuring", "trial_id": "t0"})
    save_campaign(database, campaign_row(limits=Limits(max_parallel=2)), cells)
    made = MachineRecord.model_construct
    standing = [made(campaign_id=CAMPAIGN, name=name) for name in ("m0", "m1")]
    assert again(database, machines=standing)[1] == 1
    queued = [cell.machine for cell in load_cells(database, CAMPAIGN) if cell.state == "queued"]
    assert queued == ["m1"]
