"""`diskbench run` on machines that it rents: the lab's, and a fake cloud's for what goes wrong."""

import os
import signal
from pathlib import Path

import pytest
from tests.rigs.books import in_directories
from tests.rigs.cli import merged_rows
from tests.rigs.waiting import ended, killed_at, read_until, until

from diskbench.providers.fake.cloud import VARIABLE as FAKE_DIR
from diskbench.providers.fake.cloud import plan_fault
from diskbench.providers.lab.places import VARIABLE as LAB_DIR
from diskbench.providers.lab.processes import find_groups, init_of

FILL_THEN_READ = """[global]
filename=data
size=8m
direct=1
ioengine=libaio
iodepth=8
[first]
rw=write
bs=64k
[second]
stonewall
rw=randread
bs=4k
time_based
runtime={seconds}
"""
LAB = ("--provider", "lab", "--disk", "gp2", "--size", "1")
FAKE = ("--provider", "fake", "--disk", "plain", "--size", "1")


@pytest.fixture
def user(renting, monkeypatch):
    monkeypatch.setenv(FAKE_DIR, renting.user.extra_env[FAKE_DIR])
    return renting.user


def rented(user):
    """What is there of the user's leases, looked at behind diskbench's back."""
    found = in_directories(*(Path(user.extra_env[name]) for name in (LAB_DIR, FAKE_DIR)))
    # The fake's machine is this one, and a trial's files on it are named after the trial.
    for run in user.json("results", "list")["runs"]:
        found += map(str, Path("/var/tmp").glob(f"diskbench-{run['trial_id']}"))
    return found


@pytest.fixture
def profile(user):
    return lambda seconds: user.job(FILL_THEN_READ, seconds=seconds)


def the_run(user):
    (run,) = user.json("results", "list")["runs"]
    return run


def test_a_lab_disk_is_made_measured_marked_and_given_back(user, profile):
    done = user.done("run", *LAB, "--profile", profile(3), "--timing")
    assert "rent     a lab host on this machine with gp2 of 1 GiB" in done.stderr
    assert "promised 100 IOPS, bursts to 3,000" in done.stderr
    assert "rent\n" in done.stderr, "the time it took to rent is told"
    assert "[emulated]" in done.stdout
    assert "baseline not measured (promised: 100 IOPS)" in done.stdout
    run = the_run(user)
    assert (run["state"], run["emulated"], run["provider"]) == ("done", True, "lab")
    shown = user.json("results", "show", run["run_id"])["runs"][0]
    read = next(row for row in merged_rows(shown) if row["step"] == "second")
    # It bursts, and no higher than is promised; a machine that does much else comes less near.
    assert 500 < read["iops"] < 3000 * 1.15
    assert "emulated" in user.call("results", "list").stderr
    timing = user.json("results", "show", run["run_id"], "--timing")["seconds"]
    assert {"rent", "connect and look", "fio itself", "collect", "release"} <= set(timing)
    assert timing["fio itself"] > 3
    assert "outside fio" in user.call("results", "show", "--timing").stdout


def test_killed_and_given_up_gc_takes_everything_away(user, profile):
    killed_at(user.start("run", *LAB, "--profile", profile(600)), "step 1 of 2")
    lease = the_run(user)["trial_id"]
    there = set(rented(user))
    assert there
    assert user.done("gc").stdout == ""
    assert there <= set(rented(user)), "what can be gone on with is not taken away unasked"
    assert "gave back" in user.done("gc", lease).stdout
    assert (rented(user), the_run(user)["state"]) == ([], "cancelled")


def test_gc_by_provider_finds_what_no_database_knows_of(user, profile, tmp_path):
    killed_at(user.start("run", *LAB, "--profile", profile(600)), "step 2 of 2")
    stranger = ("--database-url", f"sqlite:///{tmp_path}/other.db")
    assert "nothing to give back" in user.run("gc", "--provider", "lab", *stranger).stderr
    assert rented(user) != [], "it has not expired: somebody may go on with it"
    switch_off(user)
    dry = user.run("gc", "--provider", "lab", "--dry-run", *stranger)
    assert "would give back lab host" in dry.stdout
    assert "gave back lab host" in user.done("gc", "--provider", "lab", *stranger).stdout
    assert rented(user) == []
    assert user.run("gc", "--provider", "ssh").returncode == 2


