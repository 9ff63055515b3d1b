"""`diskbench worker`: several processes, one PostgreSQL; any of them may die at any moment."""

import functools
import json
import signal
from datetime import UTC, datetime

import pytest
from tests.rigs.cli import WRITE_THEN_READ
from tests.rigs.postgres import postgres_server
from tests.rigs.waiting import WAIT_S, until

from diskbench.engine.matrix.status import fleet
from diskbench.engine.processes import DEAD_AFTER_S
from diskbench.store.campaigns import list_campaigns, load_cells
from diskbench.store.database import open_database
from diskbench.store.figures import load_headlines
from diskbench.store.query import find_runs
from diskbench.store.rows import find_plan
from diskbench.store.step_rows import load_results

THREE_STEPS = WRITE_THEN_READ.replace("4m", "1m\nfilename=data").replace("[read]", "[long]")
THREE_STEPS += "[last]\nstonewall\nrw=randread\nbs=4k\nnumber_ios=50\n"
STEPS = ["write", "long", "last"]
"""After this a test has failed; a machine that does nothing else needs a tenth of it."""


@pytest.fixture
def server():
    with postgres_server() as running:
        yield running


@pytest.fixture
def user(renting, server):
    """A user whose rows are in PostgreSQL, with a fake cloud that must be empty in the end."""
    renting.user.extra_env["DISKBENCH_DATABASE_URL"] = server.url
    return renting.user


class Worker:
    """A worker that runs, and what it tells."""

    def __init__(self, user, name, flags):
        self.log = user.home / f"{name}.log"
        words = ("--log-format", "json", "worker", "--name", name, *flags)
        with self.log.open("w") as sink:
            self.process = user.start(*words, stdout=sink, stderr=sink)

    def told(self):
        whole = self.log.read_text().rpartition("\n")[0]  # it is being written
        return [json.loads(line) for line in whole.splitlines()]

    def serves(self):
        return self.has_told("worker ")

    def has_told(self, begin):
        return any(event["event"].startswith(begin) for event in self.told())


@pytest.fixture
def worker(user):
    """Start a worker; all of them end with the test."""
    started: list[Worker] = []

    def start(name, *flags):
        started.append(Worker(user, name, flags))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        print(f"{one.log.name}:\n{one.log.read_text()}")  # shown with a failure


def a_profile(user, seconds):
    """Three steps; the one in the middle lasts `seconds`."""
    return user.job(THREE_STEPS, f"three{seconds}.fio", seconds=seconds)


def queue(user, *, cells=1, seconds=4, **more):
    """Leave a matrix of the fake cloud to workers."""
    fields = {"provider": "fake", "disk": "plain", "size": 1, "profile": a_profile(user, seconds)}
    matrix = {"name": "small", "defaults": fields, "include": [{"replicates": cells}], **more}
    user.done(
        "matrix", "run", user.job(json.dumps(matrix), "small.yaml"), "--queue"
    )  # JSON is YAML


def cells(user):
    """The cells of the user's one matrix."""
    database = seen_by(user)
    return load_cells(database, list_campaigns(database)[0].campaign_id)


def running(user, step=""):
    """The cells in a worker's hands, or those in one step."""
    return [cell for cell in fleet(seen_by(user)).cells if cell.doing.startswith(step)]


def all_over(user):
    return list_campaigns(seen_by(user))[0].state == "done"


@functools.cache
def _database(url):
    return open_database(url)


def seen_by(user):
    """The user's database, looked into from here: a command would take a second."""
    return _database(user.extra_env["DISKBENCH_DATABASE_URL"])


def measured(user, trial_id):
    """The finished steps of a trial's one run."""
    plan = find_plan(seen_by(user), trial_id or "")
    return list(load_results(seen_by(user), *plan.run_ids)[plan.run_ids[0]])


def names(steps):
    return [step.step for step in steps]


