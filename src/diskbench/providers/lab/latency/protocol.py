"""The part of the protocol of /dev/fuse that one regular file needs: pure.

Source: Linux include/uapi/linux/fuse.h, protocol 7.31 (Linux 5.4); newer kernels speak it too.
"""

from __future__ import annotations

import errno
import os
import struct
from typing import NamedTuple

MAX_WRITE = 1 << 20
"""The largest request in bytes: the kernel's own limit of 256 pages (FUSE_MAX_MAX_PAGES)."""
BACKGROUND = 256
"""The number of requests that the kernel may have in flight; libfuse's default of 12 would limit
the queue depth to that. Our choice, above any queue depth that profiles ask for."""

FORGET, GETATTR, OPEN, READ, WRITE, STATFS = 2, 3, 14, 15, 16, 17
RELEASE, FSYNC, FLUSH, INIT = 18, 20, 25, 26
INTERRUPT, DESTROY, BATCH_FORGET, FALLOCATE = 36, 38, 42, 43

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


class Header(NamedTuple):
    """The request's head: `opcode`, and the `unique` number for the answer."""

    opcode: int
    unique: int


def header(request: memoryview) -> Header:
    """The head of a request."""
    _, opcode, unique, *_ = _IN.unpack_from(request)
    return Header(opcode, unique)


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
    return _INIT_OUT.pack(
        _MAJOR,
        _MINOR,
        readahead,
        offered & _WANTED,
        BACKGROUND,
        BACKGROUND,
        MAX_WRITE,
        1,  # times are in nanoseconds
        MAX_WRITE // _PAGE_BYTES,
        0,
        0,
    )


def attributes(status: os.stat_result) -> bytes:
    """The answer to GETATTR, with caching off: the file has the attributes of `status`, with its
    own inode number, by which its loop device is recognised."""
    return _ATTR_OUT.pack(
        *(0, 0, 0),
        status.st_ino,
        status.st_size,
        -(-status.st_size // 512),
        *(0, 0, 0, 0, 0, 0),  # times are not used
        status.st_mode,
        1,
        status.st_uid,
        status.st_gid,
        0,
        _PAGE_BYTES,
        0,
    )


def opened() -> bytes:
    """The answer to OPEN: past the page cache."""
    return _OPEN_OUT.pack(0, _DIRECT_IO, 0)


def written(size: int) -> bytes:
    """The answer to a WRITE of `size` bytes."""
    return _WRITE_OUT.pack(size, 0)


def space(size: int) -> bytes:
    """The answer to STATFS: a full filesystem of one file."""
    return _STATFS_OUT.pack(size // _PAGE_BYTES, 0, 0, 1, 0, _PAGE_BYTES, 255, _PAGE_BYTES, 0)


def without_io(
    opcode: int, unique: int, request: memoryview, status: os.stat_result
) -> tuple[bytes, bytes]:
    """Head and body of the answer to a request that is no I/O of the disk, whose file is `status`;
    a request that a server does not know is answered with ENOSYS, and not made again."""
    if opcode == INIT:
        body = initiated(request)
    elif opcode == GETATTR:
        body = attributes(status)
    elif opcode == OPEN:
        body = opened()
    elif opcode == STATFS:
        body = space(status.st_size)
    elif opcode in (FLUSH, RELEASE, DESTROY):
        body = b""
    else:
        return reply(unique, error=errno.ENOSYS), b""
    return reply(unique, len(body)), body
