"""What the seconds of a step's logs sum up to, without a frame engine: for the audit of a run.

The same sums as over the series of the step (store/log_windows.py, store/log_late.py and
store/log_tail.py explain each rule and do the same with NumPy for logs of any size): seconds of
single I/Os are counted, windows are placed in the seconds that they cover, a window that came late
reaches back, and what fio's JSON counts beyond the logs is put into the seconds that they leave
out. tests/unit/fio/test_log_sums.py holds both to the same figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from diskbench.fio.log_rows import LogRows
from diskbench.fio.log_windows import (
    UNITS,
    LogWindows,
    divided,
    late_by_latencies,
    late_by_total,
    placed,
    read_windows,
)
from diskbench.fio.logs import SLIVER_S, LogKind, refuse_years
from diskbench.fio.reported import Total
from diskbench.model.result import Direction

DIRECTIONS: tuple[Direction, ...] = ("read", "write", "trim")
_COLUMNS = ("iops", "bytes_per_s")
_SINGLE_ORDER: tuple[LogKind, ...] = ("lat", "clat", "iops", "bw")

Rates = dict[tuple[str, int, int], float]
"""The rate by column of the series, direction and second."""


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
    windows = read_windows([log for log in values if log.layout.averaged])
    zero_ms = _zero_ms(values, single, windows)
    counted: Rates = {}
    _count_single(counted, single, zero_ms)
    if windows:
        times = [end for job_log in windows for end in (job_log.times[0], job_log.times[-1])]
        refuse_years((max(times) - min(times)) / 1000)
        windows = [late_by_latencies(job_log, windows) for job_log in windows]
        logged = {job_log.direction for job_log in windows}
        expected = [
            (number, totals[name])
            for number, name in enumerate(DIRECTIONS)
            if name in totals and number in logged
        ]
        for number, total in expected:
            windows = late_by_total(windows, number, "iops", total.ios, total, zero_ms)
            windows = late_by_total(windows, number, "bw", total.bytes / 1024, total, zero_ms)
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
    directions = {direction for _, direction, _ in counted}
    logged = [column for column in _COLUMNS if any(key[0] == column for key in counted)]
    sums: dict[tuple[Direction, str], float] = {}
    for number, name in enumerate(DIRECTIONS):
        if number in directions and name in totals:
            for column in logged:
                sums[name, column] = math.fsum(
                    rate * min(max(totals[name].runtime_s - second, 0.0), 1.0)
                    for (of_column, direction, second), rate in counted.items()
                    if of_column == column and direction == number
                )
    return sums


def _add(counted: Rates, place: tuple[str, int, int], rate: float) -> None:
    counted[place] = counted.get(place, 0.0) + rate


def _zero_ms(
    logs: Sequence[LogRows], single: Sequence[LogRows], windows: Sequence[LogWindows]
) -> int:
    """Time zero of the logs: 0, or with Unix times when the first window or I/O began."""
    if not any(log.layout.epoch for log in logs):
        return 0
    if windows:
        return min(
            time - width for job_log in windows for _, time, _, _, width, _ in job_log.rows()
        )
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
                place = (divided(time - zero_ms, 1000), direction)
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


def _count_windows(counted: Rates, windows: Sequence[LogWindows], zero_ms: int) -> None:
    """Add the rates of all jobs; several windows of a job in one second are weighted by width."""
    for job_log in windows:
        if job_log.kind not in UNITS:
            continue
        weighted: dict[int, tuple[int, int]] = {}
        for second, value, weight in placed(job_log, zero_ms):
            amount, weights = weighted.get(second, (0, 0))
            weighted[second] = (amount + value * weight, weights + weight)
        column, unit = UNITS[job_log.kind]
        for second, (amount, weights) in weighted.items():
            _add(counted, (column, job_log.direction, second), amount / weights * unit)


def _fill_tail(
    counted: Rates, windows: Sequence[LogWindows], direction: int, total: Total, zero_ms: int
) -> None:
    """Add what fio's JSON counts beyond the logged windows to the seconds that have none, as
    `fill_tail` of store/log_tail.py explains."""
    ours = [job_log for job_log in windows if job_log.direction == direction]
    end_s = total.runtime_s
    ios = _tail(
        counted, [job_log for job_log in ours if job_log.kind == "iops"], total.ios, end_s, zero_ms
    )
    of_bw = [job_log for job_log in ours if job_log.kind == "bw"]
    kib = _tail(counted, of_bw, total.bytes / 1024, end_s, zero_ms)
    logged = {
        job_log.job: _highest(job_log, zero_ms)
        for job_log in of_bw
        if any(job == job_log.job for job, _ in ios)
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
    counted: Rates, windows: Sequence[LogWindows], total: float, runtime_s: float, zero_ms: int
) -> dict[tuple[int, int], float]:
    """(job, second) that the `windows`, of one kind and direction, leave out, with the rate
    there, in the unit of the log, as `total` is."""
    ends = {job_log.job: (job_log.times[-1] - zero_ms) / 1000 for job_log in windows}
    short = [job_log for job_log in windows if runtime_s - ends[job_log.job] > SLIVER_S]
    if not short:
        return {}
    column, unit = UNITS[short[0].kind]
    logged = math.fsum(
        rate
        for (of_column, direction, _), rate in counted.items()
        if (of_column, direction) == (column, short[0].direction)
    )
    missing_rate = max(total - logged / unit, 0.0) / sum(
        runtime_s - ends[job_log.job] for job_log in short
    )
    return {
        (job_log.job, second): min(missing_rate, float(max(job_log.values)))
        for job_log in short
        for second in range(
            math.floor(ends[job_log.job] + SLIVER_S), math.ceil(runtime_s - SLIVER_S)
        )
    }


def _highest(job_log: LogWindows, zero_ms: int) -> dict[int, int]:
    """The highest value of a log by second."""
    highest: dict[int, int] = {}
    for second, value, _ in placed(job_log, zero_ms):
        highest[second] = max(value, highest.get(second, 0))
    return highest
