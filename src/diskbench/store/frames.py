"""Rows, series and histograms as polars frames; docs/api.md lists their columns and units."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from diskbench.errors import DiskbenchError, UnknownName
from diskbench.fio.histogram import step_histograms
from diskbench.fio.logs import log_name
from diskbench.fio.reported import totals_of
from diskbench.importers.fio_report import FIO_REPORTS, report_of, split_steps
from diskbench.store.archive import read_manifest, read_step, run_prefix, step_folders
from diskbench.store.bought import COLUMNS, bought_for, with_bought
from diskbench.store.clauses import oldest_first
from diskbench.store.content import read_file
from diskbench.store.database import transaction
from diskbench.store.derived import derived_folder, derived_key, keep, read_from_logs
from diskbench.store.outputs import read_output
from diskbench.store.parallel_evidence import AT_ONCE, is_away
from diskbench.store.result_tables import STAMP, measurement
from diskbench.store.schema import run
from diskbench.store.series import write_series

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    import sqlalchemy as sa
    from sqlalchemy.engine import Engine

    from diskbench.fio.reported import FioOutput
    from diskbench.model.result import Direction
    from diskbench.model.spec import Step
    from diskbench.ports import EvidenceStore
    from diskbench.store.manifest import StepRecord

SERIES_VERSION = 5
"""Incremented when the same logs give another series; older Parquet files are then unused.

2: the rate of a second that fio did not log is limited by the log's rates and by the bytes.
3: a late row is no stall where I/O continued meanwhile.
4: the only window of a log is one of a second, not of a millisecond.
5: the first row of a log may be late, too.
"""
SERIES_FILE = f"series-{SERIES_VERSION}.parquet"
LATENCIES_VERSION = 1
"""Incremented when the same logs give other counts; older Parquet files are then unused."""
LATENCIES_FILE = f"latencies-{LATENCIES_VERSION}.parquet"

_FIO_JSON = "fio.json"
_AT_ONCE = 500
_LARGE_BYTES = 50_000_000
_STEP_KEYS = ("run_id", "step_index", "step", "round")


def runs_frame(database: Engine) -> pl.DataFrame:
    """One row per run, oldest first, undated runs last: its request, machine, disk and end
    state."""
    return _table_frame(database, run, order=oldest_first()).drop(STAMP)


def measurements_frame(database: Engine, *, run_ids: Sequence[str] | None = None) -> pl.DataFrame:
    """One row per run, step, job and direction, with what was bought for its run; `scope`
    distinguishes rows of jobs from merged rows of steps."""
    table = measurement
    where = table.c.run_id.in_(run_ids) if run_ids is not None else None
    order = (table.c.run_id, table.c.step_index, table.c.position)
    rows = _table_frame(database, table, where=where, order=order).drop("position")
    return with_runs(rows, database)


def with_runs(frame: pl.DataFrame, database: Engine) -> pl.DataFrame:
    """A frame with a `run_id`, with the columns of what was bought for each run appended."""
    columns = sa.select(run.c.run_id, *(run.c[name] for name in COLUMNS))
    run_ids = frame["run_id"].unique().sort().to_list()
    bought: dict[str, dict[str, Any]] = {}
    with transaction(database) as connection:
        for start in range(0, len(run_ids), _AT_ONCE):
            query = columns.where(run.c.run_id.in_(run_ids[start : start + _AT_ONCE]))
            for run_id, *values in connection.execute(query):
                bought[run_id] = dict(zip(COLUMNS, values, strict=True))
    return with_bought(frame, bought)


def series_frame(evidence: EvidenceStore, run_id: str, *, step: str | None = None) -> pl.DataFrame:
    """One row per step, second and direction of a run.

    Read from fio's logs at the first call and cached as Parquet beside the evidence. Raises
    UnknownName for a run or step without evidence, FioOutputUnreadable for damaged logs.
    """
    import polars as pl

    frames = [
        _with_step(step_series(evidence, run_id, folder, record), run_id, record)
        for folder, record in closed_steps(evidence, run_id, step)
    ]
    frame = pl.concat(frames) if frames else pl.DataFrame(schema={"run_id": pl.String})
    return with_bought(frame, {run_id: bought_for(evidence, run_id)})


def histogram_frame(
    evidence: EvidenceStore,
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
) -> pl.DataFrame:
    """One row per step, direction, kind of latency and bucket: how many I/Os took that long.

    Buckets of all jobs of a step are merged. Raises UnknownName for a run or step without evidence.
    """
    import polars as pl

    frame = pl.DataFrame(
        list(histogram_rows(evidence, run_id, step=step, direction=direction)),
        schema={
            "run_id": pl.String,
            "step_index": pl.Int64,
            "step": pl.String,
            "round": pl.Int64,
            "direction": pl.String,
            "kind": pl.String,
            "latency_ns": pl.Int64,
            "count": pl.Int64,
        },
    )
    return with_bought(frame, {run_id: bought_for(evidence, run_id)})


def histogram_rows(
    evidence: EvidenceStore,
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of `histogram_frame`, without what was bought."""
    for fio_step, output in step_outputs(evidence, run_id, step):
        key = {
            "run_id": run_id,
            "step_index": fio_step.index,
            "step": fio_step.name,
            "round": fio_step.round,
        }
        directions = {d for job in output.jobs for d in job.directions}
        for direction_name in sorted(directions if direction is None else directions & {direction}):
            for kind, histogram in step_histograms(output, direction_name).items():
                of_kind = key | {"direction": direction_name, "kind": kind}
                for latency, count in histogram.items():
                    yield of_kind | {"latency_ns": latency, "count": count}


