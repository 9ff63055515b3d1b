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
from typing import TYPE_CHECKING

from diskbench.fio.logs import LATE_WINDOWS, MOSTLY, LogKind
from diskbench.store.log_windows import Windows, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATES: tuple[LogKind, ...] = ("iops", "bw")
LATENCIES: tuple[LogKind, ...] = ("lat", "clat")


def late_by_latencies(windows: Sequence[Windows]) -> list[Windows]:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    return [_late_by_seen(one, windows) if one.kind in RATES else one for one in windows]


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
    unit of the log. All gaps of its jobs are taken for the same thing."""
    here = [one for one in windows if one.direction == direction]
    chosen = [one for one in here if one.kind == kind]
    if not chosen or any(one.kind in LATENCIES for one in here):
        return list(windows)
    logged = sum(float((one.values * one.widths).sum()) for one in chosen) / 1000
    within = sum(_within(one) for one in chosen) / 1000
    if not within:
        return list(windows)
    end_ms, last = max((int(one.times[-1]), int(one.values[-1])) for one in chosen)
    tail_s = max(runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    if total - logged - last * tail_s * len({one.job for one in chosen}) < MOSTLY * within:
        return list(windows)
    return [
        replace(one, late=_wide(one)) if one.kind == kind and one.direction == direction else one
        for one in windows
    ]


def _wide(one: Windows) -> NDArray[np.bool_]:
    """The rows that may stand for more than one window."""
    return one.gaps >= LATE_WINDOWS * one.usual


def _within(one: Windows) -> float:
    """What the rates of the rows after gaps make over these gaps."""
    wide = _wide(one)
    return float((one.values[wide] * (one.gaps[wide] - one.usual)).sum())


def _late_by_seen(one: Windows, windows: Sequence[Windows]) -> Windows:
    import numpy as np

    seen = [
        other.times
        for other in windows
        if other.kind in LATENCIES and (other.job, other.direction) == (one.job, one.direction)
    ]
    if not seen:
        return one
    first = int(one.times[0]) - min(int(times[0]) for times in seen) + one.usual
    if first >= LATE_WINDOWS * one.usual:
        one = replace(one, first_gap=first)
    wide = np.flatnonzero(_wide(one))
    if not wide.size:
        return one
    times = np.sort(np.concatenate(seen))
    half, gaps = one.usual // 2, one.gaps[wide]
    begins = np.searchsorted(times, one.times[wide] - gaps + half, side="right")
    ends = np.searchsorted(times, one.times[wide] - half, side="left")
    # How many windows of the latency log have a row, counted up to each of its rows.
    places = whole(times, one.usual)
    new = np.concatenate(([0], np.cumsum(np.diff(places, prepend=places[0] - 1) > 0)))
    last = np.minimum(begins + 1, times.size)
    distinct = np.where(ends > begins, new[ends] - new[last] + 1, 0)
    late = np.zeros(one.times.size, dtype=np.bool_)
    late[wide] = (distinct > 0) & (MOSTLY * (gaps - one.usual) <= distinct * one.usual)
    return replace(one, late=late) if late.any() else one
