"""A job file that names several devices, measured on as many disks of one's own; on rented ones:
tests/cloud/test_end_to_end.py."""

import subprocess
from contextlib import ExitStack

import pytest
from tests.rigs.cli import merged_rows
from tests.rigs.loops import Loop, attached, contents, empty_image, is_empty

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


@pytest.fixture
def pair(tmp_path):
    with ExitStack() as stack:
        made = [stack.enter_context(attached(empty_image(tmp_path / name))) for name in ("a", "b")]
        yield made[0], made[1]


def named(*disks: Loop):
    return [w for d in disks for w in ("--device", d.path, "--destroy-data", d.identity)]


def run(user, profile, *more: str):
    return user.run("run", "--profile", str(profile), *more)


def mapped(said):
    """The lines that say which disk each device of the job file is."""
    words = [line.strip().removeprefix("job file").strip() for line in said.splitlines()]
    return [line for line in words if line.startswith("filename=")]


def test_each_device_of_the_file_is_a_disk(user, pair, profile):
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


def test_data_on_one_of_them_refuse_both(user, pair, profile):
    """What else refuses one of several: tests/unit/hosts/test_device.py."""
    subprocess.run(["mkfs.ext4", "-q", pair[1].path], check=True)
    before = [contents(one.image) for one in pair]
    done = run(user, profile, *named(*pair))
    assert (done.returncode, "is refused" in done.stderr) == (2, True), done.stderr
    assert [contents(one.image) for one in pair] == before
    assert user.json("results", "list")["runs"] == []
