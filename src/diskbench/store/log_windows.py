"""Averaged logs (log_avg_msec) as arrays: what time each of their windows stands for.

A window reaches back to the one before it in the same log, but no further than the usual width:
windows without I/O have no row. One that came late stands for the whole gap.
DuckDB parses a file at a time and NumPy does the arithmetic a log at a time, so that the logs of a
day of 16 jobs take the memory of their times and values and no sort of all of them.

A window that came late while I/O went on is no stall. fio's helper thread writes rates: what was
done since it last looked, divided by the time since then (`__add_samples` in fio's stat.c). Where
it is kept from looking for three seconds, one row stands for all three. Where nothing is done it
looks and writes no row, and the next row stands for its own second alone. In the log both leave the
same gap. Which of both it was,

* the latency log of the same job says, where there is one: its rows are written as I/Os complete,
  also before the first row of the rates, which on a busy machine comes some windows late;
* else what fio counted: the gaps were I/O where what the windows lack of the JSON's total is nearer
  to the rates of the rows after them, over the gaps, than to nothing.

Without either a gap is a stall, as the log has it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diskbench.fio.logs import LATE_WINDOWS, MOSTLY, LogKind
from diskbench.fio.reported import Total
from diskbench.store.log_scan import Log, union

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_Part = tuple[Ints, Ints, Ints | None]

if TYPE_CHECKING:
    import duckdb

_USUAL_MS = 1000
"""Of a log of one window: fio's own default, and ours."""
RATES: tuple[LogKind, ...] = ("iops", "bw")
LATENCIES: tuple[LogKind, ...] = ("lat", "clat")


