"""Tools that print a line a figure or a test: sysbench, pg_test_fsync, elbencho, vdbench.

What `sysbench fileio run` prints, 0.4.12 to 1.0: rates of reads, writes and fsyncs, and one
latency of all events together.

    1.0   reads/s: 9693.18    read, MiB/s: 37.86    total time: 3.0001s    avg: 0.10 (ms)
    0.4   Operations performed:  6000 Read, 4000 Write, 128 Other = 10128 Total    avg: 6.81ms

Each output is a run of one step: what it says of flags, mode, block and threads is its load. The
latency is shown where all events are of one direction: sysbench counts its fsyncs among them.

What PostgreSQL's pg_test_fsync prints: how many times a second a write and its sync end.

            fdatasync                           151.638 ops/sec    6595 usecs/op
     4 *  4kB open_sync writes                   42.086 ops/sec   23761 usecs/op

An operation of the first test is a write of 8 kB and its sync, of the second two writes and one
sync; the third writes 16 kB in pieces, each with its sync. A step's I/Os are its writes. The time
of an operation is the latency of its write where it has one. Writes without a sync stay in memory:
they are left out. (PostgreSQL, src/bin/pg_test_fsync/pg_test_fsync.c.)

elbencho --csvfile (github.com/breuner/elbencho), a line for each operation, of which READ and WRITE
do I/O; its MiB are 2^20 bytes. The figures of "last done" count: those until the slowest thread
had ended. Each line is a run of one step, whose load its columns say. Its date has no time zone.

vdbench's totals: the `avg_` lines of its summary, log and screen, and of its flatfile.

MB/sec are 2^20 bytes (the header says 1024**2), response times ms. There is no count of I/Os. The
run time is what the intervals of the line take, where `elapsed` says how long one is: elapsed by
the last interval. The clock of the log has no time zone.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from diskbench.errors import InvalidValue
from diskbench.importers import form
from diskbench.model.result import Direction, Measurement
from diskbench.units import GIB, KIB, MIB, NS_PER_S

_BEGIN: Final = re.compile(r"^sysbench (?P<version>\d[\w.]{0,20}).*$|^Running the test with", re.M)
_MODES: Final = (
    ("random r/w", "randrw"), ("random read", "randread"), ("random write", "randwrite"),
    ("sequential read", "read"), ("sequential write", "write"), ("sequential rewrite", "write"),
)  # fmt: skip
_BLOCK_SIZE: Final = re.compile(r"^Block size (?P<size>\d{1,9})(?P<unit>[KMG]?)i?[Bb]?\s*$", re.M)
_RATE: Final = re.compile(r"^\s*(?P<what>reads|writes|fsyncs)/s: +(?P<rate>[\d.]{1,20})", re.M)
_MIB: Final = re.compile(r"^\s*(?P<what>read|written), MiB/s: +(?P<rate>[\d.]{1,20})", re.M)
_COUNTS: Final = re.compile(
    r"Operations performed: +(?P<reads>\d{1,15}) [Rr]eads?, (?P<writes>\d{1,15}) [Ww]rites?, "
    r"(?P<others>\d{1,15}) [Oo]ther"
)
_TIME: Final = re.compile(r"^\s*total time: +(?P<seconds>[\d.]{1,20})s", re.M)
_LATENCY: Final = re.compile(r"^\s*(?P<what>min|avg|max): +(?P<ms>[\d.]{1,20})(?:ms)?\s*$", re.M)
_THREADS: Final = re.compile(r"^Number of threads: (?P<threads>\d{1,6})", re.M)
_FLAGS: Final = re.compile(r"^Extra file open flags: (?P<flags>.{1,80})$", re.M)
_UNITS: Final = {"": 1, "K": KIB, "M": MIB, "G": GIB}
_SYNCED: Final = "Calling fsync() at the end of test, Enabled"
_O_DIRECT: Final = 0o40000
_OFF = 0.02
"""Both rates and MiB/s are rounded to two decimals."""
_NS_PER_MS = NS_PER_S / 1000
_FIELDS: Final = {"min": "lat_min_ns", "avg": "lat_mean_ns", "max": "lat_max_ns"}


def read_sysbench(data: bytes, name: str) -> form.Imported:
    """Each output of sysbench in the text as a run. Raises InvalidValue."""
    text = form.text_of(data, name)
    version = next((m["version"] for m in _BEGIN.finditer(text) if m["version"]), "unknown")
    found = (part for part in _parts(text) if _TIME.search(part) and _mode(part))
    parts = form.some(found, name, "result of sysbench fileio")
    runs = tuple(
        form.ImportedRun((_sysbench_step(part, f"{name}: result {at + 1}"),))
        for at, part in enumerate(parts)
    )
    return form.Imported("sysbench", version, runs)


def _parts(text: str) -> Iterator[str]:
    begins = [m.start() for m in _BEGIN.finditer(text) if m["version"] is None] or [0]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        yield text[begin:end]


def _mode(part: str) -> str | None:
    doing = re.search(r"^Doing (?P<mode>.{1,60}) test", part, re.M)
    return next((rw for words, rw in _MODES if doing and doing["mode"].startswith(words)), None)


def _sysbench_step(part: str, where: str) -> form.ImportedStep:
    sized = _BLOCK_SIZE.search(part)
    if sized is None:
        raise InvalidValue(f"{where}: the line with its block size is missing")
    rw, block = _mode(part) or "", int(sized["size"]) * _UNITS[sized["unit"]]
    found = _THREADS.search(part)
    threads = int(found["threads"]) if found else 1
    found = _FLAGS.search(part)
    flags = found["flags"].strip() if found else ""
    direct = int("direct" in flags or (flags.isdecimal() and int(flags) & _O_DIRECT > 0))
    job = f"[{rw}]\nioengine=psync\nrw={rw}\nbs={block}\nnumjobs={threads}\ndirect={direct}\n"
    step = form.step_of(0, rw, f"{job}{'end_fsync=1' if _SYNCED in part else ''}\n")
    time = _TIME.search(part)
    assert time is not None
    seconds = form.number(time["seconds"], where)
    rates = {m["what"]: form.number(m["rate"], where) for m in _RATE.finditer(part)}
    counts = _COUNTS.search(part)
    moved = {m["what"]: form.number(m["rate"], where) * MIB for m in _MIB.finditer(part)}
    latency = {}
    only_one = len([rate for rate in rates.values() if rate]) == 1
    if only_one or (counts and not int(counts["others"])):
        latency = {
            _FIELDS[m["what"]]: form.number(m["ms"], where) * _NS_PER_MS
            for m in _LATENCY.finditer(part)
        }
    rows: list[Measurement] = []
    ways: tuple[tuple[Direction, str, str], ...] = (
        ("read", "reads", "read"), ("write", "writes", "written"),
    )  # fmt: skip
    for way, events, size in ways:
        ios = int(counts[events]) if counts else None
        iops = ios / seconds if ios is not None and seconds else rates.get(events, 0.0)
        if not iops:
            continue
        if size in moved and abs(moved[size] - iops * block) > max(_OFF * moved[size], MIB / 100):
            raise InvalidValue(
                f"{where}: {iops:,.0f} {events} of {block:,} bytes a second are not "
                f"{moved[size] / MIB:,.2f} MiB/s"
            )
        rows.append(
            form.row(
                step=step, direction=way, where=where, ios=ios, seconds=seconds,
                iops=iops, bytes_per_s=iops * block, rw=rw, block=block, jobs=threads, depth=1,
                latency=latency if len(rows) == 0 and "rw" not in rw[-2:] else None,
            )
        )  # fmt: skip
    if not rows:
        raise InvalidValue(f"{where}: it read and wrote nothing")
    return form.ImportedStep(step, tuple(rows), compared=bool(moved))


SYSBENCH = form.Format(
    "sysbench",
    "sysbench fileio",
    form.shows("Doing ", "File operations:|Operations performed:"),
    read_sysbench,
)


_OPS: Final = re.compile(
    r"^[ \t]*(?P<name>\S.{0,60}?) {2,}(?P<ops>[\d.]{1,20}) ops/sec +(?P<us>[\d.]{1,20}) usecs/op"
)
_SIZED: Final = re.compile(r"(?P<writes>\d{1,4}) \* +(?P<kib>\d{1,6})kB (?P<method>\S+) writes?")
_SECONDS: Final = re.compile(r"^(?P<seconds>\d{1,6}) seconds? per test", re.M)
_TESTS: Final = (
    ("Compare file sync methods using one ", 1), ("Compare file sync methods using two ", 2),
    ("Test if fsync on non-write", 1),
)  # fmt: skip
_PG_BLOCK: Final = 8 * KIB
_NOT_SYNCED: Final = "Non-sync'ed"


def read_pg_test_fsync(data: bytes, name: str) -> form.Imported:
    """The tests in the text as steps of one run. Raises InvalidValue."""
    text = form.text_of(data, name)
    match = _SECONDS.search(text)
    seconds = float(match["seconds"]) if match else None
    steps = form.some(_tests(text, name, seconds), name, "test of pg_test_fsync")
    left = "its writes without a sync stay in memory and are left out"
    notes = (left,) if _NOT_SYNCED in text else ()
    return form.Imported("pg_test_fsync", "", (form.ImportedRun(steps, notes=notes, reports=left),))


def _tests(text: str, where: str, seconds: float | None) -> Iterator[form.ImportedStep]:
    writes, index = 0, 0
    for line in text.splitlines():
        heading = next((count for words, count in _TESTS if line.startswith(words)), None)
        if heading is not None:
            writes = heading
        elif line.startswith(("Compare", _NOT_SYNCED)):
            writes = 0
        match = _OPS.match(line)
        if match is None:
            continue
        sized = _SIZED.fullmatch(match["name"])
        if not writes and sized is None:
            continue
        count = int(sized["writes"]) if sized else writes
        block = int(sized["kib"]) * KIB if sized else _PG_BLOCK
        method = sized["method"] if sized else match["name"].replace(", ", "-")
        times = f"{count}x" if count > 1 else ""
        at = f"{where}: {match['name']}"
        each = "-each" if sized and count > 1 else ""  # its sync
        step = form.step_of(index, f"{method}-{times}{block // KIB}k{each}")
        iops = form.number(match["ops"], at) * count
        made = form.row(
            step=step, direction="write", where=at, seconds=seconds, iops=iops,
            bytes_per_s=iops * block, rw="write", block=block, depth=1,
            latency={"lat_mean_ns": form.number(match["us"], at) * 1000} if count == 1 else None,
        )  # fmt: skip
        yield form.ImportedStep(step, (made,))
        index += 1


PG_TEST_FSYNC = form.Format(
    "pg_test_fsync",
    "pg_test_fsync",
    form.shows("ops/sec", "Compare file sync methods"),
    read_pg_test_fsync,
)


_OPERATIONS: Final[Mapping[str, Direction]] = {"READ": "read", "WRITE": "write"}


def read_elbencho(data: bytes, name: str) -> form.Imported:
    """Each line of a read or write as a run. Raises InvalidValue."""
    lines = [line for line in form.text_of(data, name).splitlines() if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.startswith("ISO date,")), None)
    if at is None:
        raise InvalidValue(f"{name}: the line with elbencho's columns is missing")
    table = csv.DictReader(io.StringIO("\n".join(lines[at:])))
    reads_or_writes = (line for line in table if (line.get("operation") or "") in _OPERATIONS)
    kept = form.some(reads_or_writes, name, "line of elbencho that reads or writes")
    runs = tuple(_line(line, f"{name}: {line['operation']} {n + 1}") for n, line in enumerate(kept))
    return form.Imported("elbencho", "", runs)


def _line(line: Mapping[str, str], where: str) -> form.ImportedRun:
    def of(column: str) -> float:
        return form.number(line.get(column) or "0", f"{where}: {column}")

    way = _OPERATIONS[line["operation"]]
    rw = f"rand{way}" if of("random") else way
    block, depth, jobs = int(of("block size")), int(of("IO depth")) or 1, int(of("threads")) or 1
    hosts = int(of("hosts")) or 1
    engine = "libaio" if depth > 1 else "psync"
    job = (
        f"[{rw}]\nioengine={engine}\nrw={rw}\nbs={block}\niodepth={depth}\n"
        f"numjobs={jobs * hosts}\ndirect={int(of('direct IO'))}\n"
    )
    step = form.step_of(0, line.get("label") or rw, job if block else "")
    latency = {
        field: of(f"IO lat us [{which}]") * 1000
        for which, field in _FIELDS.items()
        if line.get(f"IO lat us [{which}]")
    }
    made = form.row(
        step=step, direction=way, where=where, iops=of("IOPS [last]"),
        size=round(of("MiB [last]") * MIB) or None, seconds=of("time ms [last]") / 1000 or None,
        bytes_per_s=of("MiB/s [last]") * MIB, rw=rw, block=block or None, jobs=jobs * hosts,
        depth=depth, latency=latency,
    )  # fmt: skip
    steps = (form.ImportedStep(step, (made,)),)
    return form.ImportedRun(steps, local_time=line.get("ISO date") or None)


ELBENCHO = form.Format(
    "elbencho", "elbencho --csvfile", form.shows("ISO date,", r"IOPS \[last\]"), read_elbencho
)


_START = re.compile(
    r"Starting RD=(?P<name>[^;\s]{1,80});.{0,200}?elapsed=(?P<elapsed>\d{1,7}|\(none\))"
    r"(?: warmup=(?P<warmup>\d{1,7}))?"
)
_AVERAGE = re.compile(
    r"^\s*(?:[\d:.]+ *)?avg_(?P<first>\d{1,6})-(?P<last>\d{1,6}) +(?P<rest>[\dNa.+ -]+)$"
)
_DATE = re.compile(r"^(?P<date>[A-Z][a-z]{2} \d\d?, \d{4}) +interval ")
_FILES = re.compile(r"ReqstdOps|\.Interval\. ")
_LONGEST_AT: Final = {13: (7, 8), 12: (7,)}
"""Figures in a line → places of the longest responses; the deviation is behind them. 5.04.07: rate,
MB/s, bytes, read %, response (all, read, write), longest (read, write), deviation, queue, CPU
twice; 5.04.06 has one longest response for reads and writes."""


def read_vdbench(data: bytes, name: str) -> form.Imported:
    """Each run definition (RD) with I/O as a step. Raises InvalidValue."""
    text = form.text_of(data, name)
    if _FILES.search(text):
        raise InvalidValue(f"{name}: totals of vdbench's file systems (fsd) are not read")
    steps: list[form.ImportedStep] = []
    date = ""
    for total in form.some(_totals(text.splitlines()), name, "avg_ line of vdbench"):
        rd, elapsed, day, line, match = total
        date = date or day
        where = f"{name}: {rd or line[:40]}"
        cells = match["rest"].split()
        if len(cells) < 5:
            raise InvalidValue(f"{where}: its line is cut: {line.strip()[:60]!r}")
        if form.number(cells[0], where):
            index = len(steps)
            seconds = _seconds(match, elapsed, where)
            steps.append(_vdbench_step(cells, rd or f"rd{index + 1}", index, seconds, where))
    if not steps:
        raise InvalidValue(f"{name}: no avg_ line of vdbench with I/O in it")
    version = re.search(r"Vdbench distribution: vdbench(\d{3,8})", text)
    run = form.ImportedRun(tuple(steps), local_time=date or None)
    notes = ("vdbench prints no counts of I/Os and bytes: these are empty",)
    return form.Imported("vdbench", version[1] if version else "", (run,), {}, notes)


def _totals(lines: Sequence[str]) -> Iterator[tuple[str, int | None, str, str, re.Match[str]]]:
    """The avg_ lines, each with the run definition above it, its elapsed seconds, and the date."""
    name, elapsed, date = "", None, ""
    seen: set[tuple[str, str]] = set()
    for line in lines:
        line = line[:1024]
        if match := _START.search(line):
            name = match["name"]
            seen.clear()
            elapsed = None
            if match["elapsed"].isdecimal():  # the intervals of the warm-up are counted, too
                elapsed = int(match["elapsed"]) + int(match["warmup"] or 0)
        elif match := _DATE.match(line):
            date = match["date"]
        elif match := _AVERAGE.match(line.rstrip()):
            total = match["first"], match["last"]
            if name and total in seen:
                continue  # of a host or a disk: what is of all comes first
            seen.add(total)
            yield name, elapsed, date, line, match


def _seconds(match: re.Match[str], elapsed: int | None, where: str) -> float | None:
    first, last = int(match["first"]), int(match["last"])
    if not 0 < first <= last:
        raise InvalidValue(f"{where}: avg_{first}-{last} is not an interval")
    return (last - first + 1) * elapsed / last if elapsed and elapsed >= last else None


def _vdbench_step(
    cells: Sequence[str], name: str, index: int, seconds: float | None, where: str
) -> form.ImportedStep:
    rate, mb_per_s, block, read, response = (form.number(cell, where) for cell in cells[:5])
    if abs(mb_per_s * MIB - rate * block) > 0.01 * MIB + 0.1 * block + 0.01 * rate * block:
        raise InvalidValue(
            f"{where}: {rate:,} I/Os of {block:,.0f} bytes a second are not {mb_per_s:,} MB/s of "
            "1024**2 bytes"
        )
    if read > 100:
        raise InvalidValue(f"{where}: {read} % of reads")
    direction: Direction = "read" if read == 100 else "write" if read == 0 else "mixed"
    latency = {"lat_mean_ns": response * 1e6}
    if longest := _LONGEST_AT.get(len(cells)):
        latency["lat_max_ns"] = max(form.number(cells[at], where) for at in longest) * 1e6
        latency["lat_stddev_ns"] = form.number(cells[longest[-1] + 1], where) * 1e6
    step = form.step_of(index, name)
    made = form.row(
        step=step, direction=direction, where=where, seconds=seconds, iops=rate,
        bytes_per_s=rate * block, latency=latency,
        block=int(block) if block % 512 == 0 and direction != "mixed" else None,
    )  # fmt: skip
    return form.ImportedStep(step, (made,), compared=True)


VDBENCH = form.Format(
    "vdbench",
    "vdbench's avg_ totals",
    lambda data, _: (
        b"avg_" in data
        and any(_AVERAGE.match(line[:1024].rstrip()) for line in form.head_of(data).splitlines())
    ),
    read_vdbench,
)
