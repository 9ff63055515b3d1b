"""RAID 0 of a trial's disks, with the real MD driver and udev, which assembles what it sees; a disk
taken out, and another put in, while a step holds it: real NVMe."""

import threading
from pathlib import Path

import pytest
from tests.rigs.cli import a_user, merged_rows
from tests.rigs.waiting import started

from diskbench.errors import MeasurementFailed, TargetRefused
from diskbench.hosts.device import DeviceProof, check_device
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.stripe import stripe, stripe_uuid
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.model.spec import ResolvedTarget

pytestmark = pytest.mark.timeout(900)  # the image may have to be built, and a guest to boot

TRIAL = "01jd0000000000000000000001"
DISK_BYTES = 128 * 2**20
SERIALS = ("vol0aaaaaaaaaaaaaaaa", "vol0bbbbbbbbbbbbbbbb")
THEIRS = "11223344:55667788:99aabbcc:ddeeff00"


@pytest.fixture
def pair(guest):
    links = [f"/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{serial}" for serial in SERIALS]
    for slot, serial in zip(("slot0", "slot1"), SERIALS, strict=True):
        guest.machine.plug(slot, serial, DISK_BYTES)
    try:
        guest.await_links(*links)
        paths = guest.root(f"readlink -f {' '.join(links)}").split()
        yield tuple(
            DeviceProof(path=path, number="-", identity=serial, size_bytes=DISK_BYTES)
            for path, serial in zip(paths, SERIALS, strict=True)
        )
    finally:
        guest.root("for md in /dev/md[0-9]*; do mdadm --stop $md; done; udevadm settle; :")
        for slot in ("slot0", "slot1"):
            guest.machine.unplug(slot)


def test_two_disks_are_measured_as_one(guest, pair, tmp_path):
    made = stripe(guest.host, TRIAL, pair)
    level, chunk = guest.root(f"cd /sys/block/{Path(made).name}/md && cat level chunk_size").split()
    assert (level, int(chunk)) == ("raid0", 512 * 1024)
    assert stripe(guest.host, TRIAL, pair) == made
    with pytest.raises(TargetRefused, match=r"held by md.*belongs to a software RAID"):
        check_device(guest.host, pair[0].path, pair[0].identity)
    user = a_user(tmp_path)
    user.extra_env["DISKBENCH_SSH_CONFIG"] = guest.access.config
    profile = tmp_path / "mine.fio"
    profile.write_text("[write]\nrw=write\nbs=1m\nsize=64m\n")
    (run,) = user.json(
        "run", "--provider", "ssh", "--host", "127.0.0.1", "--device", made,
        "--destroy-data", stripe_uuid(TRIAL), "--profile", str(profile), "--quiet",
    )["runs"]  # fmt: skip
    assert (run["state"], run["target_identity"]) == ("done", stripe_uuid(TRIAL))
    assert [row["bytes"] for row in merged_rows(run)] == [64 * 2**20]


def test_an_array_is_found_again_after_it_was_stopped_and_finished_if_half_made(guest, pair):
    made = stripe(guest.host, TRIAL, pair)
    mark = f"mdadm --examine --export {pair[0].path} | grep MD_UPDATE_TIME"
    before = guest.root(mark)
    guest.root(f"flock {pair[0].path} mdadm --stop {made}")
    assert stripe(guest.host, TRIAL, pair)
    assert guest.root(mark) == before
    guest.root(
        f"flock {pair[0].path} sh -c 'mdadm --stop /dev/md[0-9]* && "
        f"mdadm --zero-superblock {pair[1].path}'"
    )
    assert stripe(guest.host, TRIAL, pair)


def test_somebody_elses_array_is_neither_used_nor_taken_apart(guest, pair):
    paths = " ".join(member.path for member in pair)
    guest.root(
        f"mdadm --create /dev/md/theirs --level=0 --raid-devices=2 --uuid={THEIRS} {paths} "
        "</dev/null && udevadm settle"
    )
    with pytest.raises(TargetRefused, match="belongs to a software RAID"):
        stripe(guest.host, TRIAL, pair)
    assert guest.root(f"mdadm --examine --export {paths}").count(f"MD_UUID={THEIRS}") == 2
    assert "active raid0" in guest.root("cat /proc/mdstat")


FIRST, SECOND = "vol0cccccccccccccccc", "vol0dddddddddddddddd"
STATE = "/var/tmp/diskbench-01jd0000000000000000000009"
WAITS = """\
cat >/usr/local/bin/sync <<'END'
#!/bin/sh
if [ -p /run/there ] && mkdir /run/waited 2>/dev/null; then
    echo >/run/there
    read -r go </run/go
fi
exec /usr/bin/sync "$@"
END
chmod 755 /usr/local/bin/sync; rm -rf /run/waited /run/there /run/go; mkfifo /run/there /run/go
"""
"""A `sync`, first on PATH, that says that it is there and waits to be let go, once."""


@pytest.fixture
def slot(guest):
    yield "slot2"
    guest.root("rm -f /usr/local/bin/sync /run/there /run/go")
    guest.machine.unplug("slot2")


def test_a_disk_that_was_swapped_while_caches_are_dropped_is_not_written_to(guest, slot):
    link = "/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_"
    guest.machine.plug(slot, FIRST, DISK_BYTES)
    guest.await_links(link + FIRST)
    path = guest.root(f"readlink -f {link + FIRST}").strip()
    proof = check_device(guest.host, path, FIRST)
    target = ResolvedTarget(
        kind="device", path=path, device=path, identity=FIRST, device_number=proof.number,
        device_size_bytes=proof.size_bytes, state_dir=STATE, size_bytes=2**20,
    )  # fmt: skip
    unit = Unit(
        trial_id=STATE.rpartition("-")[2],
        run_index=0,
        name="000-write",
        state_dir=STATE,
        job=f"[global]\nfilename={path}\n[x]\nrw=write\nbs=1m\nsize=4m\nioengine=psync\n",
        guards=(proof,),
        root=True,
    )
    guest.root(WAITS)
    make_workspace(guest.host, target)
    try:
        started(guest.host, unit)
        guest.root("read -r there </run/there")
        guest.machine.unplug(slot)
        guest.machine.plug(slot, SECOND, DISK_BYTES)
        guest.await_links(link + SECOND)
        let_go = threading.Timer(0, guest.root, ["echo >/run/go"])
        let_go.start()
        with pytest.raises(MeasurementFailed, match=f"refused: .*{path} is now|longer held"):
            start_and_watch(guest.host, unit, lambda _: None, lambda: False)
        let_go.join()
    finally:
        cleanup(guest.host, target)
    assert Path(guest.machine.directory, f"{SECOND}.img").read_bytes().count(0) == DISK_BYTES
