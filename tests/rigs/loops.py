"""Loop devices for tests, and what somebody else may do to one, as commands of a shell."""

import errno
import os
import shlex
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MIB = 2**20

_SET_OFFSET = """\
import fcntl, os, struct, sys
GET_STATUS64, SET_STATUS64 = 0x4C05, 0x4C04  # linux/loop.h
device = os.open(sys.argv[1], os.O_RDWR)
info = bytearray(232)
fcntl.ioctl(device, GET_STATUS64, info)
struct.pack_into("<Q", info, 24, int(sys.argv[2]))  # lo_offset
fcntl.ioctl(device, SET_STATUS64, bytes(info))
"""


@dataclass(frozen=True)
class Loop:
    """A loop device and the file behind it."""

    path: str
    image: Path

    @property
    def identity(self):
        return f"{self.image}:{self.image.stat().st_ino}"

    @property
    def name(self):
        return Path(self.path).name


@contextmanager
def between(begin, end):
    """Run a command, and another one when the block has ended."""
    subprocess.run(begin, check=True)
    try:
        yield
    finally:
        subprocess.run(end, check=True)


@contextmanager
def tmpfs(directory, size="50%"):
    """A filesystem in memory at `directory`, which is made if need be: a disk of its own."""
    directory.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory)]
    with between(mount, ["umount", str(directory)]):
        yield directory


def empty_image(path, mib=32):
    with path.open("wb") as file:
        file.truncate(mib * MIB)
    return path


@contextmanager
def attached(image, *flags):
    """A loop device on `image` for as long as this lasts, whatever is done to it meanwhile."""
    argv = ["losetup", "-f", "--show", *flags, str(image)]
    path = subprocess.check_output(argv, text=True).strip()
    try:
        yield Loop(path, image)
    finally:
        detach_all(image)


@contextmanager
def filesystem(directory, mib):
    """An ext4 of `mib` MiB on a loop device of its own, mounted at `directory`, which is made."""
    image = empty_image(directory.with_name(f"{directory.name}.img"), mib)
    directory.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", str(image)], check=True)
    with between(["mount", "-o", "loop", str(image), str(directory)], ["umount", str(directory)]):
        yield directory


def detach_all(image):
    """Detach every loop device on `image`, also one that is deleted, and no other: numbers may be
    somebody else's by now."""
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # detached meanwhile
            if file.read_text()[:-1].removesuffix(" (deleted)") == str(image.resolve()):
                words = ["losetup", "-d", f"/dev/{file.parts[3]}"]
                subprocess.run(words, check=False, capture_output=True)


def fill(file):
    """Write to a file until its filesystem has no room left."""
    with file.open("wb", buffering=0) as sink, suppress(OSError):
        while sink.write(bytes(512)):
            pass


def contents(image):
    """What stands in a sparse image, by its places, and where that ends. Blocks of zeros are left
    out: most of it, which would take long to read."""
    found, end = {image.stat().st_size: b""}, 0
    with image.open("rb", buffering=0) as file:
        while True:
            try:
                begin = file.seek(end, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return found
                raise
            end = file.seek(begin, os.SEEK_HOLE)
            data = os.pread(file.fileno(), end - begin, begin)
            blocks = {begin + at: data[at : at + 4096] for at in range(0, len(data), 4096)}
            found |= {at: block for at, block in blocks.items() if block.strip(b"\0")}


def is_empty(image):
    """Whether nothing but zeros was ever written to a sparse image."""
    return not any(contents(image).values())


def set_offset(loop):
    """A command that moves by 1 MiB where in its file the device begins, while it is in use."""
    return shlex.join([sys.executable, "-c", _SET_OFFSET, loop.path, str(MIB)])


def grow(loop, mib):
    return f"truncate -s {mib}M {shlex.quote(str(loop.image))} && losetup -c {loop.path}"


def point_at(loop, other):
    """A command that detaches the device and attaches it to another file."""
    return f"losetup -d {loop.path}; losetup {loop.path} {shlex.quote(str(other))}"
