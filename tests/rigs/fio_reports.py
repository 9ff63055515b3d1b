"""fio's reports of loads with known figures, in the forms in which people keep them: text with its
head and without, JSON with options and without, terse lines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from diskbench.fio.histogram import PLAT_BITS

_UNITS = ("", "k", "M", "G", "T", "P")


@dataclass(frozen=True)
class Told:
    """One fio job: its load, what it reached, and what its process did besides. `iops` is that of
    each direction of its pattern, `mean_us` the mean of its latency (None: as Little's law has it),
    `options` what else was given; `more` are I/Os of which only the bytes are counted."""

    rw: str = "randread"
    block: int = 4096
    depth: int = 32
    iops: float = 3000.0
    seconds: float = 60.0
    engine: str = "libaio"
    jobs: int = 1
    name: str = "job"
    group: int = 0
    pid: int = 100
    mean_us: float | None = None
    options: Mapping[str, str] | None = None
    more: int = 0

    @property
    def directions(self):
        """The directions of its pattern."""
        kind = self.rw.removeprefix("rand")
        return ("read", "write") if kind in ("rw", "readwrite") else (kind,)

    @property
    def ios(self):
        return round(self.iops * self.seconds)

    @property
    def bytes(self):
        return (self.ios + self.more) * self.block

    @property
    def mean_ns(self):
        if self.mean_us is not None:
            return self.mean_us * 1000
        return self.depth * self.jobs / self.iops / len(self.directions) * 1e9


@dataclass(frozen=True)
class Disk:
    """The kernel's counters of one disk; `of` are the names of the disks below it."""

    name: str = "nvme1n1"
    reads: int = 0
    writes: int = 0
    read_merges: int = 0
    write_merges: int = 0
    read_bytes: int | None = None
    write_bytes: int | None = None
    util: float = 99.0
    of: tuple[str, ...] = ()


def text(jobs, disks=(), *, head=True, version="3.33"):
    lines = [*(_head(jobs, version) if head else ()), ""]
    for job in jobs:
        lines += _results(job)
    lines += ["", "Run status group 0 (all jobs):", "   READ: bw=1MiB/s"]
    if disks:
        lines += ["", "Disk stats (read/write):", *map(_disk_line, disks)]
    return "\n".join(lines) + "\n"


without_head = partial(text, head=False)


def as_json(jobs, disks=(), *, options=True):
    root = {
        "fio version": "fio-3.36", "timestamp_ms": 1_790_000_000_000 + 61_000 * jobs[0].pid,
        "jobs": [_entry(job, options=options) for job in jobs],
    }  # fmt: skip
    if disks:
        root["disk_util"] = [_use(disk) for disk in disks]
    return json.dumps(root)


def terse(jobs, disks=()):
    counted = "".join(
        f";{d.name};{d.reads};{d.writes};{d.read_merges};{d.write_merges};0;0;0;{d.util:.2f}%"
        for d in disks
    )
    return "".join(_terse_line(job) + counted + "\n" for job in jobs)


FORMS = {
    "text": text,
    "text without head": without_head,
    "json": as_json,
    "json without options": partial(as_json, options=False),
    "terse": terse,
}


def _head(jobs, version):
    lines = []
    for job in jobs:
        size = _number(job.block, 1024)
        sizes = ", ".join(f"({way}) {size}B-{size}B" for way in "RWT")
        lines.append(
            f"{job.name}: (g={job.group}): rw={job.rw}, bs={sizes}, ioengine={job.engine}, "
            f"iodepth={job.depth}"
        )
    return [*lines, f"fio-{version}", f"Starting {sum(job.jobs for job in jobs)} processes"]


def _results(job):
    ids = f"groupid={job.group}, jobs={job.jobs}"
    lines = [f"{job.name}: ({ids}): err= 0: pid={job.pid}: Mon Jan  5 10:00:00 2026"]
    rate = job.bytes / job.seconds
    rates = f"BW={_number(rate, 1024)}B/s ({_number(rate, 1000)}B/s)"
    moved = f"({_number(job.bytes, 1024)}B/{job.seconds * 1000:.0f}msec)"
    ends = f"min={job.mean_ns / 2000:.0f}, max={job.mean_ns / 250:.0f}"
    for way in job.directions:
        lines.append(f"  {way}: IOPS={_number(job.iops, 1000)}, {rates}{moved}")
        lines.append(f"     lat (usec): {ends}, avg={job.mean_ns / 1000:.2f}, stdev=10.00")
    counts = ",".join(
        str(job.ios if way in job.directions else 0) for way in ("read", "write", "trim")
    )
    return [
        *lines,
        "  cpu          : usr=1.00%, sys=3.00%, ctx=20000, majf=0, minf=10",
        f"     issued rwts: total={counts},0 short=0,0,0,0 dropped=0,0,0,0",
    ]


def _disk_line(disk):
    sectors = ""
    if disk.read_bytes is not None and disk.write_bytes is not None:
        sectors = f", sectors={disk.read_bytes // 512}/{disk.write_bytes // 512}"
    counts = (
        f"ios={disk.reads}/{disk.writes}{sectors}, merge={disk.read_merges}/{disk.write_merges}, "
        f"ticks=1/0, in_queue=1, util={disk.util:.2f}%"
    )
    if not disk.of:
        return f"  {disk.name}: {counts}"
    below = f"aggrios={disk.reads}/{disk.writes}, aggrmerge=0/0, aggrticks=1/0, aggrin_queue=1"
    return f"    {disk.name}: {counts}, {below}, aggrutil={disk.util:.2f}%"


def _entry(job, *, options):
    latency = {
        "min": round(job.mean_ns / 2), "max": round(job.mean_ns * 4), "mean": job.mean_ns,
        "stddev": job.mean_ns / 9, "N": job.ios,
    }  # fmt: skip
    stats = {
        "io_bytes": job.bytes, "io_kbytes": job.bytes // 1024, "total_ios": job.ios,
        "bw_bytes": round(job.bytes / job.seconds), "iops": job.ios / job.seconds,
        "runtime": round(job.seconds * 1000), "clat_ns": latency, "lat_ns": latency,
    }  # fmt: skip
    entry = {
        "jobname": job.name, "groupid": job.group, "error": 0, "elapsed": int(job.seconds) + 1,
        "job_runtime": round(job.seconds * 1000) * job.jobs, "usr_cpu": 1.0, "sys_cpu": 3.0,
    } | dict.fromkeys(job.directions, stats)  # fmt: skip
    if options:
        entry["job options"] = {
            "name": job.name, "rw": job.rw, "bs": str(job.block), "iodepth": str(job.depth),
            "ioengine": job.engine, **({"numjobs": str(job.jobs)} if job.jobs > 1 else {}),
            **(job.options if job.options is not None else {"direct": "1"}),
        }  # fmt: skip
    return entry


def _use(disk):
    use = {
        "name": disk.name, "read_ios": disk.reads, "write_ios": disk.writes,
        "read_merges": disk.read_merges, "write_merges": disk.write_merges, "read_ticks": 1,
        "write_ticks": 0, "in_queue": 1, "util": disk.util,
    }  # fmt: skip
    if disk.read_bytes is not None and disk.write_bytes is not None:
        use |= {
            "read_sectors": disk.read_bytes // 512, "write_sectors": disk.write_bytes // 512,
        }  # fmt: skip
    if disk.of:
        use |= {
            "aggr_read_ios": disk.reads, "aggr_write_ios": disk.writes, "aggr_read_merges": 0,
            "aggr_write_merge": 0, "aggr_read_ticks": 1, "aggr_write_ticks": 0,
            "aggr_in_queue": 1, "aggr_util": disk.util,
        }  # fmt: skip
    return use


def _terse_line(job):
    def fields(way):
        if way not in job.directions:
            times = ["0", "0", "0.000000", "0.000000"]
            rates = ["0", "0", "0.000000%", "0.000000", "0.000000"]
            return [*["0"] * 4, *times, *times, *["0%=0"] * 20, *times, *rates]
        micro = [f"{job.mean_ns / 2000:.0f}", f"{job.mean_ns / 250:.0f}"]
        means = [f"{job.mean_ns / 1000:.6f}", "10.000000"]
        rate = job.bytes / job.seconds / 1024
        return [
            str(job.bytes // 1024), str(int(rate)), str(int(job.iops)),
            str(round(job.seconds * 1000)), "0", "0", "0.000000", "0.000000", *micro, *means,
            *["0%=0"] * 20, *micro, *means, str(int(rate)), str(int(rate)), "100.000000%",
            f"{rate:.6f}", "0.000000",
        ]  # fmt: skip

    start = ["3", "fio-3.33", job.name, str(job.group), "0"]
    cpu = ["1.000000%", "3.000000%", "20000", "0", "10"]
    shares = ["0.0%"] * 29
    return ";".join([*start, *fields("read"), *fields("write"), *cpu, *shares])


def _number(value, base):
    """A figure as fio prints it: four digits and a unit (lib/num2str.c)."""
    power = 0
    while round(value) >= 10_000 and power < len(_UNITS) - 1:
        value, power = value / base, power + 1
    unit = _UNITS[power]
    infix = "i" if base == 1024 and unit else ""
    unit = "K" if infix and unit == "k" else unit
    if power and value < 1000:
        return f"{value:.{1 if value >= 100 else 2}f}"[:5].rstrip(".") + unit + infix
    return f"{value:.0f}{unit}{infix}"


def bucket_index(value_ns):
    """The number of the bucket that fio counts a latency in (stat.c, plat_val_to_idx)."""
    error_bits = max(value_ns.bit_length() - 1 - PLAT_BITS, 0)
    if error_bits == 0:
        return value_ns
    return ((error_bits + 1) << PLAT_BITS) + ((value_ns >> error_bits) & ((1 << PLAT_BITS) - 1))
