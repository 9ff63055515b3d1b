"""fio's terse output (`--output-format=terse`, `--minimal`), versions 3, 4 and 5.

One line a job: semicolon-separated fields (axboe/fio, stat.c: show_ddir_status_terse). KB and KB/s
are 1,024 bytes, latencies µs in every version, and IOPS whole numbers rounded down.

Terse output has no count of I/Os, no time and no options. The count is bytes by a block size where
one power of two fits fio's IOPS; elsewhere it is unknown, and IOPS x run time (off by less than one
I/O a second) only weighs the jobs of a step.
"""

import math
import re
from collections.abc import Sequence
from typing import Final

from diskbench.errors import FioOutputUnreadable
from diskbench.fio.clients import of_clients, without_sum
from diskbench.fio.reported import DirectionStats, FioJob, FioOutput, ReportedLatency
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction
from diskbench.visible import UNKNOWN

TERSE = re.compile(r"^(?:<(?P<host>[^>\n]*)> )?(?P<version>[2-5]);(?=fio-|[^;\n]*;)", re.MULTILINE)
_LINE = re.compile(r"^(?:<(?P<host>[^>\n]*)> )?(?P<fields>[345];fio-[^;\n]*;.*)$", re.MULTILINE)
_DIRECTIONS: Final[tuple[Direction, ...]] = ("read", "write", "trim")
_WIDTH: Final = {3: (2, 41), 4: (3, 41), 5: (3, 47)}
"""Version → directions in a line, and fields of each."""
_HEADER: Final = 5
_MOST_FIELDS: Final = 20_000
"""At the end stand nine fields for each disk."""
_TOGETHER: Final = (
    "lines of one group count as jobs that ran together; if they are of several runs that were "
    "appended to one file, import each of them on its own"
)
_BLOCKS: Final = tuple(1024 << power for power in range(15))
"""1 KiB to 16 MiB."""


def parse_terse(data: bytes, *, where: str) -> FioOutput:
    """The jobs in fio's terse output; with --status-interval those of its last lines.

    Raises FioOutputUnreadable naming the line.
    """
    text = data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)
    jobs: list[FioJob] = []
    version = ""
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line)
        if match is None:
            continue
        at = f"{where}: line {number}"
        if len(jobs) >= JOBS:
            raise _unreadable(at, f"fio reports at most {JOBS:,} jobs")
        fields = match["fields"].split(";")
        version = fields[1][:40]
        jobs.append(_job(fields, len(jobs), match["host"], at))
    if not jobs:
        raise _unreadable(where, "it has no line of terse version 3, 4 or 5")
    # Servers may end at different times, so theirs are no repeated reports.
    last, passes = (without_sum(jobs, where=where), 1) if of_clients(jobs) else last_pass(jobs)
    notes: tuple[str, ...] = (
        "terse output counts no I/Os: they follow from bytes where one block size fits the IOPS",
    )
    if passes > 1:
        notes += (f"{passes} reports (--status-interval): the last one is used",)
    if len({job.group for job in last}) < len(last):
        notes += (_TOGETHER,)
    return FioOutput(
        where=where, version=version, jobs=last, options={}, notes=notes, timeless=True
    )


def _job(fields: Sequence[str], index: int, host: str | None, where: str) -> FioJob:
    directions, width = _WIDTH[int(fields[0])]
    end = _HEADER + directions * width
    if not end + 5 <= len(fields) <= _MOST_FIELDS:
        raise _unreadable(
            where, f"{len(fields):,} fields, where version {fields[0]} has {end + 5} and more"
        )
    stats = {}
    for place, direction in enumerate(_DIRECTIONS[:directions]):
        at = _HEADER + place * width
        stats[direction] = _direction(fields[at : at + width], f"{where}, {direction}")
    return FioJob(
        name=fields[2],
        index=index,
        group=_count(fields[3], where),
        error=_count(fields[4], where),
        options={},
        directions=stats,
        usr_cpu=_real(fields[end], where),
        sys_cpu=_real(fields[end + 1], where),
        context_switches=_count(fields[end + 2], where),
        host=host,
    )


