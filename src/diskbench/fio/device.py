"""What the disk itself did beside what fio counted, from the counters that fio prints of it (text's
"Disk stats", JSON's `disk_util`, the end of a terse line).

They are of the whole process, with its ramp and its other steps, and of all that used the disk
meanwhile. So they give bounds:

    requests  those that ended, and those that were merged into others
    disks     those that lie on no other one that is listed; several together. Of two that are made
              of others one may lie on the other: then nothing is known
    fewer     with sectors: bytes < 95 % of fio's. Without them: requests < 95 % of fio's I/Os where
              each I/O is at least one request (direct, at random, blocks of 1,280 KiB and more);
              elsewhere the page cache may make one request of many blocks, of up to 1,280 KiB
              (BLK_DEF_MAX_SECTORS of Linux 4.3 to 6.14)
    all       95 % or more, and at most twice as much (a filesystem's own writes); beyond that other
              programs used the disk, and nothing follows. Requests show it for blocks of up to
              32 KiB, which no driver splits
    gathered  reads or writes in sequence, whose bytes the disk may all have moved, in less than
              half as many requests: the page cache read ahead, or gathered writes

Of several steps in one process, each did between what is left if the others did all of theirs on
the disk, and all that the disk did. All limits are our choice.

The doubts say whether a disk did the I/O of a step, or something else answered: the page cache, a
filesystem for blocks that were never written (or trimmed), memory, or nothing at all
(docs/METHOD.md: `page-cache`, `unwritten`, `not-a-disk`). What the device moved is known from the
samples beside fio, else from these counters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from diskbench.fio.declared import Case, Options, is_direct, is_set, options_of, rw_of
from diskbench.fio.numbers import bytes_of
from diskbench.fio.reported import DiskUse, FioJob, FioOutput
from diskbench.model.doubts import NOT_A_DISK, PAGE_CACHE, UNWRITTEN
from diskbench.model.processor import percent
from diskbench.model.result import Direction, Measurement, Warning  # noqa: A004 - the field's word
from diskbench.units import KIB, NS_PER_S, format_bytes, format_mb_per_s

ALL: Final = 0.95
_OTHERS: Final = 2.0
_ONE_EACH: Final = 0.05
_GATHERED: Final = 0.5
_SEGMENT: Final = 32 * KIB
_LARGEST: Final = 1280 * KIB
_UNREAD_S: Final = 0.25
"""fio reads the counters at this interval and not at its end (DISK_UTIL_MSEC of diskutil.h;
tried on 3.33: of 1 s of direct reads 13 to 19 % are missing, of 5 s 3 %)."""

Way = Literal["read", "write"]
WAYS: Final[tuple[Way, ...]] = ("read", "write")
_BLOCKS: Final[dict[Way, str]] = {"read": "reads", "write": "writes"}


@dataclass(frozen=True, slots=True)
class DeviceCount:
    """What the disks did of one direction of a step, as fractions of fio's I/O: `least` (None where
    it is not known) to `most`; and `of_all` steps of the process, where it had several.

    The disks did `requests`, fio `ios`, in all steps; `words` say of how much they did how much.
    `gathered_bytes` is the size of a request where the page cache made one of many blocks.
    """

    requests: int
    ios: int
    most: float
    least: float | None
    words: str
    of_all: float | None = None
    is_bound: bool = False
    gathered_bytes: int | None = None
    unseen: float = 0.0
    """The fraction of the step that ended after fio read the counters for the last time."""

    @property
    def share(self) -> float | None:
        """The fraction of fio's I/O that the disks did, 1 for all of it; None where the counters
        leave that open."""
        all_seen = ALL - self.unseen
        if self.most < all_seen:
            return self.most
        return 1.0 if self.least is not None and self.least >= all_seen else None

    @property
    def is_one_each(self) -> bool:
        """Whether each I/O of fio was one request of the disks."""
        return self.share == 1.0 and abs(self.requests / self.ios - 1) <= (_ONE_EACH + self.unseen)


def device_counts(output: FioOutput, options: Sequence[Options]) -> dict[Way, DeviceCount]:
    """What the disks did of a step, by direction; empty where fio lists no disk, or it is not known
    which it used. `options` are those of the step's jobs, as far as they are known."""
    disks = _used(output.disks)
    if not disks or any("mixed" in job.directions for job in (*output.jobs, *output.beside)):
        return {}
    counts = {way: _count(way, disks, output, options) for way in WAYS}
    return {way: count for way, count in counts.items() if count is not None}


def _used(disks: Sequence[DiskUse]) -> Sequence[DiskUse]:
    """The disks that fio's files are on, without those below them."""
    stacked = [disk for disk in disks if disk.stacked]
    if not stacked:
        return disks
    return stacked if len(stacked) == 1 else ()


