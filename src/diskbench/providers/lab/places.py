"""What a lab host has on this machine: a directory with the lease's name and all its files, which
is its own lock, so that a later process finds it; and a loopback address, which is derived from the
lease and claimed by a link."""

import contextlib
import errno
import fcntl
import hashlib
import itertools
import os
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diskbench.files import private_directory
from diskbench.providers.error_table import refusals

refused = refusals("diskbench.providers.lab")
VARIABLE = "DISKBENCH_LAB_DIR"
"""Environment variable with another directory for lab hosts; it must be on a disk, because it
holds their images."""
DEFAULT = Path("/var/tmp/diskbench-lab")  # noqa: S108 - made with mode 0700 and checked
ADDRESSES = ".addresses"
OWN_ENTRIES = {
    "lease.json", "lease.new", "guest", "access", "disks", "orders.json", "orders.new",
    "report.json", "report.new", "host.log", "supervisor.log", "latency.log",
}  # fmt: skip
"""All entries that the directory of a lab host can have."""


@dataclass(frozen=True)
class LeaseFolder:
    """One lease's directory."""

    lease_id: str
    path: Path

    @property
    def record(self) -> Path:
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
        return self.path / "disks"

    @property
    def orders(self) -> Path:
        return self.path / "orders.json"

    @property
    def report(self) -> Path:
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
    """Make the lease's directory if missing, and lock it until the block ends. Waits for another
    holder; the lock ends with its process, however that ends. Raises HostUnavailable when the base
    directory belongs to somebody else."""
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
        # A directory chosen by the user stays.
        if not base.is_dir() or not os.environ.get(VARIABLE):
            private_directory(base)
        status = base.lstat()
    except FileNotFoundError:  # another process has just removed it
        return
    except OSError as error:
        raise refused(
            "no directory for hosts", base=base, error=error, variable=VARIABLE
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise refused("directory of another user", base=base, variable=VARIABLE)


def _still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


PORTS = (22, 2222)
"""The ports of a lab host's sshd: the second where this machine's own sshd has the first."""
_TRIES = 64
_LISTENING = "0A"
"""TCP_LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""


def candidates(place: LeaseFolder) -> Iterator[str]:
    """Addresses in 127.0.0.0/8 for a lease, always the same, in order of preference. They depend on
    the directory too: leases of one name in different directories are different hosts. 127.0.0.0/16
    is excluded: common local services use it."""
    for attempt in itertools.count():
        digest = hashlib.sha256(f"{place.path}/{attempt}".encode()).digest()
        second = 1 + digest[0] % 254
        yield f"127.{second}.{digest[1]}.{1 + digest[2] % 254}"


def claim_address(place: LeaseFolder) -> tuple[str, int]:
    """Claim the first free address for this lease, with a free port on it. Idempotent. Raises
    HostUnavailable when no candidate is free."""
    for address in itertools.islice(candidates(place), _TRIES):
        link = place.path.parent / ADDRESSES / address
        if not _mark(link, place.lease_id):
            continue
        port = next((port for port in PORTS if _free(address, port)), None)
        if port is not None:
            return address, port
        link.unlink()
    raise refused("no free port", str=" or ".join(map(str, PORTS)))


def give_up_address(place: LeaseFolder) -> None:
    """Remove the lease's mark from whichever address has it."""
    try:
        links = list((place.path.parent / ADDRESSES).iterdir())
    except FileNotFoundError:
        return
    for link in links:
        if link.is_symlink() and _holder(link) == place.lease_id:
            link.unlink(missing_ok=True)


def _mark(link: Path, lease_id: str) -> bool:
    """Whether the address is the lease's now. A concurrent release of another lease may remove
    the link, or the directory with its last link: then this is repeated."""
    while True:
        link.parent.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError, FileNotFoundError):
            link.symlink_to(lease_id)
        holder = _holder(link)
        if holder is not None:
            return holder == lease_id


def _holder(link: Path) -> str | None:
    """The lease that a mark names; None when it is gone."""
    with contextlib.suppress(FileNotFoundError):
        return str(link.readlink())
    return None


def listens(pid: int, address: str, port: int) -> bool:
    """Whether this process listens there: another sshd would answer as well."""
    packed = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    local = f"{packed:08X}:{port:04X}"
    rows = (line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:])
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1] == local and row[3] == _LISTENING}
    with contextlib.suppress(OSError):  # the process may end meanwhile
        return any(str(fd.readlink()) in sockets for fd in Path(f"/proc/{pid}/fd").iterdir())
    return False


def _free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                return False
            raise
    return True
