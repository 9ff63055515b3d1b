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
from dataclasses import replace
from typing import Final

from diskbench.fio.repeated import last_is_used, last_reports, periods
from diskbench.fio.reported import (
    ALL_CLIENTS,
    MOST_RUNS,
    DirectionStats,
    DiskUse,
    FioJob,
    FioOutput,
    ReportedLatency,
    unreadable,
    without_sum,
)
from diskbench.fio.text import RESULT
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
_NO_COUNTS: Final = (
    "terse output counts no I/Os: they follow from bytes where one block size fits the IOPS"
)
_DISK: Final = re.compile(r"(?<=;)[^;]+(?:;\d{1,20}){7};[\d.]{1,10}%(?=;|$)")
"""The counters of a disk at the end of a line."""
_MOST_REPORTS: Final = 100_000
_BLOCKS: Final = tuple(1024 << power for power in range(15))
"""1 KiB to 16 MiB."""
_Report = tuple[str, tuple[str, ...], list[FioJob]]
"""Lines that one fio printed at one time, all with the counters of the same disks: the version of
fio, the counters, and the jobs."""


def parse_terse(data: bytes, *, where: str) -> tuple[FioOutput, ...]:
    """What each fio in the text reports; with --status-interval its last lines.

    Lines of one fio follow each other, their groups count up, and all of them end with the same
    counters of the disks. What breaks this is the next report: of the same fio, or of another one.
    Raises FioOutputUnreadable naming the line.
    """
    text = data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)
    reports: list[_Report] = []
    with_text = RESULT.search(text) is not None  # normal text stands between the lines then
    summed = f";{ALL_CLIENTS};" in text  # of several servers each has its own disks
    apart = True
    # A client prints what a server says of its disks on a line of its own.
    for number, line in enumerate(text.replace("\n;", ";").splitlines(), 1):
        match = _LINE.match(line)
        if match is None:
            apart |= bool(line.strip()) and not with_text
            continue
        at = f"{where}: line {number}"
        if sum(len(jobs) for *_, jobs in reports[-1:]) >= JOBS or len(reports) > _MOST_REPORTS:
            raise unreadable(
                at, "terse output", f"fio reports at most {JOBS:,} jobs, each {MOST_RUNS:,} times"
            )
        fields = match["fields"].split(";")
        job = _job(fields, match["host"], at)
        version, disks = fields[1][:40], _disks(fields)
        if not reports or _is_next(reports[-1], job, version, disks, apart, summed):
            reports.append((version, disks, []))
        *_, jobs = reports[-1]
        jobs.append(replace(job, index=len(jobs)))
        apart = False
    if not reports:
        raise unreadable(where, "terse output", "it has no line of terse version 3, 4 or 5")
    if len(reports) == 1:
        version, disks, jobs = reports[0]
        reports = [(version, disks, part) for part in periods(jobs)]
    runs = last_reports([jobs for *_, jobs in reports])
    if len(runs) > MOST_RUNS:
        raise unreadable(where, "terse output", f"it holds more than {MOST_RUNS:,} runs")
    return tuple(_output(reports[at], count, where) for at, count in runs)


def _disks(fields: Sequence[str]) -> tuple[str, ...]:
    """The counters of the disks, behind those of the processor and the histograms."""
    directions, width = _WIDTH[int(fields[0])]
    return tuple(_DISK.findall(";".join(fields[_HEADER + directions * width + 5 :])))


def _is_next(
    before: _Report, job: FioJob, version: str, disks: tuple[str, ...], apart: bool, summed: bool
) -> bool:
    """Whether a line begins another report. `apart`: other text stands before it. `summed`: the
    lines are of several servers, and each report ends with their sum."""
    known_version, known_disks, jobs = before
    last = jobs[-1]
    if summed or last.host is not None:
        return last.name == ALL_CLIENTS
    other_disks = known_disks != disks and bool(known_disks and disks)
    return apart or known_version != version or other_disks or job.group < last.group


def _output(report: _Report, count: int, where: str) -> FioOutput:
    version, disks, every = report
    jobs = without_sum(every, where=where)
    reasons = []
    if count > 1:
        reasons.append(last_is_used(count))
    if not disks and len({job.group for job in jobs}) < len(jobs):
        reasons.append(_TOGETHER)
    return FioOutput(
        where=where, version=version, jobs=jobs, options={}, lists_options=False,
        disks=tuple(map(_disk_use, disks)), timeless=True,
        notes=(_NO_COUNTS, *reasons), reports="; ".join(reasons),
    )  # fmt: skip


