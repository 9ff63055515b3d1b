"""What benchmarks print or write, as rows of script/bench: one adapter for each other shape."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """The values of one row in one sitting; `floor` is None where nothing was measured beside."""

    name: str
    unit: str
    ours: tuple[float, ...]
    floor: tuple[float, ...] | None = None


def site_printed(text: str) -> list[Measured]:
    """The rows of the tables that benchmarks/publish.py and benchmarks/report.py print."""
    rows = []
    for name, wall, cpu, peak in re.findall(
        r"^(\w+) +([\d.]+) +([\d.]+) +([\d.]+)(?: +[\d.]+)?$", text, re.M
    ):
        name = "import" if name == "build" else name
        rows.append(Measured(name, "s", (float(wall),)))
        rows.append(Measured(f"{name}, CPU", "s", (float(cpu),)))
        rows.append(Measured(f"{name}, memory", "MB", (float(peak),)))
    sizes = re.findall(r"^site: .* files, ([\d.]+) MB", text, re.M)
    return rows + [Measured("site, size", "MB", (float(size),)) for size in sizes]


def rows_written(document: dict[str, Any]) -> list[Measured]:
    """The rows of a file in the shape that bench_rows.py describes."""
    return [
        Measured(
            row["name"],
            row["unit"],
            tuple(row["ours"]),
            tuple(row["floor"]) if row.get("floor") else None,
        )
        for row in document["rows"]
    ]


def cells_written(text: str) -> list[Measured]:
    """The rows of what benchmarks/cells.py writes: a JSON object a line, each a run of it."""
    figures = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    if not figures:
        return []
    columns = (("wall", "s", "wall_s"), ("CPU a cell", "s", "cpu_s_a_cell"))
    columns = (*columns, ("makespan to the ideal", "", "makespan_to_ideal"))
    cells, measured = f"{figures[0]['cells']:,} cells", figures[0]["ended"]
    if measured < figures[0]["cells"]:
        cells = f"last {measured:,} of {cells}"
        columns = (*columns, ("end of the matrix", "s", "matrix_ends_after_s"))
    return [
        Measured(f"{cells}, {name}", unit, tuple(float(line[column]) for line in figures))
        for name, unit, column in columns
    ]


def curve_written(text: str) -> list[Measured]:
    """A row of each figure in the last line of benchmarks/cells.py, by the name of the figure."""
    figures = json.loads(text.splitlines()[-1]) if text.startswith("{") else {}
    return [
        Measured(name, "", (float(value),))
        for name, value in figures.items()
        if isinstance(value, int | float)
    ]


def stored_written(text: str) -> list[Measured]:
    """The rows of what benchmarks/million.py writes: the costs of each part, and of the floor."""
    parts = json.loads(text)["parts"] if text.startswith("{") else {}
    floor = tuple(one["wall_s"] for one in parts.pop("floor", []))
    rows = []
    for name, costs in parts.items():
        rows.append(Measured(name, "s", tuple(one["wall_s"] for one in costs), floor or None))
        rows.append(Measured(f"{name}, CPU", "s", tuple(one["cpu_s"] for one in costs)))
        rows.append(Measured(f"{name}, memory", "MB", tuple(one["peak_mb"] for one in costs)))
    return rows
