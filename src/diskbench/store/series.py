"""fio's log files as one row a second and direction, read by DuckDB.

Every second from the first to the last has a row, with 0 IOPS where nothing was done: stalls are
what a series is for (axboe/fio #1112). All jobs of a step are summed.

* A log with a row an I/O gives exact figures: rows are counted, never rates averaged.
* An averaged log (log_avg_msec) gives a rate a window and job. A window counts for the seconds it
  covers; several windows in one second, as fio writes them now and then (#739, #947), are weighted
  by their length. Mean latencies are weighted by the I/Os of their window, from the iops log.
* A row that came late stands for all the time since the one before it, if I/O went on meanwhile:
  that is no stall (store/log_windows.py).
* Quantiles come from the I/Os, else from the histogram log, never from averages; one that too few
  I/Os back is null (MR-10).
* fio leaves the last, incomplete window out of averaged iops and bw logs. What the JSON counts
  beyond the logged windows is put there (`totals`), as far as that second can have held it: the
  rounding of a whole log is no part of its last second (`fill_tail`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.fio.histogram import needed
from diskbench.fio.logs import SLIVER_S, refuse_years
from diskbench.fio.reported import Total
from diskbench.model.result import Direction
from diskbench.store import log_windows
from diskbench.store.log_counts import SECOND_QUANTILES, add_histogram_quantiles, read_histograms
from diskbench.store.log_rates import axis_of, count_latencies, count_rates, fill_tail
from diskbench.store.log_scan import Log, database, literal, of_first_kind, open_logs, scalar, union
from diskbench.store.log_windows import Windows, late_by_latencies, late_by_total, read_windows

if TYPE_CHECKING:
    import duckdb

SERIES_COLUMNS = (
    "second", "direction", "unix_ms", "iops", "bytes_per_s", "lat_mean_ns", *SECOND_QUANTILES,
    "lat_max_ns",
)  # fmt: skip
_DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")
_LARGEST_INT = 2**31 - 1


def write_series(
    paths: Sequence[Path], target: Path, *, totals: Mapping[Direction, Total] | None = None
) -> int:
    """Read the log files `paths` of one step and write its series to `target` as Parquet.

    Files that are no fio log by their name are passed over; `.zst` ones are read as they are.
    Returns the number of rows. Raises FioOutputUnreadable, naming the file, for a damaged log.
    """
    logs = open_logs(paths)
    with database(logs) as db:
        _collect(db, logs, totals or {})
        _finish(db, logs)
        db.execute(
            f"COPY (SELECT {', '.join(SERIES_COLUMNS)} FROM series ORDER BY second, direction) "
            f"TO {literal(target)} (FORMAT parquet, COMPRESSION zstd)"
        )
        return int(scalar(db, "SELECT count(*) FROM series") or 0)


def _collect(
    db: duckdb.DuckDBPyConnection, logs: Sequence[Log], totals: Mapping[Direction, Total]
) -> None:
    """Fill table `counted` (second, direction, ios, bytes) and `latency`, and `zero`."""
    db.execute(
        "CREATE TEMP TABLE counted (second BIGINT, direction UTINYINT, ios DOUBLE, bytes DOUBLE)"
    )
    db.execute(
        "CREATE TEMP TABLE latency (second BIGINT, direction UTINYINT, n DOUBLE, "
        "lat_mean_ns DOUBLE, lat_max_ns DOUBLE, p50_ns DOUBLE, p95_ns DOUBLE, p99_ns DOUBLE, "
        "p99_9_ns DOUBLE)"
    )
    single = [log for log in logs if log.layout and not log.layout.averaged]
    windows = read_windows(db, [log for log in logs if log.layout and log.layout.averaged])
    if histograms := of_first_kind(logs, ["hist"]):
        read_histograms(db, histograms)
    zero_ms = 0  # with Unix times when the first window or I/O began
    if any(log.layout and log.layout.epoch for log in logs):
        begins = [int((job_log.times - job_log.widths).min()) for job_log in windows]
        first = min(begins) if begins else scalar(db, f"SELECT min(time) FROM ({union(single)})")
        zero_ms = int(first or 0)
    db.execute(f"CREATE TEMP TABLE zero AS SELECT {zero_ms} AS ms")
    if single:
        _read_single(db, single, zero_ms)
    if windows:
        _count_windows(db, windows, totals, zero_ms, skip_latency=bool(single))
    if histograms:
        add_histogram_quantiles(db)


def _count_windows(
    db: duckdb.DuckDBPyConnection,
    windows: Sequence[Windows],
    totals: Mapping[Direction, Total],
    zero_ms: int,
    *,
    skip_latency: bool,
) -> None:
    """Add averaged logs to `counted`, and unless `skip_latency` to `latency`."""
    windows = late_by_latencies(windows)
    logged = {job_log.direction for job_log in windows}
    expected = [
        (number, totals[name])
        for number, name in enumerate(_DIRECTIONS)
        if name in totals and number in logged
    ]
    for number, total in expected:
        windows = late_by_total(windows, number, total, zero_ms)
    axis = axis_of(windows, zero_ms)
    count_rates(db, windows, axis)
    if not skip_latency:
        count_latencies(db, windows, axis)
    for number, total in expected:
        ours = [job_log for job_log in windows if job_log.direction == number]
        fill_tail(db, ours, total, zero_ms)


def _read_single(db: duckdb.DuckDBPyConnection, logs: Sequence[Log], zero_ms: int) -> None:
    """A row an I/O: count, sum and quantiles straight from the file, nothing kept."""
    chosen = of_first_kind(logs, (*log_windows.LATENCIES, *log_windows.RATES))
    if not chosen:
        return
    source = union(chosen)
    second = f"(time - {zero_ms}) // 1000"
    if chosen[0].name.kind not in log_windows.LATENCIES:
        db.execute(
            f"CREATE TEMP TABLE single AS SELECT {second} AS second, direction, count(*) AS n, "
            f"sum(bs) AS bytes, max(time) AS latest FROM ({source}) GROUP BY ALL"
        )
        _count_single(db)
        return
    # DuckDB holds the values of all quantiles: half as many bytes do for latencies below 2 s.
    _quantiles_of(db, f"least(value, {_LARGEST_INT})::INTEGER", source, second)
    if (scalar(db, "SELECT max(list_max(q)) FROM single") or 0) >= _LARGEST_INT:
        db.execute("DROP TABLE single")
        _quantiles_of(db, "value", source, second)
    _count_single(db)
    quantiles = ", ".join(
        f"CASE WHEN n >= {needed(p)} THEN q[{index}] END"
        for index, p in enumerate(SECOND_QUANTILES.values(), 1)
    )
    db.execute(
        f"INSERT INTO latency SELECT second, direction, n, mean, maximum, {quantiles} FROM single"
    )


def _quantiles_of(db: duckdb.DuckDBPyConnection, value: str, source: str, second: str) -> None:
    """Fill table `single`, with the quantiles `q` of the expression `value`."""
    db.execute(
        f"CREATE TEMP TABLE single AS SELECT {second} AS second, direction, count(*) AS n, "
        "sum(bs) AS bytes, avg(value) AS mean, max(value) AS maximum, max(time) AS latest, "
        f"quantile_disc({value}, {list(SECOND_QUANTILES.values())}) AS q "
        f"FROM ({source}) GROUP BY ALL"
    )


def _count_single(db: duckdb.DuckDBPyConnection) -> None:
    """Counted I/Os as rates a second."""
    db.execute(
        f"""
        INSERT INTO counted
        WITH ending AS (
            SELECT max(latest) - any_value(zero.ms) AS ms, max(second) AS second
            FROM single, zero
        ), last AS (
            SELECT CASE WHEN ms - second * 1000 < {SLIVER_S * 1000} AND second > 0
                THEN second - 1 ELSE second END AS second, ms
            FROM ending
        ), placed AS (
            SELECT least(single.second, last.second) AS place, direction, n, bytes,
                -- the last second lasts as long as I/Os completed in it
                CASE WHEN single.second >= last.second
                    THEN greatest(ms - last.second * 1000, 1) / 1000 ELSE 1 END AS length
            FROM single, last
        )
        SELECT place, direction, sum(n) / max(length), sum(bytes) / max(length)
        FROM placed GROUP BY place, direction
        """
    )


def _finish(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> None:
    epoch = any(log.layout and log.layout.epoch for log in logs)
    clock = "zero.ms + a.second * 1000" if epoch else "NULL"
    # Latencies of a last window that the rates do not reach would stand beside 0 IOPS.
    axis = "counted" if scalar(db, "SELECT count(*) FROM counted") else "latency"
    refuse_years(scalar(db, f"SELECT max(second) - least(min(second), 0) FROM {axis}") or 0.0)

    def zero_filled(column: str) -> str:
        """A second without a row did nothing; a log that is not there says nothing (null)."""
        logged = scalar(db, f"SELECT count({column}) FROM counted")
        return f"coalesce(sum(c.{column}), 0)" if logged else "NULL::DOUBLE"

    db.execute(
        f"""
        CREATE TEMP TABLE series AS
        WITH axis AS (
            SELECT unnest(range(least(min(second), 0), max(second) + 1)) AS second FROM {axis}
        ), seen AS (SELECT DISTINCT direction FROM {axis})
        SELECT a.second,
            ['read', 'write', 'trim'][s.direction + 1] AS direction,
            ({clock})::BIGINT AS unix_ms,
            {zero_filled("ios")} AS iops,
            {zero_filled("bytes")} AS bytes_per_s,
            any_value(l.lat_mean_ns) AS lat_mean_ns,
            {", ".join(f"any_value(l.{name}) AS {name}" for name in SECOND_QUANTILES)},
            any_value(l.lat_max_ns) AS lat_max_ns
        FROM axis a CROSS JOIN seen s CROSS JOIN zero
        LEFT JOIN counted c ON c.second = a.second AND c.direction = s.direction
        LEFT JOIN latency l ON l.second = a.second AND l.direction = s.direction
        GROUP BY a.second, s.direction, zero.ms
        """
    )
