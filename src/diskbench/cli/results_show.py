"""What `diskbench results show` prints for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diskbench.model.result import StepResult
    from diskbench.model.spec import Plan


def print_runs(
    runs: Sequence[Mapping[str, Any]],
    steps: Mapping[str, Sequence[StepResult]],
    plan: Plan | None,
) -> None:
    """Runs of one trial, in order: their table and warnings, how each ended, where its evidence is.

    `plan` is None for imported runs.
    """
    from rich.console import Console
    from rich.text import Text

    from diskbench.fio.warnings import run_warnings
    from diskbench.report.run_list import local_time
    from diskbench.report.subject import subject_of_runs
    from diskbench.report.tables import print_result

    console = Console()
    results = [step for run in runs for step in steps[run["run_id"]]]
    rows = [row for step in results for row in step.measurements]
    warnings = [warning for step in results for warning in step.warnings]
    of_runs = [[row for s in steps[run["run_id"]] for row in s.measurements] for run in runs]
    warnings += run_warnings(of_runs)
    print_result(subject_of_runs(runs, plan), rows, warnings, console=console)
    for run in runs:
        when = local_time(run["started_at"] or run["created_at"])
        style = "dim" if run["state"] == "done" else "yellow"
        console.print(Text(f"run {run['run_id']} {run['state']}, {when}", style))
        if run["error"]:
            console.print(Text(f"  {run['error']}", "red"))
        if run["advice"]:
            console.print(Text(f"  {run['advice']}"))
        place = Text(f"  evidence: {run['evidence_url']}/runs/{run['run_id']}/", "dim")
        console.print(place, no_wrap=True, overflow="ignore", crop=False)
