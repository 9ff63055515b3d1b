"""What the seconds of a step's logs sum up to, without a frame engine: for the audit of a run.

The same sums as over the series of the step (store/log_windows.py, store/log_late.py and
store/log_tail.py explain each rule and do the same with NumPy for logs of any size): seconds of
single I/Os are counted, windows are placed in the seconds that they cover, a window that came late
reaches back, and what fio's JSON counts beyond the logs is put into the seconds that they leave
out. tests/unit/fio/test_log_sums.py holds both to the same figures.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from diskbench.fio.logs import (
    LATE_WINDOWS,
    MOSTLY,
    SLIVER_S,
    LogKind,
    refuse_years,
)

if TYPE_CHECKING:
    from diskbench.fio.log_rows import LogRows
    from diskbench.fio.totals import Total
    from diskbench.model.result import Direction

DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")
_COLUMNS = ("iops", "bytes_per_s")
_UNITS: dict[LogKind, tuple[str, int]] = {"iops": ("iops", 1), "bw": ("bytes_per_s", 1024)}
"""The column of the series that a log of rates is, and what its unit is of the column's."""
_SINGLE_ORDER: tuple[LogKind, ...] = ("lat", "clat", "iops", "bw")
_LATENCIES: tuple[LogKind, ...] = ("lat", "clat")

Rates = dict[tuple[str, int, int], float]
"""The rate by column of the series, direction and second."""


@dataclass(frozen=True, slots=True)
class _Series:
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


def log_sums(
    logs: Iterable[LogRows], totals: Mapping[Direction, Total]
) -> dict[tuple[Direction, str], float]:
    """I/Os (`iops`) and bytes (`bytes_per_s`) that the logs of a step sum up to, by direction;
    nothing for what was not logged. `totals`: what fio's JSON counts.

    A last second counts for as long as fio ran in it. Raises FioOutputUnreadable for logs that span
    longer than a step may take.
    """
    values = list(logs)
    single = [log for log in values if not log.layout.averaged]
    windows = _windows([log for log in values if log.layout.averaged])
    zero_ms = _zero_ms(values, single, windows)
    counted: Rates = {}
    _count_single(counted, single, zero_ms)
    if windows:
        times = [end for one in windows for end in (one.times[0], one.times[-1])]
        refuse_years((max(times) - min(times)) / 1000)
        windows = [_late_by_latencies(one, windows) for one in windows]
        logged = {one.direction for one in windows}
        expected = [
            (number, totals[name])
            for number, name in enumerate(DIRECTIONS)
            if name in totals and number in logged
        ]
        for number, total in expected:
            windows = _late_by_total(windows, number, "iops", total.ios, total, zero_ms)
            windows = _late_by_total(windows, number, "bw", total.bytes / 1024, total, zero_ms)
        _count_windows(counted, windows, zero_ms)
        for number, total in expected:
            _fill_tail(counted, windows, number, total, zero_ms)
    return _summed(counted, totals)


def _summed(
    counted: Rates, totals: Mapping[Direction, Total]
) -> dict[tuple[Direction, str], float]:
    if not counted:
        return {}
    seconds = [second for _, _, second in counted]
    refuse_years(max(seconds) - min(*seconds, 0))
    seen = {direction for _, direction, _ in counted}
    logged = [column for column in _COLUMNS if any(key[0] == column for key in counted)]
    sums: dict[tuple[Direction, str], float] = {}
    for number, name in enumerate(DIRECTIONS):
        if number in seen and name in totals:
            for column in logged:
                sums[name, column] = math.fsum(
                    rate * min(max(totals[name].runtime_s - second, 0.0), 1.0)
                    for (of_column, direction, second), rate in counted.items()
                    if of_column == column and direction == number
                )
    return sums


def _add(counted: Rates, place: tuple[str, int, int], rate: float) -> None:
    counted[place] = counted.get(place, 0.0) + rate


def _windows(logs: Sequence[LogRows]) -> list[_Series]:
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
        _Series(*key, [time for time, _ in pairs], [value for _, value in pairs], usual)
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


def _zero_ms(logs: Sequence[LogRows], single: Sequence[LogRows], windows: Sequence[_Series]) -> int:
    """Time zero of the logs: 0, or with Unix times when the first window or I/O began."""
    if not any(log.layout.epoch for log in logs):
        return 0
    if windows:
        return min(time - width for one in windows for _, time, _, _, width, _ in one.rows())
    return min(min(log.times) for log in single)


def _count_single(counted: Rates, logs: Sequence[LogRows], zero_ms: int) -> None:
    """Count the logs with a row an I/O; the last second lasts as long as I/Os completed in it."""
    kinds = {log.name.kind for log in logs}
    kind = next((kind for kind in _SINGLE_ORDER if kind in kinds), None)
    if kind is None:
        return
    ios: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    latest = None
    for log in logs:
        if log.name.kind == kind:
            for time, direction, size in zip(log.times, log.directions, log.sizes, strict=True):
                place = (_divided(time - zero_ms, 1000), direction)
                ios[place] += 1
                sizes[place] += size
            latest = max(log.times) if latest is None else max(latest, *log.times)
    if latest is None:
        return
    ms = latest - zero_ms
    last = max(second for second, _ in ios)
    if ms - last * 1000 < SLIVER_S * 1000 and last > 0:
        last -= 1
    length = max(ms - last * 1000, 1) / 1000
    for (second, direction), count in ios.items():
        place_s = min(second, last)
        lasted = length if second >= last else 1.0
        _add(counted, ("iops", direction, place_s), count / lasted)
        _add(counted, ("bytes_per_s", direction, place_s), sizes[second, direction] / lasted)


