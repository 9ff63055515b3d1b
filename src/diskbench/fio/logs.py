"""The names and the columns of fio's log files (fio HOWTO, "Log File Formats").

    <prefix>_<kind>.<job>.log      kind: bw, iops, lat, clat, slat, clat_hist; job counts from 1
    <prefix>_<kind>.log            with per_job_logs=0

    time, value, direction, bs                                   fio before 2.1.11
    time, value, direction, bs, priority                         since 3.18 or so
    time, value, direction, bs, offset, priority                 log_offset=1
    time, value, direction, bs, offset, priority, issue time     log_issue_time=1 (3.38)
    time, value, value1, direction, bs, …                        log_window_value=both (3.37)
    time, direction, bs, count, count, …                         histogram logs

Time is ms since the job began, or Unix ms with log_unix_epoch=1; latency is in ns, bw in KiB/s.
With log_avg_msec a row describes the window that *ends* at its time, its bs is 0, and windows
without any I/O have no row. Without it a row is one I/O, and `value` of an iops log is always 1:
an iops log with larger values has windows, whatever its bs is.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast

from diskbench.errors import FioOutputUnreadable
from diskbench.limits import COUNTER

LogKind = Literal["bw", "iops", "lat", "clat", "slat", "hist"]

_NAME = re.compile(
    r"^(?:(?P<prefix>.*?)_)?(?P<kind>bw|iops|slat|clat_hist|clat|lat|hist)"
    r"(?:\.(?P<job>\d+))?\.log(?:\.zst)?$"
)
_DIRECTIONS = (b"0", b"1", b"2")
_DIGITS = 19
"""Digits of the largest count."""
_MOST_COLUMNS = 9
SLIVER_S = 0.5
"""A last second shorter than this is counted with the one before it: what was in flight at the end
completes in it, and what the whole seconds before lost to rounding (1 % of a burst) falls into it,
so that a disk at 100 IOPS seemed to end at 1,600; our choice."""
LATE_WINDOWS = 1.5
"""From such a gap on, in usual windows, a row may stand for more than one
(store/log_windows.py)."""
MOSTLY = 0.5
"""A gap was I/O where this share of its windows, or of what they lack, was."""
LONGEST_S = 31 * 86_400
"""Of a step. Every second has a row: one damaged time in a log would ask for years of them."""
_EPOCH_MS = 10**11
"""Times above are Unix time: as ms since the start they would be three years of a run."""


@dataclass(frozen=True, slots=True)
class LogName:
    """What a log file's name says."""

    prefix: str
    kind: LogKind
    job: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one value log: their number, and whether one is a maximum beside the value.

    `averaged`: rows are windows, else single I/Os. `epoch`: times are Unix time in ms.
    """

    columns: int
    has_maximum: bool
    averaged: bool
    epoch: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order; those that nothing reads are `x4`, `x5`, …"""
        known = ("time", "value", *(("maximum",) if self.has_maximum else ()), "direction", "bs")
        return (*known, *(f"x{index}" for index in range(len(known), self.columns)))


def log_name(name: str) -> LogName | None:
    """The parts of a log file's name (without its folder); None where it is no fio log."""
    match = _NAME.match(name)
    if not match:
        return None
    kind = match["kind"]
    return LogName(
        prefix=match["prefix"] or "",
        kind=cast("LogKind", "hist" if kind.endswith("hist") else kind),
        job=int(match["job"] or 0),
    )


def layout(head: bytes, *, where: str, kind: LogKind | None = None) -> Layout | None:
    """The layout of a value log, from its first lines; None where it is empty.

    `head` may end within a line. Six columns are written with log_offset and with
    log_window_value=both: the direction is the column with only 0, 1 and 2, of two the earlier.
    Raises FioOutputUnreadable, naming `where` and the line, when it is no log of fio.
    """
    lines = head.split(b"\n")
    if len(lines) > 1 and not head.endswith(b"\n"):
        lines.pop()  # cut in the middle
    rows = [[cell.strip() for cell in line.split(b",")] for line in lines if line.strip()]
    if not rows:
        return None
    columns = len(rows[0])
    for number, row in enumerate(rows, 1):
        numeric = all(_is_count(cell) for cell in row[:4])
        if len(row) != columns or not 4 <= columns <= _MOST_COLUMNS or not numeric:
            raise FioOutputUnreadable(
                f"{where}: line {number} is not a row of a fio log: {b', '.join(row)[:80]!r}",
                advice="fio writes time, value, direction and block size, separated by commas",
            )
    if all(row[2] in _DIRECTIONS for row in rows):
        position = 2
    elif columns >= 5 and all(row[3] in _DIRECTIONS for row in rows):
        position = 3
    else:
        raise FioOutputUnreadable(
            f"{where}: no column of it is a direction (0 read, 1 write, 2 trim)",
            advice="it may be a histogram log, or the log of another program",
        )
    return Layout(
        columns=columns,
        has_maximum=position == 3,
        averaged=all(row[position + 1] == b"0" for row in rows)
        or (kind == "iops" and any(int(row[1]) > 1 for row in rows)),
        epoch=int(rows[0][0]) > _EPOCH_MS,
    )


def refuse_years(span_s: float) -> None:
    """Raises FioOutputUnreadable for logs of a step that span longer than LONGEST_S."""
    if span_s > LONGEST_S:
        raise FioOutputUnreadable(
            f"the logs of a step span {span_s / 86_400:,.0f} days, more than the "
            f"{LONGEST_S // 86_400} that a step may have: a time in them is damaged",
            advice="look at the first and the last lines of the logs; times are milliseconds",
        )


def _is_count(cell: bytes) -> bool:
    return cell.isdigit() and len(cell) <= _DIGITS and int(cell) <= COUNTER
