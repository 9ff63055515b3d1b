"""A lab host is a machine of its own: its names, its users, its processes, and nobody else's."""

import contextlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.lab.conftest import custom, ssh

from diskbench.errors import HostUnavailable, InvalidValue, TargetRefused, UnknownName
from diskbench.hosts.device import check_device
from diskbench.hosts.facts import gather
from diskbench.hosts.ssh import host_at
from diskbench.model.rental import DiskSpec
from diskbench.providers.lab.request import LabKeys, LabRequest
from diskbench.units import GIB


def test_a_host_is_made_once_and_found_again(lab):
    made = lab.machines.acquire("one", custom())
    boot = ssh(made, "stat -c %Y /run/lab")
    assert lab.machines.acquire("one", custom()) == made
    assert ssh(made, "stat -c %Y /run/lab") == boot
    assert made.emulated


def test_a_lease_stands_for_one_request_only(lab):
    lab.machines.acquire("one", custom())
    with pytest.raises(InvalidValue, match="another request"):
        lab.machines.acquire("one", custom(iops=100))


def test_fifty_hosts_start_at_once_and_go_without_a_trace(lab):
    with ThreadPoolExecutor(8) as pool:
        hosts = list(pool.map(lambda i: lab.machines.acquire(f"h{i}", custom()), range(50)))
        names = set(pool.map(lambda host: ssh(host, "uname -n"), hosts))
        assert len({host.address for host in hosts}) == len(names) == 50
        list(pool.map(lambda i: lab.machines.release(f"h{i}"), range(50)))
    assert lab.left() == []


@pytest.mark.parametrize(
    ("style", "disk", "volume", "names"),
    [
        ("aws-nvme", "gp2", "vol-0123456789abcdef0",
         ["/dev/nvme1n1", "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0"]),
        ("aws-xen", "gp2", "vol-0123456789abcdef0", ["/dev/xvdf"]),
        ("azure", "Premium_LRS", "data", ["/dev/sdc", "/dev/disk/azure/scsi1/lun0"]),
        ("google", "pd-ssd", "data-1", ["/dev/sdb", "/dev/disk/by-id/google-data-1"]),
        ("vsphere", "custom", "6000C29A-BEEF", ["/dev/sdb", "/dev/disk/by-id/wwn-0x6000c29abeef"]),
    ],
)  # fmt: skip
def test_disks_have_their_clouds_names_inside_and_only_there(lab, style, disk, volume, names):
    spec = DiskSpec(type=disk, size_gib=20)
    request = LabRequest(style=style, disk=spec, volumes=(volume,))  # type: ignore[arg-type]
    host = lab.machines.acquire("one", request)
    assert host.device == names[-1]
    for name in names:
        assert ssh(host, f"blockdev --getsize64 {name}").strip() == str(20 * GIB)
        # /dev/sdb and the like may be this machine's own.
        assert not Path(name).exists() or "by-id" not in name
    assert host.size_bytes == 20 * GIB


def test_a_host_sees_its_own_disks_and_processes_only(lab):
    first, second = (lab.machines.acquire(name, custom()) for name in ("one", "two"))
    listed = {ssh(host, "lsblk -ndo NAME").strip() for host in (first, second)}
    assert len(listed) == 2
    assert "[listener]" in ssh(first, "ps -o args= -p 1")
    assert ssh(first, "ls /home /root") == "/home:\n\n/root:\n"
    assert ssh(first, "! touch /usr/mark 2>/dev/null && touch /var/tmp/mark && ls /var/tmp") == (
        "mark\n"
    )
    assert ssh(second, "ls /var/tmp") == ""


def test_an_unprivileged_user_becomes_root_with_sudo(lab):
    host = lab.machines.acquire("one", custom(user="ubuntu"))
    assert ssh(host, "id -un; pwd; sudo -n id -u").split() == ["ubuntu", "/home/ubuntu", "0"]


