"""Which claims on a disk live (scripts/lock.sh): those whose process holds its lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

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
