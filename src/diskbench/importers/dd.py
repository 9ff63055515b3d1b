"""dd's last line: GNU coreutils since 5.0, BusyBox, and BSD (coreutils src/dd.c: print_stats).

    419430400 bytes (419 MB, 400 MiB) copied, 5.60153 s, 74.9 MB/s

The bytes and the seconds are used; the rate that dd prints is rounded, in MB of 10^6. The lines
"records in" and "records out" give the I/Os; without them no I/Os are known. Whether a disk was
read or written is not in dd's output: where the command stands above, `of=/dev/null` is a read and
anything else a write; without it the row is of both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
from diskbench.model.result import Direction

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
    steps = tuple(_steps(text, name, run_id_of(0)))
    if not steps:
        raise InvalidValue(f"{name}: no line of dd with bytes and seconds in it")
    notes = () if all(step.measurements[0].ios is not None for step in steps) else (
        "dd's records are not in the text: its I/Os are empty",
    )  # fmt: skip
    return Imported("dd", "", (ImportedRun(steps),), {}, notes)


def _steps(text: str, where: str, run_id: str) -> Iterator[ImportedStep]:
    before = 0
    for index, match in enumerate(_LAST.finditer(text)):
        if index >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} results of dd")
        above = text[max(before, match.start() - 4096) : match.start()]
        before = match.end()
        direction: Direction = "mixed"
        if commands := _COMMAND.findall(above):
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
        yield ImportedStep(step, (made,))


def _recognises(data: bytes, _: str) -> bool:
    return _LAST.search(head_of(data)) is not None


DD = Format("dd", "dd's last line", _recognises, read_dd)