def step_outputs(
    evidence: EvidenceStore, run_id: str, step: str | None
) -> Iterator[tuple[Step, FioOutput]]:
    """fio's report on each step. An imported document of several steps is one file."""
    pairs = _imported_parts(evidence, run_id)
    if pairs:
        if step is not None and all(known.name != step for known, _ in pairs):
            raise UnknownName("step", step, {known.name for known, _ in pairs})
        yield from (pair for pair in pairs if step is None or pair[0].name == step)
        return
    for folder, closed in closed_steps(evidence, run_id, step):
        output = output_of(evidence, run_id, folder, closed)
        if output is not None:
            yield closed.step, output


def _imported_parts(evidence: EvidenceStore, run_id: str) -> tuple[tuple[Step, FioOutput], ...]:
    """The steps of a run that was imported from a report of fio; empty for any other run."""
    manifest = read_manifest(evidence, run_id)
    record = manifest.imported if manifest else None
    if not record or record.kind not in FIO_REPORTS:
        return ()
    data = read_file(evidence, run_prefix(run_id), record.name, record.files[record.name])
    return split_steps(report_of(record.kind, data, record.index, where=record.name))


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


def step_series(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> pl.DataFrame:
    """The series of one closed step, from its logs at the first call; see `series_frame`."""
    import polars as pl

    return pl.read_parquet(series_parquet(evidence, run_id, folder, record))


def series_parquet(evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord) -> bytes:
    """The same as the Parquet file that is cached beside the evidence. Latencies by bucket
    (store/log_latencies.py) that the same pass over the logs counts are cached, too."""

    def write(logs: Sequence[Path], target: Path) -> None:
        output = output_of(evidence, run_id, folder, record)
        latencies = target.with_name(LATENCIES_FILE)
        write_series(
            logs, target, totals=totals_of(output) if output else None, latencies=latencies
        )
        if latencies.exists():
            keep(evidence, derived_key(run_id, folder, LATENCIES_FILE), latencies.read_bytes())

    return read_from_logs(evidence, run_id, folder, record, SERIES_FILE, write)


def read_series_ahead(evidence: EvidenceStore, run_ids: Sequence[str]) -> None:
    """Compute the missing series of several runs at a time, of large logs one. A series that cannot
    be read is skipped; the caller that needs it gets the error."""
    of_large_logs = threading.Lock()  # each takes all cores, and up to 200 MB
    parsers = min(4, os.cpu_count() or 1)  # DuckDB lets other threads run
    parses = threading.BoundedSemaphore(parsers)

    def make(run_id: str) -> None:
        with contextlib.suppress(DiskbenchError):
            steps = list(closed_steps(evidence, run_id))
            made = set(evidence.list(derived_folder(run_id)))
            for folder, record in steps:
                if derived_key(run_id, folder, SERIES_FILE) not in made:
                    size = sum(file.bytes for log, file in record.files.items() if log_name(log))
                    large = of_large_logs if size > _LARGE_BYTES else contextlib.nullcontext()
                    with large, parses:
                        series_parquet(evidence, run_id, folder, record)

    workers = AT_ONCE if is_away(evidence) else parsers  # most runs only wait for the network
    with ThreadPoolExecutor(max_workers=workers) as pool:
        list(pool.map(make, run_ids))


def output_of(
    evidence: EvidenceStore, run_id: str, folder: str, record: StepRecord
) -> FioOutput | None:
    """fio's report on a closed step; None where it was not stored. Raises EvidenceDamaged,
    FioOutputUnreadable."""
    file = record.files.get(_FIO_JSON)
    if file is None:  # one step of an imported document of several, or a step with logs only
        parts = _imported_parts(evidence, run_id)
        return next((part for step, part in parts if step == record.step), None)
    data = read_file(evidence, f"{run_prefix(run_id)}/{folder}", _FIO_JSON, file)
    return read_output(data, where=f"{folder}/{_FIO_JSON}")


def _with_step(frame: pl.DataFrame, run_id: str, record: StepRecord) -> pl.DataFrame:
    import polars as pl

    step = record.step
    values = (run_id, step.index, step.name, step.round)
    types = (pl.String, pl.Int64, pl.String, pl.Int64)
    keys = zip(_STEP_KEYS, values, types, strict=True)
    return frame.select(
        *(pl.lit(value, dtype=kind).alias(name) for name, value, kind in keys), pl.all()
    )


def _table_frame(
    database: Engine,
    table: sa.Table,
    *,
    where: sa.ColumnElement[bool] | None = None,
    order: Sequence[sa.ColumnElement[Any]],
) -> pl.DataFrame:
    """A table as a frame with the table's column types, even for all-null columns; JSON stays
    text."""
    import polars as pl

    query = sa.select(table).order_by(*order)
    if where is not None:
        query = query.where(where)
    with transaction(database) as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    schema: dict[str, Any] = {}
    texts: list[int] = []
    for index, column in enumerate(table.columns):
        if isinstance(column.type, sa.JSON):
            texts.append(index)
        schema[column.name] = _polars_type(column)
    if texts:
        rows = [
            tuple(
                json.dumps(value) if index in texts and value is not None else value
                for index, value in enumerate(row)
            )
            for row in rows
        ]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _polars_type(column: sa.Column[Any]) -> Any:  # noqa: ANN401 - polars' own type of a data type
    import polars as pl

    for kind, polars_type in (
        (sa.Boolean, pl.Boolean),
        (sa.Integer, pl.Int64),
        (sa.Float, pl.Float64),
    ):
        if isinstance(column.type, kind):
            return polars_type
    return pl.String
