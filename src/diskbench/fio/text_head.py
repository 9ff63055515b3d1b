"""What stands around the results in fio's text: the lines that describe its jobs, its version, the
counters of its disks; its numbers with their units; and which reports in it are of one process."""

import re
from dataclasses import dataclass, field
from typing import Final

from diskbench.fio.repeated import last_is_used
from diskbench.fio.reported import (
    ALL_CLIENTS,
    MOST_RUNS,
    SERVER,
    DirectionStats,
    DiskUse,
    FioJob,
    unreadable,
)
from diskbench.model.result import Direction

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
class TextBlock:
    """What the lines of one job say, as they come."""

    job: FioJob
    pid: str
    where: str
    drops_carry: bool = False
    """Whether its version of fio prints 11.0 for 11.99."""
    stats: dict[Direction, DirectionStats] = field(default_factory=dict)
    now: Direction | None = None
    percentiles: tuple[str, float] | None = None


@dataclass
class TextProcess:
    """What the lines of one process say: in its head, and what it reported last and how often.
    Where heads were left out, several processes are in it.

    With --status-interval fio repeats the whole report, of what has begun so far; then the jobs are
    the same processes. Of several servers each report is of another one.
    """

    version: str = "unknown"
    options: dict[tuple[str, int], dict[str, str]] = field(default_factory=dict)
    now: list[TextBlock] = field(default_factory=list)
    """The report being read."""
    closed: list[tuple[int, list[TextBlock]]] = field(default_factory=list)
    disks: dict[int, list[DiskUse]] = field(default_factory=dict)
    """What stands under the report of a number, from 1."""
    greeted: int = 0
    """Servers that the client named at its begin."""
    summed: bool = False
    """Whether the sum of all clients is among them."""

    @property
    def drops_carry(self) -> bool:
        """Whether its version of fio prints 11.0 for 11.99, which one that is not known may."""
        match = _NUMBERS.match(self.version)
        return match is None or (int(match["major"]), int(match["minor"])) < _CARRIES

    def read_head(self, line: str) -> bool:
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

    @property
    def servers(self) -> bool:
        """Whether several servers may have printed them."""
        return self.summed or self.greeted > 0

    def close(self, where: str) -> None:
        """End the report being read. Raises FioOutputUnreadable for too many of other processes."""
        if not self.now:
            return
        if self._repeats():
            self.closed[-1] = (self.closed[-1][0] + 1, self.now)
        else:
            self.closed.append((1, self.now))
        self.now = []
        if len(self.closed) > MOST_RUNS:
            raise unreadable(where, "text", f"it holds more than {MOST_RUNS:,} runs")

    def all(self, where: str) -> list[tuple[int, list[TextBlock]]]:
        """The last report of each, at the end of the text. An interim report that was cut off is
        left out."""
        if not self._repeats():
            self.close(where)
        if self.servers:
            return [(1, [block for _, blocks in self.closed for block in blocks])]
        return self.closed

    def notes(self, passes: int) -> tuple[str, ...]:
        """What was unusual, of an fio that reported `passes` times."""
        notes = []
        if passes > 1:
            notes.append(last_is_used(passes))
        if self.greeted > 1 and not self.summed:
            notes.append(
                f"it names {self.greeted} servers but has no sum over them ({ALL_CLIENTS}): some "
                f"may be missing"
            )
        return tuple(notes)

    def _repeats(self) -> bool:
        if self.servers or not self.closed:
            return False
        before = {(block.job.name, block.pid) for block in self.closed[-1][1]}
        return any((block.job.name, block.pid) in before for block in self.now)


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