def _late_by_latencies(one: _Series, windows: Sequence[_Series]) -> _Series:
    """Let rows of rates reach back over a gap in most of whose windows I/Os completed."""
    if one.kind not in _UNITS:
        return one
    seen = sorted(
        time
        for other in windows
        if other.kind in _LATENCIES and (other.job, other.direction) == (one.job, one.direction)
        for time in other.times
    )
    if seen and (first := one.times[0] - seen[0] + one.usual) >= LATE_WINDOWS * one.usual:
        one = replace(one, first_gap=first)
    late = set()
    for index, time, _, gap in one.late_rows():
        half = one.usual // 2
        within = seen[bisect_right(seen, time - gap + half) : bisect_left(seen, time - half)]
        places = {_divided(at, one.usual) for at in within}
        if MOSTLY * (gap - one.usual) <= len(places) * one.usual:
            late.add(index)
    return replace(one, late=frozenset(late)) if late else one


def _late_by_total(
    windows: list[_Series], direction: int, kind: LogKind, total: float, of: Total, zero_ms: int
) -> list[_Series]:
    """The same where no latency was logged in this direction: by the `total` of fio's JSON, in the
    unit of the log."""
    chosen = [one for one in windows if one.direction == direction and one.kind == kind]
    if not chosen or any(one.direction == direction and one.kind in _LATENCIES for one in windows):
        return windows
    logged = sum(value * width for one in chosen for _, _, value, _, width, _ in one.rows()) / 1000
    within = (
        sum(value * (gap - one.usual) for one in chosen for _, _, value, gap in one.late_rows())
        / 1000
    )
    if not within:
        return windows
    end_ms, last = max((one.times[-1], one.values[-1]) for one in chosen)
    tail_s = max(of.runtime_s - (end_ms - zero_ms) / 1000, 0.0)
    if total - logged - last * tail_s * len(chosen) < MOSTLY * within:
        return windows
    return [
        replace(one, late=one.late | {index for index, *_ in one.late_rows()})
        if one in chosen
        else one
        for one in windows
    ]


def _placed(one: _Series, zero_ms: int) -> Iterator[tuple[int, int, int]]:
    """Second, value and weight of each window in each second that it counts for: the second of its
    middle, or all those that a window longer than a second covers."""
    middle = min(one.usual, 1000) // 2
    for _, time, value, _, width, reach in one.rows():
        first = _divided(time - reach - zero_ms + middle, 1000)
        for second in range(first, first + max(_half_up(reach / 1000), 1)):
            yield second, value, max(width, 1)


def _count_windows(counted: Rates, windows: Sequence[_Series], zero_ms: int) -> None:
    """Add the rates of all jobs; several windows of a job in one second are weighted by width."""
    for one in windows:
        if one.kind not in _UNITS:
            continue
        weighted: dict[int, tuple[int, int]] = {}
        for second, value, weight in _placed(one, zero_ms):
            amount, weights = weighted.get(second, (0, 0))
            weighted[second] = (amount + value * weight, weights + weight)
        column, unit = _UNITS[one.kind]
        for second, (amount, weights) in weighted.items():
            _add(counted, (column, one.direction, second), amount / weights * unit)


def _fill_tail(
    counted: Rates, windows: Sequence[_Series], direction: int, total: Total, zero_ms: int
) -> None:
    """Add what fio's JSON counts beyond the logged windows to the seconds that have none, as
    `fill_tail` of store/log_tail.py explains."""
    ours = [one for one in windows if one.direction == direction]
    end_s = total.runtime_s
    ios = _tail(counted, [one for one in ours if one.kind == "iops"], total.ios, end_s, zero_ms)
    of_bw = [one for one in ours if one.kind == "bw"]
    kib = _tail(counted, of_bw, total.bytes / 1024, end_s, zero_ms)
    logged = {
        one.job: _highest(one, zero_ms) for one in of_bw if any(job == one.job for job, _ in ios)
    }
    for job, second in {*ios, *kib}:
        rate, size = ios.get((job, second)), kib.get((job, second))
        if rate is not None:
            known = size
            if known is None and job in logged:
                known = logged[job].get(second, 0)
            if known is not None and total.bytes:
                rate = min(rate, known * 1024 * total.ios / total.bytes)
            _add(counted, ("iops", direction, second), rate)
        if size is not None:
            _add(counted, ("bytes_per_s", direction, second), size * 1024)


def _tail(
    counted: Rates, windows: Sequence[_Series], total: float, runtime_s: float, zero_ms: int
) -> dict[tuple[int, int], float]:
    """(job, second) that the `windows` of one kind and direction leave out, with the rate there, in
    the unit of the log, as `total` is."""
    ends = {one.job: (one.times[-1] - zero_ms) / 1000 for one in windows}
    short = [one for one in windows if runtime_s - ends[one.job] > SLIVER_S]
    if not short:
        return {}
    column, unit = _UNITS[short[0].kind]
    logged = math.fsum(
        rate
        for (of_column, direction, _), rate in counted.items()
        if (of_column, direction) == (column, short[0].direction)
    )
    left = max(total - logged / unit, 0.0) / sum(runtime_s - ends[one.job] for one in short)
    return {
        (one.job, second): min(left, float(max(one.values)))
        for one in short
        for second in range(math.floor(ends[one.job] + SLIVER_S), math.ceil(runtime_s - SLIVER_S))
    }


def _highest(one: _Series, zero_ms: int) -> dict[int, int]:
    """The highest value of a log by second."""
    highest: dict[int, int] = {}
    for second, value, _ in _placed(one, zero_ms):
        highest[second] = max(value, highest.get(second, 0))
    return highest


def _divided(count: int, by: int) -> int:
    """`count / by` towards zero, as SQL divides."""
    return count // by if count >= 0 else -(-count // by)


def _half_up(count: float) -> int:
    return math.floor(count + 0.5)
