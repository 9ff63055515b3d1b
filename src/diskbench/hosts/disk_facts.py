"""One block device from the KEY=VALUE lines that block.sh prints: pure."""

from __future__ import annotations

import re

from diskbench.model.facts import DiskFacts

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
    driver = _driver(values.get("driver")) or _driver(values.get("parent_driver"))
    backing = values.get("backing_file") or None
    return DiskFacts(
        name=name,
        path=f"/dev/{name}",
        number=values.get("number", ""),
        size_bytes=sectors * SECTOR_BYTES if sectors is not None else None,
        transport=transport(name, values.get("path", ""), values.get("udev_bus")),
        driver=driver or _driver_by_name(name),
        model=values.get("model") or values.get("udev_model") or None,
        vendor=values.get("vendor") or None,
        serial=values.get("serial") or values.get("device_serial") or None,
        wwn=values.get("wwid") or values.get("device_wwid") or values.get("udev_wwn") or None,
        backing_file=backing,
        backing_inode=whole(values.get("backing_inode")),
        rotational=_flag(values.get("queue_rotational")),
        scheduler=_selected(values.get("queue_scheduler")),
        nr_requests=whole(values.get("queue_nr_requests")),
        max_sectors_kb=whole(values.get("queue_max_sectors_kb")),
        read_ahead_kb=whole(values.get("queue_read_ahead_kb")),
        logical_block_bytes=whole(values.get("queue_logical_block_size")),
        physical_block_bytes=whole(values.get("queue_physical_block_size")),
        write_cache=values.get("queue_write_cache") or None,
    )


def transport(name: str, sysfs: str, bus: str | None) -> str | None:
    """How the disk is attached, from its name and its place in sysfs."""
    for pattern, kind in (
        (r"^loop", "loop"),
        (r"^nvme", "nvme"),
        (r"^xvd", "xen"),
        (r"^vd", "virtio"),
        (r"^mmcblk", "mmc"),
        (r"^(md|dm-)", "stacked"),
        (r"^(zram|ram)", "memory"),
        (r"^nbd|^rbd", "network"),
    ):
        if re.match(pattern, name):
            return kind
    for part, kind in (
        (r"/virtio\d+/host", "virtio-scsi"),
        (r"/VMBUS:|/vmbus", "hyperv"),
        (r"/usb\d+/", "usb"),
        (r"/ata\d+/", "ata"),
        (r"/session\d+/target", "iscsi"),
        (r"/host\d+/", "scsi"),
    ):
        if re.search(part, sysfs):
            return kind
    return bus or None


def whole(text: str | None) -> int | None:
    """A non-negative decimal number; None for anything else."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 20 else None


def _driver(text: str | None) -> str | None:
    return text if text and text != "driver" else None


def _driver_by_name(name: str) -> str | None:
    return "loop" if name.startswith("loop") else None


def _flag(text: str | None) -> bool | None:
    return {"0": False, "1": True}.get(text or "")


def _selected(text: str | None) -> str | None:
    """The scheduler in use, which the kernel writes in brackets: `[mq-deadline] none`."""
    if not text:
        return None
    selected = re.search(r"\[([^\]]+)\]", text)
    return selected[1] if selected else text
