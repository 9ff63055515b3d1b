"""The rows of a value log of fio as columns of numbers, read by Python alone.

For logs of ordinary size: importing a frame engine takes longer, and more memory, than reading
them. Columns are arrays, 25 bytes a row.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from functools import cache

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.logs import Layout, LogName, layout, log_name

HEAD_BYTES = 16 * 1024
"""Of a log, from which its layout is read."""
_NUMBER = rb"[ \t]*(-?\d{1,19})[ \t\r]*"
_PASSED_OVER = rb"[^,\n]*"


@dataclass(frozen=True, slots=True)
class LogRows:
    """A value log: its name, its layout and, by row, time in ms, value in the log's unit, direction
    (0 read, 1 write, 2 trim) and bytes of the I/O (0 in a row that is a window)."""

    name: LogName
    layout: Layout
    times: array[int]
    values: array[int]
    directions: array[int]
    sizes: array[int]


def log_rows(file_name: str, data: bytes) -> LogRows | None:
    """The rows of the log `data`; None for a histogram log, an empty file or another file.

    Raises FioOutputUnreadable, naming the file and the line, for a line that is not a row of this
    log.
    """
    name = log_name(file_name)
    if name is None or name.kind == "hist":
        return None
    log_layout = layout(data[:HEAD_BYTES], where=file_name, kind=name.kind)
    if log_layout is None:
        return None
    rows = LogRows(name, log_layout, array("q"), array("q"), array("B"), array("q"))
    match = _row(log_layout).fullmatch
    for number, line in enumerate(data.split(b"\n"), 1):
        cells = match(line)
        if cells is None:
            if not line.strip():
                continue
            raise _no_row(file_name, number, line)
        time, value, direction, size = map(int, cells.groups())
        try:
            rows.times.append(time)
            rows.values.append(value)
            rows.directions.append(direction)
            rows.sizes.append(size)
        except OverflowError:
            raise _no_row(file_name, number, line) from None
    return rows


@cache
def _row(log_layout: Layout) -> re.Pattern[bytes]:
    """A line of a log of this layout; its groups are time, value, direction and size."""
    read = {"time", "value", "direction", "bs"}
    cells = [
        _NUMBER if name in read or name == "maximum" else _PASSED_OVER for name in log_layout.names
    ]
    if log_layout.has_maximum:
        cells[2] = cells[2].replace(b"(", b"(?:")
    return re.compile(b",".join(cells))


def _no_row(where: str, number: int, line: bytes) -> FioOutputUnreadable:
    return FioOutputUnreadable(
        f"{where}: line {number} is not a row of this fio log: {line[:80]!r}",
        advice="the file is kept; a log that ends within a line was cut while it was copied",
    )
