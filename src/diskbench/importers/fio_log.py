"""fio's log files: recognised by their name, and read for their seconds by store/series.py."""

import re
from collections.abc import Callable

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.logs import layout, log_name
from diskbench.importers.form import Format, Imported, ImportedRun, ImportedStep, step_of, utc

_FIRST_LINE = 1024
_NO_NUMBER = re.compile(rb"[^0-9a-fA-FxX,\s-]")
"""Priorities are hexadecimal in newer logs."""
_NEWLINE = b"\n"


def check_log(data: bytes, *, name: str) -> None:
    """Check that a value log of fio is complete: only numbers, and a last line of as many columns.

    Raises InvalidValue naming the line, also for a file without any row.
    """
    log = log_name(name)
    if log is None or log.kind == "hist" or name.endswith(".zst"):
        return
    bad = _NO_NUMBER.search(data)
    ends = data.rstrip()
    at = bad.start() if bad else ends.rfind(b"\n") + 1
    line = data[data.rfind(b"\n", 0, at) + 1 :].partition(b"\n")[0].strip()
    if not bad and line.count(b",") == data.partition(b"\n")[0].count(b",") and ends:
        return
    mistake = f"line {data.count(_NEWLINE, 0, at) + 1} is not a row of a fio log: {line[:80]!r}"
    raise InvalidValue(
        f"{name}: {mistake if ends else 'it has no row'}",
        advice="it may have been cut while it was copied; without that line it can be imported"
        if ends
        else "with log_avg_msec fio writes a log when the job ends",
    )


def read_log(data: bytes, name: str, _: Callable[[int], str]) -> Imported:
    """A log as a run of one step without rows: fio's logs hold no totals."""
    log = log_name(name.rpartition("/")[2])
    assert log is not None
    step = step_of(0, log.prefix or "fio")
    run = ImportedRun((ImportedStep(step, ()),), started_at=_unix_start(data, name))
    return Imported("fio-log", "", (run,))


def _unix_start(data: bytes, name: str) -> str | None:
    """When a log with log_unix_epoch begins, in ISO 8601; None for other and damaged logs."""
    first = data[:_FIRST_LINE].partition(b"\n")[0]
    try:
        columns = layout(first + b"\n", where=name)
    except FioOutputUnreadable:
        return None
    return utc(int(first.partition(b",")[0]) / 1000) if columns and columns.epoch else None


def _recognises(_: bytes, name: str) -> bool:
    return log_name(name.rpartition("/")[2]) is not None


FIO_LOG = Format("fio-log", "fio's log files", _recognises, read_log)
