"""JSON of other tools: GoBonnieGo (`gobonniego -json`, 1.0.5 and later), PerfKitBenchmarker, YABS.

PerfKitBenchmarker's perfkitbenchmarker_results.json: one sample of a metric a line, as JSON.

Samples of the benchmark fio are read: `job:direction:bandwidth` in KB/s (fio's, of 1,024 bytes,
whole numbers), `:iops`, and `:latency` in µs with its labels min, max, stddev and p50 … p99.99. The
labels hold the options of the job, too. A sample has the time at which it was taken, in Unix time.
There is no count and no run time: a row has rates and latencies alone. Several who published such
files made one list of the samples; it is read as well.

YABS -j (github.com/masonr/yet-another-bench-script): for each block size what fio did in 30 s of
randrw, half of it reads, with libaio, direct I/O, an iodepth of 64 and two jobs. Its KBps are
1,024 bytes, as in the terse lines of fio that it reads.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from diskbench.catalog.published import GOBONNIEGO_STEPS, LOADS
from diskbench.errors import InvalidValue
from diskbench.fio.declared import block_bytes, directions_of, first_names, iodepth, numjobs, rw_of
from diskbench.fio.numbers import bytes_of
from diskbench.importers import form
from diskbench.limits import COUNTER, JOBS
from diskbench.model.result import Direction
from diskbench.units import KIB, NS_PER_S

_LONGEST_NAME = 80


def read_gobonniego(data: bytes, name: str) -> form.Imported:
    """The runs in a file of GoBonnieGo 1.0.5 or later; each result is a run of three steps. Raises
    InvalidValue."""
    root = form.json_of(data, name)
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
    told = {key: value for key, value in root.items() if key in known}
    facts = {k: v for k, v in told.items() if type(v) in (int, float) and 0 <= v <= COUNTER}
    return form.Imported("gobonniego", str(root.get("version", "unknown")), tuple(runs), facts)


def _gobonniego_run(result: Mapping[str, Any], where: str, jobs: int) -> form.ImportedRun:
    phases: tuple[tuple[str, str, Direction, str], ...] = (
        ("seqwrite", "write", "write", "write"),
        ("seqread", "read", "read", "read"),
        ("iops", "io", "mixed", "randrw"),  # of reads and writes the file has only the sum
    )
    steps = []
    for index, (name, prefix, direction, rw) in enumerate(phases):
        block = LOADS[GOBONNIEGO_STEPS[name]].block_bytes
        runtime_ns = _duration_ns(result, prefix, where)
        if prefix == "io":
            ios = _count(result, "io_operations", where)
            size = ios * block
            if size > COUNTER:
                raise InvalidValue(f"{where}: io_operations is {ios:,}, more than any disk does")
        else:
            size = _count(result, f"{prefix}_bytes", where)
            ios = -(-size // block)
        step = form.step_of(index, name)
        measured = form.row(
            step=step, direction=direction, where=f"{where}: {name}", ios=ios, size=size,
            seconds=runtime_ns / NS_PER_S, iops=ios * NS_PER_S / runtime_ns,
            bytes_per_s=size * NS_PER_S / runtime_ns, rw=rw, block=block, jobs=jobs, depth=1,
        )  # fmt: skip
        steps.append(form.ImportedStep(step, (measured,)))
    started = result.get("start_time")
    return form.ImportedRun(tuple(steps), started_at=_iso(started, where) if started else None)


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


GOBONNIEGO = form.Format(
    "gobonniego",
    "GoBonnieGo -json",
    lambda data, _: b'"gobonniego_directory"' in data or b'"write_megabytes_per_second"' in data,
    read_gobonniego,
)


_METRIC = re.compile(
    r"(?P<job>.{1,80}):(?P<direction>read|write|trim):(?P<what>bandwidth|iops|latency)"
)
_LABEL = re.compile(r"\|(?P<key>[^|:]{1,40}):(?P<value>[^|]{0,400})\|")
_MOST_SAMPLES = 200_000
_REPEATED = ("machine_instance", "run_number")
"""Labels by which PerfKitBenchmarker tells machines and repetitions of one run_uri apart."""
_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
_Sample = Mapping[str, Any]
_Samples = dict[tuple[str, Direction], dict[str, _Sample]]


def read_perfkit(data: bytes, name: str) -> form.Imported:
    """Each run_uri in the file as a run, and each machine and repetition in it; its fio jobs are
    steps. Raises InvalidValue."""
    by_run: dict[tuple[str, ...], _Samples] = {}
    other_tests: set[str] = set()
    facts: dict[str, str | int | float] = {}
    version = ""
    kinds = 0
    for sample in _samples(form.text_of(data, name), name):
        match = _METRIC.fullmatch(str(sample.get("metric", "")))
        if match is None:
            other_tests.add(str(sample.get("test", "?"))[:40])
            continue
        labels = _labels(sample)
        key = (str(sample.get("run_uri", ""))[:80], *(labels.get(label, "") for label in _REPEATED))
        direction: Direction = match["direction"]  # type: ignore[assignment]
        run = by_run.setdefault(key, {})
        kinds += (match["job"], direction) not in run
        if kinds > form.MOST_STEPS:
            raise InvalidValue(f"{name}: it holds more than {form.MOST_STEPS:,} jobs")
        by_metric = run.setdefault((match["job"], direction), {})
        before = by_metric.setdefault(match["what"], sample)
        if before is not sample and before.get("value") != sample.get("value"):
            raise InvalidValue(
                f"{name}: {sample['metric']} has two values in one run: {before.get('value')!r} "
                f"and {sample.get('value')!r}",
                advice="if these are the results of several runs, import each run on its own",
            )
        version = labels.get("perfkitbenchmarker_version", version)[:40]
        for label, fact in (("fio_version", "fio_version"), ("vm_names", "hosts")):
            if labels.get(label):
                facts[fact] = labels[label][:80]
    runs = [made for samples in by_run.values() if (made := _perfkit_run(samples, name)).steps]
    if not runs:
        tests = f" (its samples are of {', '.join(sorted(other_tests)[:5])})" if other_tests else ""
        raise InvalidValue(f"{name}: no sample of fio with bandwidth and IOPS in it{tests}")
    rates_alone = "PerfKitBenchmarker keeps rates without counts or run times: these are empty"
    return form.Imported("perfkit", version, tuple(runs), facts, (rates_alone,))


def _samples(text: str, where: str) -> Iterator[_Sample]:
    """Those of each line, or of the whole text where it is one list."""
    is_list = text.lstrip().startswith("[")
    for count, document in enumerate([text] if is_list else text.splitlines(), 1):
        if not document.strip():
            continue
        if count > _MOST_SAMPLES:
            raise InvalidValue(f"{where}: it holds more than {_MOST_SAMPLES:,} samples")
        place = where if is_list else f"{where}: line {count}"
        parsed = form.json_of(document.encode(), place)
        for sample in parsed if isinstance(parsed, list) else [parsed]:
            if not isinstance(sample, dict):
                raise InvalidValue(f"{place}: a sample in it is not a JSON object")
            yield sample


def _perfkit_run(samples: _Samples, where: str) -> form.ImportedRun:
    steps: dict[str, form.ImportedStep] = {}
    stamps: list[Any] = []
    for (job, direction), by_metric in samples.items():
        if "bandwidth" not in by_metric or "iops" not in by_metric:
            continue
        at = f"{where}: {job}:{direction}"
        rate = _value(by_metric["bandwidth"], at, "KB/s") * KIB
        iops = _value(by_metric["iops"], at, "")
        if not rate or not iops:
            continue
        step = steps[job].step if job in steps else form.step_of(len(steps), job)
        latency, percentiles = _latency(by_metric.get("latency"), at)
        options = first_names(_labels(by_metric["iops"]).items())
        block = block_bytes(options, direction)
        # the bandwidth is in whole KiB a second, the IOPS are whole in fio 2, and in fio 3 have six
        # decimals; else it is of several block sizes, or of a label of another job
        off = (block or 0) * (1.0 if iops.is_integer() else 1e-5)
        if block and not rate - off < iops * block < rate + KIB + off:
            block = None
        made = form.row(
            step=step, direction=direction, where=at, iops=iops, bytes_per_s=rate, block=block,
            rw=rw_of(options) if direction in directions_of(options) else None,
            jobs=numjobs(options), depth=iodepth(options), latency=latency,
            percentiles=percentiles,
        )  # fmt: skip
        rows = (*(steps[job].measurements if job in steps else ()), made)
        compared = all(measurement.block_bytes is not None for measurement in rows)
        steps[job] = form.ImportedStep(step, rows, compared=compared)
        stamps.append(by_metric["bandwidth"].get("timestamp"))
    known = [float(s) for s in stamps if type(s) in (int, float) and 0 < s < 2**40]
    ended = form.utc(max(known)) if known else None
    return form.ImportedRun(tuple(steps.values()), finished_at=ended)


def _value(sample: Mapping[str, Any], where: str, unit: str) -> float:
    value = sample.get("value")
    if type(value) not in (int, float):
        raise InvalidValue(f"{where}: its value {str(value)[:40]!r} is not a figure")
    if (own_unit := str(sample.get("unit", ""))) != unit:
        raise InvalidValue(f"{where}: its unit is {own_unit[:40]!r}, where fio's is {unit!r}")
    return form.number(repr(value), where)


def _latency(sample: _Sample | None, where: str) -> tuple[dict[str, float], dict[float, float]]:
    """The latencies in ns: of the sample, and of its labels."""
    if sample is None:
        return {}, {}
    figures = {"lat_mean_ns": _value(sample, where, "usec") * 1000}
    labels = _labels(sample)
    for label in ("min", "max", "stddev"):
        if label in labels:
            figures[f"lat_{label}_ns"] = form.number(labels[label], where) * 1000
    percentiles = {
        fraction: form.number(labels[label], where) * 1000
        for label, fraction in _PERCENTILES.items()
        if label in labels
    }
    return figures, percentiles


def _labels(sample: _Sample) -> dict[str, str]:
    """The labels of a sample: `|key:value|,|key:value|`."""
    text = str(sample.get("labels", ""))[:20_000]
    return {match["key"]: match["value"] for match in _LABEL.finditer(text)}


def _is_perfkit(data: bytes, name: str) -> bool:
    first = data.lstrip()[:4096]
    named = name.rpartition("/")[2].startswith("perfkitbenchmarker_results")
    is_sample = first.startswith((b"{", b"[")) and b'"metric"' in first
    return is_sample and (named or b'"run_uri"' in first)


PERFKIT = form.Format(
    "perfkit", "PerfKitBenchmarker's perfkitbenchmarker_results.json", _is_perfkit, read_perfkit
)


def read_yabs(data: bytes, name: str) -> form.Imported:
    """The blocks of YABS's fio as steps of one run. Raises InvalidValue."""
    root = form.json_of(data, name, within=True)
    steps = form.some(_blocks(root, name), name, "result of fio of YABS")
    time = root.get("time")
    run = form.ImportedRun(steps, local_time=time if isinstance(time, str) else None)
    return form.Imported("yabs", str(root.get("version", ""))[:40], (run,))


