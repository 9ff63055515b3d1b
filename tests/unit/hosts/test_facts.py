"""The facts of a machine, from real and from garbled answers."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rigs.fake_host import FakeHost
from tests.rigs.loops import between
from tests.rigs.windows import first_on_path, program

from diskbench.errors import HostUnavailable
from diskbench.hosts import facts as facts_of
from diskbench.hosts.agent import Mount
from diskbench.hosts.calls import heard
from diskbench.hosts.disks import is_network, transport
from diskbench.hosts.facts import cloud_vendor, gather, parse_facts, sections
from diskbench.hosts.local import LocalHost
from diskbench.hosts.shell import whole

CASES = Path(__file__).parents[2] / "cases" / "hosts"


def test_this_machine_says_what_it_is(tmp_path):
    facts = gather(LocalHost(), str(tmp_path), device=False)
    assert facts.cpu.count == int(subprocess.check_output(["nproc", "--all"]))
    assert facts.cpu.model
    assert facts.memory_bytes > facts.memory_available_bytes > 2**20
    assert facts.kernel == subprocess.check_output(["uname", "-r"], text=True).strip()
    assert facts.fio_version == subprocess.check_output(["fio", "--version"], text=True).strip()
    assert {"libaio", "psync", "null"} <= set(facts.fio_engines)
    assert facts.is_root
    assert facts.can_sudo
    assert facts.extra["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(facts.clock_offset_s) < 1
    found = subprocess.check_output(["findmnt", "-n", "-o", "TARGET,FSTYPE", "--target", tmp_path])
    assert (facts.mount.mount_point, facts.mount.fstype) == tuple(found.decode().split())
    assert 0 < facts.mount.available_bytes <= facts.mount.size_bytes


@pytest.mark.slow
def test_a_loop_device_and_a_directory_on_it_have_the_same_disk(make_loop, tmp_path):
    device, image = make_loop()
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    at = tmp_path / "at"
    at.mkdir()
    with between(["mount", "-o", "noatime", device, str(at)], ["umount", str(at)]):
        by_device = gather(LocalHost(), device, device=True)
        by_path = gather(LocalHost(), str(at / "still" / "to be made"), device=False)
    assert by_device.disk == by_path.disk
    assert (by_device.disk.path, by_device.disk.transport) == (device, "loop")
    assert by_device.disk.size_bytes == 32 * 2**20
    assert by_device.disk.backing_file == str(image)
    assert by_device.disk.backing_inode == image.stat().st_ino
    assert by_path.mount.fstype == "ext4"
    assert "noatime" in by_path.mount.options


def test_facts_come_in_one_round_trip_or_none_of_a_disk_that_is_not_there():
    facts = gather(LocalHost(), "/proc", device=False)
    assert facts.disk is None
    assert facts.mount.fstype == "proc"
    assert gather(LocalHost(), "/dev/nothing", device=True).disk is None

    class Windows(FakeHost):
        def run(self, script, **options):  # noqa: ARG002 - the port's signature
            return super().run("echo \"'sh' is not recognized\" >&2; exit 1")

    with pytest.raises(HostUnavailable, match="is not recognized"):
        gather(Windows(), "/", device=False)
    host = FakeHost()
    gather(host, "/", device=False)
    assert len(host.calls) == 1


@pytest.mark.slow
def test_fio_is_asked_again_only_after_a_change_or_ten_minutes(monkeypatch, tmp_path):
    monkeypatch.setattr(facts_of, "_FIOS", {})
    monkeypatch.setenv("PATH", first_on_path(tmp_path))
    fio, starts = tmp_path / "fio", tmp_path / "starts"

    def asked(version=None):
        if version is not None:
            new = tmp_path / "new"  # as a package manager replaces it: by another file
            told = f'[ "$1" = --version ] && {{ echo a wrapper; echo {version}; }}'
            engines = '[ "$1" = --enghelp ] && printf "Available IO engines:\\n\\tnull\\n"'
            program(new, f"echo >>{starts}\n{told}\n{engines}")
            new.rename(fio)
        starts.write_text("")
        facts = gather(LocalHost(), "/", device=False)
        return facts.fio_version, facts.fio_engines, len(starts.read_text())

    assert asked("fio-3.41") == ("fio-3.41", ("null",), 2)
    assert asked() == ("fio-3.41", ("null",), 0)
    assert asked("fio-3.42") == ("fio-3.42", ("null",), 2)
    monkeypatch.setattr(facts_of, "KNOWN_FIO_S", 0.0)
    assert asked() == ("fio-3.42", ("null",), 2)


def parsed(answer: bytes):
    return parse_facts(sections(heard(answer.split(b"\n"))))


def case(name):
    return parsed((CASES / f"{name}.jsonl").read_bytes())


def test_an_ec2_nitro_guest():
    facts = case("ec2_nitro")
    assert (facts.cloud.vendor, facts.cloud.instance_type) == ("aws", "m6i.large")
    assert (facts.cloud.zone, facts.cloud.instance_id) == ("eu-central-1a", "i-0123456789abcdef0")
    assert not facts.cloud.verified
    assert facts.virtualisation == "amazon"
    disk = facts.disk
    assert (disk.name, disk.transport, disk.driver) == ("nvme1n1", "nvme", "nvme")
    assert (disk.model, disk.serial) == ("Amazon Elastic Block Store", "vol0123456789abcdef0")
    assert (disk.scheduler, disk.size_bytes) == ("none", 20 * 2**30)
    assert disk.rotational is False
    assert facts.mount.mount_point == "/mnt/my disk"
    assert facts.mount.available_bytes == 4096 * 4_900_000
    assert not facts.network_filesystem
    assert not facts.is_root
    assert facts.can_sudo


def test_an_azure_guest_on_nfs_with_busybox():
    facts = case("azure_nfs")
    assert (facts.cloud.vendor, facts.cloud.product) == ("azure", "Virtual Machine")
    assert facts.virtualisation == "unknown hypervisor"
    assert facts.network_filesystem
    assert facts.disk is None
    assert facts.fio_version is None
    assert facts.cpu.model == "Neoverse-N1"
    assert not facts.can_sudo


SECTIONS = (
    "id uname os cpuinfo online meminfo loadavg virt hypervisor dmi cloudinit fio engines "
    "mount statfs directory disk clock end sudo systemd through cgroup tools"
)
WORDS = st.sampled_from(tuple(SECTIONS.split()))


@given(st.lists(st.tuples(WORDS, st.text(max_size=60)), max_size=30))
def test_no_section_makes_the_parser_fail(parts):
    parse_facts(sections(map(list, parts)), sent_unix_s=1.0, received_unix_s=2.0)


@given(st.data())
def test_a_real_answer_that_was_cut_or_garbled_does_not_make_the_parser_fail(data):
    answer = (CASES / "ec2_nitro.jsonl").read_bytes()
    at = data.draw(st.integers(0, len(answer)))
    garbage = data.draw(
        st.binary(max_size=20) | st.sampled_from([b"[" * 99999, b'\n[1]\n["id"]\n'])
    )
    parsed(answer[:at])
    parsed(answer[:at] + garbage + answer[at:])


@pytest.mark.parametrize(
    ("begin", "end", "sent", "received", "offset"),
    [(100.0, 100.1, 100.0, 100.1, 0.0), (105.05, 105.05, 100.0, 100.1, 5.0)],
)
def test_the_clock_offset_is_reckoned_as_ntp_does(begin, end, sent, received, offset):
    said = {"clock": [str(begin)], "end": [str(end)]}
    facts = parse_facts(said, sent_unix_s=sent, received_unix_s=received)
    assert facts.clock_offset_s == pytest.approx(offset)


def test_whole_seconds_and_counts_are_read_and_mount_points_with_blanks_unescaped():
    said = {"clock": ["100"], "end": ["100"]}
    facts = parse_facts(said, sent_unix_s=99.5, received_unix_s=100.5)
    assert facts.clock_offset_s == 0.0
    mount = Mount(r"1 2 8:1 / /a\040b\011c rw - ext4 /dev/sd\134a rw")
    assert (mount.point, mount.source) == ("/a b\tc", "/dev/sd\\a")
    assert whole("0") == 0
    assert whole(str(2**63 - 1)) == 2**63 - 1
    assert whole("9", most=8) is None


NETWORK = (
    "nfs nfs4 cifs smb3 ceph 9p glusterfs fuse.glusterfs lustre virtiofs fuse.sshfs fuse.s3fs "
    "fuse.ceph-fuse"
)
LOCAL = "ext4 xfs btrfs tmpfs overlay fuse.ntfs-3g zfs"


@pytest.mark.parametrize(("of_network", "fstypes"), [(True, NETWORK), (False, LOCAL)])
def test_network_filesystems(of_network, fstypes):
    for fstype in fstypes.split():
        assert is_network(fstype) is of_network, fstype


@pytest.mark.parametrize(
    ("name", "sysfs", "expected"),
    [
        ("vda", "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "virtio"),
        ("nvme0n1", "/sys/devices/pci/nvme/nvme0/nvme0n1", "nvme"),
        ("xvdf", "/sys/devices/vbd-51792/block/xvdf", "xen"),
        ("sda", "/sys/devices/pci/virtio3/host0/target0:0:1/0:0:1:0/block/sda", "virtio-scsi"),
        ("sda", "/sys/devices/LNXSYSTM:00/VMBUS:00/x/host0/target0:0:0/block/sda", "hyperv"),
        ("sda", "/sys/devices/pci0000:00/ata1/host0/target0:0:0/block/sda", "ata"),
        ("sdb", "/sys/devices/platform/host7/session1/target7:0:0/block/sdb", "iscsi"),
        ("sdb", "/sys/devices/pci/usb1/1-1/host6/block/sdb", "usb"),
        ("dm-0", "/sys/devices/virtual/block/dm-0", "stacked"),
        ("strange", "/sys/devices/x", None),
    ],
)
def test_transports(name, sysfs, expected):
    assert transport(name, sysfs, None) == expected


@pytest.mark.parametrize(
    ("dmi", "vendor"),
    [
        ({"sys_vendor": "Amazon EC2"}, "aws"),
        ({"sys_vendor": "Xen", "product_version": "4.11.amazon"}, "aws"),
        ({"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "gcp"),
        ({"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"}, "azure"),
        ({"sys_vendor": "VMware, Inc."}, "vsphere"),
        ({"sys_vendor": "QEMU"}, None),
    ],
)
def test_clouds_by_their_firmware(dmi, vendor):
    assert cloud_vendor(dmi) == vendor


@pytest.mark.parametrize("text", ["", "-1", "1e3", "٣", "9" * 20, "9" * 5000, "inf", str(2**63)])
def test_what_is_no_count_of_a_host_is_none(text):
    assert whole(text) is None


@pytest.mark.parametrize("number", ["9" * 5000, str(2**62), "-5", "nan"])
def test_facts_that_no_machine_has_are_not_known(number):
    facts = parse_facts({"online": [number], "meminfo": [f"MemTotal: {number} kB"]})
    assert (facts.memory_bytes, facts.cpu.count) == (0, 1)
