"""Two reports of a few figures for each load: elbencho's CSV and YABS's JSON.

elbencho --csvfile (github.com/breuner/elbencho), a line for each operation, of which READ and WRITE
do I/O; its MiB are 2^20 bytes. The figures of "last done" count: those until the slowest thread
had ended. Each line is a run of one step, whose load its columns say. Its date has no time zone.

YABS -j (github.com/masonr/yet-another-bench-script): for each block size what fio did in 30 s of
randrw, half of it reads, with libaio, direct I/O, an iodepth of 64 and two jobs. Its KBps are
1,024 bytes, as in the terse lines of fio that it reads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from diskbench.errors import InvalidValue
from diskbench.fio.numbers import bytes_of
from diskbench.fio.output import DECODER
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    check_json,
    head_of,
    number,
    row,
    step_of,
    text_of,
)
from diskbench.model.result import Direction
from diskbench.units import KIB, MIB

_OPERATIONS: Final[Mapping[str, Direction]] = {"READ": "read", "WRITE": "write"}
_LATENCIES: Final = {"min": "lat_min_ns", "avg": "lat_mean_ns", "max": "lat_max_ns"}


def read_elbencho(data: bytes, name: str) -> Imported:
    """Each line of a read or write as a run. Raises InvalidValue."""
    lines = [line for line in text_of(data, name).splitlines() if line.strip()]
    at = next((n for n, line in enumerate(lines) if line.startswith("ISO date,")), None)
    if at is None:
        raise InvalidValue(f"{name}: the line with elbencho's columns is missing")
    table = csv.DictReader(io.StringIO("\n".join(lines[at:])))
    kept = [line for line in table if (line.get("operation") or "") in _OPERATIONS]
    if not kept or len(kept) > MOST_STEPS:
        raise InvalidValue(f"{name}: {len(kept):,} lines of elbencho that read or write")
    runs = tuple(_line(line, f"{name}: {line['operation']} {n + 1}") for n, line in enumerate(kept))
    return Imported("elbencho", "", runs)


def _line(line: Mapping[str, str], where: str) -> ImportedRun:
    def of(column: str) -> float:
        return number(line.get(column) or "0", f"{where}: {column}")

    way = _OPERATIONS[line["operation"]]
    rw = f"rand{way}" if of("random") else way
    block, depth, jobs = int(of("block size")), int(of("IO depth")) or 1, int(of("threads")) or 1
    hosts = int(of("hosts")) or 1
    engine = "libaio" if depth > 1 else "psync"
    job = (
        f"[{rw}]\nioengine={engine}\nrw={rw}\nbs={block}\niodepth={depth}\n"
        f"numjobs={jobs * hosts}\ndirect={int(of('direct IO'))}\n"
    )
    step = step_of(0, line.get("label") or rw).model_copy(update={"job": job if block else ""})
    latency = {
        field: of(f"IO lat us [{which}]") * 1000
        for which, field in _LATENCIES.items()
        if line.get(f"IO lat us [{which}]")
    }
    made = row(
        step=step, direction=way, where=where, iops=of("IOPS [last]"),
        size=round(of("MiB [last]") * MIB) or None, seconds=of("time ms [last]") / 1000 or None,
        bytes_per_s=of("MiB/s [last]") * MIB, rw=rw, block=block or None, jobs=jobs * hosts,
        depth=depth, latency=latency,
    )  # fmt: skip
    return ImportedRun((ImportedStep(step, (made,)),), local_time=line.get("ISO date") or None)


def _is_elbencho(data: bytes, _: str) -> bool:
    head = head_of(data)
    return "ISO date," in head and "IOPS [last]" in head


ELBENCHO = Format("elbencho", "elbencho --csvfile", _is_elbencho, read_elbencho)


def read_yabs(data: bytes, name: str) -> Imported:
    """The blocks of YABS's fio as steps of one run. Raises InvalidValue."""
    check_json(data, name)
    text = data.decode(errors="replace")
    try:
        root, _ = DECODER.raw_decode(text, text.index("{"))
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{name}: not readable as JSON of YABS: {error}") from error
    steps = tuple(_blocks(root, name))
    if not steps:
        raise InvalidValue(f"{name}: YABS's JSON without results of fio")
    time = root.get("time")
    run = ImportedRun(steps, local_time=time if isinstance(time, str) else None)
    return Imported("yabs", str(root.get("version", ""))[:40], (run,))


def _blocks(root: Mapping[str, Any], where: str) -> Iterator[ImportedStep]:
    results = root.get("fio")
    for index, result in enumerate(results if isinstance(results, list) else ()):
        if not isinstance(result, dict) or result.get("speed_units") != "KBps":
            raise InvalidValue(f"{where}: fio[{index}] is not what YABS writes")
        block = bytes_of(str(result.get("bs", "")).replace("i", ""))
        step = step_of(index, f"randrw-{result.get('bs')}")
        rows = []
        ways: tuple[tuple[Direction, str], ...] = (("read", "r"), ("write", "w"))
        for way, letter in ways:
            at = f"{where}: fio[{index}]"
            iops, speed = (
                number(str(result.get(f"{key}_{letter}")), f"{at}.{key}_{letter}")
                for key in ("iops", "speed")
            )
            rows.append(
                row(
                    step=step, direction=way, where=at, iops=iops, seconds=30.0,
                    bytes_per_s=speed * KIB, rw="randrw", block=block, jobs=2, depth=64,
                )
            )  # fmt: skip
        yield ImportedStep(step, tuple(rows))


def _is_yabs(data: bytes, _: str) -> bool:
    return b'"speed_units"' in data and b'"iops_rw"' in data


YABS = Format("yabs", "YABS's JSON", _is_yabs, read_yabs)
