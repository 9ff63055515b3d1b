"""FUSE files over disk images: the part of the protocol of /dev/fuse that one regular file needs,
and the mounts, made by this process or found, whichever process served them. Standard library only.

Sources: Linux include/uapi/linux/fuse.h, protocol 7.31 (Linux 5.4), newer kernels speak it too;
mount(2), umount(2)."""

import contextlib
import ctypes
import errno
import mmap
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from diskbench.errors import ReleaseFailed

MAX_WRITE = 1 << 20
"""The largest request in bytes: the kernel's own limit of 256 pages (FUSE_MAX_MAX_PAGES)."""
BACKGROUND = 256
"""The number of requests that the kernel may have in flight; libfuse's default of 12 would limit
the queue depth to that. Our choice, above any queue depth that profiles ask for."""

FORGET, GETATTR, OPEN, READ, WRITE, STATFS = 2, 3, 14, 15, 16, 17
RELEASE, FSYNC, FLUSH, INIT = 18, 20, 25, 26
INTERRUPT, DESTROY, BATCH_FORGET, FALLOCATE = 36, 38, 42, 43
_NO_ANSWER = {FORGET, BATCH_FORGET}

_MAJOR, _MINOR = 7, 31
_ASYNC_READ, _BIG_WRITES, _ASYNC_DIO, _MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22
_WANTED = _ASYNC_READ | _BIG_WRITES | _ASYNC_DIO | _MAX_PAGES
_DIRECT_IO = 1
_PAGE_BYTES = 4096

_IN = struct.Struct("=IIQQIIIHH")
_OUT = struct.Struct("=IiQ")
_INIT_IN = struct.Struct("=IIII")
_INIT_OUT = struct.Struct("=4I 2H 2I 2H I 28x")
_EXTENT_IN = struct.Struct("=QQI")
_FALLOCATE_IN = struct.Struct("=QQQI")
_ATTR_OUT = struct.Struct("=QII 6Q 10I")
_OPEN_OUT = struct.Struct("=QII")
_WRITE_OUT = struct.Struct("=II")
_STATFS_OUT = struct.Struct("=5Q 4I 24x")

BODY = _IN.size
"""The offset of a request's body."""
WRITTEN = BODY + 40
"""The offset of a WRITE's data."""
ROOM = MAX_WRITE + 8192
"""The buffer size that the kernel requires for a request."""


def header(request: memoryview) -> tuple[int, int]:
    """The opcode of a request, and the number for its answer."""
    _, opcode, unique, *_ = _IN.unpack_from(request)
    return opcode, unique


@dataclass
class FuseConnection:
    """A FUSE connection `device` (a file descriptor), with room for a request and the data of an
    answer."""

    device: int
    request: memoryview = field(default_factory=lambda: memoryview(mmap.mmap(-1, ROOM)), init=False)
    data: memoryview = field(
        default_factory=lambda: memoryview(mmap.mmap(-1, MAX_WRITE)), init=False
    )

    def take(self) -> tuple[int, int] | None:
        """Read the next request: its opcode, and the number for its answer. None where there is
        none, or it was cancelled, or it needs no answer."""
        try:
            os.readv(self.device, [self.request])
        except (BlockingIOError, InterruptedError, FileNotFoundError):
            return None
        opcode, unique = header(self.request)
        return None if opcode in _NO_ANSWER else (opcode, unique)

    def send(self, *parts: bytes | memoryview) -> None:
        """Answer a request; one that was interrupted has no process that waits for it."""
        with contextlib.suppress(FileNotFoundError):
            os.writev(self.device, parts)


