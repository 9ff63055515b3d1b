"""Runs on a raw device and on a fresh filesystem: a real loop device, given back as found."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.rigs.cli import merged_rows
from tests.rigs.loops import attached, empty_image

JOB = "[global]\nsize=4m\n[write]\nrw=write\nbs=64k\n[read]\nstonewall\nrw=randread\nbs=4k\n"


@pytest.fixture
def disk(tmp_path):
    with attached(empty_image(tmp_path / "disk.img", 400), "--direct-io=on") as made:
        yield made


def run_args(disk, profile, *more):
    named = ["--device", disk.path, "--destroy-data", disk.identity]
    return ["run", *named, "--profile", str(profile), *more]


def signatures(disk):
    return subprocess.run(
        ["wipefs", "--no-act", disk.path], check=True, capture_output=True, text=True
    ).stdout


def test_a_raw_device_is_measured_with_its_counters(user, disk, profile):
    (run,) = user.json(*run_args(disk, profile), "--quiet")["runs"]
    assert (run["state"], run["target_device"]) == ("done", disk.path)
    assert [r["ios"] for r in merged_rows(run)] == [64, 1024]


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_fresh_filesystem_is_made_measured_and_taken_away(user, disk, profile, filesystem):
    (run,) = user.json(*run_args(disk, profile, "--filesystem", filesystem), "--quiet")["runs"]
    assert (run["state"], run["filesystem"]) == ("done", filesystem)
    assert disk.path not in Path("/proc/self/mounts").read_text()
    assert signatures(disk) == ""
    evidence = user.home / ".local/share/diskbench/evidence/runs" / run["run_id"]
    made = json.loads((evidence / "manifest.json").read_text())["preparation"]
    assert any("lazy_itable_init=0" in command for command in made) == (filesystem == "ext4")
    assert any(command.startswith("mount ") for command in made)
