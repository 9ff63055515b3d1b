"""What `sysbench fileio run` prints, 0.4.12 to 1.0: rates of reads, writes and fsyncs, and one
latency of all events together.

    1.0   reads/s: 9693.18    read, MiB/s: 37.86    total time: 3.0001s    avg: 0.10 (ms)
    0.4   Operations performed:  6000 Read, 4000 Write, 128 Other = 10128 Total    avg: 6.81ms

Each output is a run of one step: what it says of flags, mode, block and threads is its load. The
latency is shown where all events are of one direction: sysbench counts its fsyncs among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from diskbench.errors import InvalidValue
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    head_of,
    number,
    row,
    step_of,
    text_of,
)
from diskbench.model.result import Direction, Measurement
from diskbench.units import GIB, KIB, MIB, NS_PER_S

_BEGIN: Final = re.compile(
    r"^sysbench (?P<version>\d[\w.]{0,20}).*$|^Running the test with", re.MULTILINE
)
_MODES: Final = (
    ("random r/w", "randrw"), ("random read", "randread"), ("random write", "randwrite"),
    ("sequential read", "read"), ("sequential write", "write"), ("sequential rewrite", "write"),
)  # fmt: skip
_BLOCK: Final = re.compile(
    r"^Block size (?P<size>\d{1,9})(?P<unit>[KMG]?)i?[Bb]?\s*$", re.MULTILINE
)
_RATE: Final = re.compile(
    r"^\s*(?P<what>reads|writes|fsyncs)/s: +(?P<rate>[\d.]{1,20})", re.MULTILINE
)
_MIB: Final = re.compile(r"^\s*(?P<what>read|written), MiB/s: +(?P<rate>[\d.]{1,20})", re.MULTILINE)
_COUNTS: Final = re.compile(
    r"Operations performed: +(?P<reads>\d{1,15}) [Rr]eads?, (?P<writes>\d{1,15}) [Ww]rites?, "
    r"(?P<others>\d{1,15}) [Oo]ther"
)
_TIME: Final = re.compile(r"^\s*total time: +(?P<seconds>[\d.]{1,20})s", re.MULTILINE)
_LATENCY: Final = re.compile(
    r"^\s*(?P<what>min|avg|max): +(?P<ms>[\d.]{1,20})(?:ms)?\s*$", re.MULTILINE
)
_THREADS: Final = re.compile(r"^Number of threads: (?P<threads>\d{1,6})", re.MULTILINE)
_FLAGS: Final = re.compile(r"^Extra file open flags: (?P<flags>.{1,80})$", re.MULTILINE)
_UNITS: Final = {"": 1, "K": KIB, "M": MIB, "G": GIB}
_SYNCED: Final = "Calling fsync() at the end of test, Enabled"
_O_DIRECT: Final = 0o40000
_OFF = 0.02
"""Both rates and MiB/s are rounded to two decimals."""
_NS_PER_MS = NS_PER_S / 1000
_FIELDS: Final = {"min": "lat_min_ns", "avg": "lat_mean_ns", "max": "lat_max_ns"}


def read_sysbench(data: bytes, name: str) -> Imported:
    """Each output of sysbench in the text as a run. Raises InvalidValue."""
    text = text_of(data, name)
    version = next((m["version"] for m in _BEGIN.finditer(text) if m["version"]), "unknown")
    parts = [part for part in _parts(text) if _TIME.search(part) and _mode(part)]
    if not parts or len(parts) > MOST_STEPS:
        raise InvalidValue(f"{name}: {len(parts):,} results of sysbench fileio in it")
    runs = tuple(
        ImportedRun((_step(part, f"{name}: result {at + 1}"),)) for at, part in enumerate(parts)
    )
    return Imported("sysbench", version, runs)


def _parts(text: str) -> Iterator[str]:
    begins = [m.start() for m in _BEGIN.finditer(text) if m["version"] is None] or [0]
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        yield text[begin:end]


def _mode(part: str) -> str | None:
    doing = re.search(r"^Doing (?P<mode>.{1,60}) test", part, re.MULTILINE)
    return next((rw for words, rw in _MODES if doing and doing["mode"].startswith(words)), None)


def _step(part: str, where: str) -> ImportedStep:
    rw, block = _mode(part) or "", _block(part, where)
    found = _THREADS.search(part)
    threads = int(found["threads"]) if found else 1
    direct = int(_is_direct(part))
    step = step_of(0, rw).model_copy(
        update={
            "job": f"[{rw}]\nioengine=psync\nrw={rw}\nbs={block}\nnumjobs={threads}\n"
            f"direct={direct}\n{'end_fsync=1' if _SYNCED in part else ''}\n"
        }
    )
    time = _TIME.search(part)
    assert time is not None
    seconds = number(time["seconds"], where)
    rates = {m["what"]: number(m["rate"], where) for m in _RATE.finditer(part)}
    counts = _COUNTS.search(part)
    moved = {m["what"]: number(m["rate"], where) * MIB for m in _MIB.finditer(part)}
    latency = {}
    only_one = len([rate for rate in rates.values() if rate]) == 1
    if only_one or (counts and not int(counts["others"])):
        latency = {
            _FIELDS[m["what"]]: number(m["ms"], where) * _NS_PER_MS for m in _LATENCY.finditer(part)
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
            row(
                step=step, direction=way, where=where, ios=ios, seconds=seconds,
                iops=iops, bytes_per_s=iops * block, rw=rw, block=block, jobs=threads, depth=1,
                latency=latency if len(rows) == 0 and "rw" not in rw[-2:] else None,
            )
        )  # fmt: skip
    if not rows:
        raise InvalidValue(f"{where}: it read and wrote nothing")
    return ImportedStep(step, tuple(rows), compared=bool(moved))


def _block(part: str, where: str) -> int:
    match = _BLOCK.search(part)
    if match is None:
        raise InvalidValue(f"{where}: the line with its block size is missing")
    return int(match["size"]) * _UNITS[match["unit"]]


def _is_direct(part: str) -> bool:
    match = _FLAGS.search(part)
    flags = match["flags"].strip() if match else ""
    return "direct" in flags or (flags.isdigit() and int(flags) & _O_DIRECT > 0)


def _is_sysbench(data: bytes, _: str) -> bool:
    head = head_of(data)
    return "Doing " in head and ("File operations:" in head or "Operations performed:" in head)


SYSBENCH = Format("sysbench", "sysbench fileio", _is_sysbench, read_sysbench)
