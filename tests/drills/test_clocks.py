"""Machines whose clock is wrong, beside others that share their database or their cloud."""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cloud.conftest import aws, aws_server  # noqa: F401 - fixtures
from tests.cloud.test_gc_aws import leave
from tests.rigs.ailing import shifted
from tests.rigs.cli import a_user
from tests.rigs.matrix_rows import CAMPAIGN, campaign_row, cell_row
from tests.rigs.plans import make_plan, save_plan
from tests.rigs.postgres import new_database
from tests.rigs.waiting import until

from diskbench.model.spec import Cell, TargetSpec
from diskbench.store.campaigns import load_cells, save_campaign
from diskbench.store.database import database_time, open_database
from diskbench.store.dialects import iso
from diskbench.store.executors import beat, describe_executor, register_executor
from diskbench.store.leases import Lease, list_leases

AHEAD_S = 300
SAID = r"this machine's clock is \d+ s {way} the database's; set it"
OURS = "01m826hgj2rdd41zy5qqp5re4j"


@pytest.fixture
def url(postgres):
    """A database of the drill's own, on the server that all share."""
    return new_database(postgres)


@pytest.fixture
def user(tmp_path, url):
    return a_user(tmp_path, DISKBENCH_DATABASE_URL=url)


@pytest.fixture
def database(url):
    opened = open_database(url)
    yield opened
    opened.dispose()


COMMANDS = [("status",), ("gc",), ("doctor",)]


@pytest.mark.parametrize("seconds", [AHEAD_S, -AHEAD_S])
@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_reports_a_clock_that_is_off(command, seconds, user):
    """A command opens PostgreSQL on a machine whose clock is five minutes off: one line says so."""
    done = shifted(user, seconds).run(*command)
    said = re.findall(SAID.format(way="ahead of" if seconds > 0 else "behind"), done.stderr)
    assert len(said) == 1, done.stderr
    assert "clock is" not in done.stdout


def elsewhere(database, name, *, beat_s_ago):
    register_executor(database, name, hostname="elsewhere", pid=7, process_started="boot/1/1")
    moment = iso(database_time(database) - timedelta(seconds=beat_s_ago))
    describe_executor(database, name, beat_at=moment)


def a_cell(position, path, **changes):
    cell = Cell(
        provider="local",
        target=TargetSpec(kind="directory", path=str(path)),
        profile="quick",
        parameters=(("runtime", "1"),),
    )
    return cell_row(position, provider="local", partition="local", cell=cell, **changes)


def owners(database):
    return {one.trial_id: one.owner for one in load_cells(database, CAMPAIGN)}


@pytest.fixture
def work(tmp_path):
    """Start a worker; it ends with the drill. Returns where its log is."""
    begun: list[Path] = []

    def working(machine):
        log = tmp_path / f"log-{len(begun)}"
        with log.open("w") as sink:
            machine.start("--log-format", "json", "worker", stdout=sink, stderr=sink)
        begun.append(log)
        return log

    return working


def two_cells(database, tmp_path, *, beat_s_ago):
    """One cell in the hands of a worker elsewhere, and behind it one that nobody has."""
    elsewhere(database, "theirs", beat_s_ago=beat_s_ago)
    cells = [
        a_cell(0, tmp_path, trial_id=OURS, state="queued", owner="theirs", attempt=1),
        a_cell(1, tmp_path, trial_id=f"{OURS[:-1]}0", state="queued", attempt=1),
    ]
    save_campaign(database, campaign_row(), cells)


@pytest.mark.parametrize("seconds", [AHEAD_S, -AHEAD_S])
def test_a_worker_whose_clock_is_off_takes_no_cell_of_a_living_one(
    seconds, user, database, tmp_path, work
):
    """A worker five minutes off starts while a worker on another machine has heartbeats."""
    two_cells(database, tmp_path, beat_s_ago=0.0)
    log = work(shifted(user, seconds))

    def taken():
        beat(database, "theirs")
        return owners(database)[f"{OURS[:-1]}0"] is not None

    until(taken, "the cell that nobody has is taken", log=log.read_text)
    assert owners(database)[OURS] == "theirs"