def test_the_ssh_host_of_diskbench_reaches_it_and_trusts_its_disk(lab, monkeypatch):
    made = lab.machines.acquire("one", custom(user="ubuntu"))
    assert made.ssh is not None
    monkeypatch.setenv("DISKBENCH_SSH_CONFIG", made.ssh.config)
    host = host_at(made.address)
    try:
        facts = gather(host, made.device, device=True)
        assert facts.can_sudo
        assert facts.disk is not None
        assert facts.disk.size_bytes == made.size_bytes
        proof = check_device(host, made.device, made.identity, made.size_bytes)
        assert proof.size_bytes == made.size_bytes
        with pytest.raises(TargetRefused):
            check_device(host, made.device, "somebody-elses", made.size_bytes)
    finally:
        host.close()


def test_keys_that_were_made_elsewhere_are_the_hosts(lab, tmp_path):
    for name in ("host", "user"):
        key = tmp_path / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    keys = LabKeys(
        host_key=(tmp_path / "host").read_text(),
        authorized_keys=(tmp_path / "user.pub").read_text(),
        identity_file=str(tmp_path / "user"),
    )
    host = lab.machines.acquire("one", custom(), keys=keys)
    assert host.ssh is not None
    assert host.ssh.host_key.split() == (tmp_path / "host.pub").read_text().split()[:2]
    assert ssh(host, "id -u") == "0\n"


def test_a_host_without_disks_has_none(lab):
    host = lab.machines.acquire("one", LabRequest())
    assert host.devices == ()
    assert ssh(host, "ls /sys/block") == ""


def test_what_is_not_sold_is_refused_before_anything_is_made(lab):
    with pytest.raises(UnknownName, match="gp2"):
        lab.machines.acquire("one", LabRequest(disk=DiskSpec(type="pg2", size_gib=20)))
    with pytest.raises(InvalidValue, match="too many"):
        lab.machines.acquire("one", custom(count=28))
    with pytest.raises(InvalidValue, match="lease id"):
        lab.machines.acquire("../one", custom())
    assert not lab.base.exists()


def test_a_directory_in_memory_is_refused_where_it_takes_no_direct_io(lab, monkeypatch):
    memory = lab.base.parent / "memory"
    memory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "lab-test", str(memory)], check=True)
    monkeypatch.setenv("DISKBENCH_LAB_DIR", str(memory / "lab"))
    takes_direct_io = (*map(int, os.uname().release.split(".")[:2]),) >= (6, 6)
    refused = (
        contextlib.nullcontext()
        if takes_direct_io
        else pytest.raises(HostUnavailable, match="direct I/O")
    )
    try:
        with refused:
            assert ssh(lab.machines.acquire("one", custom()), "id -u") == "0\n"
        lab.machines.release("one")
        assert list(memory.iterdir()) == []
    finally:
        subprocess.run(["umount", str(memory)], check=True)


@pytest.mark.parametrize("parent", ["/dev/shm", "/tmp", "/root", "/run"])
def test_a_host_may_lie_where_it_hides_its_own_directory(lab, monkeypatch, parent):
    base = Path(parent) / lab.base.parent.name
    monkeypatch.setenv("DISKBENCH_LAB_DIR", str(base))
    try:
        assert ssh(lab.machines.acquire("one", LabRequest()), "ls /tmp /var/tmp")
    finally:
        lab.machines.release("one")
    assert not base.exists()


def test_without_root_or_linux_the_error_says_so(lab, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("sys.argv", ["/opt/own/bin/diskbench", "run", "--label", "of=two words"])
    with pytest.raises(HostUnavailable, match="needs root") as caught:
        lab.machines.check(custom())
    again = "sudo /opt/own/bin/diskbench run --label 'of=two words'"
    assert caught.value.advice == f"run it with sudo: {again}", "sudo has a PATH of its own"
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(HostUnavailable, match="needs Linux"):
        lab.machines.check(custom())
