"""Devices that belong to somebody: real loop devices, asked for by `diskbench run --device`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.drills.book import drill
from tests.rigs import signatures
from tests.rigs.cli import Cli

from diskbench.hosts.device import check_device
from diskbench.hosts.local import LocalHost

PROFILE = "[write]\nrw=write\nbs=64k\nsize=1m\n"
MIB = 2**20
READS = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page, begun = mmap.mmap(-1, 4096), False
while True:
    os.lseek(device, 0, os.SEEK_SET)
    os.readv(device, [page])
    if not begun:
        print("begun", flush=True)
    begun = True
"""
"""A process that reads a device past the page cache until it is killed."""


@dataclass(frozen=True)
class Disk:
    """A loop device and the file behind it."""

    path: str
    image: Path

    @property
    def digest(self) -> str:
        """What is on it."""
        with self.image.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def attached(image: Path, *flags: str) -> Iterator[Disk]:
    """The image as a loop device."""
    found = subprocess.run(
        ["losetup", "--find", "--show", *flags, str(image)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    path = found.stdout.strip()
    try:
        yield Disk(path, image)
    finally:
        subprocess.run(["losetup", "-d", path], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    made = tmp_path / "disk.img"
    with made.open("wb") as file:
        file.truncate(72 * MIB)  # libblkid looks for ZFS from 64 MiB on
    return made


@pytest.fixture
def measure(user: Cli) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a profile that writes on a device, under the identity that is typed: it is refused."""

    def run(device: str, typed: str, *more: str) -> subprocess.CompletedProcess[str]:
        profile = user.home / "write.fio"
        profile.write_text(PROFILE)
        named = ("--device", device, "--destroy-data", typed)
        return user.call_refused("run", *named, "--profile", str(profile), *more)

    return run


def refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """It was said why, as something that the user can mend."""
    said = " ".join(done.stderr.split())
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in said
    assert all(word in said for word in words), said


OWNERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a DOS partition table": (signatures.write_mbr, "has a partition table (dos)"),
    "a GUID partition table": (signatures.write_gpt, "has a partition table (gpt)"),
    "an LVM volume": (signatures.write_lvm, "belongs to LVM"),
    "a member of a software RAID": (signatures.write_md, "belongs to a software RAID"),
    "a ZFS pool": (signatures.write_zfs, "belongs to a ZFS pool"),
    "a bcache device": (signatures.write_bcache, "belongs to bcache"),
    "a LUKS volume": (signatures.write_luks, "is encrypted (LUKS)"),
    "a pool, a table and a volume at once": (
        lambda image: [write(image) for write in (signatures.write_zfs, signatures.write_mbr)][-1],
        "has a partition table",
    ),
}


@drill(
    done="a device with the signature of another owner is to be measured, its identity typed "
    "correctly",
    holds="exit 2 with the owner's name, and not a byte of the device changed",
)
@pytest.mark.parametrize("owner", OWNERS)
def test_a_device_that_belongs_to_another_owner_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path, owner: str
) -> None:
    write, words = OWNERS[owner]
    write(image)
    with attached(image) as disk:
        before = disk.digest
        refused(measure(disk.path, str(image)), words)
    assert disk.digest == before


COPIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "btrfs at 64 MiB": (signatures.write_btrfs_copy, "copy of a superblock of btrfs at 64 MiB"),
    "btrfs at 256 GiB": (
        lambda image: signatures.write_btrfs_copy(image, 2**38),
        "copy of a superblock of btrfs at 256 GiB",
    ),
    "f2fs": (signatures.write_f2fs_copy, "copy of a superblock of f2fs"),
    "a GUID partition table": (signatures.write_gpt_copy, "has a partition table (gpt)"),
    "MD 0.90": (signatures.write_old_md, "belongs to a software RAID"),
    "MD 1.0": (signatures.write_md_at_end, "belongs to a software RAID"),
    "LUKS2": (signatures.write_second_luks, "is encrypted (LUKS)"),
} | {
    f"ZFS's label {n}": (
        lambda image, n=n: signatures.write_zfs_label(image, n),
        "belongs to a ZFS pool",
    )
    for n in range(4)
}


@drill(
    done="a device of 300 GiB is to be measured whose beginning is empty, and that has one copy of "
    "a superblock, label or table somewhere else",
    holds="exit 2 with the owner's name, and nothing was written",
)
@pytest.mark.parametrize("owner", COPIES)
def test_a_device_with_a_copy_of_its_owners_mark_alone_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path, owner: str
) -> None:
    write, words = COPIES[owner]
    os.truncate(image, 300 * 2**30)
    write(image)
    taken = image.stat().st_blocks
    with attached(image) as disk:
        refused(measure(disk.path, str(image)), words)
    assert image.stat().st_blocks == taken


@drill(
    done="a device is checked that is fresh, that was wiped, or that has a btrfs copy at "
    "an offset that btrfs does not use",
    holds="nothing refuses it",
)
@pytest.mark.parametrize("kind", ["fresh", "wiped ext4", "wiped xfs", "a copy moved elsewhere"])
def test_a_device_without_an_owner_is_not_refused(image: Path, kind: str) -> None:
    os.truncate(image, 512 * MIB)
    if kind == "a copy moved elsewhere":  # as in a dump of another disk that was written here
        signatures.write_btrfs_copy(image, 32 * MIB)
        with image.open("r+b") as file:
            file.seek(32 * MIB)
            block = file.read(4096)
            file.seek(64 * MIB)
            file.write(block)
    with attached(image) as disk:
        if kind.startswith("wiped"):
            make = {"wiped ext4": ["mkfs.ext4", "-q"], "wiped xfs": ["mkfs.xfs", "-q"]}[kind]
            subprocess.run([*make, disk.path], check=True, capture_output=True)
            subprocess.run(["wipefs", "-q", "-a", disk.path], check=True)
        assert check_device(LocalHost(), disk.path, str(image)).path == disk.path


OWN_PIDS = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
IN_A_CONTAINER = """
import logging, sys
from diskbench.errors import TargetRefused
from diskbench.hosts.device import check_device
from diskbench.hosts.local import LocalHost
logging.basicConfig(format="%(message)s")
try:
    print("allowed", check_device(LocalHost(), *sys.argv[1:]).path)
except TargetRefused as error:
    print(error.message)
"""


@drill(
    done="in a PID namespace of its own, diskbench looks at a device that a process outside holds "
    "exclusively, reads all the time, or has open without a sign",
    holds="the first two are refused; of the third it says that it cannot see it",
)
@pytest.mark.parametrize(
    ("holder", "words"),
    [
        ("import os, sys, time; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)", "exclusive use"),
        ("import os, sys, time; os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)", "exclusive use"),
        (READS, "is read or written by a process that cannot be seen"),
        ("import os, sys, time; os.open(sys.argv[1], os.O_RDONLY)", "cannot be seen"),
    ],
    ids=["exclusively", "exclusively to write", "reads", "idle"],
)
def test_a_device_that_is_held_outside_the_pid_namespace_is_not_taken_for_free(
    image: Path, holder: str, words: str
) -> None:
    with attached(image) as disk:
        begun = f"{holder}\nprint('begun', flush=True)\n" if holder is not READS else holder
        process = subprocess.Popen(
            [sys.executable, "-c", f"{begun}\nsys.stdin.read()", disk.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            process.stdout.readline()
            done = subprocess.run(
                [*OWN_PIDS, sys.executable, "-c", IN_A_CONTAINER, disk.path, str(image)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
        finally:
            process.kill()
            process.communicate()
    assert words in done.stdout + done.stderr
    assert ("allowed" in done.stdout) == (words == "cannot be seen")


@drill(
    done="a device with a filesystem or swap space is to be measured",
    holds="exit 2 with the signature, and not a byte changed, also when --filesystem asks for mkfs",
)
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (("mkfs.ext4", "-q"), "ext4"),
        (("mkfs.xfs", "-q"), "xfs"),
        (("mkfs.ext4", "-q", "-b", "1024", "-O", "^has_journal"), "ext"),
        (("mkswap",), "swap"),
    ],
    ids=["ext4", "xfs", "ext2", "swap"],
)
def test_a_device_with_a_filesystem_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]],
    image: Path,
    make: tuple[str, ...],
    words: str,
) -> None:
    if words == "xfs":
        os.truncate(image, 320 * MIB)  # mkfs.xfs makes none below 300 MiB
    with attached(image) as disk:
        subprocess.run([*make, disk.path], check=True, capture_output=True)
        subprocess.run(["blockdev", "--flushbufs", disk.path], check=True)
        before = disk.digest
        refused(measure(disk.path, str(image)), words)
        refused(measure(disk.path, str(image), "--filesystem", "ext4"), words)
    assert disk.digest == before


@drill(
    done="a device that is mounted is to be measured",
    holds="exit 2 with the mount point; the filesystem stays mounted and its files are unchanged",
)
def test_a_mounted_device_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path, tmp_path: Path
) -> None:
    at = tmp_path / "mounted here"
    at.mkdir()
    with attached(image) as disk:
        subprocess.run(["mkfs.ext4", "-q", disk.path], check=True)
        subprocess.run(["mount", disk.path, str(at)], check=True)
        try:
            (at / "kept").write_text("kept")
            refused(measure(disk.path, str(image)), f"is mounted on {at}")
            assert (at / "kept").read_text() == "kept"
            assert str(at).replace(" ", "\\040") in Path("/proc/self/mounts").read_text()
        finally:
            subprocess.run(["umount", str(at)], check=True)


@drill(
    done="a device in use as swap is to be measured",
    holds="exit 2, and it is still swap",
)
def test_a_device_in_use_as_swap_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path
) -> None:
    with attached(image) as disk:
        subprocess.run(["mkswap", disk.path], check=True, capture_output=True)
        subprocess.run(["swapon", disk.path], check=True)
        try:
            refused(measure(disk.path, str(image)), "is in use as swap")
            assert disk.path in Path("/proc/swaps").read_text()
        finally:
            subprocess.run(["swapoff", disk.path], check=True)


@drill(
    done="a device that another process holds open, exclusively or only for reading, is to be "
    "measured",
    holds="exit 2 with the number of the process, and not a byte changed",
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDONLY | os.O_EXCL, os.O_RDWR | os.O_EXCL])
def test_a_device_that_is_open_elsewhere_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path, flags: int
) -> None:
    with attached(image) as disk:
        held = os.open(disk.path, flags)
        try:
            holder = subprocess.Popen(["sleep", "infinity"], pass_fds=[held])
        finally:
            os.close(held)
        try:
            done = measure(disk.path, str(image))
            refused(done, f"is held open by process {holder.pid} ")
        finally:
            holder.kill()
            holder.wait()
    assert image.stat().st_blocks == 0


@drill(
    done="a device below another loop device is to be measured",
    holds="exit 2 with the name of the upper device, and not a byte changed",
)
def test_a_device_under_another_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path
) -> None:
    with attached(image) as disk, attached(Path(disk.path)) as upper:
        refused(measure(disk.path, str(image)), "is the backing device of", upper.path)
    assert image.stat().st_blocks == 0


@drill(
    done="the identity that is typed is empty, the path of the device, a part of the identity, or "
    "that of another device",
    holds="exit 2 with the identity that the device has, and not a byte changed",
)
@pytest.mark.parametrize("typed", ["", " ", "{path}", "{name}", "{half}", "{other}", "yes", "*"])
def test_an_identity_that_is_not_the_devices_own_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]],
    image: Path,
    tmp_path: Path,
    typed: str,
) -> None:
    second = tmp_path / "other.img"
    second.write_bytes(bytes(32 * MIB))
    with attached(image) as disk, attached(second) as other:
        words = {"path": disk.path, "name": image.name, "half": str(image)[:-2], "other": second}
        done = measure(disk.path, typed.format(**words))
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert image.stat().st_blocks == 0
        assert other.digest == hashlib.sha256(bytes(32 * MIB)).hexdigest()


@drill(
    done="a device that is read-only, of size 0, smaller than --size, no block device, or the "
    "disk this system runs from is to be measured",
    holds="exit 2 with the reason, and nothing changed",
)
@pytest.mark.parametrize(
    "kind", ["read-only", "size 0", "too small", "a character device", "a file", "the root disk"]
)
def test_a_device_unfit_to_measure_is_refused(
    measure: Callable[..., subprocess.CompletedProcess[str]],
    image: Path,
    tmp_path: Path,
    kind: str,
) -> None:
    if kind == "read-only":
        with attached(image, "-r") as disk:
            refused(measure(disk.path, str(image)), "is read-only")
    elif kind == "size 0":
        empty = tmp_path / "empty.img"
        empty.touch()
        with attached(empty) as disk:
            refused(measure(disk.path, str(empty)), "has size 0")
    elif kind == "too small":
        with attached(image) as disk:
            refused(measure(disk.path, str(image), "--size", "1"), "less than the 1 GiB asked")
    elif kind == "the root disk":
        refused(measure(root_disk(), "x"), "is the disk this system runs from")
    else:
        path = "/dev/null" if kind == "a character device" else str(image)
        refused(measure(path, str(image)), "is not a block device")
    assert image.stat().st_blocks == 0


@drill(
    done="the path of a device is a symbolic link to another user's mounted disk",
    holds="exit 2: the check is about the link's target, not its name",
)
def test_a_link_to_a_device_is_judged_by_where_it_leads(
    measure: Callable[..., subprocess.CompletedProcess[str]], image: Path, tmp_path: Path
) -> None:
    link = tmp_path / "by-id"
    signatures.write_lvm(image)
    with attached(image) as disk:
        link.symlink_to(disk.path)
        before = disk.digest
        refused(measure(str(link), str(image)), "belongs to LVM")
        assert disk.digest == before


@drill(
    done="blkid and wipefs are missing on the machine, so that signatures cannot be read",
    holds="exit 2: a check that is not possible refuses the device",
)
def test_a_device_that_cannot_be_examined_is_refused(
    user: Cli,
    measure: Callable[..., subprocess.CompletedProcess[str]],
    image: Path,
    tmp_path: Path,
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for tool in Path(folder).iterdir():
            if tool.name not in {"blkid", "wipefs"} and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    user.extra_env["PATH"] = str(tools)
    with attached(image) as disk:
        refused(measure(disk.path, str(image)), "could not be examined")
    assert image.stat().st_blocks == 0


def root_disk() -> str:
    """The block device that holds the root filesystem."""
    from diskbench.hosts.device import inspect
    from diskbench.hosts.local import LocalHost

    states = inspect(LocalHost(), None).devices
    return next(one.disk.path for one in states if one.system and one.partition_of is None)
