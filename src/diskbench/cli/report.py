"""`diskbench report`: one run as a page or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diskbench.cli.stores import DatabaseUrl, EvidenceUrl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Engine

    from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word
    from diskbench.model.spec import Plan
    from diskbench.report.seconds import StepSeconds


def report(
    run_id: Annotated[
        str, typer.Argument(help="A run's id, the beginning of it, or `last`.")
    ] = "last",
    to: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--to", metavar="FILE", help="A .html, .svg or .png file (default: RUN.html)."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print the paths.")] = False,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Draw a run: tables, charts and series on a page that needs nothing but a browser.

    Other runs of the same trial go into its table and bars as well, as median and range.
    """
    from diskbench.cli.results_show import phases_of_runs
    from diskbench.cli.stores import database
    from diskbench.report.page import write_report
    from diskbench.report.subject import subject_of_runs
    from diskbench.store.query import find_run

    engine = database(database_url)
    run = find_run(engine, run_id)
    runs = _trial(engine, run)
    plan = _plan(engine, run)
    subject = subject_of_runs(runs, plan)
    measurements, warnings = _rows(engine, runs)
    paths = to or [Path(f"diskbench-{run['run_id']}.html")]
    pages = any(path.suffix.lower() == ".html" for path in paths)
    seconds = _seconds(str(run["run_id"]), evidence_url) if pages else ()
    phases = phases_of_runs(runs, plan, evidence_url) if pages else ()
    for path in paths:
        write_report(
            path,
            subject,
            measurements,
            warnings,
            seconds,
            seconds_of=str(run["run_id"]),
            phases=phases,
        )
        if not quiet:
            print(path.absolute())


def _trial(engine: Engine, run: dict[str, Any]) -> list[dict[str, Any]]:
    """All runs of the trial that `run` belongs to, oldest first."""
    from diskbench.store.query import Filter, find_runs

    return find_runs(engine, [Filter("trial_id", "=", str(run["trial_id"]))])[::-1]


def _plan(engine: Engine, run: dict[str, Any]) -> Plan | None:
    """The trial's plan; an imported run has none."""
    from diskbench.store.rows import load_plan

    return None if run["imported"] else load_plan(engine, str(run["trial_id"]))


def _rows(
    engine: Engine, runs: Sequence[dict[str, Any]]
) -> tuple[list[Measurement], list[Warning]]:
    from diskbench.fio.warnings import run_warnings
    from diskbench.store.rows import load_results

    results = load_results(engine, *(str(run["run_id"]) for run in runs)).values()
    rows = [[row for step in steps for row in step.measurements] for steps in results]
    warnings = [warning for steps in results for step in steps for warning in step.warnings]
    return [row for of_run in rows for row in of_run], [*warnings, *run_warnings(rows)]


def _seconds(run_id: str, evidence_url: str | None) -> Sequence[StepSeconds]:
    """The run's series; none where the evidence is gone, which costs a page only these charts."""
    import logging

    from diskbench import load_series
    from diskbench.errors import DiskbenchError
    from diskbench.report.seconds import step_seconds

    try:
        return step_seconds(load_series(run_id, evidence=evidence_url).iter_rows(named=True))
    except DiskbenchError as error:
        logging.getLogger(__name__).warning("no series in the page: %s", error.message)
        return ()
