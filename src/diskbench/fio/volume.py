"""The cloud's own word on the limit of a step: volume.txt, which hosts/agent.py writes.

A line is `WHEN NUMBER PAGE`: `before` or `after` fio, the kernel's number of the disk, and in
hexadecimal the log page 0xD0 of its NVMe volume, whose vendor counts so. The page has 4,096 bytes,
little endian: the magic number 0x3C23B510, four unused bytes, then eleven counters of 64 bits
(nvme-cli, plugins/amzn/amzn-nvme.c). Four of them are the microseconds for which more was asked
than the volume, or the machine, allows. They only grow, so their differences belong to the step; to
the time that fio took, a read of the page before and after it adds some milliseconds.
"""

from __future__ import annotations

import struct

from diskbench.model.expectation import LimitName
from diskbench.model.metrics import Exceeded

VOLUME = "volume.txt"
PAGE_BYTES = 4096
MAGIC = 0x3C23B510
_HEAD = struct.Struct("<I4x11Q")
_FIRST_TIME = 6
_TIMES: tuple[LimitName, ...] = ("disk-iops", "disk-throughput", "vm-iops", "vm-throughput")
"""The limits whose times follow six counters of what was done, in the page's order."""
_US_PER_S = 1e6


def parse_exceeded(data: bytes) -> Exceeded | None:
    """The seconds of a step beyond each limit, of several volumes those of the one that was beyond
    it the longest; None where any page is missing, damaged, or counts backwards. Never raises,
    whatever the host wrote there."""
    pages: dict[bytes, dict[bytes, tuple[int, ...]]] = {b"before": {}, b"after": {}}
    for line in data.splitlines():
        when, number, page = (*line.split(b" ", 2), b"", b"")[:3]
        times = _times(page)
        if when not in pages or times is None:
            return None
        pages[when][number] = times
    before, after = pages[b"before"], pages[b"after"]
    if not before or before.keys() != after.keys():
        return None
    grown = [
        tuple(end - begin for begin, end in zip(before[number], after[number], strict=True))
        for number in before
    ]
    if any(value < 0 for values in grown for value in values):
        return None
    longest = (max(values) / _US_PER_S for values in zip(*grown, strict=True))
    return Exceeded(dict(zip(_TIMES, longest, strict=True)))


def _times(page: bytes) -> tuple[int, ...] | None:
    try:
        raw = bytes.fromhex(page.decode("ascii"))
    except ValueError:
        return None
    if len(raw) != PAGE_BYTES:
        return None
    magic, *counters = _HEAD.unpack_from(raw)
    if magic != MAGIC:
        return None
    return tuple(counters[_FIRST_TIME : _FIRST_TIME + len(_TIMES)])
