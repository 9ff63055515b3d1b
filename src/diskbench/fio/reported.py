"""What fio reports of one process: its jobs, their directions, their latencies, and their sums.

Syncs: fio keeps one counter for each direction, `total_io_u[DDIR_RWDIR_SYNC_CNT]`, with places for
read, write, trim and fsync. fdatasync and sync_file_range have the next two numbers (io_ddir.h:
DDIR_DATASYNC 4, DDIR_SYNC_FILE_RANGE 5), so `io_completed` adds them beyond the end of that array:
into `short_io_u[read]` and `short_io_u[write]`, which follow it in `struct thread_stat` (stat.h).
`sync.total_ios` therefore counts fsync alone, while `sync.lat_ns.N` counts every sync (read in
fio's source of 2026, and observed with fio 3.33). Correct counts are left unchanged.

Servers: `fio --client` prints the jobs of each, and their sum as one more job (client.c).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from diskbench.errors import FioOutputUnreadable
from diskbench.model.result import Direction

MOST_RUNS: Final = 2_000
"""fio processes whose results one file may hold."""
FIO_REPORTS: Final = ("fio-json", "fio-terse", "fio-text")
"""Kinds of imports whose files hold what fio itself counted."""
JobFile = tuple[str, str]
"""The name and the text of a job file beside a report."""
NO_JOB_FILE: Final[JobFile] = "", ""
_HIDDEN_IN: tuple[Direction, ...] = ("read", "write")


def unreadable(where: str, form: str, cause: str) -> FioOutputUnreadable:
    """The error for a report of a form (`text`, `terse output`) that cannot be read."""
    return FioOutputUnreadable(
        f"{where}: not readable as {form} of fio: {cause}",
        advice="it may have been cut while it was copied; JSON (--output-format=json+) holds most",
    )


@dataclass(frozen=True, slots=True)
class ReportedLatency:
    """One kind of latency of one direction of one job, in ns.

    `samples` is how many I/Os were timed. json+ has `bins` where percentiles of this kind were
    switched on; `percentiles` (percent → ns) are what fio computed from them.
    """

    samples: int
    min_ns: int
    max_ns: int
    mean_ns: float
    stddev_ns: float
    percentiles: Mapping[float, int] = field(default_factory=dict)
    bins: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DirectionStats:
    """One direction of one job. A latency is None where fio did not time it.

    `runtime_ns` is how long this direction ran, from fio's milliseconds; 0 for `sync`, which fio
    does not time separately. `iops` and `bytes_per_s` are fio's own, None where it writes none.
    `counted` is False where fio prints no count of I/Os and `ios` is only IOPS x run time: it
    weighs the parts of a sum, and no row shows it. `bytes` may be off by `rounding`, and printed
    rates by the share `rate_off`.
    """

    ios: int
    bytes: int
    runtime_ns: int
    short_ios: int = 0
    dropped_ios: int = 0
    iops: float | None = None
    bytes_per_s: float | None = None
    counted: bool = True
    rounding: int = 0
    rate_off: float = 0.0
    lat: ReportedLatency | None = None
    clat: ReportedLatency | None = None
    slat: ReportedLatency | None = None


@dataclass(frozen=True, slots=True)
class FioJob:
    """One entry of fio's report: a job, or with group_reporting all jobs of a group.

    `run_ms` and the CPU percentages are sums and means over the members of a group, as in fio:
    cpu_seconds = usr_cpu/100 · run_ms/1000. `elapsed_s` is the age of the process, in whole seconds
    rounded up. `start_ms` is Unix time (fio ≥ 3.36). `error` is an
    errno. `depth_levels` maps a depth (1, 2, 4 … 64) to the percentage of I/Os issued at that depth
    or above, below the next.
    """

    name: str
    index: int
    group: int
    error: int
    options: Mapping[str, str]
    directions: Mapping[Direction, DirectionStats]
    run_ms: int | None = None
    elapsed_s: int | None = None
    start_ms: int | None = None
    usr_cpu: float | None = None
    sys_cpu: float | None = None
    context_switches: int | None = None
    depth_levels: Mapping[int, float] = field(default_factory=dict)
    total_errors: int = 0
    first_error: int = 0
    host: str | None = None

    @property
    def ios(self) -> int:
        """I/Os of all directions, without syncs."""
        return sum(s.ios for d, s in self.directions.items() if d != "sync")

    @property
    def bytes(self) -> int:
        """Bytes of all directions."""
        return sum(s.bytes for d, s in self.directions.items() if d != "sync")


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The kernel's counters of one disk over the life of the fio process, as fio read them. `ios`
    are requests that ended, `merges` those that became a part of another. `stacked`: the disk is
    made of others, which fio lists, too (dm, MD)."""

    name: str
    read_ios: int
    write_ios: int
    read_bytes: int | None = None
    write_bytes: int | None = None
    util: float | None = None
    read_merges: int = 0
    write_merges: int = 0
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class FioOutput:
    """One document of fio.

    `notes` holds a sentence for each irregularity: text around the document, several documents, a
    truncated one; `damage` those that may have cost figures. `reports` says which other reports in
    its file count as this run, and what was left out; empty where there is nothing else. `text` is
    everything outside the documents.
    `timestamp_ms` is the Unix time at its end; a client of several servers writes that of its
    begin, `begun_ms`. `timeless`: its format (terse, text, a client's JSON) has no time of its end
    in UTC, so nothing follows from its absence. `lists_options`: its format has all options that
    were given, as JSON has. `local_time` is the text's own time, whose zone is
    unknown.
    """

    where: str
    version: str
    jobs: tuple[FioJob, ...]
    options: Mapping[str, str]
    timestamp_ms: int | None = None
    begun_ms: int | None = None
    disks: tuple[DiskUse, ...] = ()
    beside: tuple[FioJob, ...] = ()
    interim: bool = False
    text: str = ""
    notes: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    reports: str = ""
    lists_options: bool = True
    timeless: bool = False
    local_time: str | None = None

    @property
    def version_numbers(self) -> tuple[int, int]:
        """`fio-3.33` as (3, 33); (0, 0) for a version of another form."""
        major, _, after_major = self.version.removeprefix("fio-").partition(".")
        minor = after_major.split("-")[0].split(".")[0]
        return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)


