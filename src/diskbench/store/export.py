"""Rows for other programs: as JSON, CSV, Parquet, and as text for Prometheus and benchstat."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from diskbench.model.run import AFTER_CLIFF, MEASURED_FIELDS, RUN_FIELDS
from diskbench.store import schema
from diskbench.units import NS_PER_S
from diskbench.visible import json_escaped, visible

if TYPE_CHECKING:
    import polars as pl


MetricsFormat = Literal["prometheus", "openmetrics"]
INDENTED_RUNS = 20
"""Documents of so many runs are indented for a reader; our choice."""
_ROW_GROUP = 5_000
_PIECE_BYTES = 2**20
_PARTED = re.compile(r"[\s/]")
_FORMULA = re.compile(r"\s*[=+\-@\uff0b\uff0d\uff1d\uff20]|[\t\r\n]")
"""The first characters of a spreadsheet formula (OWASP, CSV Injection), full-width ones too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def json_text(document: Mapping[str, Any]) -> str:
    """A results document as JSON: indented, or one line per run for more than INDENTED_RUNS runs,
    which is ten times as fast."""
    if len(document["runs"]) <= INDENTED_RUNS:
        return json_escaped(json.dumps(document, indent=2, ensure_ascii=False))
    return "".join(json_lines([document]))


def json_lines(parts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One results document of which each of `parts` has some of the runs, one line per run; what
    is beside the runs is taken from the first."""
    separator = ""
    for part in parts:
        if not separator:
            head = json.dumps({key: value for key, value in part.items() if key != "runs"})
            yield f'{head[:-1]}, "runs": ['
            separator = "\n"
        for run in part["runs"]:
            yield separator + json_escaped(json.dumps(run, ensure_ascii=False))
            separator = ",\n"
    yield "\n]}"


def parquet_pieces(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Measurement rows as the bytes of a Parquet file, typed as in the database; mappings are JSON
    text. What is in memory at a time are _ROW_GROUP rows, which are a row group of the file."""
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="diskbench-export-") as folder:
        remaining, parts = iter(rows), 0
        fields = (*RUN_FIELDS, *MEASURED_FIELDS, AFTER_CLIFF)
        types = polars_types()
        columns = {name: types[name] for name in fields}
        while True:
            part = islice(remaining, _ROW_GROUP)
            plain = [[_plain(row[name]) for name in fields] for row in part]
            if parts and not plain:
                break
            frame = pl.DataFrame(plain, schema=columns, orient="row")
            frame.write_parquet(Path(folder, f"part-{parts:06}.parquet"))
            parts += 1
        path, written = Path(folder, "whole.parquet"), Path(folder, "part-*.parquet")
        pl.scan_parquet(written).sink_parquet(path, row_group_size=_ROW_GROUP)
        with path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece


def polars_types() -> dict[str, type[pl.DataType]]:
    """The polars type of each column of runs and measurements; JSON is text."""
    import polars as pl

    known: dict[type, type[pl.DataType]]
    known = {int: pl.Int64, float: pl.Float64, bool: pl.Boolean, str: pl.String, object: pl.String}
    columns = {c.name: c for c in (*schema.measurement.c, *schema.run.c)}
    types = {name: known[column.type.python_type] for name, column in columns.items()}
    return types | {"job_error": pl.Int64, AFTER_CLIFF: pl.String}


