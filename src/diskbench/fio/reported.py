"""What fio reports of one process: its jobs, their directions, their latencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from diskbench.model.result import Direction

MOST_RUNS: Final = 2_000
"""fio processes whose results one file may hold."""


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
    weighs the parts of a sum, and no row shows it. `bytes` may be off by `rounding`.
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


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The kernel's counters of one disk over the life of the fio process, as fio read them."""

    name: str
    read_ios: int
    write_ios: int
    read_bytes: int | None
    write_bytes: int | None
    util: float | None


@dataclass(frozen=True, slots=True)
class FioOutput:
    """One document of fio.

    `notes` holds a sentence for each irregularity: text around the document, several documents, a
    truncated one. `reports` says which other reports in its file count as this run, and what was
    left out; empty where there is nothing else. `text` is everything outside the documents.
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
    documents: int = 1
    interim: bool = False
    text: str = ""
    notes: tuple[str, ...] = ()
    reports: str = ""
    lists_options: bool = True
    timeless: bool = False
    local_time: str | None = None

    @property
    def version_numbers(self) -> tuple[int, int]:
        """`fio-3.33` as (3, 33); (0, 0) for a version of another form."""
        major, _, after_major = self.version.removeprefix("fio-").partition(".")
        minor = after_major.split("-")[0].split(".")[0]
        return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)
