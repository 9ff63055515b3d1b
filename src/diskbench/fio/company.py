"""Whether fio was alone on its disk: I/O of the disk that fio did not cause, and other users of it.

From fio's first to its last interim document (live.tsv) its counts are compared with those of the
disk (samples.txt), which are interpolated linearly to the same times. What fio may have caused is
estimated generously (docs/METHOD.md, `other-io`): writes into files also write inodes, extents and
the journal, and dm and MD copies on write and integrity. What has no known cause is not judged:

    buffered I/O (readahead, writeback) in its own direction, and all that it may cause; writes on
    filesystems that write elsewhere (btrfs, zfs …); engines that move no blocks; steps of less than
    2 s between two documents

Where nothing was sampled (imports), direct reads are judged by what fio itself counted of the
device over the life of its process, if it had one step, no ramp_time and no verify.

A block of 1 MiB reaches a disk as many requests: xen-blkfront takes 44 KiB at a time without
indirect segments (drivers/block/xen-blkfront.c), most others far more. All limits are our choice.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence

from diskbench.fio.declared import SYNCS, Case, Options, block_bytes, is_direct, is_set, options_of
from diskbench.fio.device import device_counts
from diskbench.fio.reported import FioOutput, Total
from diskbench.fio.samples import LiveTotals, disk_course, parse_live
from diskbench.model.doubts import DISK_SHARED, DISK_UNLOCKED, OTHER_IO
from diskbench.model.result import Warning  # noqa: A004 - the field's word
from diskbench.units import NS_PER_S, format_mb_per_s

MORE = 0.10
"""Share of what fio may have caused. I/O beyond that share comes from another process, which may
have made fio slower by as much."""
LEAST_BYTES_PER_S, LEAST_BYTES = 256 * 1024, 4 * 2**20
LEAST_IOPS, LEAST_IOS = 10.0, 100
"""Below these a machine that does nothing else (logs, timers) would raise the doubt."""
SHORTEST_S = 2.0
_SEGMENT = 32 * 1024
_FILE_BYTES, _FILE_IOS = 1.5, 2.0
_SYNC_BYTES, _SYNC_IOS = 32 * 1024, 4.0
_STACKED = 2.0
_BLOCK_ENGINES = frozenset(
    {"psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio"}
)
_READ_MORE = ("ramp_time", "verify", "pre_read", "read_iolog")


def company_doubts(case: Case) -> Iterator[Warning]:
    """The doubts in a step whose disk another process used."""
    yield from _seen(case.files.get("lock.txt", b""))
    yield from _counted(case)


def counted_company(output: FioOutput) -> Iterator[Warning]:
    """The doubt in reads beside which the device did others, by fio's own count of it."""
    options = [options_of(job, output, {}) for job in output.jobs]
    known = all(is_direct(job, output, {}) for job in output.jobs) and output.lists_options
    if not known or output.beside or any(o.get(name) for o in options for name in _READ_MORE):
        return
    count = device_counts(output, options).get("read")
    stats = [job.directions["read"] for job in output.jobs if "read" in job.directions]
    seconds = max((of_job.runtime_ns for of_job in stats), default=0) / NS_PER_S
    if count is None or not seconds:
        return
    moved = Total(sum(s.ios for s in stats), sum(s.bytes for s in stats))
    caused = moved.ios * _requests(options, moved)
    extra = count.requests - caused
    if extra > max(MORE * caused, LEAST_IOPS * seconds, LEAST_IOS):
        yield OTHER_IO.warning(
            f"the device did {count.requests / seconds:,.0f} reads a second, but fio accounts for "
            f"only {caused / seconds:,.0f}: another program used it"
        )


def _seen(data: bytes) -> Iterator[Warning]:
    """The doubts from lock.txt: other measurements on the disk, and a missing or weak lock."""
    values: dict[str, list[str]] = {}
    for line in data.decode(errors="replace").splitlines():
        key, _, value = line.partition(" ")
        values.setdefault(key, []).append(value.strip())
    if beside := values.get("beside"):
        others = "; ".join(beside[:3])
        yield DISK_SHARED.warning(f"another measurement used the same disk: {others}")
    method, why = (next(iter(values.get(key, [])), "") for key in ("method", "why"))
    if method == "none":
        unlocked = f"the disk was not locked against other runs of diskbench: {why}"
        yield DISK_UNLOCKED.warning(unlocked)
    elif method == "pid":
        yield DISK_UNLOCKED.warning(
            "the machine has no flock(1), so the disk was locked only while this process lived",
            advice="install util-linux on that machine",
        )