def _plain(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def csv_lines(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> Iterator[str]:
    """Rows as lines of CSV with a header; None is empty, mappings are JSON, booleans `true` or
    `false`.

    Control characters in text are made visible, and text that a spreadsheet would take for a
    formula begins with an apostrophe; numbers stay numbers.
    """
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    cells = ([_cell(row[name]) for name in fields] for row in rows)
    for of_line in chain([map(_inert, fields)], cells):
        writer.writerow(of_line)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def csv_text(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> str:
    """`csv_lines` as one text."""
    return "".join(csv_lines(rows, fields))


def _cell(value: object) -> object:
    # Three million times for 10,000 runs: the usual kinds first.
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, str):
        return _inert(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, int) else _inert(str(_plain(value)))


@lru_cache(maxsize=4096)
def _inert(text: str) -> str:
    """Text that a spreadsheet shows and never computes; text that is a number stays unchanged."""
    risky = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{visible(text)}" if risky else visible(text)


_STEP = {
    "iops": ("iops", "", "I/O operations per second"),
    "bytes_per_s": ("throughput_bytes_per_second", "bytes_per_second", "Bytes per second"),
    "lat_mean_ns": ("latency_mean_seconds", "seconds", "Mean latency"),
    "p50_ns": ("latency_p50_seconds", "seconds", "Median latency"),
    "p99_ns": ("latency_p99_seconds", "seconds", "99th percentile of the latency"),
    "p99_9_ns": ("latency_p99_9_seconds", "seconds", "99.9th percentile of the latency"),
    "lat_max_ns": ("latency_max_seconds", "seconds", "Longest latency"),
}
"""Columns of a step → the end of the name of their family, its unit, and what it is."""
_Labelled = list[tuple[dict[str, str], float]]
_WHERE = ("provider", "region", "zone", "instance_type", "disk_type", "disk_gib", "profile")
_NOT_SHOWN = frozenset({"fill", "canary"})


def metrics_text(rows: Iterable[Mapping[str, Any]], form: MetricsFormat) -> str:
    """The figures of steps, as gauges. `rows` are measurements with their run's columns, as CSV has
    them. Of several runs with the same labels the newest is shown: a series has one value now."""
    newest: dict[tuple[tuple[str, str], ...], Mapping[str, Any]] = {}
    for row in rows:
        if row["scope"] == "step" and row["role"] not in _NOT_SHOWN:
            of_step = {"step": row["step"], "direction": row["direction"]}
            key = tuple({**_labels(row), **of_step}.items())
            if key not in newest or _age(newest[key]) <= _age(row):
                newest[key] = row
    runs = {tuple(_labels(row).items()): row for row in sorted(newest.values(), key=_age)}
    lines: list[str] = []
    for column, (end, unit, about) in _STEP.items():
        scale = NS_PER_S if unit == "seconds" else 1.0
        samples = [
            (dict(key), row[column] / scale)
            for key, row in newest.items()
            if row[column] is not None
        ]
        lines += _family(f"diskbench_step_{end}", unit, f"{about} of a step.", samples, form)
    moments = [(dict(key), row["measured_at"]) for key, row in runs.items()]
    dated = [(key, datetime.fromisoformat(at).timestamp()) for key, at in moments if at]
    name, about = "diskbench_run_measured_timestamp_seconds", "When the run was measured"
    lines += _family(name, "seconds", f"{about}, in Unix time.", dated, form)
    infos = [
        ({**dict(key), "run_id": row["run_id"], "fio_version": row["fio_version"] or ""}, 1.0)
        for key, row in runs.items()
    ]
    about = "The run behind the figures with the same labels."
    lines += _family("diskbench_run_info", "", about, infos, form)
    return "".join(f"{line}\n" for line in [*lines, *(["# EOF"] if form == "openmetrics" else [])])


def benchstat_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The figures of steps as Go's benchmark format, which benchstat compares: a line a run and
    step, named by what was measured. Mean latency is the time of an operation."""
    yield "Unit iops better=higher\n"
    for row in rows:
        if row["scope"] != "step" or row["role"] in _NOT_SHOWN or row["iops"] is None:
            continue
        facts = {"step": row["step"], "direction": row["direction"], **_labels(row)}
        # A space ends a name, a slash a part of it.
        name = "/".join(f"{key}={_PARTED.sub('_', text)}" for key, text in facts.items())
        latency = row["lat_mean_ns"]
        figures = [f"{latency:.0f} ns/op"] if latency is not None else []
        figures += [f"{row['iops']:.6g} iops"]
        if row["bytes_per_s"]:  # a sync moves none
            figures += [f"{row['bytes_per_s'] / 1e6:.6g} MB/s"]
        yield f"BenchmarkDisk/{visible(name)} 1 {' '.join(figures)}\n"


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


def _family(
    of_samples: str, unit: str, about: str, samples: _Labelled, form: MetricsFormat
) -> Iterator[str]:
    """Facts (`…_info`) are labels of a sample that is 1: a type of OpenMetrics, a gauge of
    Prometheus."""
    name, kind = of_samples, "gauge"
    if form == "openmetrics" and name.endswith("_info"):
        name, kind = name.removesuffix("_info"), "info"
    if samples:
        yield f"# HELP {name} {_help(about, form)}"
        yield f"# TYPE {name} {kind}"
        if unit and form == "openmetrics":
            yield f"# UNIT {name} {unit}"
        yield from (_sample(of_samples, *sample) for sample in samples)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    shown = ",".join(f'{key}="{_label_value(text)}"' for key, text in labels.items())
    number = int(value) if value == int(value) else value
    return f"{name}{{{shown}}} {number!r}"


def _label_value(text: str) -> str:
    """A label's value with its three escapes; other control characters are made visible."""
    lines = "\n".join(visible(line) for line in text.split("\n"))
    return lines.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _help(text: str, form: MetricsFormat) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if form == "openmetrics" else escaped
