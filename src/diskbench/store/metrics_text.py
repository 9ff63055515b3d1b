"""Figures in the text formats of Prometheus and OpenMetrics, for a monitoring system.

Written as the exposition formats say it: https://prometheus.io/docs/instrumenting/exposition_formats
(0.0.4) and https://prometheus.io/docs/specs/om/open_metrics_spec (1.0), both read 2026-11-23. Units
are base units (seconds, bytes) and end the names. A sample has no timestamp: node_exporter's
textfile collector refuses a file with one.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from diskbench.units import NS_PER_S
from diskbench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MetricsFormat = Literal["prometheus", "openmetrics"]
METRICS_FORMATS: tuple[MetricsFormat, ...] = ("prometheus", "openmetrics")


class _Family(NamedTuple):
    """A family of samples: the column that it shows, divided by `scale`."""

    name: str
    unit: str
    about: str
    column: str
    scale: float = 1.0


_STEP = (
    _Family("diskbench_step_iops", "", "I/O operations per second of a step.", "iops"),
    _Family(
        "diskbench_step_throughput_bytes_per_second", "bytes_per_second",
        "Bytes per second of a step.", "bytes_per_s",
    ),
    *(
        _Family(
            f"diskbench_step_latency_{short}_seconds", "seconds", f"{words} of a step.",
            column, NS_PER_S,
        )
        for short, words, column in (
            ("mean", "Mean latency", "lat_mean_ns"),
            ("p50", "Median latency", "p50_ns"),
            ("p99", "99th percentile of the latency", "p99_ns"),
            ("p99_9", "99.9th percentile of the latency", "p99_9_ns"),
            ("max", "Longest latency", "lat_max_ns"),
        )
    ),
)  # fmt: skip
_MEASURED = _Family(
    "diskbench_run_measured_timestamp_seconds", "seconds",
    "When the run was measured, in Unix time.", "",
)  # fmt: skip
_INFO = _Family("diskbench_run", "", "The run behind the figures with the same labels.", "")
_WHERE = ("provider", "region", "zone", "instance_type", "disk_type", "disk_gib", "profile")
_NOT_SHOWN = frozenset({"fill", "canary"})


def metrics_text(rows: Iterable[Mapping[str, Any]], form: MetricsFormat) -> str:
    """The figures of steps, as gauges. `rows` are measurements with their run's columns, as CSV has
    them. Of several runs with the same labels the newest is shown: a series has one value now.
    """
    newest: dict[tuple[tuple[str, str], ...], Mapping[str, Any]] = {}
    for row in rows:
        if row["scope"] == "step" and row["role"] not in _NOT_SHOWN:
            key = tuple(
                {**_labels(row), "step": row["step"], "direction": row["direction"]}.items()
            )
            if key not in newest or _age(newest[key]) <= _age(row):
                newest[key] = row
    runs = {tuple(_labels(row).items()): row for row in sorted(newest.values(), key=_age)}
    lines: list[str] = []
    for family in _STEP:
        samples = [
            (dict(key), row[family.column] / family.scale)
            for key, row in newest.items()
            if row[family.column] is not None
        ]
        lines += _family(family, samples, form)
    moments = [(dict(key), _unix(row)) for key, row in runs.items()]
    dated = [(labels, moment) for labels, moment in moments if moment is not None]
    lines += _family(_MEASURED, dated, form)
    infos = [
        ({**dict(key), "run_id": row["run_id"], "fio_version": row["fio_version"] or ""}, 1.0)
        for key, row in runs.items()
    ]
    lines += _info(infos, form)
    return "".join(f"{line}\n" for line in [*lines, *(["# EOF"] if form == "openmetrics" else [])])


def _labels(row: Mapping[str, Any]) -> dict[str, str]:
    """What a run was measured on, and the user's own labels; nothing that is new in each run."""
    labels = {name: str(row[name]) for name in _WHERE if row[name] not in (None, "")}
    if row["disk_type"] is None:  # a rented machine has another name each time
        labels["host"] = row["address"] or row["hostname"] or ""
        labels["target"] = row["target_path"] or row["target_device"] or ""
    if row["replicate"]:
        labels["replicate"] = str(row["replicate"])
    for mark in ("emulated", "imported", "unverified"):
        if row[mark]:
            labels[mark] = "true"
    for key, value in sorted((row["labels"] or {}).items()):
        labels.setdefault(f"label_{re.sub('[^a-zA-Z0-9_]', '_', key)}", str(value))
    return {name: value for name, value in labels.items() if value}


def _age(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["measured_at"] or "", row["run_id"]


def _unix(row: Mapping[str, Any]) -> float | None:
    at = row["measured_at"]
    return datetime.fromisoformat(at).timestamp() if at else None


def _family(
    family: _Family, samples: list[tuple[dict[str, str], float]], form: MetricsFormat
) -> Iterator[str]:
    if samples:
        yield f"# HELP {family.name} {_help(family.about, form)}"
        yield f"# TYPE {family.name} gauge"
        if family.unit and form == "openmetrics":
            yield f"# UNIT {family.name} {family.unit}"
        yield from (_sample(family.name, *sample) for sample in samples)


def _info(samples: list[tuple[dict[str, str], float]], form: MetricsFormat) -> Iterator[str]:
    """Facts as labels of a sample that is 1: a type of OpenMetrics, a gauge of Prometheus."""
    if samples:
        info = f"{_INFO.name}_info"
        name, kind = (_INFO.name, "info") if form == "openmetrics" else (info, "gauge")
        yield f"# HELP {name} {_help(_INFO.about, form)}"
        yield f"# TYPE {name} {kind}"
        yield from (_sample(info, *sample) for sample in samples)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{_value(text)}"' for key, text in labels.items())
    number = int(value) if value == int(value) else value
    return f"{name}{{{shown}}} {number!r}"


def _value(text: str) -> str:
    """A label's value with its three escapes; other control characters are made visible."""
    lines = "\n".join(visible(line) for line in text.split("\n"))
    return lines.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _help(text: str, form: MetricsFormat) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if form == "openmetrics" else escaped
