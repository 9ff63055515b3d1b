"""What stands around the results in fio's text: the lines that describe its jobs, its version, the
counters of its disks; and its numbers with their units."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from diskbench.fio.reported import SERVER, DiskUse, unreadable

_START = re.compile(
    r"(?P<name>.{0,500}?): \(g=(?P<group>\d{1,9})\): rw=(?P<rw>[\w,:]+), bs=(?P<bs>.{1,120}), "
    r"ioengine=(?P<engine>\S{1,60}), iodepth=(?P<depth>\d{1,9})\s*$"
)
_VERSION = re.compile(
    r"(?:fio[- ](?=\d{1,3}\.\S)|(?=[12]\.\d{1,2}(?:\.\d{1,3})?$))(?P<number>\S{1,44})"
)
"""`fio-3.33`; fio 2.0 and some of 1.x print the number alone."""
DISKS = re.compile(r"Disk stats \(read/write\):")
_DISK = re.compile(
    r" +(?P<name>\S{1,80}): ios=(?P<ios>\d{1,18}/\d{1,18}), "
    r"(?:sectors=(?P<sectors>\d{1,15}/\d{1,15}), )?merge=(?P<merges>\d{1,18}/\d{1,18}), "
    r"ticks=.{0,80}?util=(?P<util>[\d.]{1,10})%(?P<below>, aggrios=)?"
)
_SECTOR_BYTES: Final = 512
_LETTERS: Final = "kMGTP"
_LONGEST_NUMBER: Final = 24
_LARGEST_BLOCK: Final = 2**32
"""fio keeps block sizes in 32 bits (thread_options.h)."""
_CARRIES: Final = (3, 26)
_NUMBERS: Final = re.compile(r"fio-(?P<major>\d{1,3})\.(?P<minor>\d{1,3})(?!\d)")


@dataclass
class TextHead:
    """What the lines of one process say before its results; `greeted` are the servers that a client
    names."""

    version: str = "unknown"
    options: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)
    greeted: int = 0

    @property
    def drops_carry(self) -> bool:
        """Whether its version of fio prints 11.0 for 11.99, which one that is not known may."""
        match = _NUMBERS.match(self.version)
        return match is None or (int(match["major"]), int(match["minor"])) < _CARRIES

    def read(self, line: str) -> bool:
        """Read a line; whether it is one of a head."""
        if match := _START.match(line):
            key, described = (match["name"], int(match["group"])), _options(match)
            # Of several servers each describes its job of this name, but not its results.
            self.options[key] = described if self.options.get(key, described) == described else {}
        elif match := _VERSION.fullmatch(line.strip()):
            self.version = f"fio-{match['number']}"
        elif match := SERVER.match(line):
            self.version = match["version"]
            self.greeted += 1
        else:
            return False
        return True


def begins(line: str) -> bool:
    """Whether a line is one with which a process begins."""
    return any((_START.match(line), _VERSION.fullmatch(line.strip()), SERVER.match(line)))


def disk_of(line: str) -> DiskUse | None:
    """The counters of a disk; None for any other line."""
    match = _DISK.match(line)
    if match is None:
        return None
    ios, merges, sectors = (
        [int(n) for n in match[name].split("/")] if match[name] else None
        for name in ("ios", "merges", "sectors")
    )
    assert ios is not None and merges is not None  # noqa: PT018
    return DiskUse(
        name=match["name"], read_ios=ios[0], write_ios=ios[1], util=real(match["util"], ""),
        read_bytes=sectors[0] * _SECTOR_BYTES if sectors else None,
        write_bytes=sectors[1] * _SECTOR_BYTES if sectors else None,
        read_merges=merges[0], write_merges=merges[1], stacked=match["below"] is not None,
    )  # fmt: skip


def _options(match: re.Match[str]) -> dict[str, str]:
    """The options in the line that describes a job; without its pattern where its sizes cannot be
    read, for fio's default block would follow from it."""
    options = {"iodepth": match["depth"], "ioengine": match["engine"]}
    ranges = re.findall(r"([\d.]+)([kKMG]?i?B?)-([\d.]+)([kKMG]?i?B?)", match["bs"])
    pairs = [
        (in_bytes(low, low_unit, 1024), in_bytes(high, high_unit, 1024))
        for low, low_unit, high, high_unit in ranges
    ]
    if not pairs or any(not 0 < low <= high <= _LARGEST_BLOCK for low, high in pairs):
        return options
    options["rw"] = match["rw"]
    if all(low == high for low, high in pairs):
        options["bs"] = ",".join(f"{low:.0f}" for low, _ in pairs)
    else:
        options["bsrange"] = ",".join(f"{low:.0f}-{high:.0f}" for low, high in pairs)
    return options


def in_bytes(number: str, unit: str, base: int, where: str = "") -> float:
    """Bytes. `base` is what a unit without `i` counts in: 1,024 in fio 2, 1,000 in fio 3."""
    letter = unit.removesuffix("B").removesuffix("i").replace("K", "k")
    power = _LETTERS.index(letter) + 1 if letter else 0
    return real(number, where) * float((1024 if "i" in unit else base) ** power)


def real(text: str, where: str) -> float:
    """A printed number. Raises FioOutputUnreadable."""
    text = text.replace(",", "")
    if len(text) > _LONGEST_NUMBER or text.count(".") > 1 or text == ".":
        raise unreadable(where, "text", f"{text[:40]!r} is not a figure")
    return float(text)
