"""fio's normal output, as versions 1.x to 3.x print it (axboe/fio, stat.c: show_ddir_status).

version  a direction                                                  its units
3.x      read: IOPS=4418, BW=17.3MiB/s (18.1MB/s)(34.6MiB/2002msec)   KiB = 1,024, kB = 1,000
2.x      read : io=4096.0MB, bw=41384KB/s, iops=10346, runt=101350msec  KB = 1,024
1.x      the same with a blank after some figures (so does 2.0), KB or KiB for 1,024; no percentiles

fio before 3.26 loses a carry: it prints 11.0 for what rounds to 12.0 (lib/num2str.c; axboe/fio
#1117), in KiB or in kB, seldom in both. So of two bandwidths the one counts that bytes and run time
make.

Bytes are printed with three to five digits. Where the job has one block size, and the I/Os that fio
counts (`issued`) times it round to what is printed, that product is the bytes. The time that fio
prints has no time zone, so it is a note and no date.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from diskbench.fio.declared import common
from diskbench.fio.reported import (
    ALL_CLIENTS,
    HOST,
    MOST_RUNS,
    DirectionStats,
    FioJob,
    FioOutput,
    ReportedLatency,
    unreadable,
    without_sum,
)
from diskbench.fio.text_head import DISKS, TextBlock, TextProcess, begins, disk_of, in_bytes, real
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction
from diskbench.visible import UNKNOWN

RESULT = re.compile(
    r"^(?P<name>[^\n]{0,500}?): \(groupid=(?P<group>\d{1,9}), jobs=(?P<jobs>\d{1,9})\): "
    r"err= ?(?P<error>\d{1,9})[^\n]{0,200}?pid=(?P<pid>\d{1,18})"
    r"(?:: (?P<time>\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}))?",
    re.MULTILINE,
)
"""The line with which fio begins the results of a job, in both forms."""
_DIRECTION = re.compile(r" {1,3}(?P<name>read|write|trim|mixed) ?: (?P<rest>(?:io=|IOPS=).*)")
_NEW = re.compile(
    r"IOPS=(?P<iops>[\d.]+)(?P<iops_unit>[kKMG]?), "
    r"BW=(?P<bw>[\d.]+)(?P<bw_unit>[kKMGTP]?i?)(?:B/s)? "  # the sum of clients has no B/s
    r"(?:\((?P<mb>[\d.]+)(?P<mb_unit>[kKMGTP]?i?)(?:B/s)?\))?.*?"
    r"\((?P<io>[\d.]+)(?P<io_unit>[kKMGTP]?i?B)/(?P<ms>\d+)msec\)"
)
_COMMAS = r"[\d.]+(?:,\d{3})*"
"""fio 1 may separate thousands."""
_OLD = re.compile(
    rf"io= *(?P<io>{_COMMAS})(?P<io_unit>[kKMGTP]?i?B) ?, "
    rf"bw= *(?P<bw>{_COMMAS})(?P<bw_unit>[kKMGTP]?i?B)/s ?, "
    rf"(?:iops= *(?P<iops>{_COMMAS})(?P<iops_unit>[kKMG]?) ?, )?runt= *(?P<ms>\d+) ?msec"
)
_LATENCY = re.compile(
    r" +(?P<kind>[sc]?lat|sync) ?\((?P<unit>[num]?sec)\) ?: min= *(?P<min>[\d.]+[kKMG]?) ?, "
    r"max= *(?P<max>[\d.]+[kKMG]?) ?, +avg= *(?P<avg>[\d.]+[kKMG]?) ?, "
    r"stdev= *(?P<stdev>[\d.]+[kKMG]?)"
)
_PERCENTILES = re.compile(r" +(?P<kind>[sc]?lat|sync) percentiles \((?P<unit>[num]?sec)\) ?:")
_SYNCS = re.compile(r" {1,3}fsync/fdatasync/sync_file_range ?:")
_PERCENTILE = re.compile(r"(?P<percent>\d{1,3}\.\d{1,8})th=\[ *(?P<value>\d{1,18})\]")
_CPU = re.compile(r" +cpu +: usr=(?P<usr>[\d.]+)%, sys=(?P<sys>[\d.]+)%, ctx=(?P<ctx>\d{1,18}),")
_DEPTHS = re.compile(r" +IO depths +: (?P<levels>1=[\d.]+%.*)")
_LEVEL = re.compile(r"(?P<depth>\d{1,2})=(?P<percent>[\d.]{1,6})%")
_ISSUED = re.compile(
    r" +issued ?(?:rwts?|r/w(?:/d)?)? *: total=(?P<total>[\drwd=/,]+?),? "
    r"short=(?P<short>[\drwd=/,]+)"
)
_NS: Final = {"nsec": 1.0, "usec": 1e3, "msec": 1e6, "sec": 1e9}
_THOUSANDS: Final = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
_POSITIONS: Final[tuple[Direction, ...]] = ("read", "write", "trim")
_LONGEST_LINE: Final = 4096
_NUMBERS: Final = re.compile(r"\d{1,18}")
_TIME: Final = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"
    r"(?:[ \t]{1,2}|$)"
)
_MOST_TIMED: Final = 0.9


def parse_text(data: bytes, *, where: str) -> tuple[FioOutput, ...]:
    """What each fio in the text reports, in order: a file may hold the output of several.

    Raises FioOutputUnreadable where no job has results, or a figure cannot be.
    """
    text = data.decode("utf-8", errors="replace").replace("\0", UNKNOWN)
    lines = [HOST.sub("", line, count=1) for line in unindented(without_times(text.splitlines()))]
    outputs: list[FioOutput] = []
    for part in _processes(lines):
        outputs += _outputs(part, where)
        if len(outputs) > MOST_RUNS:
            raise unreadable(where, "text", f"it holds more than {MOST_RUNS:,} runs")
    if not outputs:
        raise unreadable(where, "text", "no job in it has results")
    return tuple(outputs)


def without_times(lines: Sequence[str]) -> Sequence[str]:
    """The lines without the time that the log of a CI job writes before each; as they are where
    most lines do not begin with one."""
    filled = [line for line in lines if line.strip()]
    timed = sum(_TIME.match(line) is not None for line in filled)
    if not filled or timed < _MOST_TIMED * len(filled):
        return lines
    width = min(match.end() for line in filled if (match := _TIME.match(line)))
    return [line[width:] if _TIME.match(line) else line for line in lines]


def unindented(lines: Iterable[str]) -> Iterator[str]:
    """The lines without the blanks that stand before the head or the results above them, as in the
    code of a page of Markdown."""
    blanks = ""
    for line in lines:
        if len(line) <= _LONGEST_LINE and (RESULT.match(line) or begins(line)):
            blanks = line[: len(line) - len(line.lstrip())]
        yield line.removeprefix(blanks)


def _processes(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each fio process. The lines that describe its jobs come before its version, and
    after the sum of all clients nothing does."""
    part: list[str] = []
    has_results = summed = False
    for line in lines:
        if len(line) > _LONGEST_LINE:
            continue
        result = RESULT.match(line)
        if (has_results and begins(line)) or (summed and result):
            yield part
            part, has_results, summed = [], False, False
        part.append(line)
        if result:
            has_results, summed = True, summed or result["name"] == ALL_CLIENTS
    yield part