@contextlib.contextmanager
def until_unmounted() -> Iterator[None]:
    """Serve in this block until the file is unmounted."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise


def extent(request: memoryview) -> tuple[int, int]:
    """Offset and size in bytes of a READ or WRITE."""
    _, offset, size = _EXTENT_IN.unpack_from(request, BODY)
    return offset, size


def punched(request: memoryview) -> tuple[int, int, int]:
    """Offset, length and mode of a FALLOCATE."""
    _, offset, length, mode = _FALLOCATE_IN.unpack_from(request, BODY)
    return offset, length, mode


def reply(unique: int, size: int = 0, error: int = 0) -> bytes:
    """The head of an answer with a body of `size` bytes, or of one that says `error`."""
    return _OUT.pack(_OUT.size + size, -error, unique)


def initiated(request: memoryview) -> bytes:
    """The answer to INIT: many requests at once, large ones, nothing else."""
    _, _, readahead, offered = _INIT_IN.unpack_from(request, BODY)
    requests = (readahead, offered & _WANTED, BACKGROUND, BACKGROUND, MAX_WRITE)
    nanoseconds, pages = 1, MAX_WRITE // _PAGE_BYTES
    return _INIT_OUT.pack(_MAJOR, _MINOR, *requests, nanoseconds, pages, 0, 0)


def attributes(status: os.stat_result) -> bytes:
    """The answer to GETATTR, with caching off: the file has the attributes of `status`, with its
    own inode number, by which its loop device is recognised."""
    size, times = (status.st_size, -(-status.st_size // 512)), (0, 0, 0, 0, 0, 0)
    owner = (status.st_mode, 1, status.st_uid, status.st_gid)
    return _ATTR_OUT.pack(0, 0, 0, status.st_ino, *size, *times, *owner, 0, _PAGE_BYTES, 0)


def written(size: int) -> bytes:
    """The answer to a WRITE of `size` bytes."""
    return _WRITE_OUT.pack(size, 0)


def without_io(
    opcode: int, unique: int, request: memoryview, status: os.stat_result
) -> tuple[bytes, bytes]:
    """Head and body of the answer to a request that is no I/O of the disk, whose file is `status`;
    a request that a server does not know is answered with ENOSYS, and not made again."""
    body = b""
    if opcode == INIT:
        body = initiated(request)
    elif opcode == GETATTR:
        body = attributes(status)
    elif opcode == OPEN:  # past the page cache
        body = _OPEN_OUT.pack(0, _DIRECT_IO, 0)
    elif opcode == STATFS:  # a full filesystem of one file
        pages, page = status.st_size // _PAGE_BYTES, _PAGE_BYTES
        body = _STATFS_OUT.pack(pages, 0, 0, 1, 0, page, 255, page, 0)
    elif opcode not in (FLUSH, RELEASE, DESTROY):
        return reply(unique, error=errno.ENOSYS), b""
    return reply(unique, len(body)), body


TYPE = "fuse.diskbench-lab"
_NOSUID, _NODEV, _NOEXEC = 2, 4, 8
_FORCE, _DETACH = 1, 2
_PR_SET_IO_FLUSHER = 57
_LIBC = ctypes.CDLL(None, use_errno=True)
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def mount(device: int, image: Path) -> None:
    """Mount the FUSE connection of `device`, which this process serves, over the file. Raises
    OSError."""
    options = f"fd={device},rootmode={stat.S_IFREG:o},user_id=0,group_id=0"
    flags, name = _NOSUID | _NODEV | _NOEXEC, TYPE.encode()
    # The kernel must not make us wait for pages that only we can write (prctl(2)).
    _LIBC.prctl(_PR_SET_IO_FLUSHER, 1, 0, 0, 0)
    if _LIBC.mount(name, os.fsencode(image), name, flags, options.encode()):
        raise _error(image)


def mounted(path: Path) -> tuple[Path, ...]:
    """Every file at or below `path` with one of our mounts over it."""
    images = []
    for line in _MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] == TYPE:
            image = Path(_ESCAPED.sub(lambda m: chr(int(m[1], 8)), before.split()[4]))
            if image.is_relative_to(path):
                images.append(image)
    return tuple(images)


def unmount(path: Path) -> None:
    """Unmount every one at or below `path`; requests that wait for their server fail. Succeeds if
    there is none. Call it when no loop device is left on the file: the device would lose its name.
    Raises ReleaseFailed."""
    for image in mounted(path):
        if _LIBC.umount2(os.fsencode(image), _FORCE | _DETACH):
            error = _error(image)
            raise ReleaseFailed(
                f"{image} cannot be unmounted: {error.strerror}",
                advice=f"then unmount it: umount -f -l {image}",
            ) from error


def _error(image: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(image))
