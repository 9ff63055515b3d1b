"""fio's log files as relations of DuckDB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.logs import Layout, LogKind, LogName, layout, log_name
from diskbench.packed import ZstdError, unpacked

if TYPE_CHECKING:
    import duckdb

_HEAD_BYTES = 16 * 1024
_BUFFER_BYTES = 4_000_000
"""What DuckDB reads at once: an eighth of its default is as fast here and saves 100 MB."""

FEW_BYTES = 2_000_000
"""A day of a row a second. An hour takes 71 ms of a core with one thread, 99 ms with two."""

_TYPES = dict.fromkeys(("time", "value", "maximum"), "BIGINT")
_TYPES |= {"direction": "UTINYINT", "bs": "UBIGINT"}


@dataclass(frozen=True, slots=True)
class Log:
    """A log file that holds something; `layout` is None for histogram logs."""

    path: Path
    name: LogName
    layout: Layout | None


@cache
def _started(threads: int) -> duckdb.DuckDBPyConnection:
    """DuckDB in memory with so many threads (0: its own choice), once a process, since starting it
    takes 20 ms of CPU. It makes a folder of its own where memory does not suffice."""
    import duckdb

    spill = f"{tempfile.gettempdir()}/diskbench-duckdb-{token_hex(8)}"
    config: dict[str, str | bool | int | float | list[str]] = (
        {"threads": threads} if threads else {}
    )
    config |= {"temp_directory": spill, "preserve_insertion_order": False}
    return duckdb.connect(":memory:", config=config)


@contextmanager
def database(logs: Sequence[Log] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to DuckDB, whose temporary tables are its own and end with it; for few bytes of
    `logs` with one thread, because handing work out to several then takes longer than the work.

    Whatever is read within: a file that does not parse becomes FioOutputUnreadable."""
    import duckdb

    is_few = sum(log.path.stat().st_size for log in logs) < FEW_BYTES
    with _started(1 if is_few else 0).cursor() as db:
        try:
            yield db
        except (duckdb.InvalidInputException, duckdb.DataError) as error:
            advice = "the file is kept; a log that ends within a line was cut while it was copied"
            raise FioOutputUnreadable(
                f"a log file of fio does not parse: {str(error).splitlines()[0]}", advice=advice
            ) from error
        except (duckdb.FatalException, duckdb.InternalException):
            _started.cache_clear()  # it answers nothing any more: the next reader starts it anew
            raise


def open_logs(paths: Sequence[Path]) -> list[Log]:
    """The fio logs among `paths`, by name; empty files and others are passed over."""
    logs = []
    for path in sorted(paths):
        name = log_name(path.name)
        if name is None or path.stat().st_size == 0:
            continue
        if name.kind == "hist":
            logs.append(Log(path, name, None))
            continue
        file_layout = layout(_head(path), where=path.name, kind=name.kind)
        if file_layout:
            logs.append(Log(path, name, file_layout))
    return logs


def _head(path: Path) -> bytes:
    if path.suffix != ".zst":
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    head = b""
    with path.open("rb") as file:
        try:
            for block in unpacked(file):
                head += block
                if len(head) >= _HEAD_BYTES:
                    break
            return head[:_HEAD_BYTES]
        except ZstdError as error:
            raise FioOutputUnreadable(
                f"{path.name}: not zstd, or damaged: {error}",
                advice="compare it with the checksum in manifest.json",
            ) from error


def union(logs: Sequence[Log]) -> str:
    """Value logs of one kind as one relation (time, value[, maximum], direction, bs); logs of one
    layout in one parallel scan."""
    by_layout: dict[Layout, list[Path]] = {}
    for log in logs:
        if log.layout:
            by_layout.setdefault(log.layout, []).append(log.path)
    scans = []
    for form, paths in by_layout.items():
        columns = ", ".join(f"'{name}': '{_TYPES.get(name, 'VARCHAR')}'" for name in form.names)
        scans.append(
            f"SELECT time, value{', maximum' if form.has_maximum else ''}, direction, bs "
            f"FROM read_csv([{', '.join(map(literal, paths))}], delim=',', header=false, quote='', "
            f"escape='', columns={{{columns}}}, auto_detect=false, buffer_size={_BUFFER_BYTES}"
            f"{compression(paths[0])})"
        )
    return " UNION ALL ".join(scans)


def of_first_kind(logs: Sequence[Log], kinds: Sequence[LogKind]) -> list[Log]:
    """The logs of the first of these kinds that there is."""
    found = ([log for log in logs if log.name.kind == kind] for kind in kinds)
    return next(filter(None, found), [])


def scalar(db: duckdb.DuckDBPyConnection, query: str) -> float | None:
    """The one number that a query finds."""
    row = db.execute(query).fetchone()
    return row[0] if row else None


def compression(path: Path) -> str:
    """The argument that makes read_csv read `path`."""
    return ", compression='zstd'" if path.suffix == ".zst" else ""


def literal(path: Path) -> str:
    """A path as an SQL string: DuckDB's table functions take no bound parameters."""
    return "'" + str(path).replace("'", "''") + "'"
