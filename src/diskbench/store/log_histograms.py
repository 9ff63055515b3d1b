"""Histogram logs (log_hist_msec): the latencies of each second, counted by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from diskbench.fio.histogram import bucket_middle_ns, needed
from diskbench.store.log_scan import Log, compression, literal, run

if TYPE_CHECKING:
    import duckdb

SECOND_QUANTILES = {"p50_ns": 0.50, "p95_ns": 0.95, "p99_ns": 0.99, "p99_9_ns": 0.999}
"""The quantiles of one second: column → fraction."""

_BUCKETS = 29 * 64
"""Buckets of a latency histogram, fio 3.x (stat.h, FIO_IO_U_PLAT_NR)."""


def read_histograms(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> None:
    """Histogram logs into table `buckets` (job, time, direction, latency_ns, n), zeros left out."""
    db.execute(
        "CREATE TABLE buckets (job BIGINT, time BIGINT, direction UTINYINT, latency_ns BIGINT, "
        "n BIGINT)"
    )
    for log in logs:
        # One text column: the separator is a byte that no log holds.
        lines = (
            f"read_csv({literal(log.path)}, delim='\x1f', header=false, quote='', escape='', "
            f"columns={{'line': 'VARCHAR'}}, auto_detect=false, max_line_size=1000000"
            f"{compression(log.path)})"
        )
        widths = run(db, f"SELECT max(len(string_split(line, ','))) - 3 FROM {lines}")
        width = widths[0][0] if widths else None
        if not width or width < 1:
            continue
        # A table from one text: DuckDB takes longer to plan 1,856 expressions, or to take a list of
        # them, than to read the log.
        db.execute(
            "CREATE OR REPLACE TEMP TABLE middles AS SELECT unnest(range(len(ns))) AS index, "
            "unnest(ns) AS ns FROM (SELECT string_split(?, ',')::BIGINT[] AS ns)",
            [_middles_ns(width)],
        )
        run(
            db,
            f"""
            INSERT INTO buckets
            WITH split AS (SELECT string_split(line, ',') AS cells FROM {lines}),
            cells AS (
                SELECT trim(cells[1])::BIGINT AS time, trim(cells[2])::UTINYINT AS direction,
                    unnest(cells[4:]) AS cell, unnest(range(len(cells) - 3)) AS index
                FROM split WHERE len(cells) = {width + 3}
            )
            SELECT {log.name.job}, time, direction, middles.ns, cell::BIGINT
            FROM cells JOIN middles USING (index) WHERE cell NOT IN ('0', ' 0')
            """,
        )


@cache
def _middles_ns(width: int) -> str:
    """The middle of each bucket of a log with `width` of them, with commas between."""
    coarseness = max((_BUCKETS // width).bit_length() - 1, 0)
    return ",".join(str(bucket_middle_ns(index, coarseness=coarseness)) for index in range(width))


def add_histogram_quantiles(db: duckdb.DuckDBPyConnection) -> None:
    """Quantiles and the highest bucket of each second, where the I/Os themselves are not known."""
    quantiles = ", ".join(
        f"CASE WHEN any_value(total) >= {needed(p)} THEN "
        f"min(latency_ns) FILTER (running >= {p} * total - 1e-9 * total) END AS {name}"
        for name, p in SECOND_QUANTILES.items()
    )
    db.execute(
        f"""
        CREATE TABLE by_histogram AS
        WITH usual AS (
            SELECT coalesce(median(gap), 1000) AS width FROM (
                SELECT time - lag(time) OVER (PARTITION BY job, direction ORDER BY time) AS gap
                FROM (SELECT DISTINCT job, direction, time FROM buckets)
            ) WHERE gap > 0
        ), placed AS (
            SELECT floor((time - zero.ms - least(usual.width, 1000) / 2) / 1000)::BIGINT AS second,
                direction, latency_ns, sum(n) AS n
            FROM buckets, zero, usual GROUP BY ALL
        ), running AS (
            SELECT *, sum(n) OVER (PARTITION BY second, direction ORDER BY latency_ns) AS running,
                sum(n) OVER (PARTITION BY second, direction) AS total
            FROM placed
        )
        SELECT second, direction, any_value(total) AS n, max(latency_ns) AS maximum, {quantiles}
        FROM running GROUP BY second, direction
        """
    )
    columns = ", ".join(f"{name} = h.{name}" for name in SECOND_QUANTILES)
    db.execute(
        f"UPDATE latency SET n = h.n, lat_max_ns = coalesce(lat_max_ns, h.maximum), {columns} "
        "FROM by_histogram h WHERE latency.n IS NULL AND h.second = latency.second "
        "AND h.direction = latency.direction"
    )
    db.execute(
        f"INSERT INTO latency (second, direction, n, lat_max_ns, {', '.join(SECOND_QUANTILES)}) "
        f"SELECT second, direction, n, maximum, {', '.join(SECOND_QUANTILES)} FROM by_histogram h "
        "WHERE NOT EXISTS (SELECT 1 FROM latency l WHERE l.second = h.second "
        "AND l.direction = h.direction)"
    )
