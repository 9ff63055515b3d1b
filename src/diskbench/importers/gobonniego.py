"""GoBonnieGo's JSON (`gobonniego -json`), 1.0.5 and later."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.fio.output import DECODER
from diskbench.importers.form import (
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    check_json,
    row,
    step_of,
)
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction
from diskbench.units import NS_PER_S
from diskbench.visible import unstorable, unstorable_words

_SEQUENTIAL_BLOCK = 65536
_RANDOM_BLOCK = 512
"""GoBonnieGo's block sizes (bench/bench.go)."""
_LONGEST_NAME = 80


def read_gobonniego(data: bytes, name: str) -> Imported:
    """The runs in a file of GoBonnieGo 1.0.5 or later; each result is a run of three steps. Raises
    InvalidValue."""
    check_json(data, name)
    try:
        root = DECODER.decode(data.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{name}: not readable as JSON: {error}") from error
    if (bad := unstorable(root)) is not None:
        raise InvalidValue(f"{name}: the text {unstorable_words(bad)}")
    results = root.get("results") if isinstance(root, dict) else None
    if not isinstance(results, list) or not results:
        raise InvalidValue(f"{name}: GoBonnieGo file without any result")
    threads = root.get("num_readers_and_writers")
    jobs = threads if type(threads) is int and 0 < threads <= JOBS else 1
    runs = []
    for index, result in enumerate(results):
        where = f"{name}: results[{index}]"
        if not isinstance(result, dict):
            raise InvalidValue(f"{where} is not an object")
        runs.append(_gobonniego_run(result, where, jobs))
    known = {"disk_space_used_gib", "physical_memory_bytes", "iops_duration_seconds"}
    facts = {
        key: value
        for key, value in root.items()
        if key in known and type(value) in (int, float) and 0 <= value <= COUNTER
    }
    return Imported("gobonniego", str(root.get("version", "unknown")), tuple(runs), facts)


def _gobonniego_run(result: Mapping[str, Any], where: str, jobs: int) -> ImportedRun:
    phases: tuple[tuple[str, str, Direction, str, int], ...] = (
        ("seqwrite", "write", "write", "write", _SEQUENTIAL_BLOCK),
        ("seqread", "read", "read", "read", _SEQUENTIAL_BLOCK),
        # Reads and writes, 9 : 1; the file has only their sum.
        ("iops", "io", "mixed", "randrw", _RANDOM_BLOCK),
    )
    steps = []
    for index, (name, prefix, direction, rw, block) in enumerate(phases):
        runtime_ns = _duration_ns(result, prefix, where)
        if prefix == "io":
            ios = _count(result, "io_operations", where)
            size = ios * block
            if size > COUNTER:
                raise InvalidValue(f"{where}: io_operations is {ios:,}, more than any disk does")
        else:
            size = _count(result, f"{prefix}_bytes", where)
            ios = -(-size // block)
        step = step_of(index, name)
        measured = row(
            step=step,
            direction=direction,
            where=f"{where}: {name}",
            ios=ios,
            size=size,
            seconds=runtime_ns / NS_PER_S,
            iops=ios * NS_PER_S / runtime_ns,
            bytes_per_s=size * NS_PER_S / runtime_ns,
            rw=rw,
            block=block,
            jobs=jobs,
            depth=1,
        )
        steps.append(ImportedStep(step, (measured,)))
    started = result.get("start_time")
    return ImportedRun(tuple(steps), started_at=_iso(started, where) if started else None)


def _duration_ns(result: Mapping[str, Any], prefix: str, where: str) -> int:
    """The duration in ns: the file has nanoseconds up to 1.0.7 and seconds since 1.0.8."""
    for key, scale in ((f"{prefix}_nanoseconds", 1), (f"{prefix}_seconds", NS_PER_S)):
        value = result.get(key)
        if isinstance(value, int | float) and 0 < value * scale < 2**63:
            return max(round(value * scale), 1)
    raise InvalidValue(f"{where}: no usable {prefix}_seconds or {prefix}_nanoseconds")


def _count(result: Mapping[str, Any], key: str, where: str) -> int:
    value = result.get(key)
    if type(value) is not int or not 0 <= value < 2**63:
        raise InvalidValue(f"{where}: {key} is {value!r}, not a count")
    return value


def _iso(text: object, where: str) -> str:
    try:
        # Go writes nanoseconds; Python reads up to six digits and drops the rest.
        moment = datetime.fromisoformat(str(text)).astimezone(UTC)
    except (OverflowError, ValueError) as error:
        shown = str(text)[:_LONGEST_NAME]
        raise InvalidValue(f"{where}: start_time {shown!r} is not a time") from error
    return moment.isoformat(timespec="microseconds")


def _recognises(data: bytes, _: str) -> bool:
    return b'"gobonniego_directory"' in data or b'"write_megabytes_per_second"' in data


GOBONNIEGO = Format("gobonniego", "GoBonnieGo -json", _recognises, read_gobonniego)