@pytest.mark.parametrize("seconds", [AHEAD_S, -AHEAD_S])
@pytest.mark.thorough
def test_a_worker_whose_clock_is_off_takes_nothing_over(seconds, user, database, tmp_path, work):
    """A worker five minutes off starts while a worker on another machine is really dead."""
    two_cells(database, tmp_path, beat_s_ago=3600.0)
    log = work(shifted(user, seconds))
    until(
        lambda: owners(database)[f"{OURS[:-1]}0"] is not None, "a cell is taken", log=log.read_text
    )
    assert owners(database)[OURS] == "theirs"
    assert "takes over no cells of other workers" in log.read_text()
    right = work(user)
    until(lambda: owners(database)[OURS] != "theirs", "the takeover", log=right.read_text)
    assert "takes over no cells" not in right.read_text()


@pytest.mark.parametrize("seconds", [-7200, 7200])
def test_a_lease_expires_by_the_clock_of_the_database(seconds, user, database, tmp_path):
    """A run begins on a machine whose clock is two hours off, with its rows in PostgreSQL."""
    job = user.job("[one]\nrw=write\nbs=64k\nsize=64k\ndirect=0\nioengine=psync\n")
    shifted(user, seconds).done("run", "--path", str(tmp_path), "--profile", job)
    (lease,) = list_leases(database)
    present = database_time(database)
    for text in (lease.created_at, lease.released_at):
        assert abs((datetime.fromisoformat(text or "") - present).total_seconds()) < 1800
    left = datetime.fromisoformat(lease.expires_at or "") - present
    assert timedelta(minutes=30) < left < timedelta(minutes=90)


@pytest.fixture
def renter(aws, tmp_path):  # noqa: F811
    return a_user(tmp_path, **aws.env, DISKBENCH_DATABASE_URL=f"sqlite:///{tmp_path}/rows.db")


OLD, YOUNG = "01koldoldoldoldoldoldoldol", "01kyoungyoungyoungyoungyou"


@pytest.mark.parametrize("hours", [6, -6])
def test_the_cloud_says_what_has_expired(hours, aws, renter):  # noqa: F811
    """Gc lists a cloud from an empty database, on a machine six hours ahead or behind."""
    leave(aws, "us-east-1", OLD, time.time() - 3600)
    leave(aws, "us-east-1", YOUNG, time.time() + 3600)
    words = ("gc", "--provider", "aws", "--region", "us-east-1", "--output", "json")
    done = shifted(renter, hours * 3600).run(*words, "--endpoint-url", aws.endpoint)
    leases = {one["lease_id"]: one["outcome"] for one in json.loads(done.stdout)["leases"]}
    assert leases == {OLD: "gave-back", YOUNG: "kept"}, done.stderr
    assert all(OLD not in left for left in aws.left())


def test_a_lease_that_expired_by_the_database_alone_is_kept(
    aws,  # noqa: F811
    renter,
):
    """The database's clock is six hours ahead: gc asks the cloud for its time, and says so."""
    plan = make_plan()
    leave(aws, "us-east-1", plan.trial_id, time.time() + 3600)
    before = aws.left()
    place = {"provider": "aws", "region": "us-east-1", "endpoint": aws.endpoint}
    until = iso(datetime.now(UTC) + timedelta(hours=1))
    lease = Lease(lease_id=plan.trial_id, run_ids=plan.run_ids, expires_at=until, **place)
    rows = open_database(renter.extra_env["DISKBENCH_DATABASE_URL"])
    save_plan(rows, plan, "file:///e", owner="dead", lease=lease)
    rows.dispose()
    done = shifted(renter, 6 * 3600).run("gc", "--output", "json")
    (one,) = json.loads(done.stdout)["leases"]
    assert one["outcome"] == "kept", done.stderr
    assert re.search(r"aws's clock says .* UTC, and the database's is ahead of it", one["reason"])
    assert aws.left() == before