def _counted(case: Case) -> Iterator[Warning]:
    output, options, files = case.output, case.options, case.files
    if (
        case.step.role not in ("measure", "offered")
        or not options
        or case.facts.network_filesystem
        or any(of_job.get("ioengine", "psync") not in _BLOCK_ENGINES for of_job in options)
        or any("mixed" in job.directions for job in output.jobs)
        or (span := _span(files.get("live.tsv", b""))) is None
    ):
        return
    first, last = span
    seconds = last.unix_s - first.unix_s
    disk = _disk(files.get("samples.txt", b""), first.unix_s, last.unix_s)
    if disk is None:
        return
    ours = _caused(case, first, last)
    judged = [way for way in ("read", "write") if ours[way] is not None]
    caused = _sum([amount for amount in ours.values() if amount is not None])
    extra = _sum([_beyond(disk[way], ours[way]) for way in judged])
    more_bytes = extra.bytes > max(MORE * caused.bytes, LEAST_BYTES_PER_S * seconds, LEAST_BYTES)
    more_ios = extra.ios > max(MORE * caused.ios, LEAST_IOPS * seconds, LEAST_IOS)
    if more_bytes or more_ios:
        moved = _sum([disk[way] for way in judged])
        yield OTHER_IO.warning(
            f"the disk did {moved.ios / seconds:,.0f} IOPS and "
            f"{format_mb_per_s(moved.bytes / seconds)} MB/s, but fio accounts for only "
            f"{caused.ios / seconds:,.0f} IOPS and {format_mb_per_s(caused.bytes / seconds)} MB/s: "
            "another program used it"
        )


def _span(data: bytes) -> tuple[LiveTotals, LiveTotals] | None:
    """The first and the last interim document after the ramp time, which resets fio's counts."""
    readings: list[LiveTotals] = []
    for line in data.splitlines():
        totals = parse_live(line)
        if totals is None:
            continue
        if readings and _ios(totals) < _ios(readings[-1]):
            readings = []
        readings.append(totals)
    if len(readings) < 2 or readings[-1].unix_s - readings[0].unix_s < SHORTEST_S:
        return None
    return readings[0], readings[-1]


def _ios(totals: LiveTotals) -> float:
    return sum(way.ios for way in totals.ways)


def _disk(data: bytes, begin_s: float, end_s: float) -> dict[str, Total] | None:
    """What the disk moved between two times of its host's clock; None without samples there."""
    course = disk_course(data)
    before, after = _at(course, begin_s), _at(course, end_s)
    if before is None or after is None:
        return None
    read_ios, read_bytes, write_ios, write_bytes = map(operator.sub, after, before)
    return {"read": Total(read_ios, read_bytes), "write": Total(write_ios, write_bytes)}


def _at(course: Iterable[tuple[float, tuple[int, ...]]], time_s: float) -> tuple[float, ...] | None:
    """The counters at a time, interpolated between two samples; None outside the sampled time."""
    for (t0, low), (t1, high) in itertools.pairwise(course):
        if t0 <= time_s <= t1 and t1 > t0:
            share = (time_s - t0) / (t1 - t0)
            return tuple(a + share * (b - a) for a, b in zip(low, high, strict=True))
    return None


def _caused(case: Case, first: LiveTotals, last: LiveTotals) -> dict[str, Total | None]:
    """The most that fio can have caused in each direction; None where that is not known."""
    options = case.options
    buffered = any(not is_set(job_options, "direct") for job_options in options)
    files = any(not job_options.get("filename", "").startswith("/dev/") for job_options in options)
    reads = Total(last.read.ios - first.read.ios, last.read.bytes - first.read.bytes)
    writes = Total(last.write.ios - first.write.ios, last.write.bytes - first.write.bytes)
    trims = last.trim.ios > first.trim.ios
    if buffered and writes.ios:
        return {"read": None, "write": None}
    read = None if buffered else Total(reads.ios * _requests(options, reads), reads.bytes)
    written: Total | None = Total(writes.ios * _requests(options, writes), writes.bytes)
    if writes.ios and files:
        written = _in_files(case, written, writes, last)
    if trims and files:
        written = None
    if written is not None and case.facts.layers:
        written = Total(written.ios * _STACKED, written.bytes * _STACKED)
    return {"read": read, "write": written}


def _in_files(case: Case, plain: Total | None, writes: Total, last: LiveTotals) -> Total | None:
    """Writes into files and what the filesystem writes in addition; None where it is not known."""
    options, mount = case.options, case.facts.mount
    kind = mount.fstype if mount else ""
    if plain is None or kind in {"btrfs", "zfs", "bcachefs", "f2fs", "nilfs2", "overlay"}:
        return None
    syncs = 0.0
    if any(is_set(job_options, name) for job_options in options for name in SYNCS):
        syncing = [job.directions["sync"] for job, _ in case.jobs if "sync" in job.directions]
        counted = sum(stats.ios for stats in syncing)
        share = writes.ios / last.write.ios if last.write.ios else 0.0
        each_is_synced = any(is_set(job_options, "sync") for job_options in options)
        syncs = writes.ios if each_is_synced else counted * share + len(options)
    return Total(
        plain.ios * _FILE_IOS + syncs * _SYNC_IOS, plain.bytes * _FILE_BYTES + syncs * _SYNC_BYTES
    )


def _requests(options: Sequence[Options], moved: Total) -> float:
    """The largest number of disk requests that one I/O of fio becomes."""
    sizes = [block_bytes(job_options, way) for job_options in options for way in ("read", "write")]
    known = [size for size in sizes if size is not None]
    mean = moved.bytes / moved.ios if moved.ios else 0.0
    return max(1, math.ceil(max([*known, mean]) / _SEGMENT))


def _beyond(disk: Total, ours: Total | None) -> Total:
    if ours is None:
        return Total()
    return Total(max(0.0, disk.ios - ours.ios), max(0.0, disk.bytes - ours.bytes))


def _sum(parts: Sequence[Total]) -> Total:
    return Total(sum(part.ios for part in parts), sum(part.bytes for part in parts))