def switch_off(user):
    """End process 1 of the user's one lab host, and wait until it has ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LAB_DIR, user.extra_env[LAB_DIR])
        group = find_groups().of(the_run(user)["trial_id"])
    init = init_of(group)
    os.kill(init, signal.SIGKILL)
    until(lambda: init_of(group) != init)


@pytest.mark.parametrize(("fault", "code"), [("access", 2), ("quota", 2), ("broken", 1)])
def test_what_cannot_be_rented_ends_with_its_reason_and_leaves_nothing(user, profile, fault, code):
    plan_fault("disk", "fake-1a", fault)
    done = user.refused("run", *FAKE, "--profile", profile(1), code=code)
    run = the_run(user)
    assert run["state"] == "failed"
    assert run["error"]
    assert run["error"] in done.stderr
    assert rented(user) == []


def test_cancelled_while_renting_it_gives_back_what_was_made(user, profile):
    plan_fault("disk", "fake-1a", "stuck")
    process = user.start("run", *FAKE, "--profile", profile(1))
    read_until(process, "disk: creating")
    assert rented(user) != []
    user.done("cancel", the_run(user)["run_id"])
    ended(process, 130)
    assert (the_run(user)["state"], rented(user)) == ("interrupted", [])


def test_what_cannot_be_given_back_ends_with_3_and_is_kept_for_gc(user, profile):
    plan_fault("release", "fake-1a", "access")
    done = user.run("run", *FAKE, "--profile", profile(1))
    assert (done.returncode, "not given back" in done.stderr) == (3, True), done.stderr
    assert the_run(user)["state"] == "done", "the measurement is kept all the same"
    assert user.run("gc").returncode == 3
    plan_fault("release", "fake-1a", None)
    user.done("gc")
    assert rented(user) == []


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--provider", "lab"), "--disk"),
        (("--provider", "lab", "--disk", "gp22", "--size", "20"), "did you mean gp2?"),
        (("--provider", "lab", "--disk", "gp2"), "--size GIB"),
        (("--provider", "lab", "--disk", "gp2", "--size", "0"), "--size 0"),
        (("--provider", "lab", "--disk", "gp2", "--size", "20.5"), "whole GiB"),
        (("--provider", "lab", "--disk", "gp2", "--size", "99999"), "16,384"),
        (
            ("--provider", "lab", "--disk", "gp2", "--size", "20", "--iops", "9"),
            "does not accept --iops",
        ),
        (("--provider", "lab", "--disk", "gp2", "--size", "20", "--noise", "3"), "--noise: 3.0"),
        (("--provider", "lab", "--disk", "gp2", "--size", "20", "--path", "/tmp"), "--path /tmp"),
        (("--provider", "lab", "--disk", "gp2", "--size", "20", "--region", "x"), "--region x"),
        (("--provider", "local", "--disk", "gp2"), "--disk gp2 cannot be used with"),
        (("--provider", "ssh", "--host", "h", "--time-scale", "9"), "--time-scale 9"),
        ((*LAB, "--profile", "snia-iops", "--time-scale", "500"), "waits for a steady state"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_rented(user, flags, told):
    assert told in user.refused("run", *flags).stderr
    assert rented(user) == []


BURST = """---
title: a fill and a burst
question: when is the credit gone?
source: this test
roles: {fill: fill}
---
[global]
ioengine=libaio
direct=1
size=512m
[fill]
rw=write
bs=1m
iodepth=8
[measure]
stonewall
rw=randread
bs=4k
iodepth=32
time_based
runtime=40
"""


@pytest.mark.thorough
def test_plan_lab_and_verdict_have_one_bucket(user):
    """End to end what tests/unit/providers/lab/test_one_bucket.py does without a clock."""
    asked = (*LAB, "--time-scale", "150", "--profile", user.job(BURST, "burst.fio.j2"))
    plan = user.json("plan", *asked)["trials"][0]["plan"]["expectation"]
    [credit] = plan["credits"]
    filled, measured = plan["steps"]
    lasts_s = credit["gone_s"] - measured["start_s"]
    assert lasts_s == pytest.approx(5_400_000 / 150 / 2900)
    assert filled["credit"] == measured["credit"] == {"disk-iops": 1.0}

    document = user.json("run", *asked)

    [found] = [one for one in document["runs"][0]["verdicts"] if one["step"] == "measure"]
    burst, baseline = found["stretches"]
    assert (burst["kind"], baseline["kind"]) == ("burst", "baseline")
    assert baseline["limiter"]["name"] == "credit"
    assert baseline["ratio"] == pytest.approx(1, abs=0.15)
    # A machine that gives less than the burst empties the bucket later.
    gave = burst["iops"]
    assert gave > 1500
    assert burst["end_s"] == pytest.approx(5_400_000 / 150 / (gave - 100), abs=2.5)