def test_of_two_workers_one_is_killed_and_the_other_goes_on_there(user, worker, record_property):
    first, second = worker("first", "--concurrency", "2"), worker("second", "--concurrency", "2")
    until(lambda: first.serves() and second.serves(), "both workers")
    queue(user, cells=4, seconds=40)
    until(lambda: len(running(user, "long at ")) == 4, "fio's first figures of all four cells")
    before = {one.trial_id: one for one in running(user)}
    written = {name: measured(user, name) for name in before}
    killed_at = datetime.now(UTC)
    first.process.kill()
    first.process.wait()
    of_first = [one for one in before.values() if one.worker == "first"]
    assert len(of_first) == 2, "each takes as many as it has room for"
    until(lambda: all_over(user), "the end of the matrix")
    after = cells(user)
    assert [cell.state for cell in after] == ["done"] * 4
    assert {cell.trial_id for cell in after} == set(before), "nothing was begun anew"
    for name, finished in written.items():
        steps = measured(user, name)
        assert names(steps) == STEPS
        assert steps[: len(finished)] == finished, "a finished step is not repeated"
        assert steps[1].started_at < killed_at.isoformat(), "fio went on while nobody looked"
    taken = [event for event in second.told() if event["event"].startswith("takes over")]
    assert {event["trial"] for event in taken} == {one.trial_id for one in of_first}
    lost_s = max(float(event["lost_s"]) for event in taken)
    record_property("wall_time_lost_s", lost_s)
    print(f"wall time lost: at most {lost_s} s")
    assert lost_s < DEAD_AFTER_S, "on one machine no beat has to be missed"


def test_a_worker_that_is_told_to_end_hands_over_at_once(user, worker):
    both = {name: worker(name) for name in ("first", "second")}
    until(lambda: all(one.serves() for one in both.values()), "both workers")
    queue(user, seconds=25)
    (cell,) = until(lambda: running(user, "long"), "the second step")
    leaves = both.pop(cell.worker)
    (stays,) = both.values()
    leaves.process.send_signal(signal.SIGTERM)
    assert leaves.process.wait(timeout=WAIT_S) == 0
    assert leaves.has_told(f"worker {cell.worker} stops")
    until(lambda: stays.has_told("takes over"), "the other's turn")
    until(lambda: all_over(user), "the end of the matrix")
    (after,) = cells(user)
    assert (after.state, after.trial_id) == ("done", cell.trial_id)
    assert names(measured(user, cell.trial_id)) == STEPS


def test_a_worker_that_drains_finishes_its_own_cells_and_takes_no_other(user, worker):
    queue(user, cells=3, seconds=12)
    only = worker("only", "--concurrency", "1", "--drain")
    until(lambda: running(user, "long"), "the first cell")
    assert len(running(user)) == 1, "the others wait: it has room for one"
    only.process.send_signal(signal.SIGTERM)
    until(lambda: only.has_told("draining"), "its answer")
    assert only.process.wait(timeout=WAIT_S) == 0
    assert sorted([cell.state for cell in cells(user)]) == ["done", "waiting", "waiting"]
    assert user.json("status")["workers"] == []
    user.done("matrix", "cancel")
    worker("cleaner")
    until(lambda: all_over(user), "the end of the matrix")


def test_a_cell_with_a_route_waits_for_a_worker_that_reaches_it(user, worker):
    """And takes no other cell's place meanwhile, though only one may run and it comes first."""
    sites = [{"route": "site-a", "size": 1}, {"route": "site-b", "size": 2}]
    queue(user, seconds=1, order="listed", limits={"max_parallel": 1}, include=sites)
    b = worker("b", "--queues", "fake/site-b")
    until(lambda: [cell.state for cell in cells(user)] == ["waiting", "done"], "site b's cell")
    assert "1 cell waits for a worker that serves fake/site-a" in user.run("status").stdout
    a = worker("a", "--queues", "fake/site-a")
    until(lambda: all_over(user), "the end of the matrix")
    runs = find_runs(seen_by(user))
    judged = load_headlines(seen_by(user), [run.run_id for run in runs])
    assert [judged[run.run_id].trust for run in runs].count(None) == 0, "before anybody looks"
    assert (len(runs), [cell.state for cell in cells(user)]) == (2, ["done", "done"])
    assert sum(e["event"].startswith("took ") for e in a.told()) == 1
    assert sum(e["event"].startswith("took ") for e in b.told()) == 1


def test_one_cell_can_be_cancelled_and_the_others_go_on(user, worker):
    queue(user, include=[{"profile": a_profile(user, 600)}, {"profile": a_profile(user, 1)}])
    worker("only")
    (endless,) = until(
        lambda: [one for one in running(user, "long") if "three600" in one.name], "the endless cell"
    )
    for command, told in (("resume", "is left to workers"), ("gc", "in use")):
        refused = user.run(command, endless.trial_id)
        assert (refused.returncode, told in refused.stderr) == (2, True), refused.stderr
    user.done("cancel", endless.trial_id)
    until(lambda: all_over(user), "the end of the matrix")
    states = {"three600" in cell.key: cell.state for cell in cells(user)}
    assert states == {True: "cancelled", False: "done"}