@dataclass(frozen=True, slots=True)
class Total:
    """What was done in one direction, of a step or since its job began: I/Os, bytes, Σ latency (ns)
    of so many `latencies`, and the time that it took."""

    ios: float = 0
    bytes: float = 0
    latency_sum_ns: float = 0.0
    latencies: float = 0.0
    runtime_s: float = 0.0


def totals_of(output: FioOutput) -> dict[Direction, Total]:
    """The totals that the series of a step must sum up to (jobs of a step run in parallel)."""
    totals: dict[Direction, Total] = {}
    for job in output.jobs:
        for direction, stats in job.directions.items():
            before = totals.get(direction, Total())
            totals[direction] = Total(
                ios=before.ios + stats.ios,
                bytes=before.bytes + stats.bytes,
                runtime_s=max(before.runtime_s, stats.runtime_ns / 1e9),
            )
    return totals


ALL_CLIENTS: Final = "All clients"
"""How fio names the sum, which it adds as one more job where it has more than one server."""
HOST: Final = re.compile(r"^<[^<>\s]{1,255}> ")
"""What stands before a line that a server printed."""
SERVER: Final = re.compile(
    r"^hostname=\S{1,255}, be=.{0,200}\bfio=(?P<version>fio-\d\S{0,40}?)(?:,|$)"
)
"""The line with which the client greets a server."""


def without_sum(jobs: Sequence[FioJob], *, where: str) -> tuple[FioJob, ...]:
    """The jobs of the servers; where only the sum was kept, the sum.

    Raises FioOutputUnreadable where the servers' I/Os do not make the sum, as in a text that was
    cut. Bytes stand in where I/Os are not counted.
    """
    own = tuple(job for job in jobs if job.name != ALL_CLIENTS)
    sums = tuple(job for job in jobs if job.name == ALL_CLIENTS)
    if not own or not sums:
        return tuple(jobs)
    counted = all(stats.counted for job in jobs for stats in job.directions.values())
    of_parts, of_sum = (sum(job.ios if counted else job.bytes for job in of) for of in (own, sums))
    # Terse output has whole KiB, so each job may lack almost one.
    if abs(of_parts - of_sum) > (0 if counted else 1024 * len(jobs)):
        raise FioOutputUnreadable(
            f"{where}: its servers did {of_parts:,} {'I/Os' if counted else 'bytes'}, but "
            f"{ALL_CLIENTS!r} says {of_sum:,}",
            advice="a server's part may be missing: import the whole output, or only that line",
        )
    return own


def count_syncs(directions: Mapping[Direction, DirectionStats]) -> dict[Direction, DirectionStats]:
    """The directions of one job with every sync counted as a sync and no sync as a short I/O.

    The syncs among `short_ios` are those that `sync.lat_ns` counts and `sync.total_ios` lacks.
    Where fio timed no sync (disable_clat, gtod_reduce, or no N before fio 3.18), only the short
    I/Os of a direction in excess of its I/Os are known to be syncs.
    """
    by_direction = dict(directions)
    sync = by_direction.get("sync")
    if sync is None:
        return by_direction
    timed = sync.lat.samples if sync.lat else 0
    hidden = max(0, timed - sync.ios)
    counted = sync.ios
    for direction in _HIDDEN_IN:
        stats = by_direction.get(direction)
        if stats is None:
            continue
        moved = max(min(hidden, stats.short_ios), stats.short_ios - stats.ios)
        by_direction[direction] = replace(stats, short_ios=stats.short_ios - moved)
        hidden = max(0, hidden - moved)
        counted += moved
    counted = max(counted, timed)
    # fio 3.3 to 3.17 wrote a mean without N: then every sync that was counted was timed.
    lat = replace(sync.lat, samples=timed or counted) if sync.lat and counted else None
    by_direction["sync"] = replace(sync, ios=counted, lat=lat)
    return by_direction


def miscounts(options: Mapping[str, str]) -> bool:
    """Whether a job asks for syncs that fio counts as short I/Os."""
    return any(options.get(name, "0") not in {"0", ""} for name in ("fdatasync", "sync_file_range"))
