"""Block devices and mounts as agent.py says them: KEY=VALUE lines, its answer to `devices`. From
their state device.py decides whether to write. Pure.
"""

import re

from diskbench.hosts.shell import whole
from diskbench.limits import COUNTER
from diskbench.model.base import Frozen
from diskbench.model.facts import DiskFacts, MountFacts
from diskbench.units import format_bytes
from diskbench.yaml_lines import packaged

NAMES = packaged("diskbench.hosts", "names.yaml")
"""What hosts call things, and what a host is to read."""
SECTOR_BYTES = 512
"""sysfs counts in sectors of 512 bytes whatever the device's own are (Documentation/ABI block)."""


def key_values(lines: list[str]) -> dict[str, str]:
    """KEY=VALUE lines; the first of a key counts, lines without `=` do not."""
    values: dict[str, str] = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if equals:
            values.setdefault(key.strip(), value.strip())
    return values


def disk_facts(lines: list[str]) -> DiskFacts | None:
    """The device as facts; None when there is none."""
    values = key_values(lines)
    name = values.get("name", "")
    if not name:
        return None
    sectors = whole(values.get("sectors"))
    # A link that leads nowhere keeps its own name.
    drivers = [values.get("driver", ""), values.get("parent_driver", "")]
    drivers = [driver for driver in drivers if driver not in {"", "driver"}]
    scheduler = values.get("queue_scheduler") or None
    if scheduler and (selected := re.search(r"\[([^\]]+)\]", scheduler)):  # [mq-deadline] none
        scheduler = selected[1]
    return DiskFacts(
        name=name,
        path=f"/dev/{name}",
        number=values.get("number", ""),
        size_bytes=sectors * SECTOR_BYTES if sectors is not None else None,
        transport=transport(name, values.get("path", ""), values.get("udev_bus")),
        driver=next(iter(drivers), "loop" if name.startswith("loop") else None),
        model=values.get("model") or values.get("udev_model") or None,
        vendor=values.get("vendor") or None,
        serial=values.get("serial") or values.get("device_serial") or None,
        wwn=values.get("wwid") or values.get("device_wwid") or values.get("udev_wwn") or None,
        backing_file=values.get("backing_file") or None,
        backing_inode=whole(values.get("backing_inode")),
        rotational={"0": False, "1": True}.get(values.get("queue_rotational", "")),
        scheduler=scheduler,
        nr_requests=whole(values.get("queue_nr_requests")),
        max_sectors_kb=whole(values.get("queue_max_sectors_kb")),
        read_ahead_kb=whole(values.get("queue_read_ahead_kb")),
        logical_block_bytes=whole(values.get("queue_logical_block_size")),
        physical_block_bytes=whole(values.get("queue_physical_block_size")),
        write_cache=values.get("queue_write_cache") or None,
    )


def transport(name: str, sysfs: str, bus: str | None) -> str | None:
    """How the disk is attached, from its name and its place in sysfs."""
    place = f"{name} {sysfs}"
    known = (str(kind) for what, kind in NAMES["transports"].items() if re.search(what, place))
    return next(known, bus or None)


_NETWORK = re.compile(
    r"(9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|"
    r"panfs|pvfs2|smb3|smbfs|sshfs|virtiofs|wekafs)\Z|"
    r"fuse\.(sshfs|ceph|ceph-fuse|glusterfs|s3fs|gcsfuse|rclone|blobfuse2?|goofys|juicefs|"
    r"mount-s3|curlftpfs|davfs|weed|seaweedfs|moosefs|mfs|bindfs\.nfs)"
)


def is_network(fstype: str) -> bool:
    """Whether the filesystem's data lie on another machine."""
    return bool(_NETWORK.match(fstype))


def mount_facts(by_section: dict[str, list[str]]) -> MountFacts | None:
    """The mount that holds the directory; None where the host cannot tell it."""
    point, source, fstype, options = [*by_section.get("mount", []), *[""] * 4][:4]
    if not fstype:
        return None
    size, available = _sizes(by_section.get("statfs", []))
    return MountFacts(
        mount_point=point,
        source=source,
        fstype=fstype,
        options=options,
        size_bytes=size,
        available_bytes=available,
    )


def _sizes(lines: list[str]) -> tuple[int | None, int | None]:
    """Total and available bytes from `stat -f -c '%S %b %a'`."""
    fields = lines[0].split() if lines else []
    numbers = [whole(field) for field in fields]
    if len(numbers) != 3 or None in numbers:
        return None, None
    block, total, available = (number or 0 for number in numbers)
    too_large = block * max(total, available) > COUNTER
    return (None, None) if too_large else (block * total, block * available)


_F2FS_COPY = 5120
"""Where f2fs keeps its second superblock, in bytes (F2FS_BLKSIZE + F2FS_SUPER_OFFSET)."""


class DeviceState(Frozen):
    """One block device and every fact that may refuse it. `looked` is False where only the cheap
    facts were read: then signatures, openers and permission are unknown.
    """

    disk: DiskFacts
    backing: tuple[str, str, int, int] | None = None
    """The file behind a loop device, by device and inode, and the bytes of it that the loop device
    maps: from the one up to, but not including, the other."""
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


def parse_inspection(answer: list[list[str]]) -> Inspection:
    """The answer to `devices`; devices without readable facts are left out."""
    states = [_state(lines) for title, *lines in answer if title == "device"]
    asked = next((line for title, *lines in answer if title == "asked" for line in lines), None)
    return Inspection(
        devices=tuple(s for s in states if s is not None),
        asked=asked,
        complete=["end"] in answer,
    )


def _state(lines: list[str]) -> DeviceState | None:
    disk = disk_facts(lines)
    if disk is None or not disk.number:
        return None

    def every(key: str) -> tuple[str, ...]:
        values = [line.partition("=")[2].strip() for line in lines if line.startswith(f"{key}=")]
        return tuple(dict.fromkeys(v for v in values if v))

    readable = every("readable")
    return DeviceState(
        disk=disk,
        backing=_backing(every("backing")),
        identities=every("identity"),
        read_only=every("ro") == ("1",),
        removable=every("removable") == ("1",),
        partition_of=next(iter(every("partition_of")), None),
        partitions=tuple(text.partition(" ")[2] for text in every("partition")),
        holders=every("holder"),
        mounts=every("mount"),
        swap=every("swap") == ("yes",),
        system=every("system") == ("yes",),
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
    offset = whole(offset_text)
    if offset is None or not re.fullmatch("(?:[0-9a-f]{2})*", digits):
        return None
    where, data = format_bytes(offset), bytes.fromhex(digits)
    # btrfs says where each copy lies: struct btrfs_super_block, bytenr and magic.
    if data[0x40:0x48] == b"_BHRfS_M" and data[0x30:0x38] == offset.to_bytes(8, "little"):
        return f"btrfs at {where}"
    if offset == _F2FS_COPY and data[:4] == bytes.fromhex("1020f5f2"):
        return f"f2fs at {where}"
    return None


def _backing(values: tuple[str, ...]) -> tuple[str, str, int, int] | None:
    """`DEVICE INODE BEGIN END`, as agent.py prints it; None for anything else."""
    words = values[0].split() if values else []
    if len(words) != 4:
        return None
    begin, end = map(whole, words[2:])
    return None if begin is None or end is None else (words[0], words[1], begin, end)
