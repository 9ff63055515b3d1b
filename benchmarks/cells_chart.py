"""Draws the curves of docs/scale.md: what a cell costs in matrices of different sizes.

python benchmarks/cells.py --cells 100 --json benchmarks/cells.jsonl       (and 300, 1000, …)
python benchmarks/cells_chart.py benchmarks/cells.jsonl docs/images/scale-cells.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import vl_convert

PANELS = {
    "CPU of the workers, s a cell": {"own_cpu_s_a_cell": "diskbench", "cpu_s_a_cell": "and fio"},
    "CPU of PostgreSQL, s a cell": {"postgres_cpu_s_a_cell": "PostgreSQL"},
    "SQL statements a cell": {"statements_a_cell": "statements"},
}


def main(source: Path, target: Path) -> None:
    """Read the lines of `source` and write the picture."""
    runs = [json.loads(line) for line in source.read_text().splitlines() if line.strip()]
    target.write_text(vl_convert.vegalite_to_svg(chart(runs)))


def chart(
    runs: list[dict[str, Any]],
    panels: dict[str, dict[str, str]] = PANELS,
    x: str = "cells",
    x_title: str = "cells of the matrix",
) -> dict[str, Any]:
    """The Vega-Lite document of all panels, side by side: title → field of a line → its name, over
    the field `x`."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "white",
        "hconcat": [_panel(title, fields, runs, x, x_title) for title, fields in panels.items()],
        "resolve": {"scale": {"color": "independent"}},
    }


def _panel(
    title: str, fields: dict[str, str], runs: list[dict[str, Any]], x: str, x_title: str
) -> dict[str, Any]:
    builds = {run.get("version", "now") for run in runs}
    rows = [
        {
            x: run[x],
            "value": run[field],
            "what": f"{name}, {run.get('version', 'now')}" if len(builds) > 1 else name,
        }
        for run in runs
        for field, name in fields.items()
        if field in run
    ]
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 12},
        "width": 220,
        "height": 180,
        "data": {"values": rows},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {
                "field": x,
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "axis": {"values": sorted({run[x] for run in runs}), "format": ",d"},
                "title": x_title,
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "aggregate": "median",
                "scale": {"zero": True},
                "title": None,
            },
            "color": {
                "field": "what",
                "type": "nominal",
                "legend": {"orient": "bottom", "direction": "vertical", "title": None},
            },
        },
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit((__doc__ or "").strip())
    main(Path(sys.argv[1]), Path(sys.argv[2]))
