"""Windows of averaged logs as rates and mean latencies of seconds, all jobs summed; and the last
seconds of a step, which fio leaves out of its averaged logs: what its JSON counts beyond the logged
windows is put there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.logs import SLIVER_S, LogKind, refuse_years
from diskbench.fio.reported import Total
from diskbench.store.log_scan import scalar
from diskbench.store.log_windows import RATES, Ints, Windows, rate_totals

if TYPE_CHECKING:
    import duckdb


Floats = NDArray[np.float64]


_COLUMNS: dict[LogKind, tuple[str, int]] = {"iops": ("ios", 1), "bw": ("bytes", 1024)}
"""The column of `counted` that a log of rates fills, and its unit in units of the column."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The seconds that windows lie in: `size` of them from `first`, which is below 0 where a window
    reaches back beyond the start. `zero_ms`: second 0 by the clock of the logs."""

    first: int
    size: int
    zero_ms: int


def axis_of(windows: Sequence[Windows], zero_ms: int) -> Axis:
    """The seconds of all `windows`. Raises FioOutputUnreadable where they span years."""
    times = [int(end) for job_log in windows for end in (job_log.times[0], job_log.times[-1])]
    if not times:
        return Axis(0, 0, zero_ms)
    refuse_years((max(times) - min(times)) / 1000)
    refuse_years((max(times) - zero_ms) / 1000)
    ends = [
        (int(s.min()), int(s.max())) for s in (job_log.placed(zero_ms)[0] for job_log in windows)
    ]
    first = min(low for low, _ in ends)
    return Axis(first, max(high for _, high in ends) - first + 1, zero_ms)


def count_rates(db: duckdb.DuckDBPyConnection, windows: Sequence[Windows], axis: Axis) -> None:
    """Add I/Os and bytes of each second to table `counted`. Several windows of a job in one second
    are weighted by their width."""
    for direction in sorted({job_log.direction for job_log in windows}):
        sums: dict[str, Floats] = {}
        logged = np.zeros(axis.size, dtype=np.bool_)
        for job_log in windows:
            if job_log.direction == direction and job_log.kind in RATES:
                rate, has_window = _rate(job_log, axis)
                column, unit = _COLUMNS[job_log.kind]
                sums[column] = sums.get(column, np.zeros(axis.size)) + rate * unit
                logged |= has_window
        if sums:
            _insert(db, "counted", axis, direction, logged, sums)


def count_latencies(db: duckdb.DuckDBPyConnection, windows: Sequence[Windows], axis: Axis) -> None:
    """Add mean and highest latencies of each second to table `latency`, those of each window
    weighted by its I/Os where they were logged; total latencies where there are any, else
    completion latencies."""
    kind = "lat" if any(job_log.kind == "lat" for job_log in windows) else "clat"
    for direction in sorted({job_log.direction for job_log in windows if job_log.kind == kind}):
        total, weights = np.zeros(axis.size), np.zeros(axis.size)
        highest = np.full(axis.size, np.nan)
        for job_log in windows:
            if job_log.direction != direction or job_log.kind != kind:
                continue
            places, index = _places(job_log, axis)
            weight = np.maximum(job_log.widths, 1)[index] * _ios(job_log, windows, axis)[places]
            total += np.bincount(places, weight * job_log.values[index], minlength=axis.size)
            weights += np.bincount(places, weight, minlength=axis.size)
            if job_log.maxima is not None:
                np.fmax.at(highest, places, job_log.maxima[index])
        with np.errstate(invalid="ignore"):
            mean = total / weights
        columns = {"lat_mean_ns": mean, "lat_max_ns": highest}
        _insert(db, "latency", axis, direction, weights > 0, columns)


def _insert(
    db: duckdb.DuckDBPyConnection,
    table: str,
    axis: Axis,
    direction: int,
    logged: NDArray[np.bool_],
    columns: Mapping[str, Floats],
) -> None:
    """A row of `table` for each second of the axis that was `logged`; NaN becomes null."""
    arrays = {name: values[logged] for name, values in columns.items()}
    # DuckDB takes a dictionary of arrays for a table.
    db.register("arrays", {"second": np.flatnonzero(logged) + axis.first, **arrays})
    values = ", ".join(f"CASE WHEN NOT isnan({name}) THEN {name} END" for name in arrays)
    db.execute(
        f"INSERT INTO {table} (second, direction, {', '.join(arrays)}) "
        f"SELECT second, {direction}, {values} FROM arrays"
    )
    db.unregister("arrays")


def _places(job_log: Windows, axis: Axis) -> tuple[Ints, Ints]:
    """The place on the axis of each second of each row, and the index of the row."""
    seconds, index = job_log.placed(axis.zero_ms)
    return seconds - axis.first, index


def _rate(job_log: Windows, axis: Axis) -> tuple[Floats, NDArray[np.bool_]]:
    """The rate of one log in each second, and the seconds that it has windows in."""
    places, index = _places(job_log, axis)
    weight = np.maximum(job_log.widths, 1)[index]
    weights = np.bincount(places, weight, minlength=axis.size)
    amounts = np.bincount(places, weight * job_log.values[index], minlength=axis.size)
    return amounts / np.maximum(weights, 1), weights > 0


def _ios(job_log: Windows, windows: Sequence[Windows], axis: Axis) -> Floats:
    """The mean of the values of a job's iops log in each second; 1 where it has none."""
    mine = ("iops", job_log.job, job_log.direction)
    for other in windows:
        if (other.kind, other.job, other.direction) == mine:
            places, index = _places(other, axis)
            counts = np.bincount(places, minlength=axis.size)
            sums = np.bincount(places, other.values[index], minlength=axis.size)
            return np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
    return np.ones(axis.size)


