"""How many I/Os took how long in each second: from histogram logs (log_hist_msec), or from a log
with a row an I/O. Their quantiles, and eight buckets to a power of two.

fio keeps 64, more than a picture can show: a bucket of ours is 9 % wide, and named by its lower
edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.fio.histogram import PLAT_BITS, bucket_middle_ns, needed
from diskbench.store import log_scan
from diskbench.store.log_scan import Log, database, literal, of_first_kind, open_logs, scalar, union
from diskbench.store.log_windows import LATENCIES

if TYPE_CHECKING:
    import duckdb


SECOND_QUANTILES = {"p50_ns": 0.50, "p95_ns": 0.95, "p99_ns": 0.99, "p99_9_ns": 0.999}
"""The quantiles of one second: column → fraction."""

_USUAL = """usual AS (
            SELECT coalesce(median(gap), 1000) AS width FROM (
                SELECT time - lag(time) OVER (PARTITION BY job, direction ORDER BY time) AS gap
                FROM (SELECT DISTINCT job, direction, time FROM buckets)
            ) WHERE gap > 0
        )"""
"""SQL of the usual width of a window of the table `buckets`."""
_BUCKETS = 29 * 64
"""Buckets of a latency histogram, fio 3.x (stat.h, FIO_IO_U_PLAT_NR)."""


def read_histograms(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> None:
    """Histogram logs into table `buckets` (job, time, direction, latency_ns, n), zeros left out."""
    db.execute(
        "CREATE TEMP TABLE buckets (job BIGINT, time BIGINT, direction UTINYINT, "
        "latency_ns BIGINT, n BIGINT)"
    )
    for log in logs:
        # One text column: the separator is a byte that no log holds.
        lines = (
            f"read_csv({literal(log.path)}, delim='\x1f', header=false, quote='', escape='', "
            f"columns={{'line': 'VARCHAR'}}, auto_detect=false, max_line_size=1000000"
            f"{log_scan.compression(log.path)})"
        )
        width = int(scalar(db, f"SELECT max(len(string_split(line, ','))) - 3 FROM {lines}") or 0)
        if width < 1:
            continue
        # A table from one text: DuckDB takes longer to plan 1,856 expressions, or to take a list of
        # them, than to read the log.
        db.execute(
            "CREATE OR REPLACE TEMP TABLE middles AS SELECT unnest(range(len(ns))) AS index, "
            "unnest(ns) AS ns FROM (SELECT string_split(?, ',')::BIGINT[] AS ns)",
            [_middles_ns(width)],
        )
        # latency_target clears fio's counts: those of its window are negative numbers then, written
        # as 2^64 less. How many I/Os the window holds is not known.
        db.execute(
            f"""
            INSERT INTO buckets
            WITH split AS (SELECT string_split(line, ',') AS cells FROM {lines}),
            cells AS (
                SELECT trim(cells[1])::BIGINT AS time, trim(cells[2])::UTINYINT AS direction,
                    unnest(cells[4:]) AS cell, unnest(range(len(cells) - 3)) AS index
                FROM split
                WHERE len(cells) = {width + 3} AND len(list_filter(cells, c -> len(c) > 19)) = 0
            )
            SELECT {log.name.job}, time, direction, middles.ns, cell::BIGINT
            FROM cells JOIN middles USING (index) WHERE cell NOT IN ('0', ' 0')
            """
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
        CREATE TEMP TABLE by_histogram AS
        WITH {_USUAL}, placed AS (
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


BUCKETS_A_DOUBLING = 8
_EDGES_NS = [0] + [
    2**octave * (BUCKETS_A_DOUBLING + part) // BUCKETS_A_DOUBLING
    for octave in range(PLAT_BITS, 36)
    for part in range(BUCKETS_A_DOUBLING)
]
"""Lower edges, up to 69 s; all below 64 ns are one bucket."""


def write_latencies(paths: Sequence[Path], target: Path, *, zero_ms: int = 0) -> None:
    """Count the logs `paths` of one step, all jobs summed, into `target` as Parquet (second,
    direction, from_ns, to_ns, count); second 0 begins at `zero_ms`. Raises FioOutputUnreadable,
    naming the file, for a damaged log."""
    logs = open_logs(paths)
    with database(logs) as db:
        db.execute(
            "CREATE TEMP TABLE bucketed "
            "(second BIGINT, direction UTINYINT, place INTEGER, n BIGINT)"
        )
        single = [log for log in logs if log.layout and not log.layout.averaged]
        if histograms := of_first_kind(logs, ["hist"]):
            read_histograms(db, histograms)
            # A row describes the time before it: it belongs to the second in that time's middle.
            db.execute(
                f"INSERT INTO bucketed WITH {_USUAL} SELECT "
                f"greatest(floor((time - {zero_ms} - least(width, 1000) / 2) / 1000), 0)::BIGINT, "
                f"direction, {_place('latency_ns')}, sum(n)::BIGINT "
                "FROM buckets, usual GROUP BY ALL"
            )
        elif latencies := of_first_kind(single, LATENCIES):
            db.execute(
                f"INSERT INTO bucketed SELECT greatest((time - {zero_ms}) // 1000, 0), direction, "
                f"{_place('value')}, count(*) FROM ({union(latencies)}) GROUP BY ALL"
            )
        # Each bucket by its `place` from 1.
        edges = f"{[*_EDGES_NS, 2**36]}::DOUBLE[]"
        db.execute(
            f"COPY (SELECT second, ['read', 'write', 'trim'][direction + 1] AS direction, "
            f"({edges})[place] AS from_ns, ({edges})[place + 1] AS to_ns, sum(n)::BIGINT AS count "
            "FROM bucketed GROUP BY ALL ORDER BY second, direction, from_ns) "
            f"TO {literal(target)} (FORMAT parquet, COMPRESSION zstd)"
        )


def _place(column: str) -> str:
    """SQL of the bucket's place, from 1: exact, for octave and eighth follow from bits alone."""
    octave = f"floor(log2(greatest({column}, 1)) + 1e-12)"
    part = f"floor(({column} / pow(2, {octave}) - 1) * {BUCKETS_A_DOUBLING})"
    inside = f"({octave} - {PLAT_BITS}) * {BUCKETS_A_DOUBLING} + {part} + 2"
    last = len(_EDGES_NS)
    return f"(CASE WHEN {column} < {2**PLAT_BITS} THEN 1 ELSE least({inside}, {last}) END)::INTEGER"