def _disk_use(counters: str) -> DiskUse:
    name, *counts, util = counters.split(";")
    ios, merges = (tuple(map(int, counts[at : at + 2])) for at in (0, 2))
    return DiskUse(
        name=name, read_ios=ios[0], write_ios=ios[1], read_merges=merges[0],
        write_merges=merges[1], util=float(util.removesuffix("%")),
    )  # fmt: skip


def _job(fields: Sequence[str], host: str | None, where: str) -> FioJob:
    directions, width = _WIDTH[int(fields[0])]
    end = _HEADER + directions * width
    if not end + 5 <= len(fields) <= _MOST_FIELDS:
        raise unreadable(
            where,
            "terse output",
            f"{len(fields):,} fields, where version {fields[0]} has {end + 5} and more",
        )
    stats = {}
    for place, direction in enumerate(_DIRECTIONS[:directions]):
        at = _HEADER + place * width
        stats[direction] = _direction(fields[at : at + width], f"{where}, {direction}")
    return FioJob(
        name=fields[2], index=0, group=_count(fields[3], where), error=_count(fields[4], where),
        options={}, directions=stats, host=host, usr_cpu=_real(fields[end], where),
        sys_cpu=_real(fields[end + 1], where), context_switches=_count(fields[end + 2], where),
    )  # fmt: skip


def _direction(fields: Sequence[str], where: str) -> DirectionStats:
    kib, rate_kib, iops, runtime_ms = (_count(field, where) for field in fields[:4])
    size = kib * 1024
    ios, counted = _ios(size, iops, runtime_ms)
    if max(size, ios, rate_kib * 1024, runtime_ms * 1_000_000) > COUNTER:
        raise unreadable(where, "terse output", "it counts more than any disk does")
    percentiles = {}
    for cell in fields[12:32]:
        percent, _, value = cell.partition("%=")
        if float(_real(percent, where)):
            percentiles[_real(percent, where)] = _count(value, where) * 1000
    clat = _latency(fields[8:12], ios, where)
    if clat is not None and percentiles:
        clat = replace(clat, percentiles=percentiles)
    return DirectionStats(
        ios=ios, bytes=size, runtime_ns=runtime_ms * 1_000_000, counted=counted,
        bytes_per_s=rate_kib * 1024.0 if runtime_ms else None,
        lat=_latency(fields[32:36], ios, where), clat=clat, slat=_latency(fields[4:8], ios, where),
    )  # fmt: skip


def _ios(size: int, iops: int, runtime_ms: int) -> tuple[int, bool]:
    """The I/Os of which fio printed ⌊ios / runtime⌋: the count that one block size gives, else what
    its IOPS make; and whether it is a count."""
    if not runtime_ms or not size:
        return 0, True
    low, high = iops * runtime_ms / 1000, (iops + 1) * runtime_ms / 1000
    fitting = {size // b for b in _BLOCKS if size % b == 0 and low <= size / b < high}
    return (fitting.pop(), True) if len(fitting) == 1 else (math.ceil(low), False)


def _latency(fields: Sequence[str], ios: int, where: str) -> ReportedLatency | None:
    """One kind of latency; None where fio did not time it (all zeros)."""
    least, most = (_count(field, where) * 1000 for field in fields[:2])
    mean, stddev = (_real(field, where) * 1000 for field in fields[2:])
    if not ios or not (most or mean):
        return None
    if max(most, mean, stddev) > COUNTER:
        raise unreadable(where, "terse output", "its latencies are longer than any disk's")
    # whole µs, rounded down: the mean may lie above the printed longest by less than 1 µs
    return ReportedLatency(ios, least, max(most, math.ceil(mean)), mean, stddev)


def _count(field: str, where: str) -> int:
    if not field.isascii() or not field.isdecimal() or len(field) > 18:
        raise unreadable(where, "terse output", f"{field[:40]!r} is not a count")
    return int(field)


def _real(field: str, where: str) -> float:
    try:
        value = float(field.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise unreadable(where, "terse output", f"{field[:40]!r} is not a figure")
    return value
