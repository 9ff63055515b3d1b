"""How many I/Os took how long in each second of a step (store/log_counts.py), kept as Parquet
beside the evidence: made with the series where one pass over the logs gives both
(store/frames.py), else from the logs when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diskbench.fio.logs import log_name
from diskbench.ports import EvidenceStore
from diskbench.store.derived import read_from_logs
from diskbench.store.frames import LATENCIES_FILE, closed_steps, step_series
from diskbench.store.log_counts import write_latencies
from diskbench.store.manifest import StepRecord

if TYPE_CHECKING:
    import polars as pl

_KINDS = ("hist", "lat", "clat")


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
    return [log for log, kind in kinds.items() if kind in _KINDS]


def _zero_ms(evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord) -> int:
    """When the first second of the step's series begins, by the clock of its logs."""
    series = step_series(evidence, run_id, folder, record)
    if not series.height or series["unix_ms"][0] is None:
        return 0
    return int(series["unix_ms"][0]) - 1000 * int(series["second"][0])
