"""`diskbench schedule` and workers that come and go: DBOS rings every other second."""

import contextlib
import subprocess
from collections import Counter
from datetime import UTC, datetime

import pytest
from tests.rigs import waiting
from tests.rigs.chaos import a_chaos
from tests.rigs.postgres import running_postgres

from diskbench.engine.schedule.schedules import schedule_statuses
from diskbench.store.database import open_database

MATRIX = """name: nightly
defaults: {provider: fake, disk: plain, size: 1, profile: ./short.fio}
"""
EVERY_OTHER_SECOND = "*/2 * * * * *"


@pytest.fixture(params=["sqlite", "postgresql"])
def user(request, tmp_path):
    """A user with a fake cloud that must be empty in the end."""
    with contextlib.ExitStack() as until_then:
        url = f"sqlite:///{tmp_path}/rows.db"
        if request.param == "postgresql":
            url = until_then.enter_context(running_postgres())
        made = until_then.enter_context(a_chaos(tmp_path)).user
        made.extra_env["DISKBENCH_DATABASE_URL"] = url
        made.job(name="short.fio")
        made.job(MATRIX, "nightly.yaml")
        yield made


@pytest.fixture
def worker(user):
    """Start a worker; all of them end with the test."""
    started: list[subprocess.Popen[str]] = []

    def start():
        with (user.home / f"worker{len(started)}.log").open("w") as sink:
            started.append(user.start("worker", stdout=sink, stderr=sink))
        return started[-1]

    yield start
    for one in started:
        if one.poll() is None:
            one.kill()
        one.wait()


def shown(user):
    """What became of the schedule's times, the newest first; looked up behind diskbench's back,
    since a command takes a second to start."""
    database = open_database(user.env["DISKBENCH_DATABASE_URL"])
    try:
        (schedule,) = schedule_statuses(database, now=datetime.now(UTC), past=1000)
    finally:
        database.dispose()
    return list(schedule.occurrences)


def until(user, what, why):
    """Wait until `what` holds of the schedule's occurrences."""
    waiting.until(
        lambda: what(shown(user)),
        why,
        log=lambda: [shown(user), *(log.read_text() for log in user.home.glob("worker*.log"))],
    )


def matrices(occurrences):
    """How many of the matrices that were begun are in which state."""
    return Counter(one.campaign_state for one in occurrences if one.state == "begun")


def test_a_schedule_of_two_commands_survives_the_death_of_its_worker(user, worker):
    asked = ("schedule", "add", "nightly", "nightly.yaml", "--cron", EVERY_OTHER_SECOND)
    assert "  next  " in user.called(*asked).stdout
    (user.home / "nightly.yaml").unlink()
    first = worker()
    until(user, lambda seen: any(one.state == "begun" for one in seen), "the first matrix")
    first.kill()
    first.wait()
    before = {one.campaign_id for one in shown(user)}
    worker()
    worker()  # both hear every ring
    until(
        user,
        lambda seen: matrices([one for one in seen if one.campaign_id not in before])["done"] > 0,
        "a matrix that the next workers began and ended",
    )
    user.called("schedule", "pause", "nightly")
    until(user, lambda seen: set(matrices(seen)) == {"done"}, "the end of all matrices")

    occurrences = shown(user)
    times = [one.scheduled_for for one in occurrences]
    assert len(times) == len(set(times))
    begun = [one for one in occurrences if one.state == "begun"]
    assert len({one.campaign_id for one in begun}) == len(begun) >= 2
    assert all(one.counts == {"done": 1} for one in begun), "what the dead one began is ended too"
    skipped = {one.reason.partition(" ")[0] for one in occurrences if one.state == "skipped"}
    assert skipped <= {"matrix", "an", "the"}, "while another ran, waited, or it was paused"
    runs = user.json("results", "list", "--limit", "0")["runs"]
    assert Counter(run["state"] for run in runs)["done"] == len(runs)


@pytest.mark.parametrize("user", ["sqlite"], indirect=True)
def test_triggered_by_hand_it_begins_at_the_next_look_of_a_worker(user, worker):
    when = ("--cron", "30 3 29 2 *", "--timezone", "Asia/Kolkata")
    assert "03:30 IST" in user.called("schedule", "add", "nightly", "nightly.yaml", *when).stdout
    user.called("schedule", "trigger", "nightly")
    assert "queued: triggered by hand" in user.call("schedule", "list").stdout
    worker()
    until(user, lambda seen: matrices(seen)["done"] == 1, "the end of its matrix")
    assert "ended: 1 of 1 done" in user.call("schedule", "list").stdout
    user.called("schedule", "remove", "nightly")
    assert user.json("schedule", "list")["schedules"] == []
