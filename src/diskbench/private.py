"""Directories and files that only their owner may read: results, keys, logs, lab hosts."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_data_path, user_log_path

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
