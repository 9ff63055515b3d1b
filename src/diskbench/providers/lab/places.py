"""The directory of a lab host on this machine, and its lock.

All files of a lease are in one directory with its name, so that a later process finds them. The
directory itself is the lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diskbench.errors import HostUnavailable
from diskbench.files import private_directory

VARIABLE = "DISKBENCH_LAB_DIR"
"""Environment variable with another directory for lab hosts; it must be on a disk, because it
holds their images."""
DEFAULT = Path("/var/tmp/diskbench-lab")  # noqa: S108 - made with mode 0700 and checked
ADDRESSES = ".addresses"
OWN_ENTRIES = frozenset(
    {
        "lease.json", "lease.new", "guest", "access", "disks", "orders.json", "orders.new",
        "report.json", "report.new", "host.log", "supervisor.log", "latency.log",
    }
)  # fmt: skip
"""All entries that the directory of a lab host can have."""


@dataclass(frozen=True)
class LeaseFolder:
    """One lease's directory."""

    lease_id: str
    path: Path

    @property
    def record(self) -> Path:
        """The record of request and host: lease.json."""
        return self.path / "lease.json"

    @property
    def guest(self) -> Path:
        """The guest's files: configuration, keys and its own directories."""
        return self.path / "guest"

    @property
    def access(self) -> Path:
        """The client's files: user key, known_hosts, ssh_config."""
        return self.path / "access"

    @property
    def images(self) -> Path:
        """The files behind the disks."""
        return self.path / "disks"

    @property
    def orders(self) -> Path:
        """The supervisor's orders."""
        return self.path / "orders.json"

    @property
    def report(self) -> Path:
        """The supervisor's report."""
        return self.path / "report.json"


def base_directory() -> Path:
    """The directory of all lab hosts, which may not exist."""
    return Path(os.environ.get(VARIABLE) or DEFAULT).resolve()


def place(lease_id: str) -> LeaseFolder:
    """The directory of a lease, which may not exist."""
    return LeaseFolder(lease_id, base_directory() / lease_id)


def lease_ids() -> tuple[str, ...]:
    """Every lease that has a directory, sorted."""
    try:
        entries = list(base_directory().iterdir())
    except FileNotFoundError:
        return ()
    return tuple(sorted(e.name for e in entries if e.is_dir() and not e.name.startswith(".")))


@contextlib.contextmanager
def locked(lease_id: str) -> Iterator[LeaseFolder]:
    """Make the lease's directory if missing, and lock it until the block ends.

    Waits for another holder; the lock ends with its process, however that ends. Raises
    HostUnavailable when the base directory belongs to somebody else.
    """
    here = place(lease_id)
    while True:
        _make_base(here.path.parent)
        with contextlib.suppress(FileExistsError):
            try:
                here.path.mkdir(mode=0o700)
            except FileNotFoundError:  # the base directory was removed with the last lease
                continue
        try:
            handle = os.open(here.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not _still(here.path, handle):  # released meanwhile
                continue
            yield here
            return
        finally:
            os.close(handle)


def is_held(here: LeaseFolder) -> bool:
    """Whether a process holds this lease's lock."""
    try:
        handle = os.open(here.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def remove_base() -> None:
    """Remove the base directory when nothing is left in it."""
    for directory in (base_directory() / ADDRESSES, base_directory()):
        with contextlib.suppress(OSError):
            directory.rmdir()


def _make_base(base: Path) -> None:
    try:
        if not base.is_dir() or not os.environ.get(
            VARIABLE
        ):  # a directory chosen by the user stays
            private_directory(base)
        status = base.lstat()
    except FileNotFoundError:  # another process has just removed it
        return
    except OSError as error:
        raise HostUnavailable(
            f"cannot make {base} for lab hosts: {error.strerror}",
            advice=f"name another directory with {VARIABLE}",
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise HostUnavailable(
            f"{base} belongs to another user; lab hosts keep keys there",
            advice=f"remove it, or name another directory with {VARIABLE}",
        )


def _still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
