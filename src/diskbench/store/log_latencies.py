"""How many I/Os took how long in each second of a step: fio's histogram logs, by wider buckets.

Read from the logs the first time and kept as Parquet beside the evidence. Eight buckets to a power
of two (fio keeps 64, more than a picture can show): a bucket is 9 % wide, and named by its lower
edge. A log with a row an I/O is counted into the same buckets where there is no histogram log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diskbench.fio.histogram import PLAT_BITS
from diskbench.fio.logs import log_name
from diskbench.store.derived import read_from_logs
from diskbench.store.frames import closed_steps, step_series
from diskbench.store.log_histograms import read_histograms
from diskbench.store.log_scan import Log, database, literal, open_logs, run, union

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb
    import polars as pl

    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import StepRecord

LATENCIES_VERSION = 1
"""Raised when the same logs give other counts; older Parquet files are then left unused."""
LATENCIES_FILE = f"latencies-{LATENCIES_VERSION}.parquet"
BUCKETS_A_DOUBLING = 8
_EDGES_NS = [0.0] + [
    2.0 ** (octave) * (1 + part / BUCKETS_A_DOUBLING)
    for octave in range(PLAT_BITS, 36)
    for part in range(BUCKETS_A_DOUBLING)
]
"""Lower edges, up to 69 s; all below 64 ns are one bucket."""
_KINDS = ("lat", "clat")


def latency_seconds(
    evidence: EvidenceStore, run_id: str, *, step: str | None = None
) -> pl.DataFrame:
    """One row a step, second, direction and bucket that holds I/Os: run_id, step_index, step,
    round, second, direction, from_ns, to_ns, count.

    Empty for steps whose logs have no single I/Os. Raises UnknownName for a run or step
    without evidence, FioOutputUnreadable for damaged logs.
    """
    import polars as pl

    frames = []
    for folder, record in closed_steps(evidence, run_id, step):
        counts = _of_step(evidence, run_id, folder, record)
        keys = (
            pl.lit(run_id).alias("run_id"),
            pl.lit(record.step.index, dtype=pl.Int64).alias("step_index"),
            pl.lit(record.step.name).alias("step"),
            pl.lit(record.step.round, dtype=pl.Int64).alias("round"),
        )
        frames.append(counts.select(*keys, pl.all()))
    return pl.concat(frames) if frames else pl.DataFrame()


def _of_step(evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(latencies_parquet(evidence, run_id, folder, record))


def latencies_parquet(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> bytes:
    """The counts of one closed step as the Parquet file that is cached beside the evidence. Raises
    FioOutputUnreadable, EvidenceDamaged."""

    def write(logs: Sequence[Path], target: Path) -> None:
        write_latencies(logs, target, zero_ms=_zero_ms(evidence, run_id, folder, record))

    return read_from_logs(
        evidence, run_id, folder, record, LATENCIES_FILE, write, of_logs=_of_latencies
    )


def _of_latencies(logs: Sequence[str]) -> Sequence[str]:
    """The logs to count: histograms, and latencies in case the histograms of a short step are
    empty."""
    kinds = {log: name.kind for log in logs if (name := log_name(log))}
    return [log for log, kind in kinds.items() if kind in ("hist", *_KINDS)]


def _zero_ms(evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord) -> int:
    """When the first second of the step's series begins, by the clock of its logs."""
    series = step_series(evidence, run_id, folder, record)
    if not series.height or series["unix_ms"][0] is None:
        return 0
    return int(series["unix_ms"][0]) - 1000 * int(series["second"][0])


def write_latencies(paths: Sequence[Path], target: Path, *, zero_ms: int = 0) -> None:
    """Count the logs `paths` of one step, all jobs summed, into `target` as Parquet; second 0
    begins at `zero_ms`. Raises FioOutputUnreadable, naming the file, for a damaged log."""
    logs = open_logs(paths)
    with database(logs) as db:
        db.execute(
            "CREATE TABLE counted (second BIGINT, direction UTINYINT, place INTEGER, n BIGINT)"
        )
        histograms = [log for log in logs if log.name.kind == "hist"]
        if histograms:
            _count_histograms(db, histograms, zero_ms)
        else:
            _count_single(
                db, [log for log in logs if log.layout and not log.layout.averaged], zero_ms
            )
        edges = f"{[*_EDGES_NS, 2.0**36]}::DOUBLE[]"
        db.execute(
            f"COPY (SELECT second, ['read', 'write', 'trim'][direction + 1] AS direction, "
            f"({edges})[place] AS from_ns, ({edges})[place + 1] AS to_ns, sum(n)::BIGINT AS count "
            "FROM counted GROUP BY ALL ORDER BY second, direction, from_ns) "
            f"TO {literal(target)} (FORMAT parquet, COMPRESSION zstd)"
        )


def _count_histograms(db: duckdb.DuckDBPyConnection, logs: Sequence[Log], zero_ms: int) -> None:
    """A row describes the time before it, so it belongs to the second in that time's middle."""
    read_histograms(db, logs)
    db.execute(
        f"""
        INSERT INTO counted
        WITH usual AS (
            SELECT coalesce(median(gap), 1000) AS width FROM (
                SELECT time - lag(time) OVER (PARTITION BY job, direction ORDER BY time) AS gap
                FROM (SELECT DISTINCT job, direction, time FROM buckets)
            ) WHERE gap > 0
        )
        SELECT greatest(floor((time - {zero_ms} - least(width, 1000) / 2) / 1000), 0)::BIGINT,
            direction, {_place("latency_ns")}, n
        FROM buckets, usual
        """
    )


def _count_single(db: duckdb.DuckDBPyConnection, logs: Sequence[Log], zero_ms: int) -> None:
    kinds = {log.name.kind for log in logs}
    kind = next((kind for kind in _KINDS if kind in kinds), None)
    if kind is None:
        return
    source = union([log for log in logs if log.name.kind == kind])
    run(
        db,
        f"INSERT INTO counted SELECT greatest((time - {zero_ms}) // 1000, 0), direction, "
        f"{_place('value')}, count(*) FROM ({source}) GROUP BY ALL",
    )


def _place(column: str) -> str:
    """SQL of the bucket's place, from 1: exact, for octave and eighth follow from bits alone."""
    octave = f"floor(log2(greatest({column}, 1)) + 1e-12)"
    part = f"floor(({column} / pow(2, {octave}) - 1) * {BUCKETS_A_DOUBLING})"
    inside = f"({octave} - {PLAT_BITS}) * {BUCKETS_A_DOUBLING} + {part} + 2"
    last = len(_EDGES_NS)
    return f"(CASE WHEN {column} < {2**PLAT_BITS} THEN 1 ELSE least({inside}, {last}) END)::INTEGER"
