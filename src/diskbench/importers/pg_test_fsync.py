"""What PostgreSQL's pg_test_fsync prints: how many times a second a write and its sync end.

            fdatasync                           151.638 ops/sec    6595 usecs/op
     4 *  4kB open_sync writes                   42.086 ops/sec   23761 usecs/op

An operation of the first test is a write of 8 kB and its sync, of the second two writes and one
sync; the third writes 16 kB in pieces, each with its sync. A step's I/Os are its writes. The time
of an operation is the latency of its write where it has one. Writes without a sync stay in memory:
they are left out. (PostgreSQL, src/bin/pg_test_fsync/pg_test_fsync.c.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
from diskbench.units import KIB

_OPS: Final = re.compile(
    r"^[ \t]*(?P<name>\S.{0,60}?) {2,}(?P<ops>[\d.]{1,20}) ops/sec +(?P<us>[\d.]{1,20}) usecs/op"
)
_SIZED: Final = re.compile(r"(?P<writes>\d{1,4}) \* +(?P<kib>\d{1,6})kB (?P<method>\S+) writes?")
_SECONDS: Final = re.compile(r"^(?P<seconds>\d{1,6}) seconds? per test", re.MULTILINE)
_TESTS: Final = (
    ("Compare file sync methods using one ", 1), ("Compare file sync methods using two ", 2),
    ("Test if fsync on non-write", 1),
)  # fmt: skip
_BLOCK: Final = 8 * KIB
_NOT_SYNCED: Final = "Non-sync'ed"


def read_pg_test_fsync(data: bytes, name: str) -> Imported:
    """The tests in the text as steps of one run. Raises InvalidValue."""
    text = text_of(data, name)
    match = _SECONDS.search(text)
    seconds = float(match["seconds"]) if match else None
    steps = tuple(_steps(text, name, seconds))
    if not steps:
        raise InvalidValue(f"{name}: no test of pg_test_fsync in it")
    left = "its writes without a sync stay in memory and are left out"
    notes = (left,) if _NOT_SYNCED in text else ()
    return Imported("pg_test_fsync", "", (ImportedRun(steps, notes=notes, reports=left),))


def _steps(text: str, where: str, seconds: float | None) -> Iterator[ImportedStep]:
    writes, index = 0, 0
    for line in text.splitlines():
        heading = next((count for words, count in _TESTS if line.startswith(words)), None)
        if heading is not None:
            writes = heading
        elif line.startswith(("Compare", _NOT_SYNCED)):
            writes = 0
        match = _OPS.match(line)
        if match is None:
            continue
        sized = _SIZED.fullmatch(match["name"])
        if not writes and sized is None:
            continue
        if index >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} tests")
        count = int(sized["writes"]) if sized else writes
        block = int(sized["kib"]) * KIB if sized else _BLOCK
        method = sized["method"] if sized else match["name"].replace(", ", "-")
        times = f"{count}x" if count > 1 else ""
        at = f"{where}: {match['name']}"
        each = "-each" if sized and count > 1 else ""  # its sync
        step = step_of(index, f"{method}-{times}{block // KIB}k{each}")
        iops = number(match["ops"], at) * count
        made = row(
            step=step, direction="write", where=at, seconds=seconds, iops=iops,
            bytes_per_s=iops * block, rw="write", block=block, depth=1,
            latency={"lat_mean_ns": number(match["us"], at) * 1000} if count == 1 else None,
        )  # fmt: skip
        yield ImportedStep(step, (made,))
        index += 1


def _is_pg_test_fsync(data: bytes, _: str) -> bool:
    head = head_of(data)
    return "ops/sec" in head and "Compare file sync methods" in head


PG_TEST_FSYNC = Format("pg_test_fsync", "pg_test_fsync", _is_pg_test_fsync, read_pg_test_fsync)
