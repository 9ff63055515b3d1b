"""A loopback address for each lab host, derived from its lease and claimed by a link."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from diskbench.errors import HostUnavailable
from diskbench.providers.lab.places import ADDRESSES, LeaseFolder

PORTS = (22, 2222)
"""The ports of a lab host's sshd: the second where this machine's own sshd has the first on all
addresses."""
_TRIES = 64
_LISTENING = "0A"
"""TCP_LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""


def candidates(place: LeaseFolder) -> Iterator[str]:
    """Addresses in 127.0.0.0/8 for a lease, always the same, in order of preference. They depend on
    the directory too: leases of one name in different directories are different hosts.

    127.0.0.0/16 is excluded: common local services use it.
    """
    for attempt in itertools.count():
        digest = hashlib.sha256(f"{place.path}/{attempt}".encode()).digest()
        second = 1 + digest[0] % 254
        yield f"127.{second}.{digest[1]}.{1 + digest[2] % 254}"


def claim(place: LeaseFolder) -> tuple[str, int]:
    """Claim the first free address for this lease, with a free port on it.

    Idempotent. Raises HostUnavailable when no candidate is free.
    """
    for address in itertools.islice(candidates(place), _TRIES):
        link = place.path.parent / ADDRESSES / address
        if not _mark(link, place.lease_id):
            continue
        port = next((port for port in PORTS if _free(address, port)), None)
        if port is not None:
            return address, port
        link.unlink()
    raise HostUnavailable(
        f"no loopback address has port {' or '.join(map(str, PORTS))} free",
        advice="run `ss -tln` to see what listens on all addresses",
    )


def give_up(place: LeaseFolder) -> None:
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
