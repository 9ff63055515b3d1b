"""A real guest: what we told cloud-init comes true, and disks are known by their serial."""

import json
import subprocess
import time

import pytest
from tests.qemu.conftest import LEASE, USER
from tests.qemu.machine import running
from tests.rigs.cli import a_user, merged_rows

from diskbench.hosts.device import list_devices
from diskbench.providers.cloud_init import extend_timer

pytestmark = pytest.mark.timeout(900)  # the image may have to be built, and two guests to boot

SERIAL = "vol0123456789abcdef0"
OTHER = "vol0123456789abcdef1"
MODEL = "QEMU_NVMe_Ctrl"
"""QEMU has no property for it; on EC2 it is Amazon_Elastic_Block_Store."""
DISK_BYTES = 256 * 2**20


def strangers_ssh(guest, *options: str, user=USER):
    """The ssh of somebody who trusts any host."""
    trusting = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    quiet = ["-o", "BatchMode=yes", "-o", "IdentityAgent=none", "-p", str(guest.machine.port)]
    return ["ssh", "-F", "none", *trusting, *quiet, *options, f"{user}@127.0.0.1", "id -un"]


def test_the_only_host_key_is_the_one_we_made(guest):
    found = subprocess.run(
        ["ssh-keyscan", "-T", "60", "-p", str(guest.machine.port), "-t", "rsa,ecdsa,ed25519",
         "127.0.0.1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    keys = [line.split(" ", 1)[1] for line in found.stdout.splitlines()]
    assert keys == [guest.access.host_key]


def test_the_key_of_the_lease_logs_in_and_may_become_root(guest):
    assert guest.host.run("id -un; hostname").text.split() == [USER, f"diskbench-{LEASE}-vm"]
    assert guest.root("id -un").strip() == "root"


def test_passwords_are_not_even_asked_for(guest):
    command = strangers_ssh(guest, "-o", "PubkeyAuthentication=no")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 255
    assert "Permission denied (publickey)" in done.stderr


def test_root_does_not_log_in(guest):
    command = strangers_ssh(guest, "-i", guest.access.identity_file, user="root")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.kill()  # cloud-init leaves root ten seconds to read it
    assert f'Please login as the user "{USER}"' in said


def test_cloud_init_finds_nothing_wrong_with_our_user_data(guest):
    guest.root("cloud-init status --wait")
    assert json.loads(guest.root("cat /run/cloud-init/result.json"))["v1"]["errors"] == []
    assert "Valid cloud-config: system userdata" in guest.root("cloud-init schema --system")
    assert guest.root("grep DEPRECATED /var/log/cloud-init.log || :") == ""


def test_ssh_waits_for_no_package_mirror(guest):
    # This guest reaches nothing at all; preparing it comes after SSH.
    said = guest.root(
        "systemctl show -P ActiveEnterTimestampMonotonic ssh.service;"
        "systemctl show -P ExecMainStartTimestampMonotonic cloud-final.service"
    )
    ssh_up, last_stage = map(int, said.split())
    assert 0 < ssh_up < last_stage


def test_the_systems_own_chores_keep_quiet(guest):
    said = guest.host.run("systemctl is-active apt-daily.timer apt-daily-upgrade.timer").text
    assert said.split() == ["inactive", "inactive"]
    snapd = guest.host.run("systemctl is-enabled snapd.service snapd.socket snapd.seeded.service")
    assert snapd.text.split() == ["masked"] * 3


def test_the_switch_is_armed_before_anybody_can_log_in(guest):
    active, enabled, armed, ssh_up = guest.root(
        "systemctl is-active diskbench-expire.timer;"
        "systemctl is-enabled diskbench-expire.timer;"
        "systemctl show -P ActiveEnterTimestampMonotonic diskbench-expire.timer ssh.service"
    ).split()
    assert (active, enabled) == ("active", "enabled")
    assert int(armed) < int(ssh_up)


def calendar(guest):
    return guest.root("systemctl show -P TimersCalendar diskbench-expire.timer")


def test_the_switch_is_moved_later_and_back_again(guest):
    before = calendar(guest)
    guest.root(extend_timer(guest.expires_at + 3600, left_s=7200))
    assert calendar(guest) != before
    guest.root(extend_timer(guest.expires_at))
    assert calendar(guest) == before
    assert guest.root("systemctl is-active diskbench-expire.timer").strip() == "active"


def disks(guest):
    found = [state for state, _ in list_devices(guest.host)]
    both = [(serial, s.disk) for s in found for serial in (SERIAL, OTHER) if serial in s.identities]
    assert len(both) == len(dict(both))
    return dict(both)


def link(serial):
    return f"/dev/disk/by-id/nvme-{MODEL}_{serial}"


def test_a_plugged_disk_is_known_by_its_serial_and_by_no_other(guest):
    guest.machine.plug("slot0", SERIAL, DISK_BYTES)
    guest.machine.plug("slot1", OTHER, DISK_BYTES * 2)
    try:
        guest.await_links(link(SERIAL), link(OTHER))
        before = disks(guest)
        assert guest.root(f"readlink -f {link(SERIAL)}").strip() == before[SERIAL].path
    finally:
        guest.machine.unplug("slot0")
    try:
        guest.root(f"udevadm wait --removed --settle --timeout=180 {link(SERIAL)}")
        after = disks(guest)
    finally:
        guest.machine.unplug("slot1")
    assert before[SERIAL].size_bytes == DISK_BYTES
    assert before[OTHER].size_bytes == DISK_BYTES * 2
    assert after == {OTHER: before[OTHER]}


@pytest.fixture
def user(guest, tmp_path):
    user = a_user(tmp_path)
    user.extra_env["DISKBENCH_SSH_CONFIG"] = guest.access.config
    return user


def test_a_plugged_disk_is_measured_under_a_unit_of_systemds(guest, user, tmp_path):
    profile = tmp_path / "mine.fio"
    profile.write_text("[read]\nrw=randread\nbs=4k\niodepth=8\nsize=64m\ntime_based\nruntime=3\n")
    guest.machine.plug("slot2", SERIAL, DISK_BYTES)
    try:
        guest.await_links(link(SERIAL))
        (listed,) = [
            d for d in user.json("devices", "--host", "127.0.0.1")["devices"]
            if SERIAL in d["identities"]
        ]  # fmt: skip
        assert listed["free"]
        assert listed["transport"] == "nvme"
        (run,) = user.json(
            "run", "--provider", "ssh", "--host", "127.0.0.1", "--device", listed["path"],
            "--destroy-data", SERIAL, "--profile", str(profile), "--quiet",
        )["runs"]  # fmt: skip
    finally:
        guest.machine.unplug("slot2")
    assert run["state"] == "done"
    assert [row["ios"] > 0 for row in merged_rows(run)] == [True]
    assert (run["target_identity"], run["disk_transport"]) == (SERIAL, "nvme")
    unit = f"diskbench-{run['trial_id']}-run0-000-read.service"
    assert f"Started {unit}" in guest.root("journalctl -o cat _PID=1")


def test_at_the_end_of_its_lease_the_guest_goes_off_and_whenever_it_is_started_again(guest):
    asked = time.monotonic()
    guest.root(extend_timer(float(guest.root("date +%s")) + 5))
    shutdown = guest.machine.qmp.wait("SHUTDOWN", 240)
    assert shutdown["data"] == {"guest": True, "reason": "guest-shutdown"}
    assert time.monotonic() - asked > 3
    assert guest.machine.process.wait(60) == 0
    assert "the lease of this machine has ended" in guest.machine.console
    with running(guest.image, guest.machine.directory, guest.seed) as again:
        shutdown = again.qmp.wait("SHUTDOWN", 240)
        assert shutdown["data"] == {"guest": True, "reason": "guest-shutdown"}
        assert "the lease of this machine has ended" in again.console
