"""Runs as a list, one line each: plain text, because ten thousand lines must come at once (rich
takes nine seconds for them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

_GAP = "  "
_HEADER = ("run", "when", "state", "mark", "profile", "where", "target", "disk", "labels")
_WIDEST = 40
"""Cells of a terminal are cut at this many characters, so that one long path does not push all
others away."""
_YEAR = len("2026-")
_DROPPED = ("disk", "labels")
"""Left out, in this order, where lines are too long."""
_SHRUNK = ("target", "where", "profile")
"""Shortened after that, the widest first, to no less than so many characters:"""
_NARROWEST = 6
_TELLING = 8
"""A target of which less than this many characters are left tells nothing: it is left out."""


def run_lines(runs: Sequence[Mapping[str, Any]], *, width: int | None = None) -> Iterator[str]:
    """A header, then a line for each run (rows as in the database), times in the reader's zone.

    Columns that no run fills are left out. No line is longer than `width` (None: lines may have any
    length, and nothing is cut): then years, instance types, disks and labels are left out, too;
    then targets, machines and profiles lose their middle, and targets go where little of them would
    be left.
    """
    if width is None:
        yield from _whole([_HEADER, *(_cells(run) for run in runs)])
        return
    most = width
    rows = [_HEADER, *(tuple(map(_cut, _cells(run))) for run in runs)]
    if _over(_widths(rows), most) > 0:
        rows = [_HEADER, *(tuple(map(_cut, _cells(run, short=True))) for run in runs)]
    widths = _fitted(_widths(rows), most)
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
    """The columns that some run fills, each with the width of its longest cell."""
    return {
        name: max(len(row[i]) for row in rows)
        for i, name in enumerate(_HEADER)
        if any(row[i] for row in rows[1:])
    }


def _fitted(widths: dict[str, int], most: int) -> dict[str, int]:
    """The columns that are shown, each with its width."""
    found = dict(widths)
    for name in _DROPPED:
        if _over(found, most) > 0:
            found.pop(name, None)
    shrunk = _shrunk(found, most)
    if shrunk.get("target", _TELLING) < min(_TELLING, widths.get("target", 0)):
        found.pop("target")
        return _shrunk(found, most)
    return shrunk


def _shrunk(widths: dict[str, int], most: int) -> dict[str, int]:
    found = dict(widths)
    while (over := _over(found, most)) > 0:
        names = sorted((n for n in _SHRUNK if n in found), key=found.__getitem__, reverse=True)
        if not names or found[names[0]] <= _NARROWEST:
            break
        next_widest = found[names[1]] if len(names) > 1 else _NARROWEST
        step = max(1, found[names[0]] - max(next_widest, _NARROWEST))
        found[names[0]] -= min(over, step)
    return found


def _over(widths: Mapping[str, int], most: int) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1) - most


def where(run: Mapping[str, Any], *, short: bool = False) -> str:
    """The machine of a run."""
    machine = run["address"] or run["hostname"] or run["provider"]
    kind = None if short else run["instance_type"]
    return f"{machine} ({kind})" if kind else str(machine)


def _marks(run: Mapping[str, Any]) -> str:
    """What a reader must know before believing the numbers; never shortened."""
    return ", ".join(name for name in ("emulated", "imported") if run[name])


def local_time(utc: str) -> str:
    """A time of a row as its reader's clock showed it."""
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")


def _cells(run: Mapping[str, Any], *, short: bool = False) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(run["labels"].items()))
    cells = (
        run["run_id"],
        local_time(run["started_at"] or run["created_at"])[_YEAR if short else 0 :],
        run["state"],
        _marks(run),
        run["profile"],
        where(run, short=short),
        _target(run),
        run["disk_model"] or "",
        labels,
    )
    return tuple(" ".join(cell.split()) for cell in cells)


def _target(run: Mapping[str, Any]) -> str:
    """The directory; or the device, with the filesystem that was made on it."""
    path, device = run["target_path"], run["target_device"]
    if run["target_kind"] != "device":
        return path or device or ""
    return " ".join(word for word in (device or path, run["filesystem"]) if word)


def _cut(cell: str, width: int = _WIDEST) -> str:
    """The cell without its middle where it is too long: both ends of a path tell the most."""
    if len(cell) <= width:
        return cell
    end = (width - 1) // 2
    return f"{cell[: width - 1 - end]}…{cell[len(cell) - end :]}"
