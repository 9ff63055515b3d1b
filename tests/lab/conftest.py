"""Lab hosts in a directory of the test's own, and the proof that nothing of them stays."""

import json
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from diskbench.model.rental import CUSTOM, DiskSpec
from diskbench.providers.lab import devices, machines
from diskbench.providers.lab.places import VARIABLE
from diskbench.providers.lab.processes import find_groups
from diskbench.providers.lab.request import LabRequest
from diskbench.providers.lab.supervisor.rates import read_report


@dataclass(frozen=True)
class Lab:
    base: Path
    machines = machines

    def release_stale(self, *, now=None):
        found = machines.stale(now=now)
        for lease_id in found:
            machines.release(lease_id)
        return found

    def balances(self):
        report = read_report(self.base / "one" / "report.json")
        assert report is not None
        return list(report[1].values())

    def left(self):
        groups = find_groups()
        found = [f"directory {p}" for p in (self.base, *self.base.glob("**/*")) if p.exists()]
        found += [f"group {name}" for name in groups.lease_ids()]
        found += [f"device {loop}" for loop in devices.find(self.base)]
        needle = str(self.base).encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes()
                mounts = (process / "mountinfo").read_bytes()
            except OSError:
                continue
            # What a killed creator had started, such as ssh-keygen, ends by itself in a moment.
            if (
                needle in words
                and b"pytest" not in words
                and _stays(_holds, process / "cmdline", needle)
            ):
                found.append(f"process {words!r}")
            if needle in mounts and _stays(_holds, process / "mountinfo", needle):
                found.append(f"mount in {process}")
        return found


@pytest.fixture
def lab(monkeypatch):
    # On a disk, for direct I/O; where /tmp is a tmpfs, tmp_path would be none.
    parent = Path(tempfile.mkdtemp(prefix="diskbench-test-lab-", dir="/var/tmp"))
    base = parent / "lab"
    monkeypatch.setenv(VARIABLE, str(base))
    try:
        yield Lab(base)
    finally:
        numbers = {loop.number for loop in devices.find(base)}
        for lease_id in machines.leases():
            machines.release(lease_id)
        left = Lab(base).left()
        if find_groups().version == 1:
            left += [f"limit on {n}" for n in numbers if _stays(_is_limited, n)]
        shutil.rmtree(parent)
        assert left == []


def _holds(file, needle):
    return needle in file.read_bytes()


def _is_limited(number):
    """Whether a number is limited that belongs to no disk; somebody else's may have it by now."""
    files = Path(find_groups().throttle).glob("blkio.throttle.*_device")
    limited = {line.split()[0] for file in files for line in file.read_text("ascii").splitlines()}
    return number in limited and not Path(f"/sys/dev/block/{number}/loop/backing_file").exists()


def _stays(what, *given):
    """Whether it is so for half a minute. A host that another test begins has a copy of every
    mount until it drops them, and the limits of one that ends outlive its disk for a moment."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        try:
            if not what(*given):
                return False
        except OSError:  # the process has ended
            return False
        time.sleep(0.05)
    return True


def ssh(host, script):
    assert host.ssh is not None
    done = subprocess.run(
        ["ssh", "-F", host.ssh.config, host.address, script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fio(host, *options):
    given = shlex.join(
        ["fio", "--name=t", f"--filename={host.device}", "--ioengine=libaio", "--iodepth=32",
         "--direct=1", "--output-format=json", *options]
    )  # fmt: skip
    printed = ssh(host, f"cd /tmp && {given}")
    job = json.loads(printed[printed.index("{") :])["jobs"][0]  # fio's notes may come before
    return {
        f"{direction}_{what}": job[direction][key]
        for direction in ("read", "write")
        for what, key in (("iops", "iops"), ("bytes", "bw_bytes"))
    }


def custom(*, iops=None, mib_per_s=None, count=1, **more):
    disk = DiskSpec(type=CUSTOM, size_gib=1, iops=iops, throughput_mib_per_s=mib_per_s, count=count)
    return LabRequest(disk=disk, **more)  # type: ignore[arg-type]
