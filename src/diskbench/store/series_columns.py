"""The rates of a step by the second as arrays, read by DuckDB: what a verdict needs of a series.

Frames for notebooks and charts come from store/frames.py, and need polars.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diskbench.ports import EvidenceStore
from diskbench.store.frames import closed_steps, series_parquet
from diskbench.store.log_scan import database, literal
from diskbench.store.manifest import StepRecord


@dataclass(frozen=True, slots=True)
class SeriesColumns:
    """One element a row of a series, in the same order; a rate that was not logged is NaN."""

    second: NDArray[np.int64]
    direction: NDArray[np.str_]
    iops: NDArray[np.float64]
    bytes_per_s: NDArray[np.float64]


def series_columns(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> SeriesColumns:
    """The series of one closed step, read from its logs the first time. Raises FioOutputUnreadable
    for damaged logs."""
    return columns_of(series_parquet(evidence, run_id, folder, record))


def rate_rows(evidence: EvidenceStore, run_id: str) -> Iterator[dict[str, Any]]:
    """The rows of `diskbench.load_series` of a run that rates need: step, step_index, second,
    direction and iops, None where it was not logged. Raises UnknownName for a run without evidence,
    FioOutputUnreadable for damaged logs."""
    for folder, record in closed_steps(evidence, run_id):
        series = series_columns(evidence, run_id, folder, record)
        columns = (series.second.tolist(), series.direction.tolist(), series.iops.tolist())
        for second, direction, iops in zip(*columns, strict=True):
            yield {
                "step": record.step.name,
                "step_index": record.step.index,
                "second": second,
                "direction": direction,
                "iops": None if math.isnan(iops) else iops,
            }


def columns_of(parquet: bytes) -> SeriesColumns:
    """The columns of a stored series."""
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="diskbench-series-") as directory, database() as db:
        file = Path(directory, "series.parquet")
        file.write_bytes(parquet)
        db.execute("SET threads = 1")
        rows = db.execute(
            "SELECT second::BIGINT AS second, direction, "
            "coalesce(iops::DOUBLE, 'nan') AS iops, "
            "coalesce(bytes_per_s::DOUBLE, 'nan') AS bytes_per_s "
            f"FROM read_parquet({literal(file)}) ORDER BY second, direction"
        ).fetchnumpy()
    return SeriesColumns(
        second=np.asarray(rows["second"], dtype=np.int64),
        direction=np.asarray(rows["direction"], dtype=np.str_),
        iops=np.asarray(rows["iops"], dtype=np.float64),
        bytes_per_s=np.asarray(rows["bytes_per_s"], dtype=np.float64),
    )
