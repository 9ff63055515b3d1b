"""Windows of fio's averaged logs that came late while I/O went on: they are no stalls.

fio's helper thread writes rates: what was done since it last looked, divided by the time since
then (`__add_samples` in fio's stat.c). Where it is kept from looking for three seconds, one row
stands for all three. Where nothing is done it looks and writes no row, and the next row stands for
its own second alone. In the log both leave the same gap. Which of both it was,

* the latency log of the same job says, where there is one: its rows are written as I/Os complete,
  also before the first row of the rates, which on a busy machine comes some windows late;
* else what fio counted: the gaps were I/O where what the windows lack of the JSON's total is nearer
  to the rates of the rows after them, over the gaps, than to nothing.

Without either a gap is a stall, as the log has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.logs import LATE_WINDOWS, MOSTLY, LogKind
from diskbench.store.log_windows import Windows, whole

RATES: tuple[LogKind, ...] = ("iops", "bw")
LATENCIES: tuple[LogKind, ...] = ("lat", "clat")


def late_by_latencies(windows: Sequence[Windows]) -> list[Windows]:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    return [
        _late_by_seen(job_log, windows) if job_log.kind in RATES else job_log for job_log in windows
    ]


def late_by_total(
    windows: Sequence[Windows],
    direction: int,
    *,
    kind: LogKind,
    total: float,
    runtime_s: float,
    zero_ms: int,
) -> list[Windows]:
    """The same where no latency was logged in this direction: by the `total` of fio's JSON, in the
    unit of the log. All gaps of its jobs are treated alike."""
    of_direction = [job_log for job_log in windows if job_log.direction == direction]
    chosen = [job_log for job_log in of_direction if job_log.kind == kind]
    if not chosen or any(job_log.kind in LATENCIES for job_log in of_direction):
        return list(windows)
    logged = sum(float((job_log.values * job_log.widths).sum()) for job_log in chosen) / 1000
    within = sum(_within(job_log) for job_log in chosen) / 1000
    if not within:
        return list(windows)
    end_ms, last = max((int(job_log.times[-1]), int(job_log.values[-1])) for job_log in chosen)
    tail_s = max(runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    if total - logged - last * tail_s * len({job_log.job for job_log in chosen}) < MOSTLY * within:
        return list(windows)
    return [
        replace(job_log, late=_wide(job_log))
        if job_log.kind == kind and job_log.direction == direction
        else job_log
        for job_log in windows
    ]


def _wide(job_log: Windows) -> NDArray[np.bool_]:
    """The rows that may stand for more than one window."""
    return job_log.gaps >= LATE_WINDOWS * job_log.usual


def _within(job_log: Windows) -> float:
    """What the rates of the rows after gaps make over these gaps."""
    wide = _wide(job_log)
    return float((job_log.values[wide] * (job_log.gaps[wide] - job_log.usual)).sum())


def _late_by_seen(job_log: Windows, windows: Sequence[Windows]) -> Windows:
    import numpy as np

    times_of_latencies = [
        other.times
        for other in windows
        if other.kind in LATENCIES
        and (other.job, other.direction) == (job_log.job, job_log.direction)
    ]
    if not times_of_latencies:
        return job_log
    first_completed = min(int(times[0]) for times in times_of_latencies)
    first_gap = int(job_log.times[0]) - first_completed + job_log.usual
    if first_gap >= LATE_WINDOWS * job_log.usual:
        job_log = replace(job_log, first_gap=first_gap)
    wide = np.flatnonzero(_wide(job_log))
    if not wide.size:
        return job_log
    times = np.sort(np.concatenate(times_of_latencies))
    half, gaps = job_log.usual // 2, job_log.gaps[wide]
    begins = np.searchsorted(times, job_log.times[wide] - gaps + half, side="right")
    ends = np.searchsorted(times, job_log.times[wide] - half, side="left")
    # How many windows of the latency log have a row, counted up to each of its rows.
    places = whole(times, job_log.usual)
    new = np.concatenate(([0], np.cumsum(np.diff(places, prepend=places[0] - 1) > 0)))
    last = np.minimum(begins + 1, times.size)
    distinct = np.where(ends > begins, new[ends] - new[last] + 1, 0)
    late = np.zeros(job_log.times.size, dtype=np.bool_)
    late[wide] = (distinct > 0) & (MOSTLY * (gaps - job_log.usual) <= distinct * job_log.usual)
    return replace(job_log, late=late) if late.any() else job_log