def _outputs(lines: Sequence[str], where: str) -> Iterator[FioOutput]:
    """What the process of these lines reports; several where their heads were left out."""
    process = TextProcess()
    local: dict[str, str] = {}
    for line in lines:
        if match := RESULT.match(line):
            if len(process.now) >= JOBS:
                raise unreadable(where, "text", f"fio reports at most {JOBS:,} jobs")
            process.summed = process.summed or match["name"] == ALL_CLIENTS
            block = _block(match, process, where)
            process.now.append(block)
            local[block.pid] = match["time"] or local.get(block.pid, "")
        elif process.read_head(line):
            continue
        elif line.startswith("Run status group 0 ") or DISKS.match(line):
            process.close(where)
            process.disks[len(process.closed)] = []
        elif disk := disk_of(line):
            process.disks.setdefault(len(process.closed), []).append(disk)
        elif process.now:
            _line(process.now[-1], line)
    for number, (passes, blocks) in enumerate(process.all(where), 1):
        jobs = [job for block in blocks if (job := _job(block)).directions]
        if not jobs:
            continue
        jobs = [replace(job, index=index) for index, job in enumerate(jobs)]
        yield FioOutput(
            where=where, version=process.version, jobs=without_sum(jobs, where=where), options={},
            lists_options=False, timeless=True,
            disks=() if process.servers else tuple(process.disks.get(number, ())),
            notes=process.notes(passes), reports="; ".join(process.notes(passes)),
            local_time=" ".join(local[blocks[-1].pid].split()) or None,
        )  # fmt: skip