def _count(
    way: Way, disks: Sequence[DiskUse], output: FioOutput, options: Sequence[Options]
) -> DeviceCount | None:
    of_step, of_beside = _sums(output.jobs, way), _sums(output.beside, way)
    if not of_step[0] or not of_step[1]:
        return None
    ios, size = of_step[0] + of_beside[0], of_step[1] + of_beside[1]
    requests = sum(
        d.read_ios + d.read_merges if way == "read" else d.write_ios + d.write_merges for d in disks
    )
    of_disks = [disk.read_bytes if way == "read" else disk.write_bytes for disk in disks]
    moved_bytes = None if None in of_disks else sum(moved for moved in of_disks if moved)
    beside = [options_of(j, output, {}) for j in output.beside if _sums((j,), way)[0]]
    gathers = size < ios * _LARGEST and not all(
        # each of its I/Os becomes at least one request, if no memory answers it
        is_set(of_job, "direct") or (rw_of(of_job) or "").startswith("rand")
        for of_job in (*options, *beside)
    )
    if moved_bytes is not None:
        moved, part, total, is_exact = moved_bytes, of_step[1], size, True
        words = f"{format_bytes(moved)} of {format_bytes(total)}"
    elif gathers and requests < ALL * ios:
        moved, part, total, is_exact = requests * _LARGEST, of_step[1], size, False
        words = f"{requests:,} requests for {ios:,} {_BLOCKS[way]}"
    else:
        moved, part, total, is_exact = requests, of_step[0], ios, size <= ios * _SEGMENT
        words = f"{requests:,} of {ios:,} {_BLOCKS[way]}"
    least = None
    is_bound = moved_bytes is None and gathers and requests < ALL * ios
    if is_exact and moved <= _OTHERS * total:
        least = max(0.0, moved - (total - part)) / part
    ran = [job.directions[way].runtime_ns for job in output.jobs if way in job.directions]
    seconds = max(ran, default=0) / NS_PER_S
    unseen = min(_UNREAD_S / seconds, 1.0) if seconds else 0.0
    is_gathered = (
        not of_beside[0]
        and all(rw_of(of_job) in ("read", "write", "rw", "readwrite") for of_job in options)
        and gathers
        and moved >= (ALL - unseen) * total
        and 0 < requests < _GATHERED * ios
    )
    return DeviceCount(
        requests=requests, ios=ios, most=min(moved / part, 1.0), least=least, words=words,
        of_all=min(moved / total, 1.0) if of_beside[0] else None, is_bound=is_bound, unseen=unseen,
        gathered_bytes=round((moved_bytes or size) / requests) if is_gathered else None,
    )  # fmt: skip


def _sums(jobs: Iterable[FioJob], way: Way) -> tuple[int, int]:
    """The I/Os and bytes of a direction."""
    stats = [job.directions[way] for job in jobs if way in job.directions]
    return sum(of_job.ios for of_job in stats), sum(of_job.bytes for of_job in stats)


_MEMORY_DISK = re.compile(r"(zram|ram)[0-9]+$")
_MEMORY_ENGINES = frozenset({"mmap", "libpmem", "pmemblk", "dev-dax", "libpmem2"})
"""Engines that read and write without a system call."""
_CALL_NS, COPY_NS = 1000, 300
"""A read or write of a disk takes at least as long: a system call, a request and an interrupt. What
the page cache read ahead takes a copy of some KiB."""
_SOONEST_NS = 8000.0
"""A read at random that a disk answers (analysis/caches.py)."""
_LONGEST_AHEAD = 256 * KIB
"""Twice what the kernel reads ahead unless it is told otherwise (read_ahead_kb)."""
_BUS_BYTES_PER_S = 500e9
"""12 channels of DDR5-5600, and 128 lanes of PCIe 5, carry no more. All three are our choice."""


def cache_doubts(case: Case) -> Iterator[Warning]:
    """What the page cache answered, or what was never written."""
    if case.step.page_cache == "keep" or case.step.role == "canary":
        return  # the step measures the cache, or it uses no disk
    output, samples, options = case.output, case.samples, case.options
    buffered = any(not is_set(job_options, "direct") for job_options in options)
    moved = {row.direction: row.bytes or 0 for row in case.rows if row.scope == "step"}
    if samples:
        yield from _missing_bytes("read", moved, samples.device_read_bytes, buffered=buffered)
        if buffered:
            yield from _missing_bytes("write", moved, samples.device_write_bytes, buffered=True)
    elif counts := device_counts(output, options):
        direct = {is_direct(job, output, case.sections) for job in output.jobs}
        is_all_direct = direct.pop() if len(direct) == 1 else None
        for way, count in counts.items():
            yield from _missing(way, count, is_direct=is_all_direct)
    elif buffered:
        sizes = [bytes_of(o.get("filesize") or o.get("size", "")) or 0 for o in options]
        size, memory = sum(sizes), case.facts.memory_bytes
        if all(sizes) and size and memory and size < memory:
            yield PAGE_CACHE.warning(
                f"the I/O is buffered, and its {format_bytes(size)} fit in "
                f"{format_bytes(memory)} of memory",
                advice="use direct=1, or files of twice the memory",
            )


