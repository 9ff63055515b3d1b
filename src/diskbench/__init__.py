"""diskbench measures how fast cloud disks really are.

For notebooks: `load_runs`, `load_measurements`, `load_series`, `load_phases`, `load_verdicts`,
`load_histogram` and `load_published` give polars frames; docs/api.md lists their columns and units.
Importing this package imports none of what they need: that happens at the first call. Frames need
the extra `report` (polars): without it a call raises ExtraMissing.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from sqlalchemy.engine import Engine

    from diskbench.model.expectation import DiskPrice
    from diskbench.model.result import Direction
    from diskbench.store.evidence import ObjectEvidence
    from diskbench.store.example import ExampleData

P = ParamSpec("P")

__all__ = [
    "__version__", "disk_price", "example_data", "load_expected", "load_histogram",
    "load_measurements", "load_phases", "load_published", "load_runs", "load_series",
    "load_verdicts", "simulate",
]  # fmt: skip

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, read from the installed package's metadata at first access."""
    if name == "__version__":
        from diskbench.extras import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _with_polars(frame: Callable[P, pl.DataFrame]) -> Callable[P, pl.DataFrame]:
    """The function, with ExtraMissing in place of the error of a missing package."""

    @wraps(frame)
    def call(*args: P.args, **kwargs: P.kwargs) -> pl.DataFrame:
        try:
            return frame(*args, **kwargs)
        except ImportError as error:
            from diskbench.extras import of_import

            raise of_import(error, frame.__name__) or error from error

    return call


@_with_polars
def load_runs(*, database: str | None = None) -> pl.DataFrame:
    """One row per run, oldest first, undated runs last: its request, machine, disk and end state.

    `database` is a URL (default: the setting `database_url`). Raises StoreUnavailable.
    """
    from diskbench.store.frames import runs_frame

    with _opened(database) as rows:
        return runs_frame(rows)


@_with_polars
def load_measurements(
    run_id: str | Sequence[str] | None = None,
    *,
    database: str | None = None,
    evidence: str | None = None,
) -> pl.DataFrame:
    """One row per run, step, job and direction, of all runs or of the named ones.

    Rows of scope `step` merge all jobs of a step; do not add them to rows of scope `job`. Where a
    step has several levels, `after_cliff` is the kind of level that the row's figures describe: no
    mean spans a cliff. `run_id` is a run id or any selection that `diskbench report` accepts
    (`last`, `disk=gp2`). `database` is a URL (default: the setting `database_url`); `evidence` is
    one too (default: the store in which each run is kept). Raises UnknownName for an unknown run,
    StoreUnavailable.
    """
    from diskbench.results.exported_rows import cliff_safe_frame

    with _opened(database) as rows:
        store = _store(evidence) if evidence else None
        return cliff_safe_frame(rows, run_ids=_run_ids(rows, run_id), evidence=store)


@_with_polars
def load_series(
    run_id: str, *, step: str | None = None, evidence: str | None = None
) -> pl.DataFrame:
    """One row per step, second and direction of a run; seconds without I/O have 0 IOPS.

    Read from fio's logs at the first call and cached as Parquet in the store. `evidence` is a
    URL (default: the setting `evidence_url`). Raises UnknownName for a run or step without
    evidence, FioOutputUnreadable for damaged logs, StoreUnavailable.
    """
    from diskbench.store.frames import series_frame

    return series_frame(_store(evidence), run_id, step=step)


@_with_polars
def load_phases(
    run_id: str | Sequence[str], *, step: str | None = None, evidence: str | None = None
) -> pl.DataFrame:
    """One row per phase of each measured step of a minute or more: burst, baseline, ramp, stall.

    Read from the series at the first call and cached beside the evidence. `evidence` is a URL
    (default: the setting `evidence_url`). Raises UnknownName for a run or step without evidence,
    FioOutputUnreadable for damaged logs, StoreUnavailable.
    """
    from diskbench.store.phases import phases_frame

    run_ids = [run_id] if isinstance(run_id, str) else run_id
    return phases_frame(_store(evidence), run_ids, step=step)


@_with_polars
def load_verdicts(
    run_id: str | Sequence[str] | None = None,
    *,
    database: str | None = None,
    evidence: str | None = None,
) -> pl.DataFrame:
    """One row per stretch of each measured step, of all runs or of the named ones: the promised
    figure, what limited the step, and whether the measurement can be trusted.

    Verdicts are computed at each call, as `diskbench results show` does. `database` and `evidence`
    are URLs (default: the settings `database_url`, `evidence_url`); a run without evidence is
    judged by its rows alone. `run_id` is as in `load_measurements`. Raises UnknownName,
    StoreUnavailable.
    """
    from diskbench.results.exported_rows import verdicts_frame

    store = _store(evidence)
    with _opened(database) as rows:
        return verdicts_frame(rows, store, run_ids=_run_ids(rows, run_id))


@_with_polars
def load_histogram(
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
    evidence: str | None = None,
) -> pl.DataFrame:
    """One row per step, direction, kind of latency and bucket: how many I/Os took that long.

    `evidence` is a URL (default: the setting `evidence_url`). Raises UnknownName for a run or step
    without evidence, StoreUnavailable.
    """
    from diskbench.store.frames import histogram_frame

    return histogram_frame(_store(evidence), run_id, step=step, direction=direction)


