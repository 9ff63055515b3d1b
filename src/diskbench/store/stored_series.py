"""The figures of each second of stored steps, and how many I/Os took how long in each: read from
their logs at the first call, and cached as Parquet beside the evidence. As bytes, as arrays for
verdicts, and as frames for charts and notebooks."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diskbench.errors import UnknownName
from diskbench.fio.logs import log_name
from diskbench.fio.output import parse_output
from diskbench.fio.reported import FioOutput, totals_of
from diskbench.model.spec import Step
from diskbench.ports import EvidenceStore
from diskbench.store.archive import read_step, run_prefix, step_folders
from diskbench.store.content import read_file
from diskbench.store.derived import read_from_logs
from diskbench.store.imported_report import imported_parts
from diskbench.store.log_counts import write_latencies
from diskbench.store.log_scan import database, literal
from diskbench.store.manifest import StepRecord
from diskbench.store.parse_step import FIO_JSON
from diskbench.store.series import write_series

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

SERIES_VERSION = 5
"""Incremented when the same logs give another series; older Parquet files are then unused."""
SERIES_FILE = f"series-{SERIES_VERSION}.parquet"
LATENCIES_VERSION = 1
"""Incremented when the same logs give other counts; older Parquet files are then unused."""
LATENCIES_FILE = f"latencies-{LATENCIES_VERSION}.parquet"
_KINDS = ("hist", "lat", "clat")


def closed_steps(
    evidence: EvidenceStore, run_id: str, step: str | None = None
) -> Iterator[tuple[str, StepRecord]]:
    """The closed steps of a run with their folders, all or those named `step`. Raises UnknownName
    where there is none."""
    folders = step_folders(evidence, run_id)
    records = [(folder, read_step(evidence, run_id, folder)) for folder in folders]
    closed = [(folder, record) for folder, record in records if record]
    if not closed:
        raise UnknownName("run", run_id, (), advice=f"{evidence.url} has no finished step of it")
    if step is not None and all(record.step.name != step for _, record in closed):
        raise UnknownName("step", step, {record.step.name for _, record in closed})
    yield from (pair for pair in closed if step is None or pair[1].step.name == step)


def step_outputs(
    evidence: EvidenceStore, run_id: str, step: str | None
) -> Iterator[tuple[Step, FioOutput]]:
    """fio's report on each step. An imported document of several steps is one file."""
    pairs = imported_parts(evidence, run_id)
    if pairs:
        if step is not None and all(known.name != step for known, _ in pairs):
            raise UnknownName("step", step, {known.name for known, _ in pairs})
        yield from (pair for pair in pairs if step is None or pair[0].name == step)
        return
    for folder, closed in closed_steps(evidence, run_id, step):
        output = output_of(evidence, run_id, folder, closed)
        if output is not None:
            yield closed.step, output


def output_of(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> FioOutput | None:
    """fio's report on a closed step; None where it was not stored. Raises EvidenceDamaged,
    FioOutputUnreadable."""
    file = record.files.get(FIO_JSON)
    if file is None:  # one step of an imported document of several, or a step with logs only
        parts = imported_parts(evidence, run_id)
        return next((part for step, part in parts if step == record.step), None)
    data = read_file(evidence, f"{run_prefix(run_id)}/{folder}", FIO_JSON, file)
    return parse_output(data, where=f"{folder}/{FIO_JSON}")


def series_parquet(evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord) -> bytes:
    """The same as the Parquet file that is cached beside the evidence."""

    def write(logs: Sequence[Path], target: Path) -> None:
        output = output_of(evidence, run_id, folder, record)
        write_series(logs, target, totals=totals_of(output) if output else None)

    return read_from_logs(evidence, run_id, folder, record, SERIES_FILE, write)


def step_series(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> pl.DataFrame:
    """The series of one closed step, from its logs at the first call; see `series_frame`."""
    import polars as pl

    return pl.read_parquet(series_parquet(evidence, run_id, folder, record))


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
    import numpy as np

    if not any(map(log_name, record.files)):  # of a report alone, as most imports are
        none = np.zeros(0)
        return SeriesColumns(none.astype(np.int64), none.astype(np.str_), none, none)
    parquet = series_parquet(evidence, run_id, folder, record)
    with tempfile.TemporaryDirectory(prefix="diskbench-series-") as directory, database() as db:
        file = Path(directory, "series.parquet")
        file.write_bytes(parquet)
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


def latency_seconds(
    evidence: EvidenceStore, run_id: str, *, step: str | None = None
) -> pl.DataFrame:
    """One row a step, second, direction and bucket that holds I/Os: run_id, step_index, step,
    round, second, direction, from_ns, to_ns, count.

    Empty for steps whose logs have no single I/Os. Raises UnknownName for a run or step
    without evidence, FioOutputUnreadable for damaged logs.
    """
    import polars as pl

    frames = [
        with_step(
            pl.read_parquet(latencies_parquet(evidence, run_id, folder, record)), run_id, record
        )
        for folder, record in closed_steps(evidence, run_id, step)
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def with_step(frame: pl.DataFrame, run_id: str, record: StepRecord) -> pl.DataFrame:
    """A frame of one step with the columns that name the step in front."""
    import polars as pl

    values = (run_id, record.step.index, record.step.name, record.step.round)
    named = zip(step_types().items(), values, strict=True)
    keys = (pl.lit(value, dtype=kind).alias(name) for (name, kind), value in named)
    return frame.select(*keys, pl.all())


def step_types() -> dict[str, type[pl.DataType]]:
    """The polars types of the columns that name a step."""
    import polars as pl

    return {"run_id": pl.String, "step_index": pl.Int64, "step": pl.String, "round": pl.Int64}


def latencies_parquet(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> bytes:
    """The counts of one closed step as the Parquet file that is cached beside the evidence. Raises
    FioOutputUnreadable, EvidenceDamaged."""

    def write(logs: Sequence[Path], target: Path) -> None:
        series = step_series(evidence, run_id, folder, record)
        zero_ms = 0  # when the first second of the step's series begins, by the clock of its logs
        if series.height and series["unix_ms"][0] is not None:
            zero_ms = int(series["unix_ms"][0]) - 1000 * int(series["second"][0])
        write_latencies(logs, target, zero_ms=zero_ms)

    def counted(logs: Sequence[str]) -> Sequence[str]:
        """Histograms, and latencies in case the histograms of a short step are empty."""
        return [log for log in logs if (name := log_name(log)) and name.kind in _KINDS]

    return read_from_logs(evidence, run_id, folder, record, LATENCIES_FILE, write, of_logs=counted)
