"""Files: written so that a kill, a full disk or a power failure leaves the former content or all,
read up to a limit, readable by their owner alone (results, keys, logs, lab hosts), and never of one
format under the name of another.
"""

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from platformdirs import user_data_path, user_log_path

from diskbench.errors import InvalidValue
from diskbench.units import format_bytes

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


def read_bytes(path: Path, limit: int) -> bytes:
    """The bytes of a file. A device such as /dev/zero has no end, so no more than `limit` are read.
    Raises OSError, and ValueError when the file is longer."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it has more than {format_bytes(limit)}")
    return data


def read_text(path: Path, limit: int) -> str:
    """The UTF-8 text of a file, its lines ended by line feeds, read as `read_bytes` does. Raises
    OSError, and ValueError when the file is longer or not UTF-8."""
    return read_bytes(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
_OTHERS = 0o077


def data_directory() -> Path:
    """The user's data directory, made with mode 700; an existing one that others may read (earlier
    versions made such ones) is set to 700. Raises OSError where it cannot be made."""
    return private_directory(user_data_path("diskbench"))


def log_directory() -> Path:
    """The user's log directory, as private as `data_directory`. Raises OSError."""
    return private_directory(user_log_path("diskbench"))


def private_directory(path: Path) -> Path:
    """Make a directory and its missing parents with mode 700, whatever the umask. An existing one
    that belongs to this user and is open to others is set to 700. Raises OSError where it cannot be
    made."""
    if not path.is_dir():
        # Not with `parents`: these get whatever the umask leaves of 777.
        if not path.parent.is_dir():
            private_directory(path.parent)
        with contextlib.suppress(FileExistsError):  # another process was first
            path.mkdir(mode=DIRECTORY_MODE)
            path.chmod(DIRECTORY_MODE)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    with contextlib.suppress(OSError):  # a directory of another user keeps its mode
        status = path.stat()
        if status.st_uid == os.geteuid() and status.st_mode & _OTHERS:
            path.chmod(DIRECTORY_MODE)
    return path


def is_private(directory: Path) -> bool:
    """Whether nobody but its owner may enter a directory."""
    try:
        return not directory.stat().st_mode & _OTHERS
    except OSError:
        return False


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, from the first moment. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, FILE_MODE)
        file.write(data)


def append_private(path: Path) -> BinaryIO:
    """Open a file to append bytes to, made readable by its owner alone. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    return os.fdopen(handle, "ab")


Name = TypeVar("Name", bound=str)


def file_format(path: Path, typed: Name | None, known: Sequence[Name]) -> Name | None:
    """The format that was typed, else the one of `known` that the suffix of the file says; None
    for a name without a suffix. Raises InvalidValue where both are known and differ, and for a
    suffix that says none of them: the file would be read in the wrong format."""
    suffix = path.suffix.lower().removeprefix(".")
    by_suffix = next((name for name in known if name == suffix), None)
    if typed is not None and by_suffix is not None and typed != by_suffix:
        raise InvalidValue(
            f"--format {typed} contradicts the name of {path}, which says {by_suffix}",
            advice=f"leave --format out, or name a file that ends in .{typed}",
        )
    if typed is None and by_suffix is None and suffix:
        raise unknown_suffix(path, known)
    return typed or by_suffix


def unknown_suffix(path: Path, known: Sequence[str]) -> InvalidValue:
    """The error for a file whose name says none of the formats `known`, naming all of them."""
    return InvalidValue(
        f"{path}: cannot write a {path.suffix or 'nameless'} file",
        advice=f"use {', '.join(f'.{name}' for name in known)}, or --format",
    )