@dataclass(frozen=True, slots=True)
class Windows:
    """The rows of one kind, job and direction (fio's number), in order of time, in ms.

    `maxima`: the highest value of each window, where it was logged. `usual`: the usual width of a
    window of the step. `late`: whether a row stands for all of the gap before it; None for no row.
    `first_gap`: the time before the first row, where the job was at work for longer than a window.
    """

    kind: LogKind
    job: int
    direction: int
    times: Ints
    values: Ints
    maxima: Ints | None
    usual: int = _USUAL_MS
    late: Bools | None = None
    first_gap: int | None = None

    @property
    def gaps(self) -> Ints:
        """The time since the row before; for the first `first_gap`, else the usual width."""
        first = self.usual if self.first_gap is None else self.first_gap
        return np.diff(self.times, prepend=self.times[0] - first)

    @property
    def widths(self) -> Ints:
        """How long each row was measured: 0 for a second row at the same time."""
        gaps = self.gaps
        widths = np.minimum(gaps, self.usual)
        return widths if self.late is None else np.where(self.late, gaps, widths)

    @property
    def reaches(self) -> Ints:
        """How far back each row counts: the usual width, or more where it came late."""
        usual = np.full(self.times.size, self.usual, dtype=np.int64)
        return usual if self.late is None else np.where(self.late, self.gaps, usual)

    def placed(self, zero_ms: int) -> tuple[Ints, Ints]:
        """The second of each row's middle, and the row's index; a row that reaches over more than a
        second is there once for each second that it covers."""
        reaches = self.reaches
        first = whole(self.times - reaches - zero_ms + min(self.usual, 1000) // 2, 1000)
        index = np.arange(self.times.size)
        counts = np.maximum(np.floor(reaches / 1000 + 0.5).astype(np.int64), 1)
        if (counts == 1).all():
            return first, index
        index = np.repeat(index, counts)
        within = np.arange(index.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[index] + within, index


def whole(counts: Ints, by: int) -> Ints:
    """`counts / by` towards zero."""
    return np.where(counts >= 0, counts // by, -(-counts // by))


def read_windows(db: duckdb.DuckDBPyConnection, logs: Sequence[Log]) -> list[Windows]:
    """The averaged `logs`, by kind, job and direction. Raises FioOutputUnreadable."""
    parts: dict[tuple[LogKind, int, int], list[_Part]] = defaultdict(list)
    for log in logs:
        for way, part in _parts(db, log):
            parts[log.name.kind, log.name.job, way].append(part)
    windows = []
    for (kind, job, way), several in sorted(parts.items()):
        times, values, maxima = _joined(several)
        if (times[1:] < times[:-1]).any():
            order = np.argsort(times, kind="stable")
            times, values = times[order], values[order]
            maxima = None if maxima is None else maxima[order]
        windows.append(Windows(kind, job, way, times, values, maxima))
    usual = _usual_ms(windows)
    return [replace(job_log, usual=usual) for job_log in windows]


def _parts(db: duckdb.DuckDBPyConnection, log: Log) -> list[tuple[int, _Part]]:
    found = db.execute(f"SELECT * EXCLUDE (bs) FROM ({union([log])})").fetchnumpy()
    arrays = {name: np.asarray(values, dtype=np.int64) for name, values in found.items()}
    ways, parts = arrays["direction"], []
    for way in np.unique(ways).tolist():
        mine = slice(None) if (ways == way).all() else ways == way
        maxima = arrays["maximum"][mine] if "maximum" in arrays else None
        parts.append((int(way), (arrays["time"][mine], arrays["value"][mine], maxima)))
    return parts


def _joined(several: Sequence[_Part]) -> _Part:
    """Several logs of one name as one; without maxima where one has none."""
    if len(several) == 1:
        return several[0]
    times, values, maxima = zip(*several, strict=True)
    known = [part for part in maxima if part is not None]
    all_known = np.concatenate(known) if len(known) == len(several) else None
    return np.concatenate(times), np.concatenate(values), all_known


def _usual_ms(windows: Sequence[Windows]) -> int:
    """The usual width of a window: the median of the gaps, to the tenth of a second. fio wakes up a
    little late, never early: the tenth is what was meant."""
    counts: Counter[int] = Counter()  # few gaps differ, and all of a day would take 100 MB
    for job_log in windows:
        gaps, many = np.unique(np.diff(job_log.times), return_counts=True)
        counts.update(dict(zip(gaps.tolist(), many.tolist(), strict=True)))
    positive = np.array(sorted(gap for gap in counts if gap > 0))
    if not positive.size:
        return _USUAL_MS
    reached = np.cumsum([counts[gap] for gap in positive.tolist()])
    half = reached[-1] / 2
    middle = positive[[np.searchsorted(reached, half, side) for side in ("left", "right")]].mean()
    return max(int(np.floor(middle / 100 + 0.5)) * 100, 1)


def late_by_latencies(windows: Sequence[Windows]) -> list[Windows]:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    return [
        _late_by_seen(job_log, windows) if job_log.kind in RATES else job_log for job_log in windows
    ]


def rate_totals(total: Total) -> dict[LogKind, float]:
    """What fio's JSON counted in one direction, in the unit of each log of rates."""
    return {"iops": total.ios, "bw": total.bytes / 1024}


def late_by_total(
    windows: Sequence[Windows], direction: int, total: Total, zero_ms: int
) -> list[Windows]:
    """The same where no latency was logged in this direction: by the `total` of fio's JSON. All
    gaps of its jobs in one kind of log are treated alike."""
    of_direction = [job_log for job_log in windows if job_log.direction == direction]
    if any(job_log.kind in LATENCIES for job_log in of_direction):
        return list(windows)
    late = {
        (kind, direction)
        for kind, counted in rate_totals(total).items()
        if _were_io([each for each in of_direction if each.kind == kind], counted, total, zero_ms)
    }
    return [
        replace(job_log, late=_wide(job_log))
        if (job_log.kind, job_log.direction) in late
        else job_log
        for job_log in windows
    ]


def _were_io(chosen: Sequence[Windows], counted: float, total: Total, zero_ms: int) -> bool:
    """Whether the gaps in the logs `chosen` were I/O, by what was `counted` in their unit."""
    within = 0.0  # what the rates of the rows after gaps make over these gaps
    for job_log in chosen:
        wide = _wide(job_log)
        within += float((job_log.values[wide] * (job_log.gaps[wide] - job_log.usual)).sum()) / 1000
    if not within:
        return False
    logged = sum(float((job_log.values * job_log.widths).sum()) for job_log in chosen) / 1000
    end_ms, last = max((int(job_log.times[-1]), int(job_log.values[-1])) for job_log in chosen)
    tail_s = max(total.runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    lacking = counted - logged - last * tail_s * len({job_log.job for job_log in chosen})
    return lacking >= MOSTLY * within


def _wide(job_log: Windows) -> NDArray[np.bool_]:
    """The rows that may stand for more than one window."""
    return job_log.gaps >= LATE_WINDOWS * job_log.usual


def _late_by_seen(job_log: Windows, windows: Sequence[Windows]) -> Windows:
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
