"""Devices that belong to somebody: real loop devices, asked for by `diskbench run --device`.

What the refusal says in each case, and when nothing refuses: tests/unit/hosts/test_device.py."""

import errno
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import pytest
from tests.rigs import signatures
from tests.rigs.disk_states import backing, exclusive, mounted, swap
from tests.rigs.loops import MIB, Loop, attached, empty_image
from tests.rigs.windows import path_without

from diskbench.hosts.device import check_device, inspect
from diskbench.hosts.local import LocalHost

PROFILE = "[write]\nrw=write\nbs=64k\nsize=1m\n"
BLOCK = 4096
State = Callable[[Loop], AbstractContextManager[object]]
"""Makes a loop device somebody's, for as long as it lasts."""


@pytest.fixture
def image(tmp_path):
    return empty_image(tmp_path / "disk.img", 320)  # mkfs.xfs makes none below 300 MiB


@pytest.fixture
def refused(user):
    """`diskbench run` on a device with the identity that is typed is refused with these words."""

    def run(words, device, typed, *more):
        named = ("--device", device, "--destroy-data", str(typed))
        done = user.refused("run", *named, "--profile", user.job(PROFILE), *more)
        assert words in " ".join(done.stderr.split())

    return run


def digest(image):
    """Of the blocks that are not zero: nearly all of the image is a hole."""
    found, end = hashlib.sha256(), 0
    with image.open("rb", buffering=0) as file:
        while True:
            try:
                begin = file.seek(end, os.SEEK_DATA)
            except OSError as error:
                assert error.errno == errno.ENXIO, "no data is left"  # noqa: PT017
                return found.hexdigest()
            end = file.seek(begin, os.SEEK_HOLE)
            for at in range(begin, end, BLOCK):
                if (block := os.pread(file.fileno(), BLOCK, at)).strip(b"\0"):
                    found.update(f"{at} ".encode() + block)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def written(*writers, by=("true",)):
    """By functions, and by a program of its owner's."""

    def made(disk):
        for write in writers:
            write(disk.image)
        run(*by, disk.path)
        run("blockdev", "--flushbufs", disk.path)
        return nullcontext()

    return made


def formatted(*words):
    return written(by=words)


def other_node(disk):
    """Another name of the disk, as a container has one."""
    node = disk.image.with_name("node")
    node.unlink(missing_ok=True)
    os.mknod(node, stat.S_IFBLK | 0o600, Path(disk.path).stat().st_rdev)
    return node


OWNERS = {
    "a DOS partition table": (signatures.write_mbr, "has a partition table (dos)"),
    "a GUID partition table": (signatures.write_gpt, "has a partition table (gpt)"),
    "an LVM volume": (signatures.write_lvm, "belongs to LVM"),
    "a member of a software RAID": (signatures.write_md, "belongs to a software RAID"),
    "a ZFS pool": (signatures.write_zfs, "belongs to a ZFS pool"),
    "a bcache device": (signatures.write_bcache, "belongs to bcache"),
    "a LUKS volume": (signatures.write_luks, "is encrypted (LUKS)"),
}
HELD = "is held open by process"
STATES = {
    **{name: (written(write), words) for name, (write, words) in OWNERS.items()},
    "a pool, a table and a volume at once": (
        written(signatures.write_zfs, signatures.write_mbr),
        "has a partition table",
    ),
    "ext4": (formatted("mkfs.ext4", "-q"), "ext4"),
    "xfs": (formatted("mkfs.xfs", "-q"), "xfs"),
    "ext2": (formatted("mkfs.ext4", "-q", "-b", "1024", "-O", "^has_journal"), "ext"),
    "swap space": (formatted("mkswap"), "swap"),
    "mounted": (lambda d: mounted(d.path, d.image.parent / "mounted here"), "is mounted on"),
    "swap in use": (lambda d: swap(d.path), "is in use as swap"),
    "open to read": (lambda d: exclusive(d.path, os.O_RDONLY), HELD),
    "open exclusively": (lambda d: exclusive(d.path), HELD),
    "open to write": (lambda d: exclusive(d.path, os.O_RDWR | os.O_EXCL), HELD),
    "open by another node": (lambda d: exclusive(other_node(d), os.O_RDONLY), HELD),
    "below another device": (lambda d: backing(d.path), "is the backing device of"),
    "below it by another node": (lambda d: backing(other_node(d)), "is the backing device of"),
}


@pytest.mark.parametrize("state", STATES)
def test_a_device_that_belongs_to_somebody_is_refused(refused, image, state):
    """Its identity is typed correctly, also by a link: not a byte changed, and it stays in use."""
    make, words = STATES[state]
    with attached(image) as disk, make(disk):
        link = image.with_name("by-id")
        link.symlink_to(disk.path)
        before = digest(image)
        refused(words, disk.path, image)
        refused(words, str(link), image, "--filesystem", "ext4")
        assert digest(image) == before


