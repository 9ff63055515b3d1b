"""Runs as a list, one line each: plain text, because rich takes nine seconds for ten thousand
lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from diskbench.report.assemble.dates import NO_DATE, local_time
from diskbench.units import format_mb_per_s

if TYPE_CHECKING:
    from diskbench.model.run import Mark, Run

_GAP = "  "
_MARKS: tuple[Mark, ...] = ("emulated", "imported")
_HEADER = (
    "run", "when", "state", "mark", "profile", "disk", "provisioned", "cache", "region", "zone",
    "instance", "where", "target", "labels",
)  # fmt: skip
_WIDEST = 40
"""On a terminal a cell is cut at this many characters, so that one long path does not push the
other columns out of sight."""
_YEAR = len("2026-")
_DROPPED = ("labels", "provisioned", "cache", "zone", "instance", "region")
"""Columns that are dropped, in this order, when lines are too long; after them the disk column, if
no disk was rented and all have only kernel names."""
_SHRUNK = ("target", "where", "disk", "profile")
"""Columns that are shortened next, the widest first, with the minimum width of each."""
_NARROWEST = 6
_TELLING = 8
"""A target shortened to fewer characters than this is not recognizable: it is left out."""


def run_lines(runs: Sequence[Run], *, width: int | None = None) -> Iterator[str]:
    """A header, then a line for each run, with times in the local timezone.

    Empty columns are left out. No line is longer than `width` (None: any length, nothing is cut).
    To fit, years and the columns of _DROPPED are left out first; then targets, machines, disks and
    profiles lose their middle; targets and machines are dropped if too little of them would remain.
    """
    if width is None:
        yield from _whole([_HEADER, *(_cells(run) for run in runs)])
        return
    most = width
    rows = [_HEADER, *(tuple(map(_cut, _cells(run))) for run in runs)]
    if _over(_widths(rows), most) > 0:
        rows = [_HEADER, *(tuple(map(_cut, _cells(run, short=True))) for run in runs)]
    rented = any(run.disk_type for run in runs)
    widths = _fitted(_widths(rows), most, rented=rented)
    shown = [(i, widths[name]) for i, name in enumerate(_HEADER) if name in widths]
    for row in rows:
        line = _GAP.join(_cut(row[i], wide).ljust(wide) for i, wide in shown).rstrip()
        yield line if len(line) <= most else f"{line[: most - 1]}…"


def _whole(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = _widths(rows)
    shown = [(i, widths[name]) for i, name in enumerate(_HEADER) if name in widths]
    for row in rows:
        yield _GAP.join(row[i].ljust(wide) for i, wide in shown).rstrip()


def _widths(rows: Sequence[Sequence[str]]) -> dict[str, int]:
    """The columns that are not empty, each with the width of its longest cell."""
    return {
        name: max(len(row[i]) for row in rows)
        for i, name in enumerate(_HEADER)
        if any(row[i] for row in rows[1:])
    }


def _fitted(widths: dict[str, int], most: int, *, rented: bool) -> dict[str, int]:
    """The columns that are shown, each with its width."""
    fitted = dict(widths)
    for name in _DROPPED if rented else (*_DROPPED, "disk"):
        if _over(fitted, most) > 0:
            fitted.pop(name, None)
    for name in ("target", "where"):
        shrunk = _shrunk(fitted, most)
        fits = _over(shrunk, most) <= 0
        if fits and shrunk.get(name, _TELLING) >= min(_TELLING, widths.get(name, 0)):
            break
        fitted.pop(name, None)
    return _shrunk(fitted, most)


def _shrunk(widths: dict[str, int], most: int) -> dict[str, int]:
    shrunk = dict(widths)
    while (over := _over(shrunk, most)) > 0:
        names = sorted((n for n in _SHRUNK if n in shrunk), key=shrunk.__getitem__, reverse=True)
        if not names or shrunk[names[0]] <= _NARROWEST:
            break
        next_widest = shrunk[names[1]] if len(names) > 1 else _NARROWEST
        step = max(1, shrunk[names[0]] - max(next_widest, _NARROWEST))
        shrunk[names[0]] -= min(over, step)
    return shrunk


def _over(widths: Mapping[str, int], most: int) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1) - most


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


def _when(run: Run, *, short: bool) -> str:
    """The start time; for a run without a date, words that say so."""
    when = local_time(run.when)
    return when[_YEAR:] if short and when != NO_DATE else when


def _cells(run: Run, *, short: bool = False) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(run.labels.items()))
    cells = (
        run.run_id,
        _when(run, short=short),
        run.state,
        _marks(run),
        run.profile,
        disk(run),
        _provisioned(run),
        run.host_cache or "",
        run.region or "",
        run.zone or "",
        run.instance_type or "",
        where(run),
        _target(run),
        labels,
    )
    return tuple(" ".join(cell.split()) for cell in cells)


def _target(run: Run) -> str:
    """The directory, or the device with the filesystem that was made on it."""
    path, device = run.target_path, run.target_device
    if run.target_kind != "device":
        return path or device or ""
    return " ".join(word for word in (device or path, run.filesystem) if word)


def _cut(cell: str, width: int = _WIDEST) -> str:
    """The cell, without its middle if it is too long: the ends of a path identify it best."""
    if len(cell) <= width:
        return cell
    end = (width - 1) // 2
    return f"{cell[: width - 1 - end]}…{cell[len(cell) - end :]}"
