"""diskbench measures how fast cloud disks really are.

For notebooks: `load_runs`, `load_measurements`, `load_series`, `load_phases`, `load_histogram` and
`load_published` give polars frames; docs/api.md lists their columns and units. Importing this
package imports none of what they need: that happens at the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from diskbench.model.result import Direction

__all__ = [
    "__version__",
    "load_histogram",
    "load_measurements",
    "load_phases",
    "load_published",
    "load_runs",
    "load_series",
]

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, from the installed package's metadata, read only when somebody asks."""
    if name == "__version__":
        from importlib.metadata import version

        return version("diskbench")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_runs(*, database: str | None = None) -> pl.DataFrame:
    """One row a run, oldest first: what was asked for, on which machine and disk, how it ended.

    `database` is a URL (default: the setting `database_url`). Raises StoreUnavailable.
    """
    from diskbench.store.frames import runs_frame

    return runs_frame(database or _setting("database_url"))


def load_measurements(
    run_id: str | Sequence[str] | None = None, *, database: str | None = None
) -> pl.DataFrame:
    """One row a run, step, job and direction, of all runs or of those named.

    Rows of scope `step` are all jobs of a step merged; do not add them to rows of scope `job`.
    `database` is a URL (default: the setting `database_url`). Raises StoreUnavailable.
    """
    from diskbench.store.frames import measurements_frame

    run_ids = [run_id] if isinstance(run_id, str) else run_id
    return measurements_frame(database or _setting("database_url"), run_ids=run_ids)


def load_series(
    run_id: str, *, step: str | None = None, evidence: str | None = None
) -> pl.DataFrame:
    """One row a step, second and direction of a run; seconds without I/O have 0 IOPS.

    Read from fio's logs at the first call and kept as Parquet beside the evidence. `evidence` is a
    URL (default: the setting `evidence_url`). Raises UnknownName for a run or step without
    evidence, FioOutputUnreadable for damaged logs, StoreUnavailable.
    """
    from diskbench.store.evidence import open_evidence
    from diskbench.store.frames import series_frame

    return series_frame(open_evidence(evidence or _setting("evidence_url")), run_id, step=step)


def load_phases(
    run_id: str | Sequence[str], *, step: str | None = None, evidence: str | None = None
) -> pl.DataFrame:
    """One row a phase of each measured step of a minute or more: burst, baseline, ramp, stall.

    Read from the series at the first call and kept beside the evidence. `evidence` is a URL
    (default: the setting `evidence_url`). Raises UnknownName for a run or step without evidence,
    FioOutputUnreadable for damaged logs, StoreUnavailable.
    """
    from diskbench.store.evidence import open_evidence
    from diskbench.store.phases_frame import phases_frame

    run_ids = [run_id] if isinstance(run_id, str) else run_id
    return phases_frame(open_evidence(evidence or _setting("evidence_url")), run_ids, step=step)


def load_histogram(
    run_id: str,
    *,
    step: str | None = None,
    direction: Direction | None = None,
    evidence: str | None = None,
) -> pl.DataFrame:
    """One row a step, direction, kind of latency and bucket: how many I/Os took that long.

    `evidence` is a URL (default: the setting `evidence_url`). Raises UnknownName for a run or step
    without evidence, StoreUnavailable.
    """
    from diskbench.store.evidence import open_evidence
    from diskbench.store.frames import histogram_frame

    store = open_evidence(evidence or _setting("evidence_url"))
    return histogram_frame(store, run_id, step=step, direction=direction)


def load_published() -> pl.DataFrame:
    """One row a figure that others have published of a disk: where, of what, measured how.

    Needs no database: the figures come with diskbench (docs/published.md).
    """
    from diskbench.catalog.published_frame import published_frame

    return published_frame()


def _setting(name: str) -> str:
    from pydantic import SecretStr

    from diskbench.settings import load_settings

    value = getattr(load_settings().settings, name)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