def _block(match: re.Match[str], process: TextProcess, where: str) -> TextBlock:
    group, jobs = int(match["group"]), int(match["jobs"])
    known = dict(process.options.get((match["name"], group), {}))
    if jobs > 1:  # a group: its other sections have their lines in the head
        sections = [
            of_job for (_, of_group), of_job in process.options.items() if of_group == group
        ]
        known = {**common(sections or [{}]), "numjobs": str(jobs), "group_reporting": "1"}
    if jobs > JOBS:
        raise unreadable(where, "text", f"{jobs:,} jobs in one group")
    job = FioJob(match["name"], 0, group, int(match["error"]), known, {})
    about = f"{where}: job {match['name'][:60]}"
    return TextBlock(job, match["pid"], about, drops_carry=process.drops_carry)


def _line(block: TextBlock, line: str) -> None:
    if match := _DIRECTION.match(line):
        block.now = cast("Direction", match["name"])
        block.percentiles = None
        _direction(block, match["rest"])
    elif _SYNCS.match(line):
        block.now, block.percentiles = "sync", None
        block.stats["sync"] = DirectionStats(ios=0, bytes=0, runtime_ns=0, counted=False)
    elif match := _LATENCY.match(line):
        _latency(block, match)
    elif match := _PERCENTILES.match(line):
        block.percentiles = (match["kind"], _NS[match["unit"]])
    elif match := _CPU.match(line):
        block.now, block.percentiles = None, None
        block.job = replace(
            block.job,
            usr_cpu=real(match["usr"], block.where),
            sys_cpu=real(match["sys"], block.where),
            context_switches=int(match["ctx"]),
        )
    elif match := _DEPTHS.match(line):
        block.job = replace(block.job, depth_levels=_levels(match["levels"], block.where))
    elif match := _ISSUED.match(line):
        _issued(block, match)
    elif "th=[" in line and block.now and block.percentiles:
        _percentiles(block, line)


def _direction(block: TextBlock, line: str) -> None:
    match = _NEW.match(line) or _OLD.match(line)
    if match is None or block.now is None:
        raise unreadable(block.where, "text", f"{line[:80]!r} is not a line of figures")
    old = match.re is _OLD
    size = in_bytes(match["io"], match["io_unit"], 1024 if old else 1000, block.where)
    seconds = int(match["ms"][:18]) / 1000
    iops = real(match["iops"] or "0", block.where) * _THOUSANDS[match["iops_unit"] or ""]
    rate = in_bytes(match["bw"], match["bw_unit"], 1024 if old else 1000, block.where)
    if max(size, seconds * 1e9, rate, iops * seconds) > COUNTER:
        raise unreadable(block.where, "text", "it counts more than any disk does")
    if not old and match["mb"] and seconds:
        other = in_bytes(match["mb"], match["mb_unit"], 1000, block.where)
        rate = min(rate, other, key=lambda printed: abs(printed - size / seconds))
    unit = in_bytes("1", match["io_unit"], 1024 if old else 1000)
    last = _last_digit(match["io"], block)
    block.stats[block.now] = DirectionStats(
        ios=round(iops * seconds),
        bytes=round(size),
        runtime_ns=round(seconds * 1e9),
        counted=False,  # until the line `issued` says how many
        iops=iops if match["iops"] else None,
        bytes_per_s=rate,
        rounding=math.ceil(unit * last),
        rate_off=max(
            _last_digit(match[name], block) / 2 / real(match[name], block.where)
            for name in ("iops", "bw")
            if match[name] and float(match[name].replace(",", ""))
        )
        if iops and rate
        else 0.0,
    )


def _levels(text: str, where: str) -> Mapping[int, float]:
    """Depth → percent of the I/Os; with a ramp fio counts more than 100 of them."""
    levels = {int(m["depth"]): real(m["percent"], where) for m in _LEVEL.finditer(text)}
    most = max(sum(levels.values()), 100.0)
    return {depth: percent * 100 / most for depth, percent in levels.items()}


def _last_digit(number: str, block: TextBlock) -> float:
    """What the last printed digit of a figure counts; all of one where a carry may be lost."""
    decimals = number.partition(".")[2]
    return 1.0 if block.drops_carry and not decimals.strip("0") else 10.0 ** -len(decimals)


