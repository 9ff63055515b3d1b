"""A disk is taken out, and another put in, while a step holds it: real NVMe and udev."""

import threading
from pathlib import Path

import pytest
from tests.rigs.waiting import started

from diskbench.errors import MeasurementFailed
from diskbench.hosts.device import check_device
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.unit import Unit
from diskbench.hosts.workspace import cleanup, make_workspace
from diskbench.model.spec import ResolvedTarget

pytestmark = pytest.mark.timeout(900)  # the image may have to be built, and a guest to boot

DISK_BYTES = 128 * 2**20
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