def fill_tail(
    db: duckdb.DuckDBPyConnection, windows: Sequence[Windows], total: Total, zero_ms: int
) -> None:
    """Add to table `counted` what fio's JSON counts beyond the `windows` of one direction.

    Whether fio still logs the last window of a job is a matter of a millisecond, so each job's
    logged time is looked at, of its iops and its bw log apart; a kind without a log stays without.
    With t_j the time that job j did not log, every job gets the rate (total - sum logged) / sum t_j
    in the seconds that it did not log, but at most

    * the highest rate that its own log holds: fio rounds each window down and each second is
      counted as a whole one, so the difference to the JSON has the rounding of the whole log in it
      (a day at 3,000 IOPS ended in a second with 752,918), and windows lost in the middle as well;
    * in IOPS, what the bytes of the same second make in I/Os of the mean size of the JSON.

    What is left over is no part of any second. fio/audit.py says how far logs and JSON differ.
    """
    rates, kibs = (
        _tail(db, [each for each in windows if each.kind == kind], counted, total, zero_ms)
        for kind, counted in rate_totals(total).items()
    )
    kib_logs = {job_log.job: job_log for job_log in windows if job_log.kind == "bw"}
    for job, second in sorted({*rates, *kibs}):
        rate, kib = rates.get((job, second)), kibs.get((job, second))
        if rate is not None and total.bytes:
            known = kib
            if known is None and job in kib_logs:  # the highest value there, 0 where it has none
                seconds, index = kib_logs[job].placed(zero_ms)
                there = kib_logs[job].values[index[seconds == second]]
                known = float(there.max(initial=0))
            if known is not None:
                rate = min(rate, known * 1024 * total.ios / total.bytes)
        db.execute(
            "INSERT INTO counted VALUES (?, ?, ?, ?)",
            [second, windows[0].direction, rate, None if kib is None else kib * 1024],
        )


def _tail(
    db: duckdb.DuckDBPyConnection,
    windows: Sequence[Windows],
    counted: float,
    total: Total,
    zero_ms: int,
) -> dict[tuple[int, int], float]:
    """(job, second) that the `windows` of one kind and direction leave out, with the rate there, in
    the log's unit, as what fio `counted` is."""
    runtime_s = total.runtime_s
    ends = {job_log.job: (int(job_log.times[-1]) - zero_ms) / 1000 for job_log in windows}
    short = [job_log for job_log in windows if runtime_s - ends[job_log.job] > SLIVER_S]
    if not short:
        return {}
    column, unit = _COLUMNS[short[0].kind]
    query = f"SELECT sum({column}) FROM counted WHERE direction = {short[0].direction}"
    logged = (scalar(db, query) or 0.0) / unit
    rate = max(counted - logged, 0.0) / sum(runtime_s - ends[job_log.job] for job_log in short)
    # A window ends a little after its second; the sliver keeps 1.001 s from being second 1.
    # Where no second is left, what is missing lies in one that other windows stand for.
    over = math.ceil(runtime_s - SLIVER_S)
    return {
        (job_log.job, second): min(rate, float(job_log.values.max()))
        for job_log in short
        for second in range(math.floor(ends[job_log.job] + SLIVER_S), over)
    }
