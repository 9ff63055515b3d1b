"""What dd and hdparm print: one line with an amount, a time and a rate.

dd's last line: GNU coreutils since 5.0, BusyBox, and BSD (coreutils src/dd.c: print_stats).

    419430400 bytes (419 MB, 400 MiB) copied, 5.60153 s, 74.9 MB/s

The bytes and the seconds are used; the rate that dd prints is rounded, in MB of 10^6. The lines
"records in" and "records out" give the I/Os; without them no I/Os are known. Whether a disk was
read or written is not in dd's output: where the command stands above, `of=/dev/null` is a read and
anything else a write; without it the row is of both directions.

hdparm -t and -T (hdparm.c: time_device, time_cache).

    Timing buffered disk reads: 806 MB in  3.00 seconds = 268.52 MB/sec

hdparm's MB are 2^20 bytes, read in pieces of 2 MiB (TIMING_BUF_MB). The amount and the seconds are
rounded to two decimals, so the rate is taken as printed, and the run time follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from diskbench.errors import InvalidValue
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    head_of,
    number,
    row,
    step_of,
    text_of,
)
from diskbench.model.doubts import IMPORT, NOT_A_DISK
from diskbench.model.result import Direction, Warning  # noqa: A004 - the field's word
from diskbench.units import MIB

_LAST = re.compile(
    r"^[ \t]*(?P<size>\d{1,19}) bytes\b[^\n]{0,80}? (?:copied|transferred in)[, ]+"
    r"(?P<seconds>\d{1,12}(?:[.,]\d{1,12})?(?:e[+-]?\d\d?)?) ?(?:s|seconds|secs?)\b",
    re.MULTILINE,
)
_RECORDS = re.compile(r"^[ \t]*(?P<whole>\d{1,18})\+(?P<part>\d{1,18}) records out", re.MULTILINE)
_COMMAND = re.compile(r"^.{0,200}\bdd\b .{0,400}$", re.MULTILINE)


def read_dd(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """Each dd in the text as a step of one run. Raises InvalidValue."""
    text = text_of(data, name)
    steps = tuple(_dd_steps(text, name, run_id_of(0)))
    if not steps:
        raise InvalidValue(f"{name}: no line of dd with bytes and seconds in it")
    notes = () if all(step.measurements[0].ios is not None for step in steps) else (
        "dd's records are not in the text: its I/Os are empty",
    )  # fmt: skip
    return Imported("dd", "", (ImportedRun(steps),), {}, notes)


def _dd_steps(text: str, where: str, run_id: str) -> Iterator[ImportedStep]:
    before = 0
    for index, match in enumerate(_LAST.finditer(text)):
        if index >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} results of dd")
        above = text[max(before, match.start() - 4096) : match.start()]
        before = match.end()
        direction: Direction = "mixed"
        commands = _COMMAND.findall(above)
        if commands:
            direction = "read" if "of=/dev/null" in commands[-1] else "write"
        step = step_of(index, "dd" if index == 0 else f"dd-{index + 1}")
        at = f"{where}: dd line {index + 1}"
        size = int(match["size"])
        records = _RECORDS.findall(above)
        full, partial = (int(n) for n in records[-1]) if records else (0, 0)
        ios = full + partial
        block = size // ios if ios and not partial and size % ios == 0 else None
        seconds = number(match["seconds"].replace(",", "."), at)
        made = row(
            run_id=run_id,
            step=step,
            direction=direction,
            ios=ios or None,
            size=size,
            seconds=seconds,
            where=at,
            rw=direction if direction != "mixed" else None,
            block=block,
        )
        yield ImportedStep(step, (made,), warnings=tuple(_doubts(commands[-1:], direction)))


_NO_DISK = re.compile(r"/dev/(?:zero|null|full|random|urandom|shm/\S+)$")
_FILES = re.compile(r"\b(?P<which>if|of)=(?P<path>\S+)")
_WRITTEN = re.compile(r"\b(?:oflag|conv)=\S*(?:direct|sync)")


def _doubts(commands: Sequence[str], direction: Direction) -> Iterator[Warning]:
    """What a command of dd says against its figure: no file of it is on a disk, or memory may have
    taken what it wrote."""
    for command in commands:
        files = {match["which"]: match["path"] for match in _FILES.finditer(command)}
        if len(files) == 2 and all(map(_NO_DISK.search, files.values())):
            yield NOT_A_DISK.warning(f"dd moved data from {files['if']} to {files['of']}")
        elif direction == "write" and not _WRITTEN.search(command):
            yield IMPORT.warning(
                "dd wrote without oflag=direct and without a sync: part of it may still have been "
                "in memory"
            )


def _is_dd(data: bytes, _: str) -> bool:
    return _LAST.search(head_of(data)) is not None


DD = Format("dd", "dd's last line", _is_dd, read_dd)


_TIMING = re.compile(
    r"Timing (?P<what>buffered disk|O_DIRECT disk|cached|buffer-cache|O_DIRECT cached) reads: *"
    r"(?P<mb>\d{1,9}) MB in +(?P<seconds>\d{1,6}\.\d{1,4}) seconds += *"
    r"(?P<rate>\d{1,9}(?:\.\d{1,4})?) (?P<unit>[kMG])B/sec"
)
_BUFFER = 2 * MIB
_STEP_NAMES = {
    "buffered disk": "buffered-reads", "O_DIRECT disk": "direct-reads",
    "cached": "cached-reads", "buffer-cache": "cached-reads", "O_DIRECT cached": "cached-reads",
}  # fmt: skip
_CACHED = (NOT_A_DISK.warning("hdparm -T reads the page cache, which no disk takes part in"),)
_UNITS = {"k": 1024, "M": MIB, "G": 1024 * MIB}
_ROUNDED = 0.03
"""Most by which amount / seconds may differ from the printed rate: both are rounded."""


def read_hdparm(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """Each timing in the text as a step of one run. Raises InvalidValue."""
    steps = tuple(_hdparm_steps(text_of(data, name), name, run_id_of(0)))
    if not steps:
        raise InvalidValue(f"{name}: no timing of hdparm in it")
    return Imported("hdparm", "", (ImportedRun(steps),))


def _hdparm_steps(text: str, where: str, run_id: str) -> Iterator[ImportedStep]:
    used: dict[str, int] = {}
    for index, match in enumerate(_TIMING.finditer(text)):
        if index >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} timings of hdparm")
        base = _STEP_NAMES[match["what"]]
        used[base] = used.get(base, 0) + 1
        step = step_of(index, base if used[base] == 1 else f"{base}-{used[base]}")
        size = int(match["mb"]) * MIB
        at = f"{where}: {match['what']} reads"
        rate = number(match["rate"], at) * _UNITS[match["unit"]]
        seconds = number(match["seconds"], at)
        if not rate or not seconds or abs(size / seconds / rate - 1) > _ROUNDED:
            raise InvalidValue(f"{at}: {match[0][-60:]!r}: amount, seconds and rate disagree")
        made = row(
            run_id=run_id,
            step=step,
            direction="read",
            ios=-(-size // _BUFFER),
            size=size,
            seconds=size / rate,
            where=at,
            rw="read",
            block=_BUFFER,
        )
        yield ImportedStep(step, (made,), warnings=_CACHED if base == "cached-reads" else ())


def _is_hdparm(data: bytes, _: str) -> bool:
    return b"reads:" in data and _TIMING.search(head_of(data)) is not None


HDPARM = Format("hdparm", "hdparm -tT", _is_hdparm, read_hdparm)
