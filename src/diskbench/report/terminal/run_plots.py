"""One run drawn in characters: its steps second by second, and their latency percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from diskbench.errors import DiskbenchError
from diskbench.report.assemble.seconds import step_seconds
from diskbench.report.terminal.percentile_plot import plot_percentiles
from diskbench.report.terminal.second_lines import second_lines
from diskbench.report.terminal.text_plot import SHORTEST_S, plot_seconds
from diskbench.store.frames import histogram_frame, series_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from diskbench.model.phase import StepPhases
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore
    from diskbench.report.terminal.text_plot import Screen


def print_plots(
    console: Console,
    screen: Screen,
    run: Run,
    phases: Sequence[StepPhases],
    plan: Plan | None,
    store: EvidenceStore | None,
    *,
    plot: bool | None,
    several: bool,
) -> None:
    """A line of blocks for each step of a run (row), and plots below.

    `plot` True: of every step its series and percentiles; None: the series of steps in which the
    level fell, and only on a terminal; False: none. A run whose evidence is gone has nothing here.
    `plan` tells when credit was to run out; imported runs have none. `several`: its trial has other
    runs, so its number is said.
    """
    if store is None:
        return
    try:
        steps = step_seconds(series_frame(store, run.run_id).iter_rows(named=True))
    except DiskbenchError:  # said where phases were looked for
        return
    if not (lines := second_lines(steps, width=screen.width)):
        return
    number = run.run_index + 1
    which = f" of run {number}" if several else ""
    console.print(Text.assemble(("\nIOPS by the second", "bold"), (f"{which}, from zero", "dim")))
    console.print(Text("\n".join(lines)))
    found = {one.step: one for one in phases if one.run_id == run.run_id}
    if plot is None:
        fell = {name for name, one in found.items() if one.cliffs}
        shown = [one for one in steps if one.step in fell] if console.is_terminal else []
    else:
        shown = list(steps) if plot else []
    foreseen = {name: _foreseen_s(plan, one, number) for name, one in found.items()}
    for step in (one for one in shown if one.n >= SHORTEST_S):
        cliffs = found[step.step].cliffs if step.step in found else ()
        _print(
            console, plot_seconds(step, screen, cliffs=cliffs, foreseen_s=foreseen.get(step.step))
        )
        if plot:
            rows = histogram_frame(store, run.run_id, step=step.step, direction=None)
            _print(console, plot_percentiles(step.step, rows.iter_rows(named=True), screen))


def _foreseen_s(plan: Plan | None, found: StepPhases, run: int) -> float | None:
    """When a full load was to empty the bucket, from the step's beginning."""
    told = plan.expectation if plan else None
    expected = told.of(told.step(found.step_index, run)) if told else None
    return expected.lasts_s if expected else None


def _print(console: Console, drawn: str) -> None:
    """As it was drawn: neither folded nor coloured once more."""
    if drawn:
        console.print()
        console.print(Text.from_ansi(drawn), soft_wrap=True)
