"""The figures of measurement rows, in which no mean spans a cliff (docs/METHOD.md, "The figure of a
step"). fio's own counts (`ios`, `bytes`, `runtime_ns`) are never changed. Latencies of a row that a
cliff lies in are of both of its sides: there is none that stands for it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from diskbench.analysis.figure import Figure, Share, figure_of, of_share
from diskbench.model.doubts import SAME_TIME
from diskbench.model.phase import StepPhases
from diskbench.model.result import Measurement
from diskbench.model.run import MeasuredRow
from diskbench.units import NS_PER_S

_NEAR_S = 3.0
"""The seconds of rounds are counted without their last ones, which are seldom whole."""
_QUANTILES = ("p50_ns", "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "quantiles_of")
_SAMPLES = "clat_samples"

Courses = Mapping[tuple[str, str], "StepPhases"]
"""By run and the name of the step."""


Row = Measurement | MeasuredRow
"""A row with what its figures depend on: its step, its counts and its rates."""


def row_figures(rows: Sequence[Row], courses: Courses) -> list[Figure | None]:
    """Return the figure of each row, or None if it equals what fio counted.

    `rows` are all rows of their steps; `courses` are the phases of those steps, where known.
    """
    begins = _begins(rows)
    wholes: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in filter(_moves, rows):
        wholes[_place(row)].append(row)
    figures: list[Figure | None] = []
    for row in rows:
        course = courses.get((row.run_id, row.step))
        figure = None
        if course is not None:
            share = _share([row], wholes[_place(row)])
            if course.rounds is None:
                figure = figure_of([_rate(row)], course, share)
            else:
                figure = _of_round(row, course, begins[_place(row)], share)
        figures.append(figure if figure is not None and figure.level is not None else None)
    return figures


def step_figure(
    rows: Sequence[Row], course: StepPhases | None, *, direction: str | None = None
) -> Figure | None:
    """The figure of one step of one run from all its merged rows: of all directions together
    (without syncs), or of one."""
    of = [row for row in rows if row.direction == direction or (not direction and _moves(row))]
    rounds: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(of, key=lambda measured: measured.step_index):
        rounds.setdefault(_place(row), []).append(row)
    rates = [_rate_of(of_round) for of_round in rounds.values()]
    moved = [row for row in rows if _moves(row)]
    return figure_of(rates, course, _share(of, moved))


def cliff_safe_rows(rows: Sequence[Measurement], courses: Courses) -> tuple[Measurement, ...]:
    """Return measurements with the figures of their steps: the rates of the level that gives a
    step's figure, and no latencies if the row spans a cliff."""
    figures = row_figures(rows, courses) if courses else [None] * len(rows)
    return tuple(
        row if figure is None else row.model_copy(update=changed(row.model_dump(), figure))
        for row, figure in zip(rows, figures, strict=True)
    )


def changed(row: Mapping[str, Any], figure: Figure) -> dict[str, Any]:
    """Return the fields of a row that its figure changes, with their values."""
    blank = {}
    if figure.crosses:
        names = (n for n in row if n.startswith(("lat_", "clat_", "slat_")) or n in _QUANTILES)
        blank = dict.fromkeys(name for name in names if name != _SAMPLES)
        blank |= {_SAMPLES: 0} if _SAMPLES in row else {}
    rates = {"iops": figure.iops, "bytes_per_s": figure.bytes_per_s}
    return {**blank, **{name: value for name, value in rates.items() if value is not None}}


def courses_by_step(courses: Iterable[StepPhases]) -> dict[tuple[str, str], StepPhases]:
    """Return the phases of steps by run and step name."""
    return {(course.run_id, course.step): course for course in courses}


def _rate(row: Row) -> Figure:
    return Figure(row.iops, row.bytes_per_s)


def _place(row: Row) -> tuple[object, ...]:
    """The step of the run, or the round of it, that a row is of."""
    return (row.run_id, row.step_index, row.round)


def _moves(row: Row) -> bool:
    return row.scope == "step" and row.direction != "sync"


def _share(part: Sequence[Row], rows: Sequence[Row]) -> Share:
    ios, size = sum(row.ios or 0 for row in rows), sum(row.bytes or 0 for row in rows)
    return (
        sum(row.ios or 0 for row in part) / ios if ios else 0.0,
        sum(row.bytes or 0 for row in part) / size if size else 0.0,
    )


def _rate_of(of_round: Sequence[Row]) -> Figure:
    """The rate of all directions of a round together: over the time that the longest of them ran
    where their times differ, since the sum of their rates would be of a load that never was."""
    longest = max((row.runtime_ns or 0 for row in of_round), default=0)
    shares = [(row.runtime_ns or longest) / longest if longest else 1.0 for row in of_round]
    if min(shares, default=1.0) >= SAME_TIME:
        shares = [1.0] * len(shares)
    return Figure(
        _sum((row.iops for row in of_round), shares),
        _sum((row.bytes_per_s for row in of_round), shares),
    )


def _sum(rates: Iterable[float | None], shares: Iterable[float]) -> float | None:
    """The sum of rates, each over its share of the time; None where one of them is unknown."""
    total = 0.0
    for rate, share in zip(rates, shares, strict=True):
        if rate is None:
            return None
        total += rate * share
    return total


def _begins(rows: Sequence[Row]) -> dict[tuple[object, ...], float]:
    """Return the second at which each round begins within its step."""
    lasted: dict[tuple[str, str], dict[tuple[object, ...], float]] = defaultdict(dict)
    for row in rows:
        of = lasted[row.run_id, row.step]
        of[_place(row)] = max(of.get(_place(row), 0.0), (row.runtime_ns or 0) / NS_PER_S)
    begins: dict[tuple[object, ...], float] = {}
    for rounds in lasted.values():
        at = 0.0
        for place, seconds in rounds.items():
            begins[place] = at
            at += int(seconds)
    return begins


def _of_round(row: Row, course: StepPhases, begin: float, share: Share) -> Figure | None:
    """Return the level after the last cliff within this round; None if there is no cliff."""
    end = begin + (row.runtime_ns or 0) / NS_PER_S
    inside = [cliff.at_s for cliff in course.cliffs if begin + _NEAR_S < cliff.at_s < end - _NEAR_S]
    if not inside:
        return None
    after = next(p for p in course.phases if p.end_s > max(inside) and p.kind != "stall")
    rates = of_share(Figure(after.iops, after.bytes_per_s), share, _rate(row))
    return replace(rates, kind=after.kind, level=after, crosses=True)
