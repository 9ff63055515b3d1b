"""fio's log files as relations of DuckDB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.logs import Layout, LogName, layout, log_name

if TYPE_CHECKING:
    import duckdb

_HEAD_BYTES = 16 * 1024
_BUFFER_BYTES = 4_000_000
"""What DuckDB reads at once: an eighth of its default is as fast here and saves 100 MB."""

FEW_BYTES = 2_000_000
"""A day of a row a second. An hour takes 71 ms of a core with one thread, 99 ms with two."""

_TYPES = {
    "time": "BIGINT",
    "value": "BIGINT",
    "maximum": "BIGINT",
    "direction": "UTINYINT",
    "bs": "UBIGINT",
}


@dataclass(frozen=True, slots=True)
class Log:
    """A log file that holds something; `layout` is None for histogram logs."""

    path: Path
    name: LogName
    layout: Layout | None


@contextmanager
def database(logs: Sequence[Log] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty DuckDB in memory that spills into its own temporary folder; for few bytes of `logs`
    with one thread, because handing work out to several then takes longer than the work.

    Whatever is read within: a file that does not parse becomes FioOutputUnreadable."""
    import duckdb

    bytes_of_logs = sum(log.path.stat().st_size for log in logs)
    few: dict[str, str | bool | int | float | list[str]] = {}
    if 0 < bytes_of_logs < FEW_BYTES:
        few["threads"] = 1
    with tempfile.TemporaryDirectory(prefix="diskbench-duckdb-") as spill:
        db = duckdb.connect(":memory:", config=few)
        try:
            db.execute(f"SET temp_directory = {literal(Path(spill))}")
            db.execute("SET preserve_insertion_order = false")
            yield db
        except (duckdb.InvalidInputException, duckdb.DataError) as error:
            raise FioOutputUnreadable(
                f"a log file of fio does not parse: {str(error).splitlines()[0]}",
                advice="the file is kept; a log that ends within a line was cut while it was "
                "copied",
            ) from error
        finally:
            db.close()


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
    import zstandard

    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        try:
            return reader.read(_HEAD_BYTES)
        except zstandard.ZstdError as error:
            raise FioOutputUnreadable(
                f"{path.name}: not zstd, or damaged: {error}",
                advice="compare it with the checksum in manifest.json",
            ) from error


def union(logs: Sequence[Log]) -> str:
    """All logs of one kind as one relation; logs of one layout in one parallel scan."""
    by_layout: dict[Layout, list[Path]] = {}
    for log in logs:
        if log.layout:
            by_layout.setdefault(log.layout, []).append(log.path)
    return " UNION ALL ".join(
        _scan_paths(file_layout, paths) for file_layout, paths in by_layout.items()
    )


def scan(log: Log) -> str:
    """One value log as (time, value[, maximum], direction, bs)."""
    assert log.layout is not None
    return _scan_paths(log.layout, [log.path])


def _scan_paths(file_layout: Layout, paths: Sequence[Path]) -> str:
    columns = ", ".join(f"'{name}': '{_TYPES.get(name, 'VARCHAR')}'" for name in file_layout.names)
    files = ", ".join(literal(path) for path in paths)
    maximum = ", maximum" if file_layout.has_maximum else ""
    return (
        f"SELECT time, value{maximum}, direction, bs FROM read_csv([{files}], delim=',', "
        f"header=false, quote='', escape='', columns={{{columns}}}, auto_detect=false, "
        f"buffer_size={_BUFFER_BYTES}"
        f"{compression(paths[0])})"
    )


def compression(path: Path) -> str:
    """The argument that makes read_csv read `path`."""
    return ", compression='zstd'" if path.suffix == ".zst" else ""


def literal(path: Path) -> str:
    """A path as an SQL string: DuckDB's table functions take no bound parameters."""
    return "'" + str(path).replace("'", "''") + "'"


def columns(db: duckdb.DuckDBPyConnection, query: str) -> dict[str, NDArray[np.int64]]:
    """The columns of a query over log files, all whole numbers."""
    arrays = db.execute(query).fetchnumpy()
    return {name: np.asarray(values, dtype=np.int64) for name, values in arrays.items()}
