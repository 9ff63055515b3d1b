"""Which claims on a disk live (scripts/lock.sh): those whose process holds its lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from diskbench.hosts.scripts import script

CLAIM = """\
disks 8:0
trial {name}
user somebody
pid 1
born 1
since 1
state /nowhere
runs 1
until 0
ticket 7
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of claims, on a filesystem whose locks the kernel lists by its own number."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


def living(place: Path, tools: Path) -> list[str]:
    """The trials whose claims in `place` live, by lock.sh; tools of `tools` come first."""
    text = f"{script('block.sh')}{script('lock.sh')}\nplace={place} disks=8:0\ndisk_rivals"
    env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C"}
    done = subprocess.run(["sh", "-c", text], env=env, capture_output=True, text=True, check=True)
    return sorted(line.split()[2] for line in done.stdout.splitlines())


def counted_flock(tools: Path) -> Path:
    """A flock that writes a line for each call; returns the file of these lines."""
    tools.mkdir()
    calls = tools / "calls"
    calls.touch()
    real = shutil.which("flock")
    (tools / "flock").write_text(f'#!/bin/sh\necho >>{calls}\nexec {real} "$@"\n')
    (tools / "flock").chmod(0o755)
    return calls


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_held_claims_live_and_left_ones_do_not(count: int, place: Path, tmp_path: Path) -> None:
    calls = counted_flock(tmp_path / "tools")
    with ExitStack() as stack:
        for number in range(2 * count):
            claim = place / f"diskbench-t{number:02d}.claim"
            claim.write_text(CLAIM.format(name=f"t{number:02d}"))
            if number < count:
                fcntl.flock(stack.enter_context(claim.open("r+")), fcntl.LOCK_EX)
        assert living(place, tmp_path / "tools") == [f"t{n:02d}" for n in range(count)]
    # Those that the kernel lists as locked are not asked once more.
    assert len(calls.read_text().splitlines()) == (2 if count == 1 else count)


def test_a_lock_that_is_shared_is_the_look_of_another_and_no_turn(
    place: Path, tmp_path: Path
) -> None:
    counted_flock(tmp_path / "tools")
    with ExitStack() as stack:
        for number in range(4):
            claim = place / f"diskbench-t{number}.claim"
            claim.write_text(CLAIM.format(name=f"t{number}"))
            how = fcntl.LOCK_EX if number == 0 else fcntl.LOCK_SH
            fcntl.flock(stack.enter_context(claim.open("r+")), how)
        assert living(place, tmp_path / "tools") == ["t0"]


def take_turn(place: Path, before: str = "") -> None:
    """Look as the unit of the trial `ours` does: claim, and look at all others. `before` are
    functions of the shell that replace its own. A claim is dead after 30 s, as a machine may have
    been up for minutes only."""
    text = (
        f"{script('block.sh')}{script('lock.sh')}{before}\n"
        f"ending() {{ return 1; }}; DISK_DEAD_S=30 place={place} disks=8:0\n"
        "trial=ours state_dir=/nowhere\n"
        "disk_open && disk_ticket && [ /proc/self/fd/5 -ef $place/diskbench-ours.claim ]"
    )
    subprocess.run(["sh", "-c", text], check=True, timeout=60)


def left(name: str, since_s: int) -> str:
    """The claim of a trial that lost its turn `since_s` seconds ago."""
    up_s = int(float(Path("/proc/uptime").read_text().split()[0]))
    return CLAIM.format(name=name).replace("until 0", f"until {up_s - since_s}")


@pytest.mark.parametrize(
    ("since_s", "is_held", "stays"),
    [(40, False, False), (40, True, True), (0, False, True)],
    ids=["long ago", "long ago, and held", "now"],
)
def test_a_claim_that_lost_its_turn_long_ago_is_removed_by_the_next_unit(
    since_s: int, is_held: bool, stays: bool, place: Path
) -> None:
    claim = place / "diskbench-t0.claim"
    claim.write_text(left("t0", since_s))
    with claim.open("r+") as file:
        if is_held:
            fcntl.flock(file, fcntl.LOCK_EX)
        assert living(place, place) == (["t0"] if is_held else [])
        assert claim.exists(), "who only looks removes nothing"
        take_turn(place)
    assert claim.exists() is stays


def test_a_dead_claim_of_another_user_stays(place: Path) -> None:
    place.chmod(0o1777)
    claim = place / "diskbench-t0.claim"
    claim.write_text(left("t0", 40))
    os.chown(claim, 65534, 65534)
    take_turn(place)
    assert claim.exists()


def test_a_claim_that_was_removed_while_it_was_opened_is_made_again(place: Path) -> None:
    removed = (
        '\nflock() { command flock "$@" || return; [ -e "$place/once" ] || '
        '{ true >"$place/once"; rm "$claim"; }; }'
    )
    take_turn(place, removed)
    assert (place / "once").exists()
    assert (place / "diskbench-ours.claim").stat().st_size > 0


@given(st.integers(min_value=1, max_value=99_999_999_999 // 2))
@example(951_782_400)  # a 29th of February in a year that ends a century
@example(1_735_689_599)
@settings(max_examples=20)
def test_the_date_of_a_claim_needs_no_process_and_is_that_of_the_calendar(unix_s: int) -> None:
    text = f'{script("lock.sh")}\nPATH=/nowhere; disk_date {unix_s}; echo "$date"'
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=unix_s)
    assert done.stdout.strip() == f"{expected:%Y-%m-%d %H:%M:%S} UTC"


@pytest.mark.parametrize("since", ["", "08", "x", "1 2", "9" * 14])
def test_a_claim_without_a_date_is_named_without_one(since: str) -> None:
    line = f"1 7 trial somebody 1 {since}"
    text = f"set -u\n{script('lock.sh')}\ndisk_sentence '{line}'; echo \"$sentence\""
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert "trial (user somebody, " in done.stdout
    assert "process 1 there, since" in done.stdout


COUNTED = """\
import fcntl, subprocess, sys
held = [open(name) for name in sys.argv[2:]]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX)
newest = lambda: int(open("/proc/loadavg").read().split()[-1])
before = newest()
subprocess.run(["sh", "-c", sys.argv[1]], check=True)
print(newest() - before, file=sys.stderr)
"""
"""Holds claims, runs a script, and prints how many processes that started, in a PID namespace whose
newest number is how many there were."""


def beside(place: Path, count: int) -> tuple[list[str], int]:
    """Who measures beside ours where `count` other claims live, and how many processes say it."""
    for number in range(count):
        claim = CLAIM.format(name=f"t{number:02}")
        (place / f"diskbench-t{number:02}.claim").write_text(claim)
    names = [str(path) for path in place.glob("*.claim")]
    text = f"{script('block.sh')}{script('lock.sh')}\nplace={place} disks=8:0 state_dir=/x"
    own = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    done = subprocess.run(
        [*own, sys.executable, "-c", COUNTED, f"{text} claim={place}/own\ndisk_beside", *names],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines(), int(done.stderr)


def test_a_hundred_trials_on_a_disk_are_named_by_as_many_processes_as_three(place: Path) -> None:
    few, for_few = beside(place, 3)
    many, for_many = beside(place, 100)
    assert (len(few), len(many)) == (3, 100)
    assert for_many == for_few
