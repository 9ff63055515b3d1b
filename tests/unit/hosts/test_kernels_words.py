"""What agent.py reads of a kernel: disks that this machine has not, in a /sys of the test."""

import ast
import re
import sys
from pathlib import Path

import pytest
from tests.rigs.windows import program

from diskbench.hosts import agent
from diskbench.hosts.collect import collect
from diskbench.hosts.device import list_devices
from diskbench.hosts.facts import gather_and_look, layer_words
from diskbench.hosts.jobs import start_and_watch
from diskbench.hosts.local import LocalHost


@pytest.fixture
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disk 8:16 named sdb with a partition 8:17, and a volume 253:0 of device mapper on that."""
    files = {
        "sdb/dev": "8:16", "sdb/size": "4096", "sdb/uevent": "MAJOR=8\nDEVNAME=sdb",
        "sdb/sdb1/dev": "8:17", "sdb/sdb1/partition": "1", "dm-0/dev": "253:0",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / "devices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    (tmp_path / "devices/dm-0/slaves").mkdir()
    (tmp_path / "devices/dm-0/slaves/sdb1").symlink_to(tmp_path / "devices/sdb/sdb1")
    (tmp_path / "devices/sdb/sdb1/holders/dm-0").mkdir(parents=True)
    (tmp_path / "dev/block").mkdir(parents=True)
    for number, name in (("8:16", "sdb"), ("8:17", "sdb/sdb1"), ("253:0", "dm-0")):
        (tmp_path / "dev/block" / number).symlink_to(tmp_path / "devices" / name)
    monkeypatch.setattr(agent, "SYS", str(tmp_path))
    monkeypatch.setattr(agent, "RUN", str(tmp_path / "run"))
    return tmp_path


@pytest.mark.usefixtures("sysfs")
def test_a_volume_lies_on_the_disk_of_its_partition():
    assert list(agent.below("253:0")) == ["253:0", "8:17", "8:16"]
    assert agent.physical("253:0") == {"8:16"}
    assert agent.holders("8:17") == ["dm-0"]
    assert agent.partitions_of("8:16") == [("8:17", "sdb1")]


def test_a_disk_answers_to_what_it_says_itself_and_to_what_udev_wrote_down(sysfs):
    device = sysfs / "devices/sdb/device"
    device.mkdir()
    device.joinpath("vpd_pg80").write_bytes(b"\x00\x80\x00\x14  VMware   serial\x00\x00 ")
    device.joinpath("wwid").write_text("naa.6000c29\n")
    device.joinpath("nodename").write_text("device/vbd/51728\n")
    (sysfs / "run/udev/data").mkdir(parents=True)
    (sysfs / "run/udev/data/b8:16").write_text("S:disk\nE:ID_SERIAL=36000c29\nE:ID_WWN=0x6000c29\n")
    assert agent.identities("8:16") == [
        "naa.6000c29", "VMware serial", "device/vbd/51728", "36000c29", "0x6000c29",
    ]  # fmt: skip


def test_a_disk_with_something_on_it_or_an_unreadable_name_is_not_written_to(sysfs, monkeypatch):
    allowed = {"path": "/dev/sdb", "number": "8:16", "identity": "x", "size": 4096 * 512}
    with pytest.raises(agent.Failed, match=r"^/dev/sdb is held by dm-0$"):
        agent.Disk(allowed).check_taken()
    monkeypatch.setattr(agent, "PROC", str(sysfs / "proc"))
    mounts = "36 35 0:45 / /a\\040b rw - btrfs /dev/sdb1 rw\n"
    (sysfs / "proc/1").mkdir(parents=True)
    (sysfs / "proc/1/mountinfo").write_text(mounts)
    with pytest.raises(agent.Failed, match=r"^/dev/sdb is mounted on /a b$"):
        agent.Disk(allowed).check_taken()
    (sysfs / "devices/sdb/uevent").unlink()
    with pytest.raises(agent.Failed, match="has no name that can be read"):
        agent.Disk(allowed).check_taken()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"dm/uuid": "LVM-8sXk", "dm/name": "vg-data"}, "LVM volume vg-data"),
        ({"dm/uuid": "CRYPT-LUKS2-0f2e-data", "dm/name": "data"}, "dm-crypt data"),
        ({"md/level": "raid1"}, "RAID 1 dm-0"),
        ({"dm/uuid": "THING-1", "dm/name": "x"}, "THING x"),
        ({}, "dm-0"),
    ],
)
def test_a_layer_below_a_filesystem_is_named_by_what_makes_it(sysfs, files, words):
    (sysfs / "devices/dm-0/uevent").write_text("DEVNAME=dm-0\n")
    for name, text in files.items():
        path = sysfs / "devices/dm-0" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n")
    assert layer_words(agent.layer("253:0")) == words


def test_a_directory_lies_on_the_longest_mount_where_its_descriptor_names_none(sysfs, monkeypatch):
    monkeypatch.setattr(agent, "PROC", str(sysfs / "proc"))
    (sysfs / "proc/self").mkdir(parents=True)
    (sysfs / "proc/self/mountinfo").write_text(
        "1 0 8:17 / / rw shared:1 - ext4 /dev/sdb1 rw,discard\n2 1 0:50 / /ab rw - nfs4 h:/ rw\n"
    )
    on = agent.mount_of("/a/b")
    assert (on.point, on.number, on.options) == ("/", "8:17", "rw,discard")
    assert agent.points_of("8:16", agent.mounts()) == ["/"], "it is its partition that is mounted"


# Hosts are older than we are: agent.py runs under each Python from 3.6 on, as it is.


HERE = LocalHost()


def test_its_grammar_is_that_of_the_oldest():
    ast.parse(Path(agent.__file__).read_text(), feature_version=(3, 6))


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.13"])
def test_a_step_is_measured_with_it(version, python_of, make_unit, target, tmp_path, monkeypatch):
    found = python_of(version)
    said = tmp_path / "said"
    program(tmp_path / "python", f'{found} -V >>{said} 2>&1\nexec {found} -W error "$@"')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    unit = make_unit(1.2, canary_before=True)
    facts, looked = gather_and_look(HERE, target.path, device=False, look=True)
    assert facts.fio_version
    assert looked[-1].startswith("free ")
    assert list_devices(HERE)
    assert start_and_watch(HERE, unit, lambda _: None, lambda: False).fio_exit == 0
    assert Path(unit.directory, "unit.err").read_text() == ""
    names = {path.name for path in collect(HERE, unit, tmp_path / "got")}
    assert {"fio.json", "samples.txt", "lock.txt", "end.txt"} <= names
    ran = {re.match(r"Python (\d+\.\d+)", line)[1] for line in said.read_text().splitlines()}
    assert ran == {version}
