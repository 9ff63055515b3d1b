"""The rig's files of cgroup v1 and v2, on trees made here; the benchmark is the real test."""

import subprocess
from pathlib import Path

import pytest
from tests.rigs.throttled_loop import (
    Cgroups,
    Group,
    Limits,
    LoopDisk,
    find_cgroups,
    io_max,
    throttled_disk,
)

DISK = LoopDisk("/dev/loop9", "7:9", Path("image"))


def make_v1(root: Path) -> Cgroups:
    for controller in ("blkio", "memory"):
        (root / controller).mkdir()
        (root / controller / "cgroup.procs").write_text("")
    (root / "blkio" / "blkio.throttle.read_bps_device").write_text("")
    return find_cgroups(root)


def test_the_throttle_is_set_and_taken_away_even_when_something_fails(tmp_path):
    cgroups = make_v1(tmp_path)
    files = [cgroups.blkio / f"blkio.throttle.{what}_device" for what in ("write_bps", "read_iops")]

    def interrupted():
        with throttled_disk(cgroups, DISK, Limits(1000, 20)):
            assert [file.read_text() for file in files] == ["7:9 1000", "7:9 20"]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [file.read_text() for file in files] == ["7:9 0", "7:9 0"]


def test_version_2_limits_both_directions_in_one_line():
    assert io_max(DISK, Limits(1000, 20)) == "7:9 rbps=1000 wbps=1000 riops=20 wiops=20"
    assert io_max(DISK, Limits(1000)) == "7:9 rbps=1000 wbps=1000 riops=max wiops=max"


@pytest.mark.parametrize("program", ["true", "/bin/true"])
def test_a_shim_never_replaces_the_program_it_starts(program, tmp_path):
    procs = tmp_path / "cgroup.procs"
    shim = Group(tmp_path, (procs,)).write_shim(tmp_path / "shims", program)
    assert shim == tmp_path / "shims" / "true"
    assert subprocess.run([str(shim), "x", "y"]).returncode == 0
    assert procs.read_text().strip().isdigit()
    assert shim.with_name("true.starts").read_text() == "x y\n"