def _missing_bytes(
    direction: Direction, moved: Mapping[Direction, int], device: int | None, *, buffered: bool
) -> Iterator[Warning]:
    by_fio = moved.get(direction, 0)
    if not by_fio or device is None or device >= ALL * by_fio:
        return
    share = f"{format_bytes(device)} of {format_bytes(by_fio)} ({percent(device / by_fio)})"
    if buffered:
        done = "read from" if direction == "read" else "written to"
        words = f"only {share} were {done} the device: the page cache served the rest"
        yield PAGE_CACHE.warning(words)
    else:
        words = f"only {share} were read from the device although the I/O is direct"
        yield UNWRITTEN.warning(words)


def _missing(way: Way, count: DeviceCount, *, is_direct: bool | None) -> Iterator[Warning]:
    """The doubt in I/O that the device's own count lacks."""
    share = count.share
    if share is None and count.of_all is not None and count.of_all < ALL - count.unseen:
        yield PAGE_CACHE.warning(
            f"over all steps the device did {count.words} ({percent(count.of_all)}): the rest "
            f"never reached it"
        )
    if share is None and way == "read" and (count.gathered_bytes or 0) > _LONGEST_AHEAD:
        each = format_bytes(count.gathered_bytes or 0)
        yield PAGE_CACHE.warning(
            f"the device did {count.requests:,} requests for {count.ios:,} reads: that would be "
            f"{each} each, but the kernel reads 128 KiB ahead, so memory may have answered"
        )
    if share is None or share >= ALL:
        return
    words = f"the device did only {count.words} ({percent(share)})"
    if is_direct is None:
        others = ("memory", *(("blocks never written",) if way == "read" else ()))
        others += () if count.requests else ("a device that is not listed (on a network)",)
        did = "took" if way == "write" else "answered"
        rest = f"{', or '.join(others)}{',' if len(others) > 1 else ''} {did}"
        yield PAGE_CACHE.warning(
            f"{words}: {rest} the rest",
            advice="check that the job had direct=1 and that every block it read had been written",
        )
    elif not is_direct:
        yield PAGE_CACHE.warning(f"{words}: the page cache served the rest")
    elif way == "read":
        yield UNWRITTEN.warning(f"{words} although the I/O is direct")


def memory_doubts(case: Case) -> Iterator[Warning]:
    """A target that lies in memory."""
    facts = case.facts
    place = facts.mount.fstype if facts.mount else None
    if place not in ("tmpfs", "ramfs"):
        place = facts.disk.name if facts.disk and _MEMORY_DISK.match(facts.disk.name) else None
    if place:
        yield NOT_A_DISK.warning(f"the target is on {place}, which is memory and not a disk")


def too_fast_doubts(case: Case) -> Iterator[Warning]:
    """A doubt in what no disk does, whatever it is."""
    step, rows, output, options = case.step, case.rows, case.output, case.options
    if step.role == "canary":
        return
    idle = next((o for o in options if o.get("ioengine") in ("null", "cpuio")), None)
    if idle is not None:
        yield NOT_A_DISK.warning(f"fio's {idle['ioengine']} engine does no I/O")
        return
    hosts = len({job.host for job in output.jobs}) or 1
    one_by_one = all(
        is_direct(job, output, case.sections) is False
        and of_job.get("ioengine") == "libaio"
        and rw_of(of_job) == "randread"
        for job, of_job in case.jobs
    )
    if one_by_one and step.page_cache != "keep":
        yield from _sooner_than_a_disk(rows)
    if any(of_job.get("ioengine") in _MEMORY_ENGINES for of_job in options):
        yield from beyond_a_disk(rows, hosts=hosts, least_ns=0)
        return
    single = all(is_set(o, "direct") or (rw_of(o) or "").startswith("rand") for o in options)
    yield from beyond_a_disk(rows, hosts=hosts, least_ns=_CALL_NS if single else COPY_NS)


def _sooner_than_a_disk(rows: Sequence[Measurement]) -> Iterator[Warning]:
    """A doubt in reads at random that Linux started one by one, whatever depth fio counts."""
    for row in rows:
        each_ns = row.jobs / row.iops * NS_PER_S if row.iops else _SOONEST_NS
        if row.scope == "step" and row.direction == "read" and each_ns < _SOONEST_NS:
            yield NOT_A_DISK.warning(
                f"each buffered random read took {each_ns / 1000:.1f} µs, faster than any disk: "
                f"memory answered",
                advice="use direct=1, or files of twice the memory",
            )


def beyond_a_disk(
    rows: Sequence[Measurement], *, hosts: int = 1, least_ns: float = COPY_NS
) -> Iterator[Warning]:
    """A doubt in rates or latencies of a step that no disk reaches, on so many hosts."""
    merged = [row for row in rows if row.scope == "step" and row.direction != "sync" and row.did_io]
    moved = sum(row.bytes_per_s or 0.0 for row in merged)
    if moved > hosts * _BUS_BYTES_PER_S:
        yield NOT_A_DISK.warning(
            f"{format_mb_per_s(moved)} MB/s is more than any bus of a machine carries "
            f"({format_mb_per_s(_BUS_BYTES_PER_S)} MB/s)"
        )
        return
    for row in merged:
        mean = row.lat_mean_ns
        if mean is not None and 0 < mean < least_ns:
            yield NOT_A_DISK.warning(
                f"a {row.direction} took {mean:.0f} ns, less than a system call: no disk did it"
            )
            return