COPIES = {
    "btrfs at 64 MiB": (signatures.write_btrfs_copy, "copy of a superblock of btrfs at 64 MiB"),
    "btrfs at 256 GiB": (
        partial(signatures.write_btrfs_copy, at=2**38),
        "copy of a superblock of btrfs at 256 GiB",
    ),
    "f2fs": (signatures.write_f2fs_copy, "copy of a superblock of f2fs"),
    "a GUID partition table": (signatures.write_gpt_copy, "has a partition table (gpt)"),
    "MD 0.90": (signatures.write_old_md, "belongs to a software RAID"),
    "MD 1.0": (signatures.write_md_at_end, "belongs to a software RAID"),
    "LUKS2": (signatures.write_second_luks, "is encrypted (LUKS)"),
}
for n in range(4):
    write = partial(signatures.write_zfs_label, label=n)
    COPIES[f"ZFS's label {n}"] = write, "belongs to a ZFS pool"


@pytest.mark.parametrize("owner", COPIES)
def test_a_device_with_a_copy_of_its_owners_mark_alone_is_refused(refused, image, owner):
    """300 GiB begin empty, and have one copy of a superblock, label or table somewhere else."""
    write, words = COPIES[owner]
    os.truncate(image, 300 * 2**30)
    write(image)
    taken = image.stat().st_blocks
    with attached(image) as disk:
        refused(words, disk.path, image)
    assert image.stat().st_blocks == taken


@pytest.mark.parametrize("kind", ["fresh", "wiped ext4", "wiped xfs", "a copy moved elsewhere"])
def test_a_device_without_an_owner_is_not_refused(image, kind):
    """It is fresh, was wiped, or has a btrfs copy at an offset that btrfs does not use."""
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
            run(f"mkfs.{kind.split()[1]}", "-q", disk.path)
            run("wipefs", "-q", "-a", disk.path)
        assert check_device(LocalHost(), disk.path, str(image)).path == disk.path


OPENS = "import os, sys; os.open(sys.argv[1], {flags}); print('begun', flush=True)"
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


@pytest.mark.parametrize(
    ("holder", "words"),
    [
        (OPENS.format(flags="os.O_RDONLY | os.O_EXCL"), "exclusive use"),
        (OPENS.format(flags="os.O_RDWR | os.O_EXCL"), "exclusive use"),
        (READS, "is read or written by a process that cannot be seen"),
        (OPENS.format(flags="os.O_RDONLY"), "sees only the processes of its PID namespace"),
    ],
    ids=["exclusively", "exclusively to write", "reads", "idle"],
)
def test_a_device_that_is_held_outside_the_pid_namespace_is_not_taken_for_free(
    image, holder, words
):
    """A process that diskbench cannot see holds it exclusively, reads it, or has it open idly."""
    with attached(image) as disk:
        process = subprocess.Popen(
            [sys.executable, "-c", f"{holder}\nsys.stdin.read()", disk.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
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
    assert ("allowed" in done.stdout) == words.startswith("sees only")


@pytest.mark.parametrize("typed", ["", " ", "{path}", "{name}", "{half}", "{other}", "yes", "*"])
def test_an_identity_that_is_not_the_devices_own_is_refused(refused, image, tmp_path, typed):
    """What is typed is empty, the path, a part of the identity, or another device's."""
    other = empty_image(tmp_path / "other.img")
    with attached(image) as disk, attached(other):
        words = {"path": disk.path, "name": image.name, "half": str(image)[:-2], "other": other}
        refused("", disk.path, typed.format(**words))
    assert image.stat().st_blocks == other.stat().st_blocks == 0


def root_disk():
    states = inspect(LocalHost(), None).devices
    return next(one.disk.path for one in states if one.system and one.partition_of is None)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("read-only", "is read-only"),
        ("size 0", "has size 0"),
        ("too small", "less than the 1 GiB asked"),
        ("a character device", "is not a block device"),
        ("a file", "is not a block device"),
        ("the root disk", "is the disk this system runs from"),
        ("no tools", "could not be examined"),
    ],
)
def test_a_device_unfit_to_measure_is_refused(user, refused, image, tmp_path, kind, words):
    """It is read-only, empty, too small, no block device, the root disk, or there are no tools."""
    if kind == "size 0":
        os.truncate(image, 0)
    if kind == "no tools":
        tools = tmp_path / "bin"
        user.extra_env["PATH"] = path_without(tools, "blkid", "wipefs")
        assert shutil.which("blkid", path=str(tools)) is None
    paths = {"a character device": "/dev/null", "a file": str(image), "the root disk": root_disk()}
    with attached(image, *(["-r"] if kind == "read-only" else [])) as disk:
        more = ("--size", "1") if kind == "too small" else ()
        typed = "x" if kind == "the root disk" else image
        refused(words, paths.get(kind, disk.path), typed, *more)
    assert image.stat().st_blocks == 0
