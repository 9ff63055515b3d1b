"""One run as text plots: its steps second by second, and their latency percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from diskbench.errors import DiskbenchError
from diskbench.report.assemble.seconds import step_seconds
from diskbench.report.terminal.percentile_plot import plot_percentiles
from diskbench.report.terminal.sparkline import sparkline
from diskbench.report.terminal.text_plot import SHORTEST_S, plot_seconds
from diskbench.store.frames import histogram_rows
from diskbench.store.stored_series import rate_rows
from diskbench.units import format_iops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from diskbench.model.phase import StepPhases
    from diskbench.model.run import Run
    from diskbench.model.spec import Plan
    from diskbench.ports import EvidenceStore
    from diskbench.report.assemble.seconds import StepSeconds
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
    """A sparkline for each step of a run, and plots below.

    `plot` True: series and percentiles of every step; None: on a terminal only, the series of steps
    with a cliff; False: no plots. Nothing is printed for a run whose evidence is missing. `plan`
    gives the time at which credit was expected to run out (None for imported runs). `several`: the
    trial has other runs, so the run's number is shown.
    """
    if store is None:
        return
    try:
        steps = step_seconds(rate_rows(store, run.run_id))
    except DiskbenchError:  # reported when the phases were read
        return
    if not (lines := second_lines(steps, width=screen.width)):
        return
    number = run.run_index + 1
    which = f" of run {number}" if several else ""
    console.print(Text.assemble(("\nIOPS by the second", "bold"), (f"{which}, from zero", "dim")))
    console.print(Text("\n".join(lines)))
    by_step = {phase.step: phase for phase in phases if phase.run_id == run.run_id}
    if plot is None:
        fell = {name for name, step in by_step.items() if step.cliffs}
        shown = [step for step in steps if step.step in fell] if console.is_terminal else []
    else:
        shown = list(steps) if plot else []
    foreseen = {name: _expected_s_of(plan, step, number) for name, step in by_step.items()}
    for step in (step for step in shown if step.n >= SHORTEST_S):
        cliffs = by_step[step.step].cliffs if step.step in by_step else ()
        _print(
            console, plot_seconds(step, screen, cliffs=cliffs, foreseen_s=foreseen.get(step.step))
        )
        if plot:
            rows = histogram_rows(store, run.run_id, step=step.step)
            _print(console, plot_percentiles(step.step, rows, screen))


def _expected_s_of(plan: Plan | None, step: StepPhases, run: int) -> float | None:
    """Seconds from the step's start until full load was expected to empty the bucket."""
    expectation = plan.expectation if plan else None
    expected = expectation.of(expectation.step(step.step_index, run)) if expectation else None
    return expected.lasts_s if expected else None


def _print(console: Console, drawn: str) -> None:
    """Print a plot unchanged: rich must not wrap or colour it again."""
    if drawn:
        console.print()
        console.print(Text.from_ansi(drawn), soft_wrap=True)


_NAME = 24
_NARROWEST = 8


def second_lines(steps: Sequence[StepSeconds], *, width: int = 80) -> list[str]:
    """A line per step and direction: name, IOPS as a sparkline, lowest and highest second.

    Steps of fewer than three seconds are left out. No line is longer than `width`, if that leaves
    at least eight columns for the sparkline.
    """
    rows = [
        (step.step, direction, [iops for _, iops in points])
        for step in steps
        for direction, points in step.directions.items()
        if len(points) >= SHORTEST_S
    ]
    if not rows:
        return []
    spans = [f"{format_iops(min(iops))} to {format_iops(max(iops))}" for _, _, iops in rows]
    names = [_shortened(name) for name, _, _ in rows]
    wide = max(map(len, names))
    label = max(len(direction) for _, direction, _ in rows)
    room = max(_NARROWEST, min(40, width - wide - label - max(map(len, spans)) - 4))
    return [
        f"{name:<{wide}} {direction:<{label}} {sparkline(iops, width=room):<{room}}  {span}"
        for name, (_, direction, iops), span in zip(names, rows, spans, strict=True)
    ]


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
