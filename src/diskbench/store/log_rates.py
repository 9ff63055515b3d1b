"""Windows of averaged logs as rates and mean latencies of seconds, all jobs summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.logs import LogKind, refuse_years
from diskbench.store.log_late import RATES
from diskbench.store.log_windows import Ints, Windows

Floats = NDArray[np.float64]


_UNITS: dict[LogKind, int] = {"iops": 1, "bw": 1024}
"""I/Os a second; KiB a second in bytes."""


@dataclass(frozen=True, slots=True)
class Axis:
    """The seconds that windows lie in: `size` of them from `first`, which is below 0 where a window
    reaches back beyond the start. `zero_ms`: second 0 by the clock of the logs."""

    first: int
    size: int
    zero_ms: int


@dataclass(frozen=True, slots=True)
class DirectionRates:
    """One direction, by second of the axis: the rate of each kind that was logged, and whether any
    window lies in the second."""

    direction: int
    rates: dict[LogKind, Floats]
    logged: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DirectionLatencies:
    """One direction, by second of the axis: mean and highest latency in ns, NaN where there is
    none, and whether any window lies in the second."""

    direction: int
    mean_ns: Floats
    max_ns: Floats
    logged: NDArray[np.bool_]


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


def second_rates(windows: Sequence[Windows], axis: Axis) -> list[DirectionRates]:
    """I/Os and bytes of each second. Several windows of a job in one second are weighted by their
    width."""
    import numpy as np

    by_direction = []
    for direction in sorted({job_log.direction for job_log in windows}):
        rates: dict[LogKind, Floats] = {}
        logged = np.zeros(axis.size, dtype=np.bool_)
        for job_log in windows:
            if job_log.direction == direction and job_log.kind in RATES:
                rate, has_window = _rate(job_log, axis)
                sums = rates.setdefault(job_log.kind, np.zeros(axis.size))
                sums += rate * _UNITS[job_log.kind]
                logged |= has_window
        if rates:
            by_direction.append(DirectionRates(direction, rates, logged))
    return by_direction


def second_latencies(windows: Sequence[Windows], axis: Axis) -> list[DirectionLatencies]:
    """Mean latencies of each second, those of each window weighted by its I/Os where they were
    logged; total latencies where there are any, else completion latencies."""
    import numpy as np

    kind = "lat" if any(job_log.kind == "lat" for job_log in windows) else "clat"
    by_direction = []
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
        by_direction.append(DirectionLatencies(direction, mean, highest, weights > 0))
    return by_direction


def _places(job_log: Windows, axis: Axis) -> tuple[Ints, Ints]:
    """The place on the axis of each second of each row, and the index of the row."""
    seconds, index = job_log.placed(axis.zero_ms)
    return seconds - axis.first, index


def _rate(job_log: Windows, axis: Axis) -> tuple[Floats, NDArray[np.bool_]]:
    """The rate of one log in each second, and the seconds that it has windows in."""
    import numpy as np

    places, index = _places(job_log, axis)
    weight = np.maximum(job_log.widths, 1)[index]
    weights = np.bincount(places, weight, minlength=axis.size)
    amounts = np.bincount(places, weight * job_log.values[index], minlength=axis.size)
    return amounts / np.maximum(weights, 1), weights > 0


def _ios(job_log: Windows, windows: Sequence[Windows], axis: Axis) -> Floats:
    """The mean of the values of a job's iops log in each second; 1 where it has none."""
    import numpy as np

    for other in windows:
        if other.kind == "iops" and (other.job, other.direction) == (
            job_log.job,
            job_log.direction,
        ):
            places, index = _places(other, axis)
            counts = np.bincount(places, minlength=axis.size)
            sums = np.bincount(places, other.values[index], minlength=axis.size)
            return np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)
    return np.ones(axis.size)