def _latency(block: TextBlock, match: re.Match[str]) -> None:
    if block.now is None or block.now not in block.stats:
        return
    scale = _NS[match["unit"]]
    least, most, mean, stddev = (
        real(match[name].rstrip("kKMG"), block.where)
        * _THOUSANDS[match[name][len(match[name].rstrip("kKMG")) :]]
        * scale
        for name in ("min", "max", "avg", "stdev")
    )
    # fio rounds the extremes to six digits and the mean to two decimals of its unit
    if max(least, most, mean, stddev) > COUNTER or least > mean + scale or mean > most + scale:
        raise unreadable(block.where, "text", f"{match[0].strip()[:80]!r} is not a latency")
    stats = block.stats[block.now]
    latency = ReportedLatency(stats.ios, round(least), round(most), mean, stddev)
    block.stats[block.now] = _with(stats, match["kind"], latency)


def _with(stats: DirectionStats, kind: str, latency: ReportedLatency) -> DirectionStats:
    if kind in ("lat", "sync"):
        return replace(stats, lat=latency)
    return replace(stats, clat=latency) if kind == "clat" else replace(stats, slat=latency)


def _percentiles(block: TextBlock, line: str) -> None:
    assert block.now is not None and block.percentiles is not None  # noqa: PT018
    kind, scale = block.percentiles
    stats = block.stats.get(block.now)
    latency = getattr(stats, "lat" if kind == "sync" else kind) if stats else None
    if stats is None or latency is None:
        return
    more = {float(m["percent"]): round(int(m["value"]) * scale) for m in _PERCENTILE.finditer(line)}
    if any(value > COUNTER for value in more.values()):
        cause = f"{line.strip()[:80]!r} holds an impossible latency"
        raise unreadable(block.where, "text", cause)
    longer = replace(latency, percentiles={**latency.percentiles, **more})
    block.stats[block.now] = _with(stats, kind, longer)


def _issued(block: TextBlock, match: re.Match[str]) -> None:
    totals = [int(n) for n in _NUMBERS.findall(match["total"])]
    shorts = [int(n) for n in _NUMBERS.findall(match["short"])]
    for place, direction in enumerate(_POSITIONS):
        stats = block.stats.get(direction)
        if stats is None or place >= len(totals) or totals[place] > COUNTER:
            continue
        short = shorts[place] if place < len(shorts) else 0
        block.stats[direction] = replace(
            stats, ios=totals[place], counted=True, short_ios=min(short, COUNTER)
        )
    if "sync" in block.stats:
        _count_syncs(block, totals, shorts)


def _count_syncs(block: TextBlock, totals: Sequence[int], shorts: Sequence[int]) -> None:
    """The syncs that were timed: those that fio counts as syncs, which are fsyncs, and those that
    it counts as short I/Os of reads and writes, which are others (fio/reported.py). Where there
    are both, a short I/O may be one; only more short I/Os than I/Os are known to be syncs."""
    fsyncs = totals[3] if len(totals) > 3 else 0
    hidden = 0
    for place, direction in enumerate(_POSITIONS[:2]):
        short = shorts[place] if place < len(shorts) else 0
        known = short if not fsyncs else max(0, short - totals[place]) if place < len(totals) else 0
        hidden += known
        if direction in block.stats:
            block.stats[direction] = replace(block.stats[direction], short_ios=short - known)
    count = fsyncs + hidden
    if 0 < count <= COUNTER:
        block.stats["sync"] = replace(block.stats["sync"], ios=count, counted=True)


def _job(block: TextBlock) -> FioJob:
    """The job with the bytes that its I/Os make, where that is what is printed. Syncs that are not
    counted are taken to be as many as the writes, which weighs them and is not shown."""
    sizes = block.job.options.get("bs", "").split(",")
    sync = block.stats.pop("sync", None)
    if sync is not None and sync.lat is not None:
        ios = sync.ios or max(sum(s.ios for s in block.stats.values()), 1)
        block.stats["sync"] = replace(sync, ios=ios, lat=replace(sync.lat, samples=ios))
    for place, direction in enumerate(_POSITIONS):
        stats = block.stats.get(direction)
        if stats is None:
            continue
        for kind in ("lat", "clat", "slat"):
            if (latency := getattr(stats, kind)) is not None:
                stats = _with(stats, kind, replace(latency, samples=stats.ios))
        size = sizes[place] if place < len(sizes) else sizes[-1]
        exact = stats.ios * int(size) if size.isdecimal() and stats.counted else None
        if exact and not stats.short_ios and abs(exact - stats.bytes) <= stats.rounding:
            stats = replace(stats, bytes=exact, rounding=0)
        block.stats[direction] = stats
    return replace(block.job, directions=dict(block.stats))
