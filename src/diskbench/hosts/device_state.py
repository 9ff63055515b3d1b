"""The state of block devices, from which device.py decides whether to write: pure."""

from __future__ import annotations

from diskbench.hosts.disk_facts import disk_facts, whole
from diskbench.hosts.mounts import parse_mountinfo
from diskbench.model.base import Frozen
from diskbench.model.facts import DiskFacts
from diskbench.units import format_bytes

_F2FS_COPY = 5120
"""Where f2fs keeps its second superblock, in bytes (F2FS_BLKSIZE + F2FS_SUPER_OFFSET)."""


class Backing(Frozen):
    """The file behind a loop device, by device and inode, and the bytes of it that the loop device
    maps: from `begin` up to, but not including, `end`."""

    device: str
    inode: str
    begin: int
    end: int

    def overlaps(self, other: Backing) -> bool:
        """Whether both map a byte of the same file, under any names."""
        same = (self.device, self.inode) == (other.device, other.inode)
        return same and self.begin < other.end and other.begin < self.end


class DeviceState(Frozen):
    """One block device and every fact that may refuse it. `looked` is False where only the cheap
    facts were read: then signatures, openers and permission are unknown.
    """

    disk: DiskFacts
    backing: Backing | None = None
    identities: tuple[str, ...] = ()
    read_only: bool = False
    removable: bool = False
    partition_of: str | None = None
    partitions: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    swap: bool = False
    system: bool = False
    looked: bool = False
    unreadable: str | None = None
    examined: bool = False
    partition_table: str | None = None
    signatures: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    """Filesystems of which only copies of the superblock may be left."""
    busy: bool = False
    openers: tuple[str, ...] = ()
    unseen: str | None = None
    """Where processes of other PID namespaces are not seen: `active` while somebody reads or writes
    the device, else `yes`."""


class Inspection(Frozen):
    """All block devices of a machine, and which of them was requested.

    `asked` is a number MAJOR:MINOR, `missing`, `other` (no block device), or None.
    """

    devices: tuple[DeviceState, ...] = ()
    asked: str | None = None
    complete: bool = False

    def find(self, number: str) -> DeviceState | None:
        """The device with a kernel number MAJOR:MINOR; None without one."""
        return next((d for d in self.devices if d.disk.number == number), None)


def parse_inspection(text: str) -> Inspection:
    """The output of devices.sh; devices without readable facts are left out."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("== "):
            blocks.append((line[3:].strip(), []))
        elif blocks:
            blocks[-1][1].append(line)
    shared = {name: lines for name, lines in blocks if name != "device"}
    mounts: dict[str, list[str]] = {}
    for mount in parse_mountinfo(shared.get("mountinfo", [])):
        mounts.setdefault(mount.number, []).append(mount.mount_point)
        if mount.source.startswith("/dev/"):  # btrfs and its like number their mounts themselves
            mounts.setdefault(mount.source, []).append(mount.mount_point)
    swaps, system = set(shared.get("swaps", [])), set(shared.get("system", []))
    states = [_state(lines, mounts, swaps, system) for name, lines in blocks if name == "device"]
    asked = next(iter(shared.get("asked", [])), None)
    return Inspection(
        devices=tuple(s for s in states if s is not None),
        asked=asked,
        complete="end" in shared,
    )


def _state(
    lines: list[str], mounts: dict[str, list[str]], swaps: set[str], system: set[str]
) -> DeviceState | None:
    disk = disk_facts(lines)
    if disk is None or not disk.number:
        return None

    def every(key: str) -> tuple[str, ...]:
        values = [line.partition("=")[2].strip() for line in lines if line.startswith(f"{key}=")]
        return tuple(dict.fromkeys(v for v in values if v))

    partitions = [p.partition(" ") for p in every("partition")]
    family = [disk.number, *(number for number, _, _ in partitions)]
    paths = [disk.path, *(f"/dev/{name}" for _, _, name in partitions)]
    readable = every("readable")
    return DeviceState(
        disk=disk,
        backing=_backing(every("backing")),
        identities=every("identity"),
        read_only=every("ro") == ("1",),
        removable=every("removable") == ("1",),
        partition_of=next(iter(every("partition_of")), None),
        partitions=tuple(name for _, _, name in partitions),
        holders=every("holder"),
        mounts=tuple(dict.fromkeys(m for key in (*family, *paths) for m in mounts.get(key, []))),
        swap=bool(swaps.intersection(family)),
        system=bool(system.intersection(family)),
        looked=bool(readable),
        unreadable=None if readable in {(), ("yes",)} else readable[0],
        examined=every("tools") == ("yes",),
        partition_table=next(iter(every("table")), None),
        signatures=tuple(dict.fromkeys((*every("signature"), *every("wipefs")))),
        copies=tuple(filter(None, map(_copy, every("copy")))),
        busy=every("busy") == ("yes",),
        openers=every("opener"),
        unseen=next(iter(every("unseen")), None),
    )


def _copy(line: str) -> str | None:
    """What a copy of a superblock is of, from `OFFSET HEX`: where it lies and its first bytes."""
    offset_text, _, digits = line.partition(" ")
    try:
        offset, data = int(offset_text), bytes.fromhex(digits)
    except ValueError:
        return None
    where = format_bytes(offset)
    # btrfs says where each copy lies: struct btrfs_super_block, bytenr and magic.
    if data[0x40:0x48] == b"_BHRfS_M" and data[0x30:0x38] == offset.to_bytes(8, "little"):
        return f"btrfs at {where}"
    if offset == _F2FS_COPY and data[:4] == bytes.fromhex("1020f5f2"):
        return f"f2fs at {where}"
    return None


def _backing(values: tuple[str, ...]) -> Backing | None:
    """`DEVICE INODE BEGIN END`, as block_backing of block.sh prints it; None for anything else."""
    words = values[0].split() if values else []
    if len(words) != 4:
        return None
    begin, end = whole(words[2]), whole(words[3])
    if begin is None or end is None:
        return None
    return Backing(device=words[0], inode=words[1], begin=begin, end=end)
