"""Write files so that a kill, a full disk or a power failure leaves the former content or all."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_AT_ONCE = 8
"""Files that are flushed at the same time; our choice. 39 new files took 29 ms with 8, 34 ms and a
quarter more CPU with 16, 78 ms one by one."""


def write_whole(path: Path, data: bytes) -> None:
    """Replace the content of `path` atomically and keep its permissions. A path that is no regular
    file, such as /dev/stdout or a FIFO, is written to directly. Raises OSError.

    A process that is killed may leave `.NAME.XXXXXXXX.part` beside it.
    """
    write_pieces(path, [data])


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """As `write_whole`, of data that is made piece by piece. Where making it fails the former
    content stays."""
    place = path.resolve()
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            file.writelines(pieces)
        return
    part = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as file:
            file.writelines(pieces)
        if place.exists():
            shutil.copymode(place, part)
        part.replace(place)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def flush_files(paths: Iterable[str]) -> None:
    """Write these files and directories to their disk, and nothing else of their filesystem. Raises
    OSError.

    They are flushed at the same time: a filesystem then commits its journal for many of them at
    once, and not once for each.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        list(pool.map(_flush, paths))


def _flush(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_filesystem(directory: Path) -> None:
    """Write all that was changed in the filesystem of `directory` to its disk: one call for any
    number of files (Linux, syncfs(2)); elsewhere of all filesystems. Raises OSError."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        if syncfs(descriptor):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(directory))
    finally:
        os.close(descriptor)
