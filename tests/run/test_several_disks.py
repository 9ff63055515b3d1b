"""A job file that names several devices, measured on as many disks: one's own, and rented ones."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.rigs.cli import Cli, a_user, merged_rows
from tests.rigs.loops import Loop, attached, empty_image, is_empty

from diskbench.providers.lab.places import VARIABLE as LAB_DIR

JOB = """[global]
ioengine=libaio
direct=1
bs=64k
size=8m
[one]
rw=write
filename=/dev/sdb
[two]
rw=write
filename=/dev/sdc
[both]
stonewall
rw=randread
filename=/dev/sdc:/dev/sdb
size=16m
"""
RATED = """[global]
ioengine=libaio
direct=1
iodepth=16
rw=randwrite
bs=4k
size=64m
time_based
runtime=4
[one]
filename=/dev/sdb
[two]
filename=/dev/sdc
[alone]
stonewall
filename=/dev/sdc
"""


@pytest.fixture
def user(tmp_path: Path) -> Cli:
    return a_user(tmp_path)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Loop, Loop]]:
    with ExitStack() as stack:
        made = [stack.enter_context(attached(empty_image(tmp_path / name))) for name in ("a", "b")]
        yield made[0], made[1]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "mine.fio"
    path.write_text(JOB)
    return path


def named(*disks: Loop) -> list[str]:
    return [w for d in disks for w in ("--device", d.path, "--destroy-data", d.identity)]


def run(user: Cli, profile: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return user.run("run", "--profile", str(profile), *more)


def mapped(said: str) -> list[str]:
    """The lines that say which disk each device of the job file is."""
    words = [line.strip().removeprefix("job file").strip() for line in said.splitlines()]
    return [line for line in words if line.startswith("filename=")]


def test_each_device_of_the_file_is_one_of_ones_own_disks(
    user: Cli, pair: tuple[Loop, Loop], profile: Path
) -> None:
    one, two = pair
    done = run(user, profile, *named(one, two), "--output", "json")
    assert done.returncode == 0, done.stderr
    lines = [f"filename=/dev/sdb → {one.path}", f"filename=/dev/sdc → {two.path}"]
    said = done.stderr
    assert mapped(said) == lines
    assert said.index(lines[1]) < said.index("step 1 of 2"), "said before anything runs"
    assert "THESE 2 DISKS" in said
    assert not is_empty(one.image)
    assert not is_empty(two.image)
    (row,) = user.json("results", "list")["runs"]
    assert row["target_device"] == f"{one.path}, {two.path}"
    assert row["target_identity"] == f"{one.identity}, {two.identity}"
    (plan,) = user.home.rglob("plan.json")
    assert all(f'"{line}"' in plan.read_text("utf-8") for line in lines), "kept as evidence"
    (found,) = user.json("results", "show", row["run_id"])["runs"]
    (both,) = [merged for merged in merged_rows(found) if merged["step"] == "both"]
    assert both["bytes"] == 16 * 2**20


def test_data_on_one_of_them_refuse_both(user: Cli, pair: tuple[Loop, Loop], profile: Path) -> None:
    """What else refuses one of several: tests/unit/hosts/test_several_disks.py."""
    subprocess.run(["mkfs.ext4", "-q", pair[1].path], check=True)
    before = [one.image.read_bytes() for one in pair]
    done = run(user, profile, *named(*pair))
    assert done.returncode == 2, done.stderr
    assert "is refused" in done.stderr
    assert [one.image.read_bytes() for one in pair] == before
    assert user.json("results", "list")["runs"] == []


@pytest.fixture
def lab(user: Cli) -> Iterator[Cli]:
    """A user whose lab is on a disk, for direct I/O."""
    with tempfile.TemporaryDirectory(prefix="diskbench-test-", dir="/var/tmp") as directory:
        user.extra_env |= {LAB_DIR: f"{directory}/lab"}
        yield user
        left = [path.name for path in Path(directory, "lab").glob("*")]
    assert left == [], "a test leaves nothing rented behind"


LAB = ("--provider", "lab", "--disk", "custom", "--size", "1", "--iops", "200")


def test_rented_disks_are_mapped_in_order_and_promise_their_sum(lab: Cli, tmp_path: Path) -> None:
    path = tmp_path / "rated.fio"
    path.write_text(RATED)
    done = run(lab, path, *LAB, "--count", "2", "--verbose")
    assert done.returncode == 0, done.stderr
    lines = mapped(done.stderr)
    assert [line.rpartition(" ")[2] for line in lines[:2]] == ["/dev/new-disk-1", "/dev/new-disk-2"]
    first, second = (line.rpartition(" ")[2] for line in lines[2:])
    assert lines[2:] == [f"filename=/dev/sdb → {first}", f"filename=/dev/sdc → {second}"]
    assert first != second
    assert "each disk: 200 IOPS" in " ".join(done.stderr.split())
    (row,) = lab.json("results", "list")["runs"]
    assert (row["target_device"], row["disk_count"]) == (f"{first}, {second}", 2)
    (found,) = lab.json("results", "show", row["run_id"])["runs"]
    rates = {merged["step"]: merged["iops"] for merged in merged_rows(found)}
    # Upper bounds only: a busy machine may reach less than the limits.
    assert rates["one+1"] <= 1.5 * 400
    assert rates["alone"] <= 1.5 * 200
    (plan,) = lab.home.rglob("plan.json")
    text = plan.read_text("utf-8")
    assert f'"{lines[2]}"' in text
    assert f'"{lines[3]}"' in text