def _direction(fields: Sequence[str], where: str) -> DirectionStats:
    kib, rate_kib, iops, runtime_ms = (_count(field, where) for field in fields[:4])
    size = kib * 1024
    ios, counted = _ios(size, iops, runtime_ms)
    if max(size, ios, rate_kib * 1024, runtime_ms * 1_000_000) > COUNTER:
        raise _unreadable(where, "it counts more than any disk does")
    percentiles = {}
    for field in fields[12:32]:
        percent, _, value = field.partition("%=")
        if float(_real(percent, where)):
            percentiles[_real(percent, where)] = _count(value, where) * 1000
    clat = _latency(fields[8:12], ios, where)
    if clat is not None and percentiles:
        clat = ReportedLatency(
            clat.samples, clat.min_ns, clat.max_ns, clat.mean_ns, clat.stddev_ns, percentiles
        )
    return DirectionStats(
        ios=ios,
        bytes=size,
        runtime_ns=runtime_ms * 1_000_000,
        counted=counted,
        bytes_per_s=rate_kib * 1024.0 if runtime_ms else None,
        lat=_latency(fields[32:36], ios, where),
        clat=clat,
        slat=_latency(fields[4:8], ios, where),
    )


def _ios(size: int, iops: int, runtime_ms: int) -> tuple[int, bool]:
    """The I/Os of which fio printed ⌊ios / runtime⌋: the count that one block size gives, else what
    its IOPS make; and whether it is a count."""
    if not runtime_ms or not size:
        return 0, True
    low, high = iops * runtime_ms / 1000, (iops + 1) * runtime_ms / 1000
    fitting = {
        size // block for block in _BLOCKS if size % block == 0 and low <= size / block < high
    }
    return (fitting.pop(), True) if len(fitting) == 1 else (math.ceil(low), False)


def _latency(fields: Sequence[str], ios: int, where: str) -> ReportedLatency | None:
    """One kind of latency; None where fio did not time it (all zeros)."""
    least, most = (_count(field, where) * 1000 for field in fields[:2])
    mean, stddev = (_real(field, where) * 1000 for field in fields[2:])
    if not ios or not (most or mean):
        return None
    if max(most, mean, stddev) > COUNTER:
        raise _unreadable(where, "its latencies are longer than any disk's")
    # whole µs, rounded down: the mean may lie above the printed longest by less than 1 µs
    return ReportedLatency(ios, least, max(most, math.ceil(mean)), mean, stddev)


def _count(field: str, where: str) -> int:
    if not field.isascii() or not field.isdigit() or len(field) > 18:
        raise _unreadable(where, f"{field[:40]!r} is not a count")
    return int(field)


def _real(field: str, where: str) -> float:
    try:
        value = float(field.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise _unreadable(where, f"{field[:40]!r} is not a figure")
    return value


def _unreadable(where: str, cause: str) -> FioOutputUnreadable:
    return FioOutputUnreadable(
        f"{where}: not readable as terse output of fio: {cause}",
        advice="it may have been cut while it was copied; JSON (--output-format=json+) holds most",
    )


_LEAST_NS = 500_000_000
"""fio reports at intervals of 1 s and more; clones differ in run time by milliseconds."""


def last_pass(jobs: Sequence[FioJob]) -> tuple[tuple[FioJob, ...], int]:
    """The jobs of the last report, and how many reports there are.

    Reports are cumulative. So jobs are taken for repetitions only if the same names and groups come
    again in the same order, no count ever falls, and run time and I/Os grow from the first to the
    second as an interval lets them. Clones (numjobs) have one name, too, but end together.
    """
    keys = [(job.name, job.group, job.host) for job in jobs]
    if len(set(keys)) == len(keys):
        return tuple(jobs), 1
    period = keys.index(keys[0], 1) if keys.count(keys[0]) > 1 else len(keys)
    while period < len(keys):
        if len(keys) % period == 0 and _repeats(jobs, keys, period):
            return tuple(jobs[-period:]), len(keys) // period
        try:
            period = keys.index(keys[0], period + 1)
        except ValueError:
            break
        if period > len(keys) // 2:
            break
    return tuple(jobs), 1


def _repeats(jobs: Sequence[FioJob], keys: Sequence[object], period: int) -> bool:
    if any(keys[at] != keys[at % period] for at in range(len(keys))):
        return False
    for at in range(period, len(jobs)):
        before, after = jobs[at - period], jobs[at]
        if after.ios < before.ios or _ran(after) < _ran(before):
            return False
    first, second = jobs[:period], jobs[period : 2 * period]
    grown = sum(map(_ran, second)) - sum(map(_ran, first))
    return grown >= _LEAST_NS and sum(j.ios for j in second) > sum(j.ios for j in first)


def _ran(job: FioJob) -> int:
    return max((stats.runtime_ns for stats in job.directions.values()), default=0)
