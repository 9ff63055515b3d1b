"""What `diskbench results show` draws of one run: its steps second by second, and percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from diskbench.model.phase import StepPhases
    from diskbench.ports import EvidenceStore
    from diskbench.report.seconds import StepSeconds
    from diskbench.report.text_plot import Screen


def print_plots(
    run: Mapping[str, Any],
    phases: Sequence[StepPhases],
    *,
    plot: bool | None,
    several: bool,
    evidence_url: str | None = None,
) -> None:
    """A line of blocks for each step of a run (row), and plots below.

    `plot` True: of every step its series and percentiles; None: the series of steps in which the
    level fell, and only on a terminal; False: none. A run whose evidence is gone has nothing here.
    """
    from rich.console import Console
    from rich.text import Text

    from diskbench.cli.letters import is_unicode
    from diskbench.cli.stores import evidence
    from diskbench.errors import DiskbenchError
    from diskbench.report.second_lines import second_lines
    from diskbench.report.seconds import step_seconds
    from diskbench.report.text_plot import Screen
    from diskbench.store.frames import series_frame

    console = Console()
    try:
        store = evidence(evidence_url or run["evidence_url"])
        steps = step_seconds(series_frame(store, run["run_id"]).iter_rows(named=True))
    except DiskbenchError:  # told where phases were looked for
        return
    if not (lines := second_lines(steps, width=console.width)):
        return
    which = f" of run {run['run_index'] + 1}" if several else ""
    console.print(Text.assemble(("\nIOPS by the second", "bold"), (f"{which}, from zero", "dim")))
    console.print(Text("\n".join(lines)))
    screen = Screen(
        width=console.width,
        colour=console.is_terminal and not console.no_color and console.color_system is not None,
        unicode=is_unicode(console.encoding),
    )
    cliffs = {one.step: one.cliffs for one in phases if one.run_id == run["run_id"]}
    if plot is None:
        shown = [one for one in steps if cliffs.get(one.step)] if console.is_terminal else []
    else:
        shown = list(steps) if plot else []
    for drawn in _drawn(store, run["run_id"], shown, cliffs, screen, percentiles=bool(plot)):
        _print(console, drawn)


def _drawn(
    store: EvidenceStore,
    run_id: str,
    steps: Sequence[StepSeconds],
    cliffs: Mapping[str, Sequence[Any]],
    screen: Screen,
    *,
    percentiles: bool,
) -> Iterator[str]:
    from diskbench.report.percentile_plot import plot_percentiles
    from diskbench.report.text_plot import SHORTEST_S, plot_seconds
    from diskbench.store.frames import histogram_frame

    for step in (one for one in steps if one.n >= SHORTEST_S):
        yield plot_seconds(step, screen, cliffs=cliffs.get(step.step, ()))
        if percentiles:
            rows = histogram_frame(store, run_id, step=step.step, direction=None)
            yield plot_percentiles(step.step, rows.iter_rows(named=True), screen)


def _print(console: Console, drawn: str) -> None:
    """As it was drawn: neither folded nor coloured once more."""
    from rich.text import Text

    if drawn:
        console.print()
        console.print(Text.from_ansi(drawn), soft_wrap=True)
