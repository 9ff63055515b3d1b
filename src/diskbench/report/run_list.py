"""Runs as a list, one line each: plain text, because ten thousand lines must come at once (rich
takes nine seconds for them)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

_GAP = "  "
_WIDEST = 40
"""Cells are cut at this many characters, so that one long path does not push all others away."""


def run_lines(runs: Sequence[Mapping[str, Any]], *, width: int | None = None) -> Iterator[str]:
    """A header, then a line for each run (rows as in the database), times in the reader's zone.

    Columns that no run fills are left out. `width` cuts lines to a terminal's; None does not.
    """
    header = ("run", "when", "state", "profile", "where", "target", "disk", "labels")
    rows = [header, *(_cells(run) for run in runs)]
    used = [i for i in range(len(header)) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in used}
    for row in rows:
        line = _GAP.join(row[i].ljust(widths[i]) for i in used).rstrip()
        yield line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def where(run: Mapping[str, Any]) -> str:
    """The machine of a run, with what a reader must know before believing its numbers."""
    machine = run["address"] or run["hostname"] or run["provider"]
    kind = run["instance_type"]
    marks = [name for name in ("emulated", "imported") if run[name]]
    return " ".join([str(machine), *([f"({kind})"] if kind else []), *(f"[{m}]" for m in marks)])


def local_time(utc: str) -> str:
    """A time of a row as its reader's clock showed it."""
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")


def _cells(run: Mapping[str, Any]) -> tuple[str, ...]:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(run["labels"].items()))
    cells = (
        run["run_id"],
        local_time(run["started_at"] or run["created_at"]),
        run["state"],
        run["profile"],
        where(run),
        run["target_device"] or run["target_path"] or "",
        run["disk_model"] or "",
        labels,
    )
    return tuple(_cut(" ".join(cell.split())) for cell in cells)


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…"
