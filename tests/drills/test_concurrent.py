"""Measurements of one disk take turns, whoever starts them and by whatever path."""

import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.rigs.cli import WRITE_THEN_READ, Cli
from tests.rigs.loops import filesystem
from tests.rigs.postgres import running_postgres
from tests.rigs.waiting import read_until

PROFILE = WRITE_THEN_READ.replace("4m\ndirect=0", "8m\ndirect=1\nend_fsync=1")


@pytest.fixture
def disk(tmp_path):
    """A directory whose files are a disk of their own."""
    with filesystem(tmp_path / "disk", 4096) as directory:  # sparse; a part is left alone
        yield directory


def users(tmp_path, count):
    """Users who know nothing of each other: homes, databases and evidence of their own."""
    made = []
    for number in range(count):
        home = tmp_path / f"home{number}"
        home.mkdir()
        made.append(Cli(home))
    return made


def command(user, target, *more, seconds=2):
    job = user.job(PROFILE, seconds=seconds)
    return ["run", "--path", str(target), "--profile", job, "--output", "json", *more]


def at_once(tmp_path, targets, *more):
    begun = [
        user.start(*command(user, target, *more))
        for user, target in zip(users(tmp_path, len(targets)), targets, strict=True)
    ]
    ended = []
    for process in begun:
        out, err = process.communicate(timeout=240)
        ended.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return ended


def span(done):
    """When the run began and ended, in UTC."""
    (run,) = json.loads(done.stdout)["runs"]
    assert run["state"] == "done", done.stderr
    return run["steps"][0]["started_at"], run["steps"][-1]["finished_at"]


def warnings(done):
    (run,) = json.loads(done.stdout)["runs"]
    return {one["code"] for step in run["steps"] for one in step["warnings"]}


def test_four_at_once_on_one_path_take_turns(tmp_path, target):
    """Four users measure one directory at the same time; each says whom it waits for."""
    ended = at_once(tmp_path, [target] * 4)
    assert_apart(*ended)
    assert sum("waits for the disk" in one.stderr for one in ended) >= 3
    assert not any("measured beside trial" in one.stdout for one in ended)


def test_four_at_once_are_refused_by_choice(tmp_path, target):
    """Four users measure one directory at the same time with --if-busy fail."""
    ended = at_once(tmp_path, [target] * 4, "--if-busy", "fail")
    done = [one for one in ended if one.returncode == 0]
    refused = [one for one in ended if one.returncode != 0]
    assert done
    assert refused
    assert_apart(*done)
    for one in refused:
        assert one.returncode in (1, 2)
        assert "is being measured by trial" in one.stderr
        assert "Traceback" not in one.stderr
    assert list(target.iterdir()) == []


def test_a_loop_and_the_disk_below_it_are_one_disk(tmp_path, target, disk):
    """One user measures a loop device's filesystem, another the disk that holds its file."""
    assert_apart(*at_once(tmp_path, [target, disk]))


def test_a_wait_has_the_bound_that_was_asked_for(tmp_path, target):
    """A run may wait one second for a disk that is measured for longer: fio never starts for it."""
    measuring, waiting = users(tmp_path, 2)
    first = measuring.start(*command(measuring, target, seconds=20))
    read_until(first, "step 2 of 2")
    second = waiting.run(*command(waiting, target, "--if-busy", "1s"))
    assert second.returncode == 1
    assert "is being measured by trial" in second.stderr
    assert first.poll() is None
    first.communicate(timeout=240)


@pytest.mark.parametrize("text", ["", "maybe", "-1s", "0", "99999d", "1e400", "wait; rm"])
def test_an_invalid_choice_of_if_busy_is_refused(user, tmp_path, text):
    """--if-busy is given invalid words and times: exit code 2 and the value."""
    done = user.refused("run", "--path", str(tmp_path), "--if-busy", text)
    assert repr(text) in done.stderr


@pytest.mark.parametrize("trap", ["link", "fifo", "directory", "foreign"])
def test_a_trap_where_the_claim_is_made_harms_nothing(tmp_path, trap):
    """A link, FIFO, directory or another's file is at the path of the claim: nothing hangs."""
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    name = f"01{secrets.token_hex(12)}"
    claim = Path("/run/lock") / f"diskbench-{name}.claim"
    if trap == "link":
        claim.symlink_to(precious)
    elif trap == "fifo":
        os.mkfifo(claim)
    elif trap == "directory":
        claim.mkdir()
    else:
        claim.write_text("")
        os.chown(claim, 65534, 65534)
    try:
        done = takes(tmp_path, name)
    finally:
        if claim.is_dir() and not claim.is_symlink():
            claim.rmdir()
        else:
            claim.unlink()
    assert "method none" in done.stdout
    assert "belongs to somebody else" in done.stdout
    assert precious.read_text() == "keep me"


