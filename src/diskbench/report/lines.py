"""What a result says, line by line: one line a step and direction, over the runs of one trial.

    value of a run        the figure of its merged step row; of a step that was repeated in rounds,
                          the median over the last 5 rounds (the steady-state window, MR-2)
    Spread                median, lowest and highest of the values of the n runs

Runs are a series on one machine and disk: their median and range are shown, no interval is drawn
from them (MR-5), and distributions are never merged over runs, because a run at 3,000 IOPS would
outvote one at 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from diskbench.model.result import Measurement, Warning  # noqa: A004 - the field's word

WINDOW_ROUNDS = 5
_NOT_SHOWN = frozenset({"canary"})
_DIRECTION_ORDER = ("read", "write", "trim", "mixed", "sync")


@dataclass(frozen=True)
class Spread:
    """The values of one figure, a value a run in the order of the runs."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value."""
        return median(self.values)

    @property
    def low(self) -> float:
        """The lowest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The highest value."""
        return max(self.values)

    @property
    def n(self) -> int:
        """How many runs there are."""
        return len(self.values)


@dataclass(frozen=True)
class Line:
    """One step and direction. A figure is None unless every run and round that goes in has it.

    A quantile that needs more I/Os than some run did (MR-10) would else be the median of other
    runs than its neighbours, and p99.9 could come out below p99.

    `cpu` is a fraction of one core. `mean` is total latency, or completion latency where fio kept
    no other (`completion_only`). `rounds` are the first and last round that went in.
    With `latency_of_sync` the latencies of a write are those of the syncs that followed it: until
    then what was written is not durable, and write() alone may end in the page cache.
    """

    step: str
    direction: str
    role: str
    iops: Spread
    bytes_per_s: Spread
    mean_ns: Spread | None = None
    p50_ns: Spread | None = None
    p99_ns: Spread | None = None
    p99_9_ns: Spread | None = None
    max_ns: Spread | None = None
    cpu: Spread | None = None
    rounds: tuple[int, int] | None = None
    completion_only: bool = False
    latency_of_sync: bool = False


@dataclass(frozen=True)
class WarningGroup:
    """Warnings of one code and advice, a case a step, in order of first appearance."""

    code: str
    advice: str
    cases: tuple[tuple[str | None, str], ...]


def lines(measurements: Iterable[Measurement]) -> tuple[Line, ...]:
    """The lines of one trial's rows, in the order of the steps, read before write.

    Only merged rows count. Canaries are left out, and so is the fill unless there is nothing else.
    """
    rows = [row for row in measurements if row.scope == "step" and row.role not in _NOT_SHOWN]
    rows = [row for row in rows if row.role != "fill"] or rows
    grouped: dict[tuple[str, str], list[Measurement]] = {}
    order: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        if not row.ios:
            continue
        key = (row.step, row.direction)
        grouped.setdefault(key, []).append(row)
        place = (row.step_index, _DIRECTION_ORDER.index(row.direction))
        order[key] = min(order.get(key, place), place)
    found = {key: _line(grouped[key]) for key in sorted(grouped, key=order.__getitem__)}
    return tuple(_with_sync(line, found.get((line.step, "sync"))) for line in found.values())


def grouped_warnings(warnings: Iterable[Warning]) -> tuple[WarningGroup, ...]:
    """Warnings by code and advice, in order of first appearance.

    Of several for one step (several runs, rounds or jobs) the first is told and the rest counted.
    """
    found: dict[tuple[str, str], dict[str | None, list[str]]] = {}
    for one in warnings:
        messages = found.setdefault((one.code, one.advice), {}).setdefault(one.step, [])
        messages.append(one.message)
    return tuple(
        WarningGroup(code, advice, tuple((step, _told(told)) for step, told in cases.items()))
        for (code, advice), cases in found.items()
    )


def _told(messages: Sequence[str]) -> str:
    more = len(messages) - 1
    return f"{messages[0]} (and {more} more like it)" if more else messages[0]


def _line(rows: Sequence[Measurement]) -> Line:
    runs: dict[str, list[Measurement]] = {}
    for row in rows:
        runs.setdefault(row.run_id, []).append(row)
    windows = [
        sorted(run, key=lambda row: row.round or 0)[-WINDOW_ROUNDS:] for run in runs.values()
    ]
    rounds = [row.round for window in windows for row in window if row.round is not None]
    first = windows[0][0]

    def spread(figure: Callable[[Measurement], float | None]) -> Spread | None:
        figures = [[figure(row) for row in window] for window in windows]
        known = [[value for value in window if value is not None] for window in figures]
        if known != figures:
            return None
        return Spread(tuple(median(window) for window in known))

    return Line(
        step=first.step,
        direction=first.direction,
        role=first.role,
        iops=spread(lambda row: row.iops) or Spread((0.0,)),
        bytes_per_s=spread(lambda row: row.bytes_per_s) or Spread((0.0,)),
        mean_ns=spread(lambda row: _first(row.lat_mean_ns, row.clat_mean_ns)),
        p50_ns=spread(lambda row: row.p50_ns),
        p99_ns=spread(lambda row: row.p99_ns),
        p99_9_ns=spread(lambda row: row.p99_9_ns),
        max_ns=spread(lambda row: _first(row.lat_max_ns, row.clat_max_ns)),
        cpu=spread(_cpu),
        rounds=(min(rounds), max(rounds)) if rounds else None,
        completion_only=first.lat_mean_ns is None and first.clat_mean_ns is not None,
    )


def _with_sync(line: Line, sync: Line | None) -> Line:
    if line.direction != "write" or sync is None or sync.mean_ns is None:
        return line
    return replace(
        line,
        mean_ns=sync.mean_ns,
        p50_ns=sync.p50_ns,
        p99_ns=sync.p99_ns,
        p99_9_ns=sync.p99_9_ns,
        max_ns=sync.max_ns,
        completion_only=sync.completion_only,
        latency_of_sync=True,
    )


def _cpu(row: Measurement) -> float | None:
    if row.direction == "sync" or row.cpu_user is None or row.cpu_system is None:
        return None
    return row.cpu_user + row.cpu_system


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
