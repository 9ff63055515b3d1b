"""What `diskbench results show` prints for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diskbench.model.result import StepResult


def print_run(run: Mapping[str, Any], steps: Sequence[StepResult]) -> None:
    """One run: what and where, its table, its warnings, how it ended, where its evidence lies."""
    from rich.console import Console
    from rich.text import Text

    from diskbench.report.run_list import local_time, where

    console = Console()
    when = local_time(run["started_at"] or run["created_at"])
    console.print(Text(f"run {run['run_id']}  {run['profile']}  {run['state']}  {when}", "bold"))
    target = run["target_device"] or run["target_path"]
    console.print(Text(f"{where(run)}" + (f", {target}" if target else "")))
    if run["error"]:
        console.print(Text(f"{run['error']}", "red"))
        if run["advice"]:
            console.print(Text(run["advice"]))
    console.print(Text(f"evidence: {run['evidence_url']}/runs/{run['run_id']}/", "dim"))
