"""PerfKitBenchmarker's perfkitbenchmarker_results.json: one sample of a metric a line, as JSON.

Samples of the benchmark fio are read: `job:direction:bandwidth` in KB/s (fio's, of 1,024 bytes),
`:iops`, and `:latency` in µs with its labels min, max, stddev and p50 … p99.99. A sample has the
time at which it was taken, in Unix time. There is no count and no run time: a row has rates and
latencies alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from diskbench.errors import InvalidValue
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
_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
_Samples = dict[tuple[str, Direction], dict[str, Mapping[str, Any]]]


def read_perfkit(data: bytes, name: str, run_id_of: Callable[[int], str]) -> Imported:
    """Each run_uri in the file as a run; its fio jobs are steps. Raises InvalidValue."""
    by_run: dict[str, _Samples] = {}
    other: set[str] = set()
    for sample in _samples(text_of(data, name), name):
        match = _METRIC.fullmatch(str(sample.get("metric", "")))
        if match is None:
            other.add(str(sample.get("test", "?"))[:40])
            continue
        run = by_run.setdefault(str(sample.get("run_uri", ""))[:80], {})
        direction: Direction = match["direction"]  # type: ignore[assignment]
        run.setdefault((match["job"], direction), {})[match["what"]] = sample
    runs = [
        made
        for at, samples in enumerate(by_run.values())
        if (made := _run(samples, name, run_id_of(at))).steps
    ]
    if not runs:
        tests = f" (its samples are of {', '.join(sorted(other)[:5])})" if other else ""
        raise InvalidValue(f"{name}: no sample of fio with bandwidth and IOPS in it{tests}")
    rates_alone = "PerfKitBenchmarker keeps rates without counts or run times: these are empty"
    return Imported("perfkit", "", tuple(runs), {}, (rates_alone,))


def _samples(text: str, where: str) -> Iterator[Mapping[str, Any]]:
    for count, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if count > _MOST_SAMPLES:
            raise InvalidValue(f"{where}: it holds more than {_MOST_SAMPLES:,} samples")
        check_json(line.encode(), f"{where}: line {count}")
        try:
            sample = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"{where}: line {count} is not readable as JSON: {error}") from error
        if not isinstance(sample, dict):
            raise InvalidValue(f"{where}: line {count} is not a JSON object")
        if (bad := unstorable(sample)) is not None:
            raise InvalidValue(f"{where}: line {count}: the text {unstorable_words(bad)}")
        yield sample


def _run(samples: _Samples, where: str, run_id: str) -> ImportedRun:
    steps: dict[str, ImportedStep] = {}
    stamps = []
    for (job, direction), found in samples.items():
        if "bandwidth" not in found or "iops" not in found:
            continue
        at = f"{where}: {job}:{direction}"
        rate, iops = _value(found["bandwidth"], at, "KB/s") * KIB, _value(found["iops"], at, "")
        if not rate or not iops:
            continue
        step = steps[job].step if job in steps else step_of(len(steps), job)
        if len(steps) >= MOST_STEPS:
            raise InvalidValue(f"{where}: it holds more than {MOST_STEPS:,} jobs")
        latency, percentiles = _latency(found.get("latency"), at)
        made = row(
            run_id=run_id,
            step=step,
            direction=direction,
            iops=iops,
            bytes_per_s=rate,
            where=at,
            latency=latency,
            percentiles=percentiles,
        )
        before = steps[job].measurements if job in steps else ()
        steps[job] = ImportedStep(step, (*before, made))
        stamps.append(found["bandwidth"].get("timestamp"))
    known = [
        float(stamp)
        for stamp in stamps
        if isinstance(stamp, int | float) and not isinstance(stamp, bool) and 0 < stamp < 2**40
    ]
    return ImportedRun(tuple(steps.values()), finished_at=utc(max(known)) if known else None)


def _value(sample: Mapping[str, Any], where: str, unit: str) -> float:
    value = sample.get("value")
    if type(value) not in (int, float):
        raise InvalidValue(f"{where}: its value {str(value)[:40]!r} is not a figure")
    if (said := str(sample.get("unit", ""))) != unit:
        raise InvalidValue(f"{where}: its unit is {said[:40]!r}, where fio's is {unit!r}")
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
    labels = {m["key"]: m["value"] for m in _LABEL.finditer(str(sample.get("labels", ""))[:20_000])}
    for label, name in (("min", "min"), ("max", "max"), ("stddev", "stddev")):
        if label in labels:
            figures[f"lat_{name}_ns"] = number(labels[label], where) * 1000
    percentiles = {
        fraction: number(labels[label], where) * 1000
        for label, fraction in _PERCENTILES.items()
        if label in labels
    }
    return figures, percentiles


def _recognises(data: bytes, name: str) -> bool:
    first = data.lstrip()[:4096].partition(b"\n")[0]
    named = name.rpartition("/")[2].startswith("perfkitbenchmarker_results")
    return first.startswith(b"{") and b'"metric"' in first and (named or b'"run_uri"' in first)


PERFKIT = Format(
    "perfkit", "PerfKitBenchmarker's perfkitbenchmarker_results.json", _recognises, read_perfkit
)
