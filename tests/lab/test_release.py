"""Whatever was killed, and whenever: giving back leaves nothing."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.lab.conftest import custom, fio, ssh
from tests.rigs.waiting import until

from diskbench.providers.lab import devices, fuse_file, processes
from diskbench.providers.lab.processes import find_groups, init_of, members

CREATE = """
import sys
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab import machines
from diskbench.providers.lab.request import LabRequest
disk = DiskSpec(type="custom", size_gib=1, iops=100)
machines.acquire(sys.argv[1], LabRequest(disk=disk, latency_ms=1))
"""


def kill_creator(lease_id, reached):
    creator = subprocess.Popen([sys.executable, "-c", CREATE, lease_id], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120  # it may have to wait for a disk that others fill
    try:
        while True:
            over = creator.poll() is not None  # first: it may come there and end meanwhile
            if reached():
                break
            assert not over
            assert time.monotonic() < deadline
    finally:
        creator.kill()
        creator.wait()


POINTS = {
    "the directory": lambda place: place.exists(),
    "the record": lambda place: (place / "lease.json").exists(),
    "the keys": lambda place: (place / "access" / "user_key").exists(),
    "the group": lambda place: find_groups().of(place.name).exists(),
    "the mount of its latency": lambda place: bool(fuse_file.mounted(place)),
    "the device": lambda place: bool(devices.find(place)),
    "the orders": lambda place: (place / "orders.json").exists(),
    "the processes": lambda place: (place / "host.log").exists(),
    "the limits": lambda place: (place / "report.json").exists(),
    "the host's own process 1": lambda place: init_of(find_groups().of(place.name)) is not None,
}


@pytest.mark.parametrize("how", ["release", "gc"])
@pytest.mark.parametrize("point", POINTS)
def test_a_creator_that_is_killed_leaves_nothing_that_cannot_be_found(lab, point, how):
    kill_creator("one", lambda: POINTS[point](lab.base / "one"))
    # `gc` leaves a host that is complete: its creator was quick.
    if how == "release" or lab.release_stale() == ():
        lab.machines.release("one")
    assert fuse_file.mounted(lab.base) == ()
    assert lab.left() == []
    assert ssh(lab.machines.acquire("one", custom()), "id -u") == "0\n"


def test_a_half_made_host_is_made_anew(lab):
    kill_creator("one", (lab.base / "one" / "orders.json").exists)
    assert ssh(lab.machines.acquire("one", custom(iops=100, latency_ms=1)), "id -u") == "0\n"


def test_a_release_in_the_middle_waits_and_takes_all(lab):
    making = threading.Thread(target=lab.machines.acquire, args=("one", custom()))
    making.start()
    while not (lab.base / "one" / "lease.json").exists():
        assert making.is_alive()
    lab.machines.release("one")
    making.join()
    lab.machines.release("one")
    assert lab.left() == []


def test_a_supervisor_that_is_killed_comes_back_with_its_balance(lab):
    from diskbench.model.rental import DiskSpec
    from diskbench.providers.lab.request import LabRequest

    request = LabRequest(disk=DiskSpec(type="gp2", size_gib=20))
    host = lab.machines.acquire("one", request)
    fio(host, "--rw=randread", "--bs=4k", "--runtime=3", "--time_based")
    group = find_groups().of("one")
    old = processes.supervisor_of(group)
    assert old is not None
    (left,) = lab.balances()
    killed = time.monotonic()
    os.kill(old, signal.SIGKILL)
    until(lambda: processes.supervisor_of(group) is None)
    assert lab.machines.acquire("one", request) == host
    assert processes.supervisor_of(group) not in {None, old}
    (after,) = lab.balances()
    earned = 100 * (time.monotonic() - killed)
    assert after <= left + 1000 + earned
    assert after < 5_400_000, "a full one, as a new disk has it"


def test_a_supervisor_ends_with_its_host(lab):
    lab.machines.acquire("one", custom())
    group = find_groups().of("one")
    init = init_of(group)
    assert init is not None
    os.kill(init, signal.SIGKILL)
    until(lambda: members(group) == ())
    assert lab.release_stale() == ("one",)
    assert lab.left() == []


def test_everything_killed_at_once_under_load_is_given_back(lab):
    host = lab.machines.acquire("one", custom(iops=50))
    assert host.ssh is not None
    load = f"mkfs.ext4 -q {host.device} && mount {host.device} /mnt && cat /dev/urandom >/mnt/f"
    busy = subprocess.Popen(
        ["ssh", "-F", host.ssh.config, host.address, load], stderr=subprocess.DEVNULL
    )
    until(lambda: "ext4" in mounts_of(init_of(find_groups().of("one"))))
    for pid in members(find_groups().of("one")):
        with contextlib.suppress(ProcessLookupError):  # it went with its process 1
            os.kill(pid, signal.SIGKILL)
    busy.wait()
    lab.machines.release("one")
    assert lab.left() == []


def test_stale_leases_are_those_that_expired(lab):
    lab.machines.acquire("old", custom(expires_at=1000.0))
    lab.machines.acquire("new", custom(expires_at=3000.0))
    lab.machines.acquire("open", custom())
    assert lab.machines.leases() == {"new": 3000.0, "old": 1000.0, "open": None}
    assert lab.release_stale(now=2000.0) == ("old",)
    assert set(lab.machines.leases()) == {"new", "open"}


def test_a_host_is_found_by_its_devices_when_its_directory_is_gone(lab):
    import shutil

    lab.machines.acquire("one", custom())
    shutil.rmtree(lab.base)
    assert set(lab.machines.leases()) == {"one"}
    assert lab.release_stale() == ("one",)
    assert lab.left() == []


def mounts_of(pid):
    try:
        return Path(f"/proc/{pid}/mounts").read_text().partition(" /mnt ext4")[1]
    except OSError:
        return ""
