"""The averaged logs of a step's jobs: where their windows begin and end, without a frame engine.

store/log_windows.py and store/log_late.py explain the rules and do the same with NumPy.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diskbench.fio.log_rows import LogRows
from diskbench.fio.logs import LATE_WINDOWS, MOSTLY, LogKind
from diskbench.fio.reported import Total

UNITS: dict[LogKind, tuple[str, int]] = {"iops": ("iops", 1), "bw": ("bytes_per_s", 1024)}
"""The column of the series that a log of rates fills, and its unit in units of the column."""
_LATENCIES: tuple[LogKind, ...] = ("lat", "clat")


@dataclass(frozen=True, slots=True)
class LogWindows:
    """The averaged rows of one kind, job and direction, in order of time, in ms.

    `late`: the rows after a gap that stand for all of it. `first_gap`: the time before the first
    row, where the job was at work for longer than a window.
    """

    kind: LogKind
    job: int
    direction: int
    times: Sequence[int]
    values: Sequence[int]
    usual: int
    late: frozenset[int] = frozenset()
    first_gap: int | None = None

    def rows(self) -> Iterator[tuple[int, int, int, int | None, int, int]]:
        """Index, time, value, gap (None where nothing is known of one), width and reach of each
        row."""
        before: int | None = None
        for index, time in enumerate(self.times):
            gap = self.first_gap if before is None else time - before
            before = time
            if index in self.late and gap is not None:
                yield index, time, self.values[index], gap, gap, gap
            else:
                width = self.usual if gap is None else min(gap, self.usual)
                yield index, time, self.values[index], gap, width, self.usual

    def late_rows(self) -> Iterator[tuple[int, int, int, int]]:
        """Index, time, value and gap of the rows that may stand for more than one window."""
        for index, time, value, gap, _, _ in self.rows():
            if gap is not None and gap >= LATE_WINDOWS * self.usual:
                yield index, time, value, gap


def read_windows(logs: Sequence[LogRows]) -> list[LogWindows]:
    """The averaged logs by kind, job and direction."""
    rows: dict[tuple[LogKind, int, int], list[tuple[int, int]]] = defaultdict(list)
    for log in logs:
        for time, value, direction in zip(log.times, log.values, log.directions, strict=True):
            rows[log.name.kind, log.name.job, direction].append((time, value))
    gaps: Counter[int] = Counter()
    for pairs in rows.values():
        pairs.sort(key=lambda pair: pair[0])
        gaps.update(pairs[at][0] - pairs[at - 1][0] for at in range(1, len(pairs)))
    usual = _usual_ms(gaps)
    return [
        LogWindows(*key, [time for time, _ in pairs], [value for _, value in pairs], usual)
        for key, pairs in rows.items()
    ]


def _usual_ms(gaps: Counter[int]) -> int:
    """The usual width of a window: the median of the gaps, to the tenth of a second; 1000 without
    any gap."""
    positive = sorted((gap, count) for gap, count in gaps.items() if gap > 0)
    total = sum(count for _, count in positive)
    if not total:
        return 1000
    ends: list[int] = []
    passed = 0
    for gap, count in positive:
        while len(ends) < 2 and (total - 1 + len(ends)) // 2 < passed + count:
            ends.append(gap)
        passed += count
    return max(_half_up(sum(ends) / 2 / 100) * 100, 1)


def late_by_latencies(job_log: LogWindows, windows: Sequence[LogWindows]) -> LogWindows:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    if job_log.kind not in UNITS:
        return job_log
    completed = sorted(
        time
        for other in windows
        if other.kind in _LATENCIES
        and (other.job, other.direction) == (job_log.job, job_log.direction)
        for time in other.times
    )
    if completed:
        first_gap = job_log.times[0] - completed[0] + job_log.usual
        if first_gap >= LATE_WINDOWS * job_log.usual:
            job_log = replace(job_log, first_gap=first_gap)
    late = set()
    for index, time, _, gap in job_log.late_rows():
        half = job_log.usual // 2
        within = completed[
            bisect_right(completed, time - gap + half) : bisect_left(completed, time - half)
        ]
        places = {divided(at, job_log.usual) for at in within}
        if MOSTLY * (gap - job_log.usual) <= len(places) * job_log.usual:
            late.add(index)
    return replace(job_log, late=frozenset(late)) if late else job_log


def late_by_total(
    windows: list[LogWindows], direction: int, kind: LogKind, total: float, of: Total, zero_ms: int
) -> list[LogWindows]:
    """The same where no latency was logged in this direction: by the `total` of fio's JSON, in the
    unit of the log."""
    chosen = [
        job_log for job_log in windows if job_log.direction == direction and job_log.kind == kind
    ]
    if not chosen or any(
        job_log.direction == direction and job_log.kind in _LATENCIES for job_log in windows
    ):
        return windows
    logged = (
        sum(value * width for job_log in chosen for _, _, value, _, width, _ in job_log.rows())
        / 1000
    )
    within = (
        sum(
            value * (gap - job_log.usual)
            for job_log in chosen
            for _, _, value, gap in job_log.late_rows()
        )
        / 1000
    )
    if not within:
        return windows
    end_ms, last = max((job_log.times[-1], job_log.values[-1]) for job_log in chosen)
    tail_s = max(of.runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    if total - logged - last * tail_s * len(chosen) < MOSTLY * within:
        return windows
    return [
        replace(job_log, late=job_log.late | {index for index, *_ in job_log.late_rows()})
        if job_log in chosen
        else job_log
        for job_log in windows
    ]


def placed(job_log: LogWindows, zero_ms: int) -> Iterator[tuple[int, int, int]]:
    """Second, value and weight of each window in each second that it counts for: the second of its
    middle, or all those that a window longer than a second covers."""
    middle = min(job_log.usual, 1000) // 2
    for _, time, value, _, width, reach in job_log.rows():
        first = divided(time - reach - zero_ms + middle, 1000)
        for second in range(first, first + max(_half_up(reach / 1000), 1)):
            yield second, value, max(width, 1)


def divided(count: int, by: int) -> int:
    """`count / by` towards zero, as SQL divides."""
    return count // by if count >= 0 else -(-count // by)


def _half_up(count: float) -> int:
    return math.floor(count + 0.5)
