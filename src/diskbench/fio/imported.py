"""Results of other tools as rows: fio's JSON and GoBonnieGo's.

Reading is pure and repeatable: the same bytes give the same rows, so an imported run can be rebuilt
from its file like any other from its evidence. fio's log files hold no totals; they are recognised
by name here, and store/series.py reads them.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from diskbench.errors import FioOutputUnreadable, InvalidValue
from diskbench.fio.logs import layout, log_name
from diskbench.fio.output import parse_output
from diskbench.fio.reported import FioJob, FioOutput
from diskbench.fio.rows import ALL_JOBS, measurements
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction, Measurement
from diskbench.model.spec import Step
from diskbench.units import NS_PER_S
from diskbench.visible import unstorable, unstorable_words

ImportKind = Literal["fio-json", "fio-log", "gobonniego"]

_SEQUENTIAL_BLOCK = 65536
_RANDOM_BLOCK = 512
"""GoBonnieGo's block sizes (bench/bench.go)."""
_LONGEST_NAME = 80
_FIRST_LINE = 1024
_NO_NUMBER = re.compile(rb"[^0-9a-fA-FxX,\s-]")
"""Priorities are hexadecimal in newer logs."""
_NEWLINE = b"\n"
_FORMS = "importable are fio's --output-format=json or json+, fio's log files, and GoBonnieGo -json"


@dataclass(frozen=True, slots=True)
class ImportedStep:
    """One step of an imported run. `step.job` is empty where the job file is not known."""

    step: Step
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """One run in a file. Times are ISO 8601 in UTC; None where the file has none."""

    steps: tuple[ImportedStep, ...]
    started_at: str | None = None
    finished_at: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """The contents of a file. `facts` describe the machine; `notes` say what was unusual."""

    kind: ImportKind
    tool_version: str
    runs: tuple[ImportedRun, ...]
    facts: Mapping[str, str | int | float]
    notes: tuple[str, ...] = ()


def kind_of(data: bytes, *, name: str) -> ImportKind:
    """The kind of a file, from its name (logs) or content. Raises InvalidValue where it is none.

    The contents are not checked here; `read_imported` reads them.
    """
    if log_name(name.rpartition("/")[2]):
        return "fio-log"
    if b'"fio version"' in data or b'"client_stats"' in data or b'"jobname"' in data:
        return "fio-json"
    if b'"gobonniego_directory"' in data or b'"write_megabytes_per_second"' in data:
        return "gobonniego"
    raise InvalidValue(f"{name}: neither output of fio nor of GoBonnieGo", advice=_FORMS)


