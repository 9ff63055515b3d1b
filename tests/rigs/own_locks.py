"""A place for claims of disks that a test process has for itself.

diskbench measures a disk once at a time (hosts/agent.py), and all test processes write to one disk.
So each has a mount namespace with a /run/lock of its own, which what it starts inherits."""

import ctypes
import os
from pathlib import Path

LOCKS = Path("/run/lock")
_CLONE_NEWNS = 0x20000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000


def have_own_locks() -> None:
    """Give this process, and all that it starts, a /run/lock of its own. Root's only."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    LOCKS.mkdir(mode=0o1777, parents=True, exist_ok=True)
    _checked(libc.unshare(_CLONE_NEWNS), "unshare")
    # Mounts that others make later still come in; none goes out.
    _checked(libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None), "mount /")
    _checked(libc.mount(b"tmpfs", bytes(LOCKS), b"tmpfs", 0, b"mode=1777"), f"mount {LOCKS}")


def forget_claims() -> None:
    """A trial that was killed keeps its turn for a minute: the next test does not wait for it."""
    for claim in LOCKS.glob("diskbench-*.claim"):
        claim.unlink(missing_ok=True)


def _checked(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
