"""PerfKitBenchmarker's perfkitbenchmarker_results.json: one sample of a metric a line, as JSON.

Samples of the benchmark fio are read: `job:direction:bandwidth` in KB/s (fio's, of 1,024 bytes,
whole numbers), `:iops`, and `:latency` in µs with its labels min, max, stddev and p50 … p99.99. The
labels hold the options of the job, too. A sample has the time at which it was taken, in Unix time.
There is no count and no run time: a row has rates and latencies alone. Several who published such
files made one list of the samples; it is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from diskbench.errors import InvalidValue
from diskbench.fio.declared import (
    block_bytes,
    directions_of,
    first_names,
    iodepth,
    numjobs,
    rw_of,
)
from diskbench.fio.output import DECODER
from diskbench.importers.form import (
    MOST_STEPS,
    Format,
    Imported,
    ImportedRun,
    ImportedStep,
    check_json,
    number,
    row,
    step_of,
    text_of,
    utc,
)
from diskbench.model.result import Direction
from diskbench.units import KIB
from diskbench.visible import unstorable, unstorable_words

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


def read_perfkit(data: bytes, name: str) -> Imported:
    """Each run_uri in the file as a run, and each machine and repetition in it; its fio jobs are
    steps. Raises InvalidValue."""
    by_run: dict[tuple[str, ...], _Samples] = {}
    other_tests: set[str] = set()
    facts: dict[str, str | int | float] = {}
    version = ""
    kinds = 0
    for sample in _samples(text_of(data, name), name):
        match = _METRIC.fullmatch(str(sample.get("metric", "")))
        if match is None:
            other_tests.add(str(sample.get("test", "?"))[:40])
            continue
        labels = _labels(sample)
        key = (str(sample.get("run_uri", ""))[:80], *(labels.get(label, "") for label in _REPEATED))
        direction: Direction = match["direction"]  # type: ignore[assignment]
        run = by_run.setdefault(key, {})
        kinds += (match["job"], direction) not in run
        if kinds > MOST_STEPS:
            raise InvalidValue(f"{name}: it holds more than {MOST_STEPS:,} jobs")
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
    runs = [made for samples in by_run.values() if (made := _run(samples, name)).steps]
    if not runs:
        tests = f" (its samples are of {', '.join(sorted(other_tests)[:5])})" if other_tests else ""
        raise InvalidValue(f"{name}: no sample of fio with bandwidth and IOPS in it{tests}")
    rates_alone = "PerfKitBenchmarker keeps rates without counts or run times: these are empty"
    return Imported("perfkit", version, tuple(runs), facts, (rates_alone,))


def _samples(text: str, where: str) -> Iterator[_Sample]:
    for place, document in _documents(text, where):
        check_json(document.encode(), place)
        try:
            parsed = DECODER.decode(document)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"{place} is not readable as JSON: {error}") from error
        for sample in parsed if isinstance(parsed, list) else [parsed]:
            if not isinstance(sample, dict):
                raise InvalidValue(f"{place}: a sample in it is not a JSON object")
            if (bad := unstorable(sample)) is not None:
                raise InvalidValue(f"{place}: the text {unstorable_words(bad)}")
            yield sample


def _documents(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Each line, or the whole text where it is one list, and where it stands."""
    if text.lstrip().startswith("["):
        yield where, text
        return
    for count, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if count > _MOST_SAMPLES:
            raise InvalidValue(f"{where}: it holds more than {_MOST_SAMPLES:,} samples")
        yield f"{where}: line {count}", line


def _run(samples: _Samples, where: str) -> ImportedRun:
    steps: dict[str, ImportedStep] = {}
    stamps = []
    for (job, direction), by_metric in samples.items():
        if "bandwidth" not in by_metric or "iops" not in by_metric:
            continue
        at = f"{where}: {job}:{direction}"
        rate, iops = (
            _value(by_metric["bandwidth"], at, "KB/s") * KIB,
            _value(by_metric["iops"], at, ""),
        )
        if not rate or not iops:
            continue
        step = steps[job].step if job in steps else step_of(len(steps), job)
        latency, percentiles = _latency(by_metric.get("latency"), at)
        options = first_names(_labels(by_metric["iops"]).items())
        block = block_bytes(options, direction)
        if block and not _agree(rate, iops, block):
            block = None  # several block sizes, or a label of another job
        made = row(
            step=step,
            direction=direction,
            iops=iops,
            bytes_per_s=rate,
            where=at,
            rw=rw_of(options) if direction in directions_of(options) else None,
            block=block,
            jobs=numjobs(options),
            depth=iodepth(options),
            latency=latency,
            percentiles=percentiles,
        )
        rows = (*(steps[job].measurements if job in steps else ()), made)
        compared = all(measurement.block_bytes is not None for measurement in rows)
        steps[job] = ImportedStep(step, rows, compared=compared)
        stamps.append(by_metric["bandwidth"].get("timestamp"))
    known = [
        float(stamp)
        for stamp in stamps
        if isinstance(stamp, int | float) and not isinstance(stamp, bool) and 0 < stamp < 2**40
    ]
    return ImportedRun(tuple(steps.values()), finished_at=utc(max(known)) if known else None)


def _agree(rate: float, iops: float, block: int) -> bool:
    """Whether the bandwidth, in whole KiB a second, is that of the IOPS, which are whole in fio 2
    and have six decimals in fio 3."""
    rounded = block * (1.0 if iops.is_integer() else 1e-5)
    return rate - rounded < iops * block < rate + KIB + rounded


def _value(sample: Mapping[str, Any], where: str, unit: str) -> float:
    value = sample.get("value")
    if type(value) not in (int, float):
        raise InvalidValue(f"{where}: its value {str(value)[:40]!r} is not a figure")
    if (own_unit := str(sample.get("unit", ""))) != unit:
        raise InvalidValue(f"{where}: its unit is {own_unit[:40]!r}, where fio's is {unit!r}")
    try:
        return number(repr(value), where)
    except ValueError as error:
        raise InvalidValue(f"{where}: its value is not a figure") from error


def _latency(
    sample: Mapping[str, Any] | None, where: str
) -> tuple[dict[str, float], dict[float, float]]:
    """The latencies in ns: of the sample, and of its labels."""
    if sample is None:
        return {}, {}
    figures = {"lat_mean_ns": _value(sample, where, "usec") * 1000}
    labels = _labels(sample)
    for label, name in (("min", "min"), ("max", "max"), ("stddev", "stddev")):
        if label in labels:
            figures[f"lat_{name}_ns"] = number(labels[label], where) * 1000
    percentiles = {
        fraction: number(labels[label], where) * 1000
        for label, fraction in _PERCENTILES.items()
        if label in labels
    }
    return figures, percentiles


def _labels(sample: _Sample) -> dict[str, str]:
    """The labels of a sample: `|key:value|,|key:value|`."""
    text = str(sample.get("labels", ""))[:20_000]
    return {match["key"]: match["value"] for match in _LABEL.finditer(text)}


def _recognises(data: bytes, name: str) -> bool:
    first = data.lstrip()[:4096]
    named = name.rpartition("/")[2].startswith("perfkitbenchmarker_results")
    return (
        first.startswith((b"{", b"[")) and b'"metric"' in first and (named or b'"run_uri"' in first)
    )


PERFKIT = Format(
    "perfkit", "PerfKitBenchmarker's perfkitbenchmarker_results.json", _recognises, read_perfkit
)