def read_imported(data: bytes, *, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """The runs and rows in a file of fio or GoBonnieGo.

    A file may hold several runs; `run_id_of` gives the id of each, counted from 0. A log file has
    one run with one step and no rows. Raises InvalidValue naming file and cause.
    """
    kind = kind_of(data, name=name)
    if kind == "fio-log":
        return _fio_log(data, name)
    try:
        if kind == "fio-json":
            return _fio_json(data, name, run_id_of)
        return _gobonniego(data, name, run_id_of)
    except FioOutputUnreadable as error:
        raise InvalidValue(error.message, advice=_FORMS) from error


def check_log(data: bytes, *, name: str) -> None:
    """Check that a value log of fio is complete: only numbers, and a last line of as many columns.

    Raises InvalidValue naming the line, also for a file without any row.
    """
    log = log_name(name)
    if log is None or log.kind == "hist" or name.endswith(".zst"):
        return
    bad = _NO_NUMBER.search(data)
    ends = data.rstrip()
    at = bad.start() if bad else ends.rfind(b"\n") + 1
    line = data[data.rfind(b"\n", 0, at) + 1 :].partition(b"\n")[0].strip()
    if not bad and line.count(b",") == data.partition(b"\n")[0].count(b",") and ends:
        return
    what = f"line {data.count(_NEWLINE, 0, at) + 1} is no row of a fio log: {line[:80]!r}"
    raise InvalidValue(
        f"{name}: {what if ends else 'it has no row'}",
        advice="was it cut while it was copied? Without that line it can be imported"
        if ends
        else "with log_avg_msec fio writes a log when the job ends",
    )


def _fio_log(data: bytes, name: str) -> Imported:
    log = log_name(name.rpartition("/")[2])
    assert log is not None
    step = Step(index=0, name=log.prefix or "fio", job="", expected_s=0.0)
    run = ImportedRun((ImportedStep(step, ()),), started_at=_unix_start(data, name))
    return Imported("fio-log", "", (run,), {})


def _unix_start(data: bytes, name: str) -> str | None:
    """When a log with log_unix_epoch begins, in ISO 8601; None for other and damaged logs."""
    first = data[:_FIRST_LINE].partition(b"\n")[0]
    try:
        columns = layout(first + b"\n", where=name)
    except FioOutputUnreadable:
        return None
    return _utc(int(first.partition(b",")[0])) if columns and columns.epoch else None


def split_steps(output: FioOutput) -> tuple[tuple[Step, FioOutput], ...]:
    """The steps in one document of fio, in order. The jobs of a group ran at the same time and are
    one step; groups ran one after another."""
    groups: dict[int, list[FioJob]] = {}
    for job in output.jobs:
        groups.setdefault(job.group, []).append(job)
    return tuple(
        (
            Step(index=index, name=_step_name(jobs), job="", expected_s=0.0),
            replace(output, jobs=tuple(jobs)),
        )
        for index, (_, jobs) in enumerate(sorted(groups.items()))
    )


def job_text(output: FioOutput) -> str:
    """A job file made from the options in fio's JSON, with a section for each job. Clones that fio
    reports separately become one section. fio leaves options out (axboe/fio #237), so the file may
    hold fewer options than the original."""
    sections = {}
    for job in output.jobs:
        options = {**output.options, **job.options}
        options.pop("name", None)
        sections[job.name, *sorted(options.items())] = (job.name, options)
    return "\n".join(
        f"[{name.replace('[', '(').replace(']', ')').strip() or 'job'}]\n"
        + "".join(f"{key}={value}\n" for key, value in options.items())
        for name, options in sections.values()
    )


def _fio_json(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    output = parse_output(data, where=name)
    steps = tuple(
        ImportedStep(step, measurements(part, run_id=run_id_of(0), step=step))
        for step, part in split_steps(output)
    )
    starts = [job.start_ms for job in output.jobs if job.start_ms]
    run = ImportedRun(
        steps,
        started_at=_utc(min(starts)) if starts else None,
        finished_at=_utc(output.timestamp_ms) if output.timestamp_ms else None,
    )
    return Imported("fio-json", output.version, (run,), _fio_facts(output), output.notes)


def _fio_facts(output: FioOutput) -> dict[str, str | int | float]:
    hosts = sorted({job.host for job in output.jobs if job.host})
    disks = sorted({disk.name for disk in output.disks if disk.name})
    facts: dict[str, str | int | float] = {"fio_version": output.version}
    if hosts:
        facts["hosts"] = ", ".join(hosts)
    if disks:
        facts["disks"] = ", ".join(disks)
    return facts


def _step_name(jobs: Sequence[FioJob]) -> str:
    names = "+".join(dict.fromkeys(job.name for job in jobs))
    return names if len(names) <= _LONGEST_NAME else f"{jobs[0].name}+{len(jobs) - 1} jobs"


def _gobonniego(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """The runs in a file of GoBonnieGo 1.0.5 or later; each result is a run of three steps."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{name}: not readable as JSON: {error}", advice=_FORMS) from error
    if (bad := unstorable(root)) is not None:
        raise InvalidValue(f"{name}: the text {unstorable_words(bad)}", advice=_FORMS)
    results = root.get("results") if isinstance(root, dict) else None
    if not isinstance(results, list) or not results:
        raise InvalidValue(f"{name}: GoBonnieGo file without any result", advice=_FORMS)
    threads = root.get("num_readers_and_writers")
    jobs = threads if type(threads) is int and 0 < threads <= JOBS else 1
    runs = []
    for index, result in enumerate(results):
        where = f"{name}: results[{index}]"
        if not isinstance(result, dict):
            raise InvalidValue(f"{where} is no object", advice=_FORMS)
        runs.append(_gobonniego_run(result, where, run_id_of(index), jobs))
    known = {"disk_space_used_gib", "physical_memory_bytes", "iops_duration_seconds"}
    facts = {
        key: value
        for key, value in root.items()
        if key in known and type(value) in (int, float) and 0 <= value <= COUNTER
    }
    return Imported("gobonniego", str(root.get("version", "unknown")), tuple(runs), facts)


def _gobonniego_run(result: Mapping[str, Any], where: str, run_id: str, jobs: int) -> ImportedRun:
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
                raise InvalidValue(
                    f"{where}: io_operations is {ios:,}, more than any disk does", advice=_FORMS
                )
        else:
            size = _count(result, f"{prefix}_bytes", where)
            ios = -(-size // block)
        step = Step(index=index, name=name, job="", expected_s=0.0)
        row = Measurement(
            run_id=run_id,
            step_index=index,
            step=name,
            role="measure",
            scope="step",
            job=ALL_JOBS,
            job_index=-1,
            jobs=jobs,
            direction=direction,
            rw=rw,
            block_bytes=block,
            iodepth=1,
            ios=ios,
            bytes=size,
            runtime_ns=runtime_ns,
            iops=ios * NS_PER_S / runtime_ns,
            bytes_per_s=size * NS_PER_S / runtime_ns,
        )
        steps.append(ImportedStep(step, (row,)))
    started = result.get("start_time")
    return ImportedRun(tuple(steps), started_at=_iso(started, where) if started else None)


def _duration_ns(result: Mapping[str, Any], prefix: str, where: str) -> int:
    """The duration in ns: the file has nanoseconds up to 1.0.7 and seconds since 1.0.8."""
    for key, scale in ((f"{prefix}_nanoseconds", 1), (f"{prefix}_seconds", NS_PER_S)):
        value = result.get(key)
        if isinstance(value, int | float) and 0 < value * scale < 2**63:
            return max(round(value * scale), 1)
    raise InvalidValue(
        f"{where}: no usable {prefix}_seconds or {prefix}_nanoseconds", advice=_FORMS
    )


def _count(result: Mapping[str, Any], key: str, where: str) -> int:
    value = result.get(key)
    if type(value) is not int or not 0 <= value < 2**63:
        raise InvalidValue(f"{where}: {key} is {value!r}, not a count", advice=_FORMS)
    return value


def _iso(text: object, where: str) -> str:
    try:
        # Go writes nanoseconds; Python reads up to six digits and drops the rest.
        moment = datetime.fromisoformat(str(text)).astimezone(UTC)
    except (OverflowError, ValueError) as error:
        shown = str(text)[:_LONGEST_NAME]
        raise InvalidValue(f"{where}: start_time {shown!r} is no time", advice=_FORMS) from error
    return moment.isoformat(timespec="microseconds")


def _utc(unix_ms: int) -> str | None:
    try:
        moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="microseconds")
