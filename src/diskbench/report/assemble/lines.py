"""The figures of a result: one line per step and direction, over the runs of one trial. Runs are a
series on one machine and disk: their median and range are shown, no interval (MR-5), and their
distributions are never merged: a run at 3,000 IOPS would outweigh one at 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from diskbench.analysis.figure import Figure, middle, of_one_level, of_rounds
from diskbench.analysis.row_figures import Courses, courses_by_step, step_figure
from diskbench.analysis.steady import ROUNDS
from diskbench.model.phase import PhaseKind, StepPhases
from diskbench.model.result import Direction, Measurement, Warning  # noqa: A004 - the field's word
from diskbench.model.verdict import Verdict
from diskbench.parallel import grouped
from diskbench.report.assemble.words import NONE
from diskbench.units import format_iops, format_latency_ns, format_mb_per_s

_NOT_SHOWN = frozenset({"canary"})
DIRECTION_ORDER = ("read", "write", "trim", "mixed", "sync")


@dataclass(frozen=True)
class Spread:
    """The values of one figure, one per run at one level, in the order of the runs
    (analysis/figure.py). `worst_is_high`: high values are bad, as for a latency."""

    values: tuple[float, ...]
    worst_is_high: bool = False

    @property
    def median(self) -> float:
        """The median; for an even number the worse of the two middle values, so that it is always a
        measured value."""
        return middle(self.values, worst_is_high=self.worst_is_high)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


_LATENCIES = {
    "mean_ns": ("lat_mean_ns", "clat_mean_ns"), "p50_ns": ("p50_ns",), "p99_ns": ("p99_ns",),
    "p99_9_ns": ("p99_9_ns",), "max_ns": ("lat_max_ns", "clat_max_ns"),
}  # fmt: skip
"""A latency of a line → the columns of rows that it is taken from, the first that is known."""
MEDIAN, LOW, HIGH = map(attrgetter, ("median", "low", "high"))
FIGURES = ("IOPS", "MB/s", "mean", "p50", "p99", "p99.9", "max", "CPU")
"""The figures of a line, as the columns of a table."""


@dataclass(frozen=True)
class StepLine:
    """One step and direction. A figure is None unless every included run and round has it.

    Otherwise a quantile that needs more I/Os than some runs have (MR-10) would be a median over
    fewer runs than its neighbours, and p99.9 could come out below p99.

    `cpu` is a fraction of one core. `mean` is total latency, or completion latency if fio recorded
    no other (`completion_only`). `rounds` are the first and the last round included.
    `level` names the level of the figures if the step has several, within a run or over its runs
    (`runs` is the number of all runs, `by_run` the IOPS of each or, where they are unknown, its
    bytes a second, `n` the number of runs behind the figures); with `crosses` there are no
    latencies, because they would span a cliff.
    With `latency_of_sync` the latencies of a write are those of the syncs that followed it: before
    the sync the data is not durable, and write() alone may end in the page cache.
    """

    step: str
    direction: str
    role: str
    iops: Spread | None
    bytes_per_s: Spread | None
    mean_ns: Spread | None = None
    p50_ns: Spread | None = None
    p99_ns: Spread | None = None
    p99_9_ns: Spread | None = None
    max_ns: Spread | None = None
    cpu: Spread | None = None
    rounds: tuple[int, int] | None = None
    completion_only: bool = False
    latency_of_sync: bool = False
    level: PhaseKind | None = None
    crosses: bool = False
    by_run: tuple[float, ...] = ()
    n: int = 0

    def figure(self, column: str) -> Spread | None:
        """Its figure of a column of rows: `iops`, `lat_mean_ns`."""
        found: Spread | None = getattr(self, column.removeprefix("lat_"))
        return found

    @property
    def runs(self) -> int:
        """The number of runs that measured it, at any level."""
        return len(self.by_run)

    @property
    def title(self) -> str:
        """The step with its level, the runs and the rounds that are counted."""
        title = f"{self.step} ({self.level})" if self.level else self.step
        if self.n < self.runs:
            title += f", {runs_words(self)}"
        return title + (f" (rounds {self.rounds[0]}–{self.rounds[1]})" if self.rounds else "")

    def words(self, pick: Callable[[Spread], float]) -> list[str]:
        """What `pick` takes of each of its FIGURES, in words; a dash for what is unknown. A sync
        has no bytes."""
        speed = None if self.direction == "sync" else self.bytes_per_s
        latencies = (self.mean_ns, self.p50_ns, self.p99_ns, self.p99_9_ns, self.max_ns)
        shown: tuple[tuple[Spread | None, Callable[[float], str]], ...] = (
            (self.iops, format_iops),
            (speed, format_mb_per_s),
            *((latency, format_latency_ns) for latency in latencies),
            (self.cpu, lambda share: f"{share:.0%}"),
        )
        return [show(pick(spread)) if spread else NONE for spread, show in shown]

    @property
    def cells(self) -> dict[str, TableCell]:
        """Each of its FIGURES: the median, and lowest–highest of several runs."""
        medians, lows, highs = map(self.words, (MEDIAN, LOW, HIGH))
        cells = [
            TableCell(text, small=span_words(low, high))
            for text, low, high in zip(medians, lows, highs, strict=True)
        ]
        return dict(zip(FIGURES, cells, strict=True))


@dataclass(frozen=True)
class WarningGroup:
    """Warnings with equal code and advice, one case per step, in order of first appearance."""

    code: str
    advice: str
    cases: tuple[tuple[str | None, str], ...]

    @property
    def in_one_line(self) -> str:
        """All cases and the advice in one line."""
        cases = "; ".join(f"{step}: {text}" if step else text for step, text in self.cases)
        return f"{cases} → {self.advice}" if self.advice else cases


def lines(
    measurements: Iterable[Measurement],
    phases: Iterable[StepPhases] = (),
    verdicts: Iterable[Verdict] = (),
) -> tuple[StepLine, ...]:
    """The lines of one trial's rows, in the order of the steps, read before write.

    `phases` and `verdicts` are those of its runs, as far as they are known: they define the levels.
    Only merged rows count. Canaries are left out, and so is the fill unless it is the only step.
    """
    rows = [row for row in measurements if row.scope == "step" and row.role not in _NOT_SHOWN]
    rows = [row for row in rows if row.role != "fill"] or rows
    courses = courses_by_step(phases)
    kinds = {(verdict.run_id, verdict.step): verdict.stands_for.kind for verdict in verdicts}
    steps = grouped((row for row in rows if row.did_io), lambda row: row.step)
    by_key: dict[tuple[str, str], StepLine] = {}
    for name, of in sorted(steps.items(), key=lambda step: min(row.step_index for row in step[1])):
        for direction in sorted({row.direction for row in of}, key=DIRECTION_ORDER.index):
            by_key[name, direction] = _line(of, direction, courses, kinds)
    return tuple(_with_sync(line, by_key.get((line.step, "sync"))) for line in by_key.values())


@dataclass(frozen=True, slots=True)
class TableCell:
    """Text, and the sort key if that differs from the text; `small` is shown below the text."""

    text: str
    sort: str | float | None = None
    href: str = ""
    small: str = ""
    tone: str = ""


EMPTY = TableCell(NONE)
"""The cell of an unknown figure."""


def span_words(low: str, high: str) -> str:
    """`2.50–6.40 ms`: the unit appears once if both have the same; empty where they are equal."""
    if low == high:
        return ""
    number, _, unit = low.rpartition(" ")
    return f"{number if number and high.endswith(f' {unit}') else low}–{high}"


def runs_words(line: StepLine) -> str:
    """`3 runs`, or `2 of 5 runs` if the others were at another level."""
    return f"{line.n} of {line.runs} runs" if line.n < line.runs else f"{line.runs} runs"


def grouped_warnings(warnings: Iterable[Warning]) -> tuple[WarningGroup, ...]:
    """Warnings by code and advice, in order of first appearance.

    If one step has several (runs, rounds or jobs), the first is shown and the rest are counted.
    """
    by_code = grouped(warnings, lambda warning: (warning.code, warning.advice))
    groups = []
    for (code, advice), alike in by_code.items():
        cases = []
        for step, (first, *more) in grouped(alike, lambda warning: warning.step).items():
            further = f" (and {len(more)} more like it)" if more else ""
            cases.append((step, f"{first.message}{further}"))
        groups.append(WarningGroup(code, advice, tuple(cases)))
    return tuple(groups)


def _line(
    rows: Sequence[Measurement],
    direction: Direction,
    courses: Courses,
    kinds: Mapping[tuple[str, str], PhaseKind | None],
) -> StepLine:
    runs = []
    for run_id, of_run in grouped(rows, lambda row: row.run_id).items():
        of = [row for row in of_run if row.direction == direction]
        of.sort(key=lambda row: row.round or 0)
        if of:
            key = run_id, of[0].step
            known = step_figure(of_run, courses.get(key), direction=direction)
            figure = known or Figure(None, None)  # a post may have latencies alone
            runs.append((of[-ROUNDS:], figure, kinds.get(key, figure.kind)))
    rates = [figure.iops or figure.bytes_per_s or 0.0 for _, figure, _ in runs]
    of_level = [runs[at] for at in of_one_level([kind for _, _, kind in runs], rates)]
    windows, figures, levels = zip(*of_level, strict=True)
    rounds = [row.round for window in windows for row in window if row.round is not None]
    first = windows[0][0]
    crosses = any(figure.crosses for figure in figures)

    def spread(figure: Callable[[Measurement], float | None]) -> Spread | None:
        figures = [[figure(row) for row in window] for window in windows]
        known = [[value for value in window if value is not None] for window in figures]
        values = tuple(of_rounds(window, worst_is_high=True) for window in known if window)
        return Spread(values, worst_is_high=True) if known == figures else None

    def latency(*names: str) -> Spread | None:
        if crosses:
            return None
        return spread(
            lambda row: next((f for n in names if (f := getattr(row, n)) is not None), None)
        )

    latencies: dict[str, Any] = {name: latency(*columns) for name, columns in _LATENCIES.items()}
    is_level = len(of_level) < len(runs) or any(of.level is not None for of in figures)
    return StepLine(
        step=first.step,
        direction=direction,
        role=first.role,
        iops=_rates([figure.iops for figure in figures]),
        bytes_per_s=_rates([figure.bytes_per_s for figure in figures]),
        **latencies,
        cpu=spread(_cpu),
        rounds=(min(rounds), max(rounds)) if rounds else None,
        completion_only=first.lat_mean_ns is None and first.clat_mean_ns is not None,
        level=(levels[0] or "level") if is_level else None,
        crosses=crosses,
        by_run=tuple(rates),
        n=len(of_level),
    )


def _with_sync(line: StepLine, sync: StepLine | None) -> StepLine:
    """The write with the latency of its syncs, if most writes were followed by one. With a sync
    every 1,000 writes (Kafka's flush by messages) a write returns long before it."""
    if line.direction != "write" or sync is None or sync.mean_ns is None:
        return line
    if line.iops and sync.iops and sync.iops.median < line.iops.median / 2:
        return line
    of_sync: dict[str, Any] = {name: getattr(sync, name) for name in _LATENCIES}
    return replace(line, **of_sync, completion_only=sync.completion_only, latency_of_sync=True)


def _rates(values: Sequence[float | None]) -> Spread | None:
    """The rates of runs; None where one of them is unknown (a tool of others prints no IOPS)."""
    known = tuple(value for value in values if value is not None)
    return Spread(known) if len(known) == len(values) else None


def _cpu(row: Measurement) -> float | None:
    if row.direction == "sync" or row.cpu_user is None or row.cpu_system is None:
        return None
    return row.cpu_user + row.cpu_system


def footnotes(lines: Sequence[StepLine]) -> tuple[str, ...]:
    """The footnotes that these lines need, for every output format; empty without lines."""
    roles = {line.role for line in lines}
    levels = ", ".join(
        f"({level})" for level in dict.fromkeys(line.level for line in lines) if level
    )
    notes = (
        ("MB/s = 10^6 bytes/s; CPU = share of one core that all of fio's jobs used", bool(lines)),
        (f"{levels} = figures of this level only: the step had several levels", bool(levels)),
        ("– = not shown: the latencies mix the levels before and after a fall",
         any(line.crosses for line in lines)),
        ("latency of offered steps is at a fixed arrival rate, of other steps at full load",
         "offered" in roles),
        ("latency is at full load; for latency at a chosen load: --profile offered-load",
         "measure" in roles and "offered" not in roles),
        ("median of an even number of values = the worse of the two in the middle",
         any(line.n and line.n % 2 == 0 for line in lines)),
        ("(3–7) = median of these rounds", any(line.rounds for line in lines)),
        ("– = too few I/Os for this percentile (p99 needs 299, p99.9 2,995)",
         any(line.p50_ns and not line.p99_9_ns for line in lines)),
        ("latency of synced writes is that of fsync or fdatasync, not of write()",
         any(line.latency_of_sync for line in lines)),
        ("latency is completion latency (clat): fio recorded no other",
         any(line.completion_only for line in lines)),
    )  # fmt: skip
    return tuple(text for text, applies in notes if applies)
