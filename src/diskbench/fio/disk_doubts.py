"""Whether a disk did the I/O of a step, or something else answered: the page cache, a filesystem
for blocks that were never written (or trimmed), memory, or nothing at all (docs/METHOD.md:
`page-cache`, `unwritten`, `not-a-disk`).

What the device moved is known from the samples beside fio, else from what fio itself counted of it
(fio/device.py). The thresholds are our choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diskbench.fio.declared import Case, is_direct, is_set, rw_of
from diskbench.fio.device import DeviceCount, Way, device_counts
from diskbench.fio.numbers import bytes_of
from diskbench.model.doubts import NOT_A_DISK, PAGE_CACHE, UNWRITTEN
from diskbench.model.processor import percent
from diskbench.model.result import Direction, Measurement, Warning  # noqa: A004 - the field's word
from diskbench.units import KIB, NS_PER_S, format_bytes, format_mb_per_s

DEVICE_SHARE = 0.95
_MEMORY_FILESYSTEMS = ("tmpfs", "ramfs")
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
                f"the I/O is buffered, and its {format_bytes(size)} fit into "
                f"{format_bytes(memory)} of memory",
                advice="use direct=1, or files of twice the memory",
            )


def _missing_bytes(
    direction: Direction, moved: Mapping[Direction, int], device: int | None, *, buffered: bool
) -> Iterator[Warning]:
    by_fio = moved.get(direction, 0)
    if not by_fio or device is None or device >= DEVICE_SHARE * by_fio:
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
    if share is None and count.of_all is not None and count.of_all < DEVICE_SHARE - count.unseen:
        yield PAGE_CACHE.warning(
            f"of all steps together the device did {count.words} ({percent(count.of_all)}): some "
            "of it never reached it"
        )
    if share is None and way == "read" and (count.gathered_bytes or 0) > _LONGEST_AHEAD:
        each = format_bytes(count.gathered_bytes or 0)
        yield PAGE_CACHE.warning(
            f"the device did {count.requests:,} requests for {count.ios:,} reads, of {each} if "
            "it did all, where the kernel reads 128 KiB ahead: memory may have answered"
        )
    if share is None or share >= DEVICE_SHARE:
        return
    words = f"the device did only {count.words} ({percent(share)})"
    if is_direct is None:
        others = ("memory", *(("blocks never written",) if way == "read" else ()))
        others += () if count.requests else ("a device that is not listed (of a network)",)
        did = "took" if way == "write" else "answered"
        rest = f"{', or '.join(others)}{',' if len(others) > 1 else ''} {did}"
        yield PAGE_CACHE.warning(
            f"{words}: {rest} the rest",
            advice="check whether the job had direct=1, and whether all that it read was written",
        )
    elif not is_direct:
        yield PAGE_CACHE.warning(f"{words}: the page cache served the rest")
    elif way == "read":
        yield UNWRITTEN.warning(f"{words} although the I/O is direct")


def memory_doubts(case: Case) -> Iterator[Warning]:
    """A target that lies in memory."""
    facts = case.facts
    place = facts.mount.fstype if facts.mount else None
    if place not in _MEMORY_FILESYSTEMS:
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
                f"each buffered random read took {each_ns / 1000:.1f} µs, sooner than any disk: "
                "memory answered",
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
            f"{format_mb_per_s(moved)} MB/s pass no bus of a machine "
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
