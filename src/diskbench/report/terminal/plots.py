"""One run as plots of characters (uniplot): its steps second by second, and their latency
percentiles, where a share p of all I/Os is drawn at log10(1 / (1 - p)), so that 90 %, 99 % and
99.9 % are equally far apart.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from rich.console import Console
from rich.text import Text

from diskbench.errors import DiskbenchError
from diskbench.model.phase import Cliff
from diskbench.model.run import Run
from diskbench.parallel import grouped
from diskbench.ports import EvidenceStore
from diskbench.report.assemble.phases import clock
from diskbench.report.assemble.words import cut
from diskbench.report.terminal.layout import sparkline
from diskbench.results.trial import Trial
from diskbench.store.frames import histogram_rows
from diskbench.store.stored_series import rate_rows
from diskbench.units import format_iops
from diskbench.visible import one_line

Seconds = Mapping[str, Sequence[tuple[int, float]]]
"""One step (its last round): direction → (second, IOPS), seconds ascending from 0."""


def step_seconds(rows: Iterable[Mapping[str, Any]]) -> dict[str, Seconds]:
    """Series rows (from `diskbench.load_series`) by step, in the order of the steps.

    Directions without I/O are left out. Of a repeated step the last round is kept: its seconds are
    nearest to the steady state.
    """
    steps: dict[tuple[int, str], dict[str, list[tuple[int, float]]]] = {}
    for row in rows:
        of_step = steps.setdefault((int(row["step_index"]), str(row["step"])), {})
        points = of_step.setdefault(str(row["direction"]), [])
        points.append((int(row["second"]), float(row["iops"] or 0.0)))
    last = {name: (index, name) for index, name in sorted(steps)}
    return {
        name: {
            direction: sorted(points)
            for direction, points in steps[key].items()
            if any(iops for _, iops in points)
        }
        for name, key in sorted(last.items(), key=itemgetter(1))
    }


HEIGHT = 10
SHORTEST_S = 3
"""Fewer seconds are not worth a plot."""
_NARROWEST = 24
_LABELS = 13
"""Columns of the frame and the labels of the vertical axis, up to `10,000,000`."""
_FRAME = str.maketrans("┌┐└┘─│├┤┬┴┼", "++++-|+++++")
COLOURS = ("cyan", "yellow", "magenta", "green", "blue")


@dataclass(frozen=True)
class Screen:
    """The terminal to draw for: its columns, and whether it has colours and Unicode."""

    width: int = 80
    colour: bool = False
    unicode: bool = True

    @property
    def plot_width(self) -> int:
        """Columns inside the frame of a plot."""
        return max(_NARROWEST, self.width - _LABELS)


def plot_seconds(
    step: str,
    directions: Seconds,
    screen: Screen,
    *,
    cliffs: Sequence[Cliff] = (),
    foreseen_s: float | None = None,
) -> str:
    """IOPS over the seconds of a step, from zero. Its cliffs are vertical lines, described below
    the plot together with the time at which the plan expected the credit to run out.

    Empty for fewer than three seconds. If there are more seconds than columns, peaks and dips stay
    visible: uniplot joins all points by lines.
    """
    seconds = max(map(len, directions.values()), default=0)
    if seconds < SHORTEST_S:
        return ""
    # uniplot cannot label an axis whose range is almost zero.
    highest = max(value for course in directions.values() for _, value in course)
    bounds: dict[str, Any] = {"y_min": 0.0} if highest >= 1.0 else {"y_min": 0.0, "y_max": 1.0}
    drawn = draw(
        directions,
        screen,
        title=f"{step}: IOPS over {seconds:,} s",
        x_gridlines=[cliff.at_s for cliff in cliffs],
        x_unit=" s",
        **bounds,
    )
    bar, arrow = ("│", "→") if screen.unicode else ("|", "->")
    lines = [drawn]
    for cliff in cliffs:
        levels = f"{format_iops(cliff.before)} {arrow} {format_iops(cliff.after)}"
        lines.append(f"{bar} cliff at {clock(cliff.at_s)}: {levels}")
    if foreseen_s is not None and foreseen_s < seconds:
        lines.append(f"  predicted: credit runs out at {clock(foreseen_s)}")
    return "\n".join(lines)


def draw(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    screen: Screen,
    *,
    title: str,
    **options: Any,  # noqa: ANN401 - options of uniplot, passed on
) -> str:
    """Curves of points (x, y) in one frame, with a legend if there are several."""
    from uniplot import plot_to_string

    several = len(curves) > 1
    drawn = plot_to_string(
        ys=[[y for _, y in points] for points in curves.values()],
        xs=[[x for x, _ in points] for points in curves.values()],
        lines=True,
        width=screen.plot_width,
        height=HEIGHT,
        title=one_line(title),
        color=list(COLOURS[: len(curves)]) if screen.colour else False,
        character_set="block" if screen.unicode else "ascii",
        legend_labels=[one_line(name) for name in curves] if several else None,
        y_gridlines=[],
        **options,
    )
    text = "\n".join(line.rstrip() for line in str(drawn).splitlines())
    return text if screen.unicode else text.translate(_FRAME)


_UNITS = ((1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns"))
_FEWEST = 10
"""Fewer I/Os have no tail to draw."""


def plot_percentiles(step: str, rows: Iterable[Mapping[str, Any]], screen: Screen) -> str:
    """A curve per direction, from the rows of `diskbench.load_histogram` for one step.

    Total latency if fio recorded it, else completion latency. Empty if no direction has ten I/Os.
    """
    known = tuple(rows)
    kind = "lat" if any(row["kind"] == "lat" for row in known) else "clat"
    buckets = [
        (str(row["direction"]), float(row["latency_ns"]), int(row["count"]))
        for row in known
        if row["kind"] == kind and row["count"]
    ]
    curves = {
        name: points
        for name, of in grouped(buckets, itemgetter(0)).items()
        if name != "sync" and (points := _curve(sorted(bucket[1:] for bucket in of)))
    }
    if not curves:
        return ""
    highest = max(y for points in curves.values() for _, y in points)
    divisor, unit = next(unit for unit in _UNITS if highest >= unit[0])
    ends = max(x for points in curves.values() for x, _ in points)
    words = "latency" if kind == "lat" else "completion latency"
    unit = unit.replace("µ", "µ" if screen.unicode else "u")
    drawn = draw(
        {name: [(x, y / divisor) for x, y in points] for name, points in curves.items()},
        screen, title=f"{step}: {words}{unit} by share of I/Os", y_as_log=True, x_labels=False,
        x_min=0.0, x_max=ends, x_gridlines=list(range(1, math.ceil(ends))),
    )  # fmt: skip
    return _labelled(drawn, ends, screen.plot_width)


def _curve(buckets: Sequence[tuple[float, int]]) -> list[tuple[float, float]]:
    """Corners (log10(1 / (1 - p)), ns) of a step curve: a bucket is as wide as its share of I/Os.
    The slowest I/O of n is drawn at the share 1 - 1/n."""
    total = sum(count for _, count in buckets)
    if total < _FEWEST:
        return []
    corners: list[tuple[float, float]] = []
    below = 0
    for ns, count in buckets:
        ends = (total - below, total - below - count)
        corners += [(math.log10(total / max(slower, 1)), ns) for slower in ends]
        below += count
    return corners


def _labelled(drawn: str, ends: float, width: int) -> str:
    """The plot with `0 %`, `90 %`, `99 %` … below its frame, each at its share."""
    axis = [" "] * (width + 2)
    for nines in range(math.floor(ends) + 1):
        text = f"{100 - 100 / 10**nines:.10g} %"
        at = 1 + round(nines / ends * (width - 1))
        start = min(max(0, at - (len(text) // 2 if nines else 1)), len(axis) - len(text))
        if all(letter == " " for letter in axis[max(0, start - 1) : start + len(text) + 1]):
            axis[start : start + len(text)] = text
    lines = drawn.splitlines()
    frame = max(i for i, line in enumerate(lines) if line[:1] in "└+")
    lines.insert(frame + 1, "".join(axis).rstrip())
    return "\n".join(lines)


def print_plots(
    console: Console,
    screen: Screen,
    run: Run,
    trial: Trial,
    store: EvidenceStore | None,
    *,
    plot: bool | None,
) -> None:
    """A sparkline for each step of a run of a trial, and plots below; nothing where its evidence is
    missing.

    `plot` True: series and percentiles of every step; None: on a terminal only, the series of steps
    with a cliff; False: no plots. The plan gives the time at which credit was expected to run out.
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
    which = f" of run {number}" if len(trial.runs) > 1 else ""
    console.print(Text.assemble(("\nIOPS by the second", "bold"), (f"{which}, from zero", "dim")))
    console.print(Text("\n".join(lines)))
    by_step = {phase.step: phase for phase in trial.phases if phase.run_id == run.run_id}
    expectation = trial.plan.expectation if trial.plan else None
    for step, directions in steps.items():
        of = by_step.get(step)
        fell = plot is None and console.is_terminal and of is not None and of.cliffs
        if not (plot or fell):
            continue
        cliffs = of.cliffs if of else ()
        planned = expectation.step(of.step_index, number) if of and expectation else None
        foreseen = expectation.of(planned) if expectation else None
        lasts_s = foreseen.lasts_s if foreseen else None
        drawn = [plot_seconds(step, directions, screen, cliffs=cliffs, foreseen_s=lasts_s)]
        if plot and drawn[0]:
            rows = histogram_rows(store, run.run_id, step=step)
            drawn.append(plot_percentiles(step, rows, screen))
        for text in filter(None, drawn):
            console.print()
            # As it is: rich must not wrap or colour it again.
            console.print(Text.from_ansi(text), soft_wrap=True)


_NAME = 24
_LEAST_SPARK = 8


def second_lines(steps: Mapping[str, Seconds], *, width: int = 80) -> list[str]:
    """A line per step and direction: name, IOPS as a sparkline, lowest and highest second.

    Steps of fewer than three seconds are left out. No line is longer than `width`, if that leaves
    at least eight columns for the sparkline.
    """
    rows = [
        (step, direction, [iops for _, iops in points])
        for step, directions in steps.items()
        for direction, points in directions.items()
        if len(points) >= SHORTEST_S
    ]
    if not rows:
        return []
    spans = [f"{format_iops(min(iops))} to {format_iops(max(iops))}" for _, _, iops in rows]
    names = [cut(name, _NAME) for name, _, _ in rows]
    wide = max(map(len, names))
    label = max(len(direction) for _, direction, _ in rows)
    room = max(_LEAST_SPARK, min(40, width - wide - label - max(map(len, spans)) - 4))
    return [
        f"{name:<{wide}} {direction:<{label}} {sparkline(iops, width=room):<{room}}  {span}"
        for name, (_, direction, iops), span in zip(names, rows, spans, strict=True)
    ]
