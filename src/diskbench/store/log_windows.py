"""Averaged logs (log_avg_msec): windows of about a second each, into seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, get_args

from diskbench.fio.logs import SLIVER_S, LogKind
from diskbench.store.log_scan import Log, run, scan

if TYPE_CHECKING:
    import duckdb


_BATCH_BYTES = 16_000_000
"""Of logs that are sorted at once: with a day of 16 jobs in one sort DuckDB took 700 MB."""
_BATCH_WINDOWS = 500_000
"""Windows that are rated at once, for the same reason."""


def read_windows(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> None:
    """Averaged logs into table `gaps`, and view `windows` of it, each row with its `width` in ms.

    A window reaches back to the one before it in the same log, but no further than the usual width:
    windows without I/O have no row. `width` of a second row at the same time is 0. `reach` is how
    far back it counts: the usual width, or more where it came `late` (store/log_late.py).
    """
    db.execute(f"CREATE TYPE log_kind AS ENUM {get_args(LogKind)}")
    db.execute(
        "CREATE TABLE gaps (kind log_kind, job INTEGER, time BIGINT, value BIGINT, "
        "maximum BIGINT, direction UTINYINT, gap BIGINT, late BOOLEAN)"
    )
    for batch in _batches(logs):
        parts = [
            f"SELECT '{log.name.kind}'::log_kind AS kind, {log.name.job} AS job, time, value, "
            f"{'maximum' if log.layout and log.layout.has_maximum else 'NULL'} AS maximum, "
            f"direction FROM ({scan(log)})"
            for log in batch
        ]
        run(
            db,
            "INSERT INTO gaps SELECT *, time - lag(time) OVER "
            "(PARTITION BY kind, job, direction ORDER BY time), false "
            f"FROM ({' UNION ALL '.join(parts)})",
        )
    db.execute(
        """
        CREATE TABLE usual AS
        -- The median, from the counts of equal gaps: median() would hold every gap of the logs.
        WITH counts AS (
            SELECT gap, count(*) AS n FROM gaps WHERE gap > 0 GROUP BY gap
        ), running AS (
            SELECT gap, sum(n) OVER (ORDER BY gap) AS reached, sum(n) OVER () AS total FROM counts
        ), middle AS (
            SELECT (min(gap) FILTER (2 * reached >= total) + min(gap) FILTER (2 * reached > total))
                / 2 AS gap
            FROM running
        )
        -- fio wakes up a little late, never early: the tenth of a second is what was meant
        -- (greatest() passes NULL over: a log of one window has no gap, and is one of a second)
        SELECT greatest(round(coalesce(gap, 1000) / 100) * 100, 1)::BIGINT AS width FROM middle
        """
    )
    db.execute(
        """
        CREATE VIEW windows AS
        SELECT kind, job, time, value, maximum, direction, usual.width AS usual, gap,
            CASE WHEN late THEN gap ELSE least(coalesce(gap, usual.width), usual.width) END
                AS width,
            CASE WHEN late THEN gap ELSE usual.width END AS reach
        FROM gaps, usual
        """
    )


def _batches(logs: Sequence[Log]) -> Iterator[list[Log]]:
    """The logs, those of one job together, in batches of about _BATCH_BYTES."""
    batch: list[Log] = []
    size = 0
    for _, same in groupby(sorted(logs, key=_job), key=_job):
        found = list(same)
        batch += found
        size += sum(log.path.stat().st_size for log in found)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _job(log: Log) -> int:
    return log.name.job


def rate_windows(db: duckdb.DuckDBPyConnection, *, skip_latency: bool) -> None:
    """Windows into tables `counted` and `latency`: each belongs to the second of its middle.

    Windows longer than a second (log_avg_msec=5000) count for all the seconds that they cover.
    """
    db.execute(
        """
        CREATE VIEW spread AS
        SELECT kind, job, direction, time, value, maximum, greatest(width, 1) AS width,
            unnest(range(
                (time - reach - zero.ms + least(usual, 1000) // 2) // 1000,
                (time - reach - zero.ms + least(usual, 1000) // 2) // 1000
                    + greatest(round(reach / 1000), 1)::BIGINT
            )) AS second
        FROM windows, zero
        """
    )
    db.execute(
        "CREATE TABLE weighted (second BIGINT, direction UTINYINT, total DOUBLE, weight DOUBLE, "
        "maximum BIGINT)"
    )
    for jobs in _job_ranges(db):
        db.execute(
            """
            INSERT INTO counted
            WITH rates AS (
                SELECT kind, job, direction, second,
                    sum(value * width) / sum(width) AS rate
                FROM spread WHERE kind IN ('iops', 'bw') AND job BETWEEN ? AND ? GROUP BY ALL
            )
            SELECT second, direction,
                sum(rate) FILTER (kind = 'iops'), sum(rate * 1024) FILTER (kind = 'bw')
            FROM rates GROUP BY ALL
            """,
            jobs,
        )
        if not skip_latency:
            _weigh(db, jobs)
    if skip_latency:
        return
    db.execute(
        "INSERT INTO latency SELECT second, direction, NULL, sum(total) / nullif(sum(weight), 0), "
        "max(maximum), NULL, NULL, NULL, NULL FROM weighted GROUP BY ALL"
    )


def _weigh(db: duckdb.DuckDBPyConnection, jobs: tuple[int, int]) -> None:
    """Latencies of the windows of `jobs` (first, last) into `weighted`, by the I/Os of each."""
    db.execute(
        """
        INSERT INTO weighted
        WITH chosen AS (
            SELECT CASE WHEN bool_or(kind = 'lat') THEN 'lat' ELSE 'clat' END AS kind FROM gaps
        ), rated AS (
            SELECT l.second, l.direction, l.value, l.maximum,
                coalesce(i.value, 1) * l.width AS weight
            FROM spread l
            JOIN chosen ON l.kind = chosen.kind::log_kind
            LEFT JOIN (
                SELECT job, direction, second, avg(value) AS value
                FROM spread WHERE kind = 'iops' AND job BETWEEN $first AND $last GROUP BY ALL
            ) i ON i.job = l.job AND i.direction = l.direction AND i.second = l.second
            WHERE l.job BETWEEN $first AND $last
        )
        SELECT second, direction, sum(value * weight), sum(weight), max(maximum)
        FROM rated GROUP BY ALL
        """,
        {"first": jobs[0], "last": jobs[1]},
    )


def _job_ranges(db: duckdb.DuckDBPyConnection) -> list[tuple[int, int]]:
    """All jobs as (first, last), each with about _BATCH_WINDOWS windows."""
    counts = db.execute("SELECT job, count(*) FROM gaps GROUP BY job ORDER BY job").fetchall()
    ranges: list[tuple[int, int]] = []
    jobs: list[int] = []
    held = 0
    for job, count in counts:
        jobs.append(job)
        held += count
        if held >= _BATCH_WINDOWS or job == counts[-1][0]:
            ranges.append((jobs[0], job))
            jobs, held = [], 0
    return ranges


def fill_tail(
    db: duckdb.DuckDBPyConnection, direction: int, *, ios: int, size: int, runtime_s: float
) -> None:
    """Add what fio's JSON counts beyond the logged windows to the seconds that have none.

    Whether fio still logs the last window of a job is a matter of a millisecond, so each job's
    logged time is looked at, of its iops and its bw log apart; a kind without a log stays without.
    With t_j the time that job j did not log, every job gets the rate (total - sum logged) / sum t_j
    in the seconds that it did not log, but at most

    * the highest rate that its own log holds: fio rounds each window down and each second is
      counted as a whole one, so the difference to the JSON has the rounding of the whole log in it
      (a day at 3,000 IOPS ended in a second with 752,918), and windows lost in the middle as well;
    * in IOPS, what the bytes of the same second make in I/Os of the mean size of the JSON.

    What is left over is no part of any second. fio/audit.py says how far logs and JSON differ.
    """
    kinds = {"iops": (ios, 1), "bw": (size, 1024)}
    tails: dict[str, dict[tuple[int, int], float]] = {}
    for kind, (total, unit) in kinds.items():
        tails[kind] = _tail(db, direction, kind=kind, total=total / unit, runtime_s=runtime_s)
    for job, second in sorted({place for tail in tails.values() for place in tail}):
        rate, kib = (tails[kind].get((job, second)) for kind in kinds)
        if rate is not None and size:
            known = kib if kib is not None else _logged_kib(db, direction, job, second)
            if known is not None:
                rate = min(rate, known * 1024 * ios / size)
        db.execute(
            "INSERT INTO counted VALUES (?, ?, ?, ?)",
            [second, direction, rate, None if kib is None else kib * 1024],
        )


def _tail(
    db: duckdb.DuckDBPyConnection, direction: int, *, kind: str, total: float, runtime_s: float
) -> dict[tuple[int, int], float]:
    """(job, second) that the logs of a kind leave out, with the rate there, in the log's unit."""
    jobs = db.execute(
        """
        SELECT job, (max(time) - any_value(zero.ms)) / 1000, max(value)
        FROM windows, zero WHERE direction = ? AND kind = ? GROUP BY job
        """,
        [direction, kind],
    ).fetchall()
    short = [(job, end, highest) for job, end, highest in jobs if runtime_s - end > SLIVER_S]
    if not short:
        return {}
    column = "ios" if kind == "iops" else "bytes / 1024"
    counted = db.execute(
        f"SELECT coalesce(sum({column}), 0) FROM counted WHERE direction = ?", [direction]
    ).fetchone()
    logged = counted[0] if counted else 0.0
    rate = max(total - logged, 0.0) / sum(runtime_s - end for _, end, _ in short)
    rates = {}
    for job, end, highest in short:
        # A window ends a little after its second; the sliver keeps 1.001 s from being second 1.
        # Where no second is left, what is missing lies in one that other windows stand for.
        first, last = math.floor(end + SLIVER_S), math.ceil(runtime_s - SLIVER_S)
        for second in range(first, last):
            rates[job, second] = min(rate, float(highest))
    return rates


def _logged_kib(
    db: duckdb.DuckDBPyConnection, direction: int, job: int, second: int
) -> float | None:
    """KiB/s of one second in a job's bw log; None where it has no such log."""
    row = db.execute(
        """
        SELECT count(*), coalesce(max(value) FILTER (second = ?), 0)
        FROM spread WHERE kind = 'bw' AND job = ? AND direction = ?
        """,
        [second, job, direction],
    ).fetchone()
    return float(row[1]) if row and row[0] else None
