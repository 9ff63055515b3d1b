"""What happens when a run is stopped: once by Ctrl-C, twice, by `cancel`, or by kill -9."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, merged_rows
from tests.rigs.waiting import ended, killed_at, read_until, until

SHORT_THEN_LONG = WRITE_THEN_READ.replace("[write]", "[first]").replace("[read]", "[second]")
SHORT_THEN_LONG += "[third]\nstonewall\nrw=read\nbs=64k\n"


def start(user, target, *more: str, seconds=60):
    job = user.job(SHORT_THEN_LONG, seconds=seconds)
    return user.start("run", "--path", str(target), "--profile", job, *more)


def the_run(user):
    return dict(user.json("results", "show", "last")["runs"][0])


def state_directories(run):
    return list(Path("/var/tmp").glob(f"diskbench-{run['trial_id']}"))


def freeze_fio(run):
    """Stop the second step's fio where it stands; it then takes no signal but SIGKILL and the one
    to go on. Its number."""
    (state,) = state_directories(run)
    number = state / "run-0" / "step-001-second" / "fio.pid"
    until(lambda: number.is_file() and number.read_text().endswith("\n"), "fio's begin")
    fio = int(number.read_text())
    os.kill(fio, signal.SIGSTOP)
    return fio


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_one_ctrl_c_keeps_what_is_finished_cleans_up_and_exits_130(user, target, number):
    process = start(user, target)
    read_until(process, "step 2 of 3")
    process.send_signal(number)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "first" in out
    run = the_run(user)
    assert run["state"] == "interrupted"
    assert [row["step"] for row in merged_rows(run)] == ["first"]
    assert list(target.iterdir()) == []
    assert state_directories(run) == []


def test_a_second_ctrl_c_leaves_at_once_and_says_what_is_left(user, target):
    process = start(user, target)
    read_until(process, "step 2 of 3")
    freeze_fio(the_run(user))  # so that the orderly stop is not faster than the second signal
    process.send_signal(signal.SIGINT)
    read_until(process, "again")
    process.send_signal(signal.SIGINT)
    err = ended(process, 130)
    assert str(target) in err
    assert "diskbench resume" in err
    nobody = user.run("cancel", str(the_run(user)["run_id"]))
    assert (nobody.returncode, "has died" in nobody.stderr) == (2, True), nobody.stderr
    assert "diskbench gc" in user.run("gc").stderr
    user.done("gc", str(the_run(user)["trial_id"]))
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(("step", "runs"), [("step 2 of 3", 1), ("third done", 2)])
def test_a_run_killed_in_a_step_resumes_to_the_rows_of_an_undisturbed_one(user, target, step, runs):
    """Nor is a finished step run again. Behind the last one the run is only to be given back."""
    killed_at(start(user, target, "--runs", str(runs), seconds=2), step)
    before = the_run(user)
    document = user.json("resume", "--quiet")
    assert [run["state"] for run in document["runs"]] == ["done"] * runs
    (same,) = [run for run in document["runs"] if run["run_id"] == before["run_id"]]
    assert same["steps"][: len(before["steps"])] == before["steps"]
    for run in document["runs"]:
        rows = [(r["step"], r["direction"]) for r in merged_rows(run)]
        assert rows == [("first", "write"), ("second", "read"), ("third", "read")]
    assert list(target.iterdir()) == []
    assert state_directories(document["runs"][0]) == []
    assert "nothing to resume" in user.done("resume").stderr


def test_a_fio_that_hangs_is_killed_with_its_workers_when_the_user_stops(user, target):
    process = start(user, target)
    read_until(process, "step 2 of 3")
    freeze_fio(the_run(user))
    process.send_signal(signal.SIGINT)
    ended(process, 130)
    assert list(target.iterdir()) == []
    assert fio_processes_of(the_run(user)) == []


def fio_processes_of(run):
    """The directories in which processes of the trial still stand."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            where = str(link.readlink())
            if str(run["trial_id"]) in where:
                found.append(where)
    return found
