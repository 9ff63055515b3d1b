"""Whether a directory may be measured in: it exists, is writable, has room, and is safe for root.

Root follows a symbolic link that a user who may write above puts there between two checks: it does
not measure below a directory that another user owns, or may write to without a sticky bit. Where
that user called sudo, or is no user of the machine (a volume of a container), it only warns: each
step checks that the directory is still the one that diskbench made (agent.py).
"""

import logging

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
    refused = {
        "missing": ("does not exist", "create it, or give another --path"),
        "file": ("is not a directory", "name the directory that holds it; for a disk use --device"),
        "closed": (
            f"cannot be written to: {rest}",
            "mount it writable, change its permissions, or name another --path",
        ),
    }
    if word in refused:
        why, advice = refused[word]
        raise TargetRefused(f"{where} {why}", advice=advice)
    if word == "lacks":
        raise HostUnavailable(
            f"{host_name} has no {rest}, which diskbench needs there", advice=f"install {rest}"
        )
    numbers = [whole(number) for number in rest.split()]
    if word == "free" and len(numbers) == 2 and None not in numbers:
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
            f"{format_bytes(free - usable)} of that must stay free",
            advice="give a smaller --size or another --path",
        )
    return usable


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
        mode, (owner, group, path) = int(fields[3], 8), fields[4:7]
        replaces = 0 if mode & 0o1000 else mode  # sticky: only an entry's owner may rename it
        # The user's own group, by the convention of a group of their own of the same name.
        is_users = bool(sudo_user) and group == sudo_user
        for may, name, is_known in (
            (uid != 0, f"user {owner}", str(uid) == sudo_uid or owner == _NOBODYS),
            (replaces & 0o020 and gid, f"group {group}", is_users or group == _NOBODYS),
            (replaces & 0o002, "any user", False),
        ):
            if may and not is_known:
                raise TargetRefused(
                    f"{where} is refused: {name} can put a symbolic link in its place, which root "
                    f"would follow (see {path})",
                    advice="run diskbench as the owner of that directory, or name a --path that "
                    "only root may change, such as a new directory beside it",
                )
            if may:
                _LOG.warning("%s can replace %s while root measures there", name, path)
