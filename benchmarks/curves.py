"""Curves over stored runs and over hosts: measure one size, keep the line, draw all of them.

    python -m benchmarks.curves runs [--size 100 --size 1000 --size 10000]
    python -m benchmarks.curves hosts [--size 1 --size 8 --size 32] [--repeats 5]
    python -m benchmarks.curves hosts --kept       what script/bench --write measured last
    python -m benchmarks.curves cells [--size 100 --size 1000 --size 10000]
    python -m benchmarks.curves cells --kept       the picture of benchmarks/cells.jsonl anew
    python -m benchmarks.curves runs --draw        the picture anew, nothing measured

Each size is measured by the benchmark that measures it elsewhere (publish.py and million.py,
overhead.py, or cells.py), appended to benchmarks/runs.jsonl, hosts.jsonl or cells.jsonl with date,
machine and load, and drawn to docs/images/scale-runs.svg, scale-hosts.svg or scale-cells.svg. Lines
of one size show as their median. Of a matrix of many cells 16 workers measure the last 300.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vl_convert
from benchmarks import bench, cells_chart
from benchmarks.bench_read import Measured, curve_written, site_printed, stored_written
from benchmarks.bench_rows import Bench, Row
from benchmarks.bench_run import ROOT, machine, results

MEASURED_CELLS = 300
"""The cells of a large matrix that workers measure; those before them have ended."""


@dataclass(frozen=True)
class Curve:
    """What is measured over `x`: benchmarks of one size, the fields of a line by the names of their
    rows, and the panels of the picture (title → field → name)."""

    x: str
    x_title: str
    sizes: tuple[int, ...]
    benches: Callable[[int, int], tuple[Bench, ...]]
    fields: dict[str, str]
    panels: dict[str, dict[str, str]]

    @property
    def lines(self) -> Path:
        """The file of all that was measured."""
        return ROOT / f"benchmarks/{self.x}.jsonl"

    @property
    def picture(self) -> Path:
        """The picture of it."""
        return ROOT / f"docs/images/scale-{self.x}.svg"


def _of_runs(size: int, repeats: int) -> tuple[Bench, ...]:
    arguments = f"--runs {size} --a-trial {min(size, 100)}"
    listed = f"--runs {size} --part list --rounds {repeats}"
    rows = tuple(Row(name, "–", None) for name in CURVES["runs"].fields)
    return (
        Bench("publish", "benchmarks/publish.py", arguments, rows, None, site_printed, 3600),
        Bench(
            "stored",
            "benchmarks/million.py",
            listed,
            rows,
            None,
            stored_written,
            3600,
        ),
    )


def _of_hosts(size: int, repeats: int) -> tuple[Bench, ...]:
    arguments = f"--hosts {size} --repeats {repeats}"
    return (Bench("overhead", "benchmarks/overhead.py", arguments, (), limit_s=3600),)


def _of_cells(size: int, _repeats: int) -> tuple[Bench, ...]:
    ended = max(0, size - MEASURED_CELLS)
    arguments = f"--cells {size} --ended {ended} --workers 16 --parallel 32"
    rows = tuple(Row(name, "–", None) for name in CURVES["cells"].fields)
    return (Bench("cells", "benchmarks/cells.py", arguments, rows, None, curve_written, 3600),)


_COMMANDS = ("import", "list", "report", "publish")

CURVES = {
    "runs": Curve(
        "runs",
        "runs in the store",
        (100, 1_000, 10_000),
        _of_runs,
        {
            **{name: f"{name}_s" for name in _COMMANDS},
            **{f"{name}, CPU": f"{name}_cpu_s" for name in _COMMANDS},
            "report, memory": "report_mb",
            "publish, memory": "publish_mb",
        },
        {
            "CPU of results list, s": {"list_cpu_s": "list"},
            "CPU of report and publish, s": {"report_cpu_s": "report", "publish_cpu_s": "publish"},
            "CPU of the import, s": {"import_cpu_s": "import"},
            "memory, MB": {"report_mb": "report", "publish_mb": "publish"},
        },
    ),
    "hosts": Curve(
        "hosts",
        "hosts of a run",
        (1, 8, 32),
        _of_hosts,
        {"beyond fio": "beyond_fio_s", "CPU": "cpu_s"},
        {
            "seconds beyond fio": {
                "beyond_fio_s": "diskbench",
                "beyond_fio_floor_s": "ssh HOST fio",
            },
            "CPU of the controller, s": {"cpu_s": "diskbench"},
        },
    ),
    "cells": Curve(
        "cells",
        "cells of the matrix",
        (100, 1_000, 10_000),
        _of_cells,
        {
            name: name
            for name in (
                *("cpu_s_a_cell", "own_cpu_s_a_cell", "postgres_cpu_s_a_cell"),
                *("statements_a_cell", "transactions_a_cell", "makespan_to_ideal"),
                *("matrix_ends_after_s", "rss_mb", "waiting_for_a_lock", "ended"),
            )
        },
        {
            "CPU of the workers, s a cell": {
                "own_cpu_s_a_cell": "diskbench",
                "cpu_s_a_cell": "with host scripts and fio",
            },
            "CPU of PostgreSQL, s a cell": {"postgres_cpu_s_a_cell": "PostgreSQL"},
            "statements and transactions a cell": {
                "statements_a_cell": "statements",
                "transactions_a_cell": "transactions",
            },
            "the matrix ends after its last cell, s": {"matrix_ends_after_s": "seconds"},
        },
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("curve", choices=CURVES)
    parser.add_argument("--size", type=int, action="append", help="default: all of them")
    parser.add_argument("--repeats", type=int, default=5, help="of list, and of runs on hosts")
    parser.add_argument("--draw", action="store_true", help="draw what was measured before")
    parser.add_argument("--kept", action="store_true", help="of hosts: draw what measured.json has")
    options = parser.parse_args()
    curve = CURVES[options.curve]
    if options.kept:
        kept = json.loads(bench.FILES.measured.read_text(encoding="utf-8"))
        lines = kept_lines(curve, kept, options.size or curve.sizes)
        if lines:
            curve.lines.unlink(missing_ok=True)  # lines of another build would move the medians
        for line in lines:
            keep(curve, line)
    else:
        for size in () if options.draw else options.size or curve.sizes:
            keep(curve, measured(curve, size, options.repeats))
    if not curve.lines.is_file():
        parser.error(f"{curve.lines.name} is not there: nothing was measured yet")
    draw(curve)
    return 0


def keep(curve: Curve, line: dict[str, object]) -> None:
    """Append a line to those of the curve."""
    with curve.lines.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def kept_lines(
    curve: Curve, kept: Mapping[str, Mapping[str, Any]], sizes: Sequence[int]
) -> list[dict[str, object]]:
    """A line of each size whose rows (`8 hosts, CPU`) are in the file of what was measured."""
    lines = []
    for size in sizes:
        line: dict[str, object] = {}
        for key, entry in kept.items():
            name = key.partition(": ")[2]
            if not name.startswith((f"{size} host, ", f"{size} hosts, ")):
                continue
            floor = (entry["floor"],) if "floor" in entry else None
            line |= {"date": entry["date"], "machine": entry["machine"], curve.x: size}
            line |= figures(curve, Measured(name, entry["unit"], (entry["median"],), floor))
        if line:
            lines.append(line)
    return lines


def measured(curve: Curve, size: int, repeats: int) -> dict[str, object]:
    """The figures of one size, measured now. Raises NotRunError."""
    line: dict[str, object] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        curve.x: size,
    }
    for one in curve.benches(size, repeats):
        for _, found in results(one, everything=True):
            line |= figures(curve, found)
    return line


def figures(curve: Curve, found: Measured) -> dict[str, float]:
    """The fields of one row: its median, and that of its floor."""
    # overhead.py names the number of hosts in its rows: `8 hosts, CPU`
    name = found.name.rpartition("hosts, ")[2].rpartition("host, ")[2]
    field = curve.fields.get(name)
    if field is None:
        return {}
    values = {field: round(statistics.median(found.ours), 4)}
    place, _, unit = field.rpartition("_")
    floor = f"{place}_floor_{unit}"
    if found.floor and any(floor in panel for panel in curve.panels.values()):
        values[floor] = round(statistics.median(found.floor), 4)
    return values


def draw(curve: Curve) -> None:
    """Write the picture of all lines."""
    lines = [json.loads(text) for text in curve.lines.read_text(encoding="utf-8").splitlines()]
    document = cells_chart.chart(lines, curve.panels, curve.x, curve.x_title)
    curve.picture.write_text(vl_convert.vegalite_to_svg(document), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