def _blocks(root: Mapping[str, Any], where: str) -> Iterator[form.ImportedStep]:
    results = root.get("fio")
    for index, result in enumerate(results if isinstance(results, list) else ()):
        if not isinstance(result, dict) or result.get("speed_units") != "KBps":
            raise InvalidValue(f"{where}: fio[{index}] is not what YABS writes")
        block = bytes_of(str(result.get("bs", "")).replace("i", ""))
        step = form.step_of(index, f"randrw-{result.get('bs')}")
        rows = []
        ways: tuple[tuple[Direction, str], ...] = (("read", "r"), ("write", "w"))
        for way, letter in ways:
            at = f"{where}: fio[{index}]"
            iops, speed = (
                form.number(str(result.get(f"{key}_{letter}")), f"{at}.{key}_{letter}")
                for key in ("iops", "speed")
            )
            rows.append(
                form.row(
                    step=step, direction=way, where=at, iops=iops, seconds=30.0,
                    bytes_per_s=speed * KIB, rw="randrw", block=block, jobs=2, depth=64,
                )
            )  # fmt: skip
        yield form.ImportedStep(step, tuple(rows))


YABS = form.Format(
    "yabs",
    "YABS's JSON",
    lambda data, _: b'"speed_units"' in data and b'"iops_rw"' in data,
    read_yabs,
)
