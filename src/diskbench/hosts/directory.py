"""Whether a directory may be measured in: it exists, is writable, has room, and is safe for root.

Root follows any symbolic link at a path, and a user who may write to a directory above can put one
there between two checks. So root does not measure below a directory that another user owns, or may
write to without a sticky bit. Where that user called sudo, or is no user of the machine (a volume
of a container), only a warning is logged: each step checks that the directory is still the one that
diskbench made (agent.py).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from diskbench.errors import HostUnavailable, TargetRefused
from diskbench.hosts.shell import whole
from diskbench.limits import COUNTER
from diskbench.plan.trial import RESERVE
from diskbench.units import MIB, format_bytes

_LOG = logging.getLogger(__name__)
_RESERVE_AT_LEAST = 64 * MIB
_NOBODYS = "UNKNOWN"
"""How stat names an owner that this machine does not know."""


def require_absolute(path: str) -> None:
    """Raises TargetRefused for a path that does not begin at the root."""
    if not path.startswith("/"):
        raise TargetRefused(
            f"{path!r} is not an absolute path", advice="write it out from the root: /mnt/disk"
        )


def usable_bytes(looked: list[str], host_name: str, path: str, size_bytes: int | None) -> int:
    """The bytes that may be used in `path`, from a look at it on the host `host_name`. Raises
    TargetRefused where it cannot be used, and HostUnavailable where the host lacks a tool. Logs a
    warning where root measures in a directory that the user who called sudo could replace."""
    *leading, last = looked or [""]
    word, _, rest = last.partition(" ")
    where = f"{path} on {host_name}"
    _check_trusted(leading, where)
    match word:
        case "missing":
            raise TargetRefused(
                f"{where} does not exist", advice="create it, or give another --path"
            )
        case "file":
            raise TargetRefused(
                f"{where} is not a directory",
                advice="name the directory that holds it; for a disk use --device",
            )
        case "closed":
            raise TargetRefused(
                f"{where} cannot be written to: {rest}",
                advice="mount it writable, change its permissions, or name another --path",
            )
        case "lacks":
            raise HostUnavailable(
                f"{host_name} has no {rest}, which diskbench needs there", advice=f"install {rest}"
            )
        case "free":
            numbers = [whole(number) for number in rest.split()]
            if len(numbers) == 2 and None not in numbers:
                free = (numbers[0] or 0) * (numbers[1] or 0)
                return _room(min(free, COUNTER), size_bytes, where)
    raise HostUnavailable(f"{where} could not be examined: the host says {last[:80]!r}")


def _room(free: int, requested: int | None, where: str) -> int:
    """The usable part of `free` bytes. Raises TargetRefused where `requested` is more."""
    usable = max(0, free - max(int(free * RESERVE), _RESERVE_AT_LEAST))
    if usable <= 0 or (requested is not None and requested > usable):
        problem = (
            f"{format_bytes(requested)} is more than" if requested else "nothing can be used of"
        )
        raise TargetRefused(
            f"{problem} the free space of {where}: {format_bytes(free)} are free, and "
            f"{format_bytes(free - usable)} of these must stay free",
            advice="give a smaller --size or another --path",
        )
    return usable


@dataclass(frozen=True)
class _Above:
    """One directory on the way to the target: its owner, its group and its mode."""

    uid: int
    gid: int
    mode: int
    owner: str
    group: str
    path: str


def _check_trusted(lines: list[str], where: str) -> None:
    """Raise TargetRefused where somebody else could replace what root is about to write to."""
    answers = [line.split(" ", 6) for line in lines]
    sudo_uid, sudo_user = next((w[1:3] for w in answers if w[0] == "sudo"), ["", ""])
    for fields in answers:
        if fields[0] != "above" or len(fields) < 7:
            continue
        uid, gid, mode = whole(fields[1]), whole(fields[2]), whole(fields[3])
        if uid is None or gid is None or mode is None or set(fields[3]) & {"8", "9"}:
            raise HostUnavailable(
                f"{where} could not be examined: the host says {' '.join(fields)[:80]!r}",
                advice="check that stat on that host is the standard program",
            )
        at = _Above(uid, gid, int(fields[3], 8), *fields[4:7])
        for name, is_known in _replacers(at, sudo_uid, sudo_user):
            if not is_known:
                raise TargetRefused(
                    f"{where} is refused: {name} can put a symbolic link in its place, which root "
                    f"would follow (see {at.path})",
                    advice="run diskbench as the owner of that directory, or name a --path that "
                    "only root may change, such as a new directory beside it",
                )
            _LOG.warning("%s can replace %s while root measures there", name, at.path)


def _replacers(at: _Above, sudo_uid: str, sudo_user: str) -> list[tuple[str, bool]]:
    """Who but root may rename what lies in a directory, and whether root runs for them anyway."""
    replacers = []
    if at.uid != 0:
        replacers.append((f"user {at.owner}", str(at.uid) == sudo_uid or at.owner == _NOBODYS))
    if at.mode & 0o1000:  # sticky: only an entry's owner may rename it
        return replacers
    if at.mode & 0o020 and at.gid != 0:
        # The user's own group, by the convention of a group of their own of the same name.
        known = at.group == _NOBODYS or (bool(sudo_user) and at.group == sudo_user)
        replacers.append((f"group {at.group}", known))
    if at.mode & 0o002:
        replacers.append(("any user", False))
    return replacers