@pytest.mark.parametrize(
    "text",
    ["ticket 1\ntrial $(touch pwned)\n", "ticket 1;touch pwned\n", "user \x1b[31mred\n" * 2000,
     "ticket 99999999999999999999\ndisks x\n", "\x00\xff" * 5000, "disks\n\nticket\n"],
)  # fmt: skip
def test_hostile_claims_are_data(tmp_path, text):
    """Others' claims hold control characters, shell code, huge numbers and no end."""
    name = f"01{secrets.token_hex(12)}"
    theirs = Path("/run/lock") / f"diskbench-00{secrets.token_hex(12)}.claim"
    theirs.write_text(text, errors="surrogateescape")
    try:
        done = takes(tmp_path, name)
    finally:
        theirs.unlink()
    assert done.returncode == 0, done.stderr
    assert "method flock" in done.stdout
    assert "\x1b" not in done.stdout
    assert not (tmp_path / "pwned").exists()


def test_a_crowd_never_shares_the_disk(tmp_path):
    """Twelve units of twelve trials try to claim one disk at the same moment, repeatedly."""
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD, f"01{secrets.token_hex(12)}", str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        )
        for _ in range(12)
    ]  # fmt: skip
    told = [one.communicate(timeout=200) for one in crowd]
    assert [out for out, _ in told] == ["fine\n"] * 12, told


def test_another_user_of_the_disk_is_noticed(user, disk):
    """Another user's dd uses the disk while fio measures a file on it: the figure is doubted."""
    other = disk / "other"
    other.write_bytes(os.urandom(16 * 2**20))
    script = f"while :; do dd if={other} of=/dev/null bs=4k iflag=direct status=none; done"
    with subprocess.Popen(["sh", "-c", script], start_new_session=True) as stranger:
        try:
            done = user.run(*command(user, disk, seconds=4))
        finally:
            os.killpg(stranger.pid, signal.SIGKILL)
    assert done.returncode == 0, done.stderr
    assert "other-io" in warnings(done)


def test_a_disk_of_ones_own_is_not_doubted(user, disk):
    """No other process uses a disk while fio measures a file on it: the figure has no doubt."""
    done = user.done(*command(user, disk, seconds=4))
    assert not {"other-io", "disk-unlocked"} & warnings(done)


def assert_apart(*ended):
    assert {one.returncode for one in ended} == {0}, [one.stderr for one in ended]
    for (_, end), (begin, _) in itertools.pairwise(sorted(map(span, ended))):
        assert end <= begin


def takes(directory, name):
    return subprocess.run(
        [sys.executable, "-c", TAKES, name, str(directory)],
        cwd=directory, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


TAKES = """\
import sys, time
from diskbench.hosts.agent import Turn
turn = Turn(*sys.argv[1:], "", bool)
turn.take(["."], "wait", print, time.sleep)
print(*turn.report(), sep="\\n")
turn.drop()
"""
CROWD = """\
import os, sys, time
from diskbench.hosts.agent import Turn
for _ in range(2):
    turn = Turn(*sys.argv[1:], "", bool)
    turn.take(["."], "wait", lambda _: None, lambda _: time.sleep(0.05))
    os.mkdir("alone")
    time.sleep(0.05)
    os.rmdir("alone")
    turn.drop()
print("fine")
"""


AT_ONCE = 6
JOB = "[a]\nrw=write\nsize=256k\nbs=64k\nioengine=psync\n"


@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
def test_processes_that_start_at_once_share_an_empty_database(user, tmp_path, database):
    """Six processes start on an empty home, or PostgreSQL, and measure one directory each."""
    job = user.job(JOB)
    with ExitStack() as stack:
        if database == "PostgreSQL":
            user.extra_env["DISKBENCH_DATABASE_URL"] = stack.enter_context(running_postgres())
        started = []
        for number in range(AT_ONCE):
            target = tmp_path / f"target{number}"
            target.mkdir()
            started.append(user.start("run", "--path", str(target), "--profile", job))
        said = [process.communicate(timeout=240)[1] for process in started]
        assert [process.returncode for process in started] == [0] * AT_ONCE, said
        runs = user.json("results", "list")["runs"]
        assert [run["state"] for run in runs] == ["done"] * AT_ONCE
        assert len({run["run_id"] for run in runs}) == AT_ONCE
        shown = json.loads(user.run("results", "export", "--format", "json").stdout)["runs"]
        assert len(shown) == AT_ONCE
        assert all(run["steps"][0]["measurements"] for run in shown)
