"""Runs as a list, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {"done": "green", "failed": "red", "interrupted": "yellow", "cancelled": "yellow"}


def run_list(runs: Sequence[Mapping[str, Any]]) -> Table:
    """A table of runs (rows as in the database), times in the reader's own zone."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "when", "state", "profile", "where", "target", "disk", "labels"):
        table.add_column(name, no_wrap=name in ("run", "when"), overflow="fold")
    for run in runs:
        state = Text(str(run["state"]), style=_STYLES.get(str(run["state"]), ""))
        table.add_row(
            run["run_id"],
            local_time(run["started_at"] or run["created_at"]),
            state,
            Text(str(run["profile"])),
            Text(where(run)),
            Text(run["target_device"] or run["target_path"] or ""),
            Text(run["disk_model"] or ""),
            Text(", ".join(f"{k}={v}" for k, v in sorted(run["labels"].items()))),
        )
    return table


def where(run: Mapping[str, Any]) -> str:
    """The machine of a run, with what a reader must know before believing its numbers."""
    machine = run["address"] or run["hostname"] or run["provider"]
    kind = run["instance_type"]
    marks = [name for name in ("emulated", "imported") if run[name]]
    return " ".join([str(machine), *([f"({kind})"] if kind else []), *(f"[{m}]" for m in marks)])


def local_time(utc: str) -> str:
    """A time of a row as its reader's clock showed it."""
    return datetime.fromisoformat(utc).astimezone().strftime("%Y-%m-%d %H:%M")