@_with_polars
def load_published() -> pl.DataFrame:
    """One row per disk figure published by others: its source, its disk and how it was measured.

    Needs no database: the figures ship with diskbench (docs/published.md).
    """
    from diskbench.catalog.published import published_frame

    return published_frame()


@_with_polars
def load_expected(
    run_id: str | Sequence[str] | None = None, *, database: str | None = None
) -> pl.DataFrame:
    """One row per run and step: what its plan predicted, of all runs or of the named ones.

    Runs without a prediction, and imported runs, have no row. `run_id` is as in
    `load_measurements`. `database` is a URL (default: the setting `database_url`). Raises
    UnknownName, StoreUnavailable.
    """
    from diskbench.store.frames import expected_frame

    with _opened(database) as rows:
        return expected_frame(rows, run_ids=_run_ids(rows, run_id))


@_with_polars
def simulate(
    provider: str,
    disk: str,
    size_gib: float,
    *,
    seconds: float,
    iops: float | None = None,
    throughput: float | None = None,
    instance_type: str | None = None,
    block_bytes: int = 4096,
    read_share: float = 1.0,
    random: bool = True,
    depth: int | None = 32,
    max_per_s: float | None = None,
    credit: float = 1.0,
    time_scale: float = 1.0,
) -> pl.DataFrame:
    """One row per stretch of a steady load on a catalogue disk: its expected rate and its limit.

    `iops` and `throughput` are the provisioned rates (throughput in the provider's own unit, MiB/s
    or MB/s). The load has blocks of `block_bytes`, `depth` of them in flight (None: as many as the
    disk needs to reach its limit), and at most `max_per_s` per second. `credit` is the fill of the
    burst bucket (1 is full); `time_scale` divides the bucket's capacity, as in the lab. Formulas:
    docs/METHOD.md. Raises UnknownName, InvalidValue.
    """
    from diskbench.catalog.expect import course_frame, path_of
    from diskbench.catalog.lookup import limits
    from diskbench.catalog.machine import machine_of
    from diskbench.model.expectation import Load
    from diskbench.results.refreshed_catalogue import open_books

    asked = {"block_bytes": block_bytes, "read_share": read_share, "random": random}
    load = Load.model_validate({**asked, "depth": depth, "max_per_s": max_per_s})
    machine = machine_of(open_books(), provider, instance_type, disk)
    promised = limits(provider, disk, size_gib, iops, throughput)
    path = path_of(promised, machine, time_scale=time_scale)
    return course_frame(path, load, seconds=seconds, credit=credit)


def disk_price(
    provider: str,
    disk: str,
    size_gib: int,
    *,
    iops: int | None = None,
    throughput: float | None = None,
    region: str | None = None,
) -> DiskPrice:
    """US dollars per month of a disk, and per 1,000 IOPS and per 100 MB/s of it.

    `region` defaults to the region whose prices ship with diskbench (docs/catalog.md). Fields are
    None where the catalogue has no price. Raises UnknownName, InvalidValue.
    """
    from diskbench.catalog.cost import disk_price as price_of
    from diskbench.catalog.cost import priced_region
    from diskbench.catalog.lookup import limits
    from diskbench.model.rental import DiskSpec
    from diskbench.results.refreshed_catalogue import open_books

    promised = limits(provider, disk, size_gib, iops, throughput)
    spec = DiskSpec(type=disk, size_gib=size_gib, iops=iops, throughput_mib_per_s=throughput)
    return price_of(open_books(), provider, spec, region or priced_region(provider) or "", promised)


def example_data(directory: str | os.PathLike[str] | None = None) -> ExampleData:
    """Example runs measured on lab disks, as `database` and `evidence` URLs.

    They ship with diskbench as one archive and are unpacked once, into `directory` or the user's
    cache; the unpacked copy may be changed. All runs are `emulated`. Raises StoreUnavailable.
    """
    from pathlib import Path

    from diskbench.store.example import example_data as unpacked

    return unpacked(None if directory is None else Path(directory).resolve())


@contextmanager
def _opened(url: str | None) -> Iterator[Engine]:
    """The database at `url` (default: the setting `database_url`); closed at the end."""
    from diskbench.store.database import open_database

    engine = open_database(url or _setting("database_url"))
    try:
        yield engine
    finally:
        engine.dispose()


def _store(url: str | None) -> ObjectEvidence:
    """The evidence store at `url` (default: the setting `evidence_url`)."""
    from diskbench.store.evidence import open_evidence

    return open_evidence(url or _setting("evidence_url"))


def _run_ids(database: Engine, run_id: str | Sequence[str] | None) -> list[str] | None:
    if run_id is None:
        return None
    from diskbench.results.selection import runs_named

    return runs_named(database, [run_id] if isinstance(run_id, str) else run_id)


def _setting(name: str) -> str:
    from pydantic import SecretStr

    from diskbench.settings import load_settings

    value = getattr(load_settings(), name)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
