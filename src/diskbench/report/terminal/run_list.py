"""Runs with all their columns, one line each: plain text, because rich takes nine seconds for ten
thousand lines. The list that fits a terminal is in trial_list.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from diskbench.report.assemble.dates import local_time
from diskbench.units import KIB, format_iops, format_mb_per_s
from diskbench.visible import shortened

if TYPE_CHECKING:
    from diskbench.model.run import Headline, Mark, Run

_GAP = "  "
_MARKS: tuple[Mark, ...] = ("emulated", "imported")
_HEADER = (
    "run", "when", "state", "mark", "figure", "trust", "profile", "disk", "provisioned", "cache",
    "region", "zone", "instance", "where", "target", "labels",
)  # fmt: skip
_LARGE_BLOCK = 64 * KIB
"""From this mean block size on, a rate is shown in MB/s."""


def run_lines(runs: Sequence[Run], headlines: Mapping[str, Headline]) -> Iterator[str]:
    """A header, then a line for each run with every column that some run fills, with times in the
    local timezone. `headlines` are the figures of the runs that were judged, by run id. Only a
    cell of more than 1,000 characters is cut, however long the lines become."""
    rows = [_HEADER, *(_cells(run, headlines.get(run.run_id)) for run in runs)]
    shown = [at for at in range(len(_HEADER)) if any(row[at] for row in rows[1:])]
    widths = {at: max(len(row[at]) for row in rows) for at in shown}
    for row in rows:
        yield _GAP.join(row[at].ljust(widths[at]) for at in shown).rstrip()


def headline_words(headline: Headline) -> str:
    """`3,000 IOPS`, or `98.0 MB/s` for large blocks and where no IOPS are known; `3,000 IOPS burst`
    where the credit lasted to the end."""
    return f"{_rate_words(headline)} burst" if headline.kind == "burst" else _rate_words(headline)


def _rate_words(headline: Headline) -> str:
    iops, moved = headline.iops, headline.bytes_per_s
    if iops is not None and not (moved and round(moved / iops) >= _LARGE_BLOCK - 1):
        return f"{format_iops(iops)} IOPS"
    return f"{format_mb_per_s(moved)} MB/s" if moved is not None else "–"


def where(run: Run) -> str:
    """The machine of a run."""
    return run.place or run.provider


def disk(run: Run) -> str:
    """The rented disk (`2 × gp2 20 GiB`), or else the kernel's name of the disk."""
    if not run.disk_type:
        return run.disk_model or ""
    count = f"{run.disk_count} × " if (run.disk_count or 1) > 1 else ""
    size = f" {run.disk_gib:,} GiB" if run.disk_gib else ""
    return f"{count}{run.disk_type}{size}"


def _provisioned(run: Run) -> str:
    words = []
    if run.provisioned_iops:
        words.append(f"{run.provisioned_iops:,} IOPS")
    if run.provisioned_bytes_per_s:
        words.append(f"{format_mb_per_s(run.provisioned_bytes_per_s)} MB/s")
    return ", ".join(words)


def _marks(run: Run) -> str:
    """The marks that qualify the figures (emulated, imported, …); never shortened."""
    return ", ".join(mark for mark in _MARKS if run.has(mark))


def _cells(run: Run, headline: Headline | None) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(run.labels.items()))
    cells = (
        run.run_id,
        local_time(run.when),
        run.state,
        _marks(run),
        headline_words(headline) if headline else "",
        (headline.trust or "") if headline else "",
        run.profile,
        disk(run),
        _provisioned(run),
        run.host_cache or "",
        run.region or "",
        run.zone or "",
        run.instance_type or "",
        where(run),
        target(run),
        labels,
    )
    return tuple(shortened(" ".join(cell.split())) for cell in cells)


def target(run: Run) -> str:
    """The directory, or the device with the filesystem that was made on it."""
    path, device = run.target_path, run.target_device
    if run.target_kind != "device":
        return path or device or ""
    return " ".join(word for word in (device or path, run.filesystem) if word)


def cut(cell: str, width: int) -> str:
    """The cell, without its middle if it is too long: the ends of a path identify it best."""
    if len(cell) <= width:
        return cell
    end = (width - 1) // 2
    return f"{cell[: width - 1 - end]}…{cell[len(cell) - end :]}"
