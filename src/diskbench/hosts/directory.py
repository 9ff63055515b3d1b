"""Whether a directory may be measured in: there, a directory, writable, with room."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from diskbench.errors import HostUnavailable, TargetRefused
from diskbench.plan.trial import RESERVE
from diskbench.units import MIB, format_bytes

if TYPE_CHECKING:
    from diskbench.ports import Host

_RESERVE_AT_LEAST = 64 * MIB

_LOOK = """\
export LC_ALL=C
if [ ! -e "$path" ]; then echo missing; exit; fi
if [ ! -d "$path" ]; then echo file; exit; fi
if ! why=$(mktemp -d "$path/.diskbench-probe-XXXXXX" 2>&1); then echo "closed ${why##*: }"; exit; fi
rmdir "$why"
for t in fio awk tar sha256sum setsid mkfifo; do
    command -v $t >/dev/null 2>&1 || { echo "lacks $t"; exit; }
done
echo "free $(stat -f -L -c '%S %a' "$path")"
"""


def check_directory(host: Host, path: str, size_bytes: int | None) -> int:
    """The bytes that may be used in `path`; raises TargetRefused saying why it cannot be used, and
    HostUnavailable when the host lacks a tool."""
    if not path.startswith("/"):
        raise TargetRefused(
            f"{path!r} is no absolute path", advice="write it out from the root: /mnt/disk"
        )
    done = host.run(f"path={shlex.quote(path)}\n{_LOOK}")
    word, _, rest = done.text.strip().partition(" ")
    where = f"{path} on {host.name}"
    match word:
        case "missing":
            raise TargetRefused(f"{where} does not exist", advice="make it, or name another --path")
        case "file":
            raise TargetRefused(
                f"{where} is no directory",
                advice="name the directory it lies in; for a disk use --device and --destroy-data",
            )
        case "closed":
            raise TargetRefused(
                f"{where} cannot be written to: {rest}",
                advice="mount it writable, change its permissions, or name another --path",
            )
        case "lacks":
            raise HostUnavailable(
                f"{host.name} has no {rest}, which diskbench needs there", advice=f"install {rest}"
            )
        case "free":
            block, available = (int(n) for n in rest.split())
            return _room(block * available, size_bytes, where)
    raise HostUnavailable(
        f"{where} could not be looked at: {done.stderr.decode(errors='replace').strip()}"
    )


def _room(free: int, wanted: int | None, where: str) -> int:
    """The usable part of `free` bytes; raises TargetRefused when `wanted` is more."""
    usable = max(0, free - max(int(free * RESERVE), _RESERVE_AT_LEAST))
    if usable <= 0 or (wanted is not None and wanted > usable):
        asked = f"{format_bytes(wanted)} is more than" if wanted else "nothing can be used of"
        raise TargetRefused(
            f"{asked} the free space of {where}: {format_bytes(free)} are free, and "
            f"{format_bytes(free - usable)} of them are left alone",
            advice="give a smaller --size or another --path",
        )
    return usable
