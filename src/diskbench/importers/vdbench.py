"""vdbench's totals: the `avg_` lines of its summary, log and screen, and of its flatfile.

MB/sec are 2^20 bytes (the header says 1024**2), response times ms. There is no count of I/Os. The
run time is what the intervals of the line take, where `elapsed` says how long one is: elapsed by
the last interval. The clock of the log has no time zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

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
from diskbench.units import MIB

_START = re.compile(
    r"Starting RD=(?P<name>[^;\s]{1,80});.{0,200}?elapsed=(?P<elapsed>\d{1,7}|\(none\))"
    r"(?: warmup=(?P<warmup>\d{1,7}))?"
)
_AVERAGE = re.compile(
    r"^\s*(?:[\d:.]+ *)?avg_(?P<first>\d{1,6})-(?P<last>\d{1,6}) +(?P<rest>[\dNa.+ -]+)$"
)
_DATE = re.compile(r"^(?P<date>[A-Z][a-z]{2} \d\d?, \d{4}) +interval ")
_FILES = re.compile(r"ReqstdOps|\.Interval\. ")
_LONGEST: Final = {13: (7, 8), 12: (7,)}
"""Figures in a line → places of the longest responses; the deviation is behind them. 5.04.07: rate,
MB/s, bytes, read %, response (all, read, write), longest (read, write), deviation, queue, CPU
twice; 5.04.06 has one longest response for reads and writes."""


def read_vdbench(data: bytes, name: str) -> Imported:
    """Each run definition (RD) with I/O as a step. Raises InvalidValue."""
    text = text_of(data, name)
    if _FILES.search(text):
        raise InvalidValue(f"{name}: totals of vdbench's file systems (fsd) are not read")
    steps: list[ImportedStep] = []
    date = ""
    for at, total in enumerate(_totals(text.splitlines())):
        rd, elapsed, day, line, match = total
        date = date or day
        if at >= MOST_STEPS:
            raise InvalidValue(f"{name}: it holds more than {MOST_STEPS:,} totals")
        where = f"{name}: {rd or line[:40]}"
        cells = match["rest"].split()
        if len(cells) < 5:
            raise InvalidValue(f"{where}: its line is cut: {line.strip()[:60]!r}")
        if number(cells[0], where):
            index = len(steps)
            seconds = _seconds(match, elapsed, where)
            steps.append(_step(cells, rd or f"rd{index + 1}", index, seconds, where))
    if not steps:
        raise InvalidValue(f"{name}: no avg_ line of vdbench with I/O in it")
    version = re.search(r"Vdbench distribution: vdbench(\d{3,8})", text)
    run = ImportedRun(tuple(steps), local_time=date or None)
    notes = ("vdbench prints no counts of I/Os and bytes: these are empty",)
    return Imported("vdbench", version[1] if version else "", (run,), {}, notes)


def _totals(
    lines: Sequence[str],
) -> Iterator[tuple[str, int | None, str, str, re.Match[str]]]:
    """The avg_ lines, each with the run definition above it, its elapsed seconds, and the date."""
    name, elapsed, date = "", None, ""
    seen: set[tuple[str, str]] = set()
    for line in lines:
        line = line[:1024]
        if match := _START.search(line):
            name = match["name"]
            seen.clear()
            elapsed = None
            if match["elapsed"].isdigit():  # the intervals of the warm-up are counted, too
                elapsed = int(match["elapsed"]) + int(match["warmup"] or 0)
        elif match := _DATE.match(line):
            date = match["date"]
        elif match := _AVERAGE.match(line.rstrip()):
            total = match["first"], match["last"]
            if name and total in seen:
                continue  # of a host or a disk: what is of all comes first
            seen.add(total)
            yield name, elapsed, date, line, match


def _seconds(match: re.Match[str], elapsed: int | None, where: str) -> float | None:
    first, last = int(match["first"]), int(match["last"])
    if not 0 < first <= last:
        raise InvalidValue(f"{where}: avg_{first}-{last} is not an interval")
    return (last - first + 1) * elapsed / last if elapsed and elapsed >= last else None


def _step(
    cells: Sequence[str], name: str, index: int, seconds: float | None, where: str
) -> ImportedStep:
    rate, mb_per_s, block, read, response = (number(cell, where) for cell in cells[:5])
    if abs(mb_per_s * MIB - rate * block) > 0.01 * MIB + 0.1 * block + 0.01 * rate * block:
        raise InvalidValue(
            f"{where}: {rate:,} I/Os of {block:,.0f} bytes a second are not {mb_per_s:,} MB/s of "
            "1024**2 bytes"
        )
    if read > 100:
        raise InvalidValue(f"{where}: {read} % of reads")
    direction: Direction = "read" if read == 100 else "write" if read == 0 else "mixed"
    latency = {"lat_mean_ns": response * 1e6}
    if longest := _LONGEST.get(len(cells)):
        latency["lat_max_ns"] = max(number(cells[at], where) for at in longest) * 1e6
        latency["lat_stddev_ns"] = number(cells[longest[-1] + 1], where) * 1e6
    step = step_of(index, name)
    made = row(
        step=step,
        direction=direction,
        iops=rate,
        bytes_per_s=rate * block,
        seconds=seconds,
        where=where,
        block=int(block) if block % 512 == 0 and direction != "mixed" else None,
        latency=latency,
    )
    return ImportedStep(step, (made,), compared=True)


def _recognises(data: bytes, _: str) -> bool:
    if b"avg_" not in data:
        return False
    return any(_AVERAGE.match(line[:1024].rstrip()) for line in head_of(data).splitlines())


VDBENCH = Format("vdbench", "vdbench's avg_ totals", _recognises, read_vdbench)
