"""The filesystem under a directory, from /proc/self/mountinfo (proc(5)): pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from diskbench.hosts.whole_number import whole
from diskbench.limits import COUNTER
from diskbench.model.facts import MountFacts

_NETWORK = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "sshfs",
        "virtiofs",
        "wekafs",
    }
)
_NETWORK_FUSE = re.compile(
    r"^fuse\.(sshfs|ceph|ceph-fuse|glusterfs|s3fs|gcsfuse|rclone|blobfuse2?|goofys|juicefs|"
    r"mount-s3|curlftpfs|davfs|weed|seaweedfs|moosefs|mfs|bindfs\.nfs)"
)


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo."""

    mount_id: str
    number: str
    mount_point: str
    options: str
    fstype: str
    source: str


def parse_mountinfo(lines: list[str]) -> list[Mount]:
    """All mounts, in order; lines of another form are skipped."""
    mounts: list[Mount] = []
    for line in lines:
        before, dash, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not dash or len(left) < 6 or len(right) < 2:
            continue
        options = left[5] if len(right) < 3 else f"{left[5]},{right[2]}"
        mounts.append(
            Mount(
                mount_id=left[0],
                number=left[2],
                mount_point=unescape(left[4]),
                options=",".join(dict.fromkeys(options.split(","))),
                fstype=right[0],
                source=unescape(right[1]),
            )
        )
    return mounts


def unescape(text: str) -> str:
    r"""A path as the kernel wrote it: blanks, tabs, newlines and backslashes are octal (\040)."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda match: chr(int(match[1], 8)), text)


def is_network(fstype: str) -> bool:
    """Whether the filesystem's data lie on another machine."""
    return fstype in _NETWORK or bool(_NETWORK_FUSE.match(fstype))


def mount_facts(by_section: dict[str, list[str]]) -> MountFacts | None:
    """The mount that holds the directory: by the mount id of an open descriptor, else by the
    longest mount point above it (of several at one point the last)."""
    mounts = parse_mountinfo(by_section.get("mountinfo", []))
    mount_id = next((line.strip() for line in by_section.get("mountid", []) if line.strip()), "")
    mount = next((m for m in mounts if m.mount_id == mount_id), None)
    directory = next(iter(by_section.get("directory", [])), "")
    if mount is None and directory:
        above = [m for m in mounts if _holds(m.mount_point, directory)]
        longest = max((len(m.mount_point) for m in above), default=0)
        mount = next((m for m in reversed(above) if len(m.mount_point) == longest), None)
    if mount is None:
        return None
    size, available = _sizes(by_section.get("statfs", []))
    return MountFacts(
        mount_point=mount.mount_point,
        source=mount.source,
        fstype=mount.fstype,
        options=mount.options,
        size_bytes=size,
        available_bytes=available,
    )


def _holds(mount_point: str, directory: str) -> bool:
    return mount_point == "/" or f"{directory}/".startswith(f"{mount_point}/")


def _sizes(lines: list[str]) -> tuple[int | None, int | None]:
    """Total and available bytes from `stat -f -c '%S %b %a'`."""
    fields = lines[0].split() if lines else []
    numbers = [whole(field) for field in fields]
    if len(numbers) != 3 or None in numbers:
        return None, None
    block, total, available = (number or 0 for number in numbers)
    if block * max(total, available) > COUNTER:
        return None, None
    return block * total, block * available
